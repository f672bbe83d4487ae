"""The sample kernels: each compiles for every GPU, and computes what its reference does."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from irlens.capturing import Request, capture_entries
from irlens.model.config import ConstexprValue, Target

TARGETS = [
    *(
        Target(vendor="nvidia", arch=f"sm_{n}", warp_size=32)
        for n in (75, 80, 86, 89, 90, 100, 120)
    ),
    *(Target(vendor="amd", arch=arch, warp_size=64) for arch in ("gfx90a", "gfx942", "gfx950")),
    *(Target(vendor="amd", arch=arch, warp_size=32) for arch in ("gfx1100", "gfx1201")),
]
SMALL: dict[str, dict[str, ConstexprValue]] = {
    "vector_add": {},
    "softmax": {"num_stages": 2},
    "matmul": {
        "BLOCK_SIZE_M": 32,
        "BLOCK_SIZE_N": 32,
        "BLOCK_SIZE_K": 32,
        "GROUP_SIZE_M": 4,
        "num_stages": 2,
        "num_warps": 4,
    },
}


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.arch)
@pytest.mark.parametrize("kernel", SMALL)
def test_a_sample_compiles_for_every_gpu(
    kernel: str, target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IRLENS_CACHE_DIR", str(tmp_path))
    request = Request(kernel=kernel, target=target, sm_count=100, settings=SMALL[kernel])
    (entry,) = capture_entries(request)
    metadata = json.loads((entry / f"{kernel}_kernel.json").read_bytes())
    arch = metadata["target"]["arch"]
    assert target.arch in (arch, f"sm_{arch}")
    assert metadata["target"]["warp_size"] == target.warp_size
    binary = "cubin" if target.vendor == "nvidia" else "hsaco"
    assert (entry / f"{kernel}_kernel.{binary}").read_bytes().startswith(b"\x7fELF")


# Triton's interpreter runs a kernel with NumPy on the CPU: no GPU, and none of irlens, decides
# what the outputs are. Sizes that are no multiple of a block reach every mask.
INTERPRET = """
import json, sys
from irlens.capturing.call import Parameter, evaluate_grid, resolve
from irlens.capturing.describe import find_kernel
from irlens.capturing.loading import loaded
from irlens.capturing.reference import Reference
from irlens.capturing.request import Request
from irlens.model.config import Target

name, args, settings, spoil = json.loads(sys.argv[1])
target = Target(vendor="nvidia", arch="sm_90", warp_size=32)
request = Request(kernel=name, target=target, sm_count=1, args=args, settings=settings)
source = find_kernel(name)
with loaded(source) as (module, _):
    kernel = getattr(module, source.function)
    constexprs = ("BLOCK", "GROUP", "ACTIVATION", "num_stages")
    parameters = [Parameter(n, n.startswith(constexprs), True) for n in kernel.arg_names]
    call = resolve(request, source.description, parameters, {"num_warps"})
    settings = {**call.defaults, **call.overrides}
    settings.pop("num_warps", None)
    reference = Reference(source.description, module, "cpu")
    values = reference.tensors(call.args)
    while hasattr(kernel, "configs"):
        kernel = kernel.fn
    kernel[evaluate_grid(call, settings)](**values, **settings)
    if spoil:
        for output in source.description.outputs:
            values[output].view(-1)[-1] += 1
    expected = reference.expected({**settings, **values})
    result = reference.compare(values, expected)
print(json.dumps(result))
"""
TILES = {"BLOCK_SIZE_M": 16, "BLOCK_SIZE_N": 32, "BLOCK_SIZE_K": 16, "GROUP_SIZE_M": 2}


def interpret(
    kernel: str, args: dict[str, int], settings: dict[str, ConstexprValue], *, spoil: bool = False
) -> tuple[bool, float]:
    done = subprocess.run(
        [sys.executable, "-c", INTERPRET, json.dumps([kernel, args, settings, spoil])],
        env=os.environ | {"TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    matches, error = json.loads(done.stdout)
    return matches, error


@pytest.mark.parametrize(
    ("kernel", "args", "settings"),
    [
        ("vector_add", {"n_elements": 1000}, {"BLOCK_SIZE": 256}),
        ("softmax", {"n_rows": 20, "n_cols": 37}, {}),
        ("matmul", {"M": 40, "N": 70, "K": 50}, {**TILES}),
        ("matmul", {"M": 33, "N": 64, "K": 16}, {**TILES, "ACTIVATION": "leaky_relu"}),
    ],
)
def test_a_sample_computes_what_its_reference_does(
    kernel: str, args: dict[str, int], settings: dict[str, ConstexprValue]
) -> None:
    pytest.importorskip("torch", reason="the references are PyTorch's")
    matches, error = interpret(kernel, args, settings)
    assert matches
    assert error < 0.05


def test_one_wrong_element_is_noticed() -> None:
    pytest.importorskip("torch", reason="the references are PyTorch's")
    matches, error = interpret("vector_add", {"n_elements": 70}, {"BLOCK_SIZE": 32}, spoil=True)
    assert not matches
    assert error == pytest.approx(1.0)
