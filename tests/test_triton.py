"""Pruning an autotuner's configurations by their estimated time."""

import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from irlens import gpus, triton
from irlens.compiler.sources.target_facts import driver_properties
from irlens.compiler.triton_compat import tuning
from irlens.compiler.triton_compat.drivers import compile_only
from irlens.model.config import Target
from irlens.model.sweep import Outcome, Trial

torch = pytest.importorskip("torch")

KERNEL = """
import triton
import triton.language as tl

from irlens.triton import prune


def configurations():
    sizes = (128, 1024, 16384)
    return [triton.Config({"BLOCK": size}, num_warps=warps) for size in sizes for warps in (4, 8)]


@triton.autotune(
    configs=configurations(),
    key=["n"],
    prune_configs_by={"early_config_prune": prune(top=2)},
)
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        tl.store(out + i, tl.load(x + i) + tl.load(y + i))
    else:
        tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)
"""


@pytest.fixture
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """Import a module with the given source, with a store of its own and an H200 as the GPU."""
    monkeypatch.setenv("IRLENS_CACHE_DIR", str(tmp_path / "store"))
    monkeypatch.setattr(tuning, "current_gpu", lambda: gpus.find("h200"))
    monkeypatch.setattr(triton, "_warned", set())

    def load(source: str) -> ModuleType:
        from importlib.util import module_from_spec, spec_from_file_location

        path = tmp_path / "kernels.py"
        path.write_text(source)
        spec = spec_from_file_location("kernels", path)
        assert spec is not None
        assert spec.loader is not None
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


def tune(module: ModuleType) -> list[tuple[int, int]]:
    """Return the block size and the warps of each configuration that would be timed."""
    numbers = torch.empty(1 << 20, device="meta")
    module.add.nargs = {"x": numbers, "y": numbers, "out": numbers, "n": 1 << 20}

    def grid(values: dict[str, int]) -> tuple[int]:
        return (values["n"] // values["BLOCK"] if values["EVEN"] else 0,)

    kept = module.add.prune_configs({"grid": grid, "warmup": False})
    return [(config.kwargs["BLOCK"], config.num_warps) for config in kept]


def trial(outcome: Outcome, time: float | None = None, reason: str = "") -> Trial:
    return Trial(
        label="",
        target=Target(vendor="nvidia", arch="sm_90", warp_size=32, product="h200"),
        settings={},
        args={},
        outcome=outcome,
        reason=reason,
        figures={"time": time},
    )


def test_a_tuning_times_the_first_configurations_alone(
    kernels: Callable[[str], ModuleType],
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kept = tune(kernels(KERNEL))
    assert len(kept) == 2
    # Many short CTAs take longest: on an H100 9.2 and 10.5 µs, the others 8.4 to 9.0.
    assert 128 not in {size for size, _ in kept}


def test_a_function_of_the_user_goes_first(kernels: Callable[[str], ModuleType]) -> None:
    wide = KERNEL.replace("prune(top=2)", "prune(top=1, before=wide)").replace(
        "@triton.autotune",
        "def wide(configs, named_args, **kwargs):\n"
        "    assert named_args['n'] == 1 << 20\n"
        "    return [each for each in configs if each.kwargs['BLOCK'] == 16384]\n\n\n"
        "@triton.autotune",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kept = tune(kernels(wide))
    assert [size for size, _ in kept] == [16384]


def test_a_failure_keeps_all_and_warns_once(kernels: Callable[[str], ModuleType]) -> None:
    module = kernels(KERNEL)
    Path(str(module.__file__)).unlink()
    with pytest.warns(RuntimeWarning, match="irlens keeps all configurations: .*kernels.py"):
        assert len(tune(module)) == 6
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(tune(module)) == 6


def test_a_hook_that_may_change_arguments_keeps_all(
    kernels: Callable[[str], ModuleType],
) -> None:
    hooked = KERNEL.replace("num_warps=warps)", "num_warps=warps, pre_hook=print)")
    with pytest.warns(RuntimeWarning, match="pre_hook may change the arguments"):
        assert len(tune(kernels(hooked))) == 6


def test_a_call_from_elsewhere_keeps_all() -> None:
    with pytest.warns(RuntimeWarning, match="not called by"):
        assert triton.prune(1)([1, 2, 3], {}, grid=(1,)) == [1, 2, 3]


def test_the_gpu_is_that_of_tritons_driver() -> None:
    target = gpus.find("a100").target
    with compile_only(target, driver_properties(target)):
        assert tuning.current_gpu().arch.name == "sm_80"


def test_planning_without_a_launch_keeps_all(kernels: Callable[[str], ModuleType]) -> None:
    module = kernels(KERNEL)
    module.add.nargs = {"n": 1}
    assert len(module.add.prune_configs({})) == 6


def test_the_first_by_time_stay_and_what_is_unknown() -> None:
    trials = [
        trial("fits", 3.0),
        trial("fits", 1.0),
        trial("does not fit"),
        trial("fits"),
        trial("fits", 2.0),
        trial("died"),
        trial("failed"),
    ]
    assert triton.select(trials, 2) == triton.Kept([1, 3, 4, 6])


def test_without_any_time_all_stay_with_the_reason() -> None:
    trials = [trial("fits"), trial("failed", reason="no such name")]
    assert triton.select(trials, 1) == triton.Kept([0, 1], "their time is unknown: no such name")


def test_at_least_one_has_to_stay() -> None:
    with pytest.raises(ValueError, match="at least one"):
        triton.prune(0)
