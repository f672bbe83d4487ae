"""Numbers of variants, against the keys of Triton's JIT for launches of libraries' kernels.

`tests/data/jit_keys.json` has kernels of Liger 0.8.5 and flash-linear-attention 0.6.0: how they are
declared, the values that their launches combine, and to how many keys Triton 3.9's own binder took
these launches, which `jit_cache_hook` receives.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from irlens import gpus
from irlens.compiler import Request
from irlens.sweeps.variants import find_variants
from irlens.sweeps.worker_pool import LocalPool

KERNELS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "data" / "jit_keys.json").read_text()
)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file with kernels of the same declarations: the bodies do not matter."""
    lines = ["import triton", "import triton.language as tl"]
    for number, each in enumerate(KERNELS):
        options = ", ".join(f"{name}={value!r}" for name, value in each["options"].items())
        lines += [f"@triton.jit({options})", f"def kernel{number}({each['signature']}): pass"]
    path = tmp_path_factory.mktemp("declared") / "declared.py"
    path.write_text("\n".join(lines) + "\n")
    return path


def text(value: Any) -> Any:
    return "None" if value is None else value


def test_variants_are_as_many_as_the_keys_of_the_jit(file: Path) -> None:
    target, pool = gpus.find("h100").target, LocalPool(2)
    try:
        for number, each in enumerate(KERNELS):
            constexprs = {
                name: value
                for name, value in each["fixed"].items()
                if f"{name}: tl.c" in each["signature"]
            }
            args = {name: text(v) for name, v in each["fixed"].items() if name not in constexprs}
            axes = {name: [*map(str, values)] for name, values in each["axes"].items()}
            request = Request(
                kernel=f"{file}:kernel{number}", target=target, args=args,
                settings=constexprs | {"num_warps": 4, "num_stages": 2},
            )  # fmt: skip
            (found,) = find_variants([request], axes, pool, most=0)
            assert (found.number, found.bounded) == (each["keys"], ""), each["kernel"]
    finally:
        pool.stop()


def test_the_launches_are_many_and_share_keys() -> None:
    launches = sum(each["launches"] for each in KERNELS)
    assert launches > 1000
    assert all(1 < each["keys"] < each["launches"] for each in KERNELS)
