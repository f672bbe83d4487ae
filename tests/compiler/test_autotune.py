from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from irlens.compiler import Request, capture_entries
from irlens.model.capture import Manifest, Metadata
from irlens.model.config import ConstexprValue, Target
from irlens.model.errors import CaptureError

pytestmark = pytest.mark.compiled_to("ttir")

TUNED = """
    def prune(configs, named_args, **kwargs):
        assert named_args["x_ptr"].element_size() * 8 == 16
        assert named_args["x_ptr"].shape == (4, 1024) and named_args["x_ptr"].numel() == 4096
        assert named_args["x_ptr"].stride(0) == 1024 and named_args["x_ptr"].stride() == (1024, 1)
        assert named_args["x_ptr"].size(1) == 1024 and named_args["x_ptr"].dim() == 2
        assert named_args["x_ptr"].data_ptr() % 16 == 0 and named_args["x_ptr"].is_contiguous()
        assert "MODE" in kwargs
        return [config for config in configs if config.kwargs["BLOCK"] <= named_args["n"]]

    def cost(BLOCK, n, **kwargs):
        return n / BLOCK

    @triton.autotune(
        configs=[
            triton.Config({"BLOCK": 64}, num_warps=1),
            triton.Config({"BLOCK": 128}, num_warps=2),
            triton.Config({"BLOCK": 256}, num_warps=2),
            triton.Config({"BLOCK": 4096}, num_warps=4),
        ],
        key=["n"],
        prune_configs_by={"early_config_prune": prune, "perf_model": cost, "top_k": 2},
    )
    @triton.heuristics({
        "EVEN": lambda args: args["n"] % args["BLOCK"] == 0,
        "TWICE": lambda args: args["EVEN"] + args["EVEN"],
    })
    @triton.jit
    def tuned(x_ptr, n, MODE: tl.constexpr, BLOCK: tl.constexpr, EVEN: tl.constexpr,
              TWICE: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        if EVEN:
            tl.store(x_ptr + offsets, TWICE)
        else:
            tl.store(x_ptr + offsets, TWICE, mask=offsets < n)
"""


#: What libraries put around their kernels: a cache of compiled kernels, for example.
WRAPPED = TUNED.replace(
    "    @triton.autotune(",
    """    class Cached(triton.runtime.jit.KernelInterface):
        def __init__(self, fn):
            self.fn = fn

    @Cached
    @triton.autotune(""",
)


def variants(
    path: Path, target: Target, **settings: ConstexprValue
) -> list[tuple[ConstexprValue, ...]]:
    """Return (BLOCK, EVEN, TWICE, num_warps) of every capture."""
    request = Request(
        kernel=str(path),
        target=target,
        args={"x_ptr": "fp16[4, 1024]", "n": 1024},
        settings={"MODE": 0, **settings},
    )
    found: list[tuple[ConstexprValue, ...]] = []
    for entry in capture_entries(request):
        manifest = msgspec.json.decode((entry / "irlens.json").read_bytes(), type=Manifest)
        meta = msgspec.json.decode((entry / "tuned.json").read_bytes(), type=Metadata)
        values = manifest.constexprs
        found.append((values["BLOCK"], values["EVEN"], values["TWICE"], meta.num_warps))
    return found


def test_every_configuration_that_pruning_keeps_is_captured(
    write: Callable[..., Path], sm_90: Target
) -> None:
    # 4096 exceeds n; pruning keeps the two cheapest of the other three, in the order of cost.
    assert variants(write(TUNED), sm_90) == [(256, True, 2, 2), (128, True, 2, 2)]


def test_a_library_s_own_wrapper_is_looked_through(
    write: Callable[..., Path], sm_90: Target
) -> None:
    assert variants(write(WRAPPED), sm_90) == variants(write(TUNED), sm_90)


def test_overrides_apply_to_each_configuration_and_merge_equal_ones(
    write: Callable[..., Path], sm_90: Target
) -> None:
    path = write(TUNED)
    assert variants(path, sm_90, BLOCK=512) == [(512, True, 2, 2)]
    assert variants(path, sm_90, num_warps=8) == [(256, True, 2, 8), (128, True, 2, 8)]
    assert variants(path, sm_90, BLOCK=2048, num_warps=8) == [(2048, False, 0, 8)]


def test_a_heuristic_can_be_overridden(write: Callable[..., Path], sm_90: Target) -> None:
    found = variants(write(TUNED), sm_90, EVEN=False, BLOCK=64, num_warps=1)
    assert found == [(64, False, 0, 1)]


def test_pruning_that_needs_a_gpu_has_a_hint(write: Callable[..., Path], sm_90: Target) -> None:
    path = write(
        TUNED.replace('assert "MODE" in kwargs', "triton.runtime.driver.active.get_benchmarker()()")
    )
    with pytest.raises(CaptureError, match="asks for a GPU") as raised:
        variants(path, sm_90)
    assert "--set" in (raised.value.hint or "")
    everything = {"BLOCK": 64, "num_warps": 1, "num_stages": 1, "num_ctas": 1}
    assert variants(path, sm_90, **everything) == [(64, True, 2, 1)]


def test_an_error_in_pruning_is_reported(write: Callable[..., Path], sm_90: Target) -> None:
    path = write(TUNED.replace('assert "MODE" in kwargs', "raise ValueError('no good')"))
    with pytest.raises(CaptureError) as raised:
        variants(path, sm_90)
    line = next(
        number for number, text in enumerate(path.read_text().splitlines(), 1) if "no good" in text
    )
    assert raised.value.message.endswith(
        f"{path.name}:{line}: prune_configs_by raised ValueError: no good"
    )
    assert raised.value.hint == "raise ValueError('no good')"


HEURISTIC = """
    @triton.heuristics({"EVEN": lambda args: args["n"] % args["other"] == 0})
    @triton.jit
    def add(x_ptr, n, EVEN: tl.constexpr):
        tl.store(x_ptr + n, 1.0)
"""


def test_an_argument_that_its_own_heuristic_replaces_is_needed(
    write: Callable[..., Path], sm_90: Target
) -> None:
    """Launches pass it, and the heuristic makes a flag of it."""
    path = write("""
        @triton.heuristics({"BACK": lambda args: bool(args["BACK"])})
        @triton.jit
        def k(x_ptr, BACK: tl.constexpr):
            tl.store(x_ptr, 1 if BACK else 0)
    """)
    request = Request(kernel=str(path), target=sm_90, args={"x_ptr": "fp32[1]"})
    with pytest.raises(CaptureError, match="k needs a value for BACK"):
        capture_entries(request)
    assert capture_entries(msgspec.structs.replace(request, settings={"BACK": True}))


def test_an_error_in_a_heuristic_is_reported_with_its_line(
    write: Callable[..., Path], sm_90: Target
) -> None:
    path = write(HEURISTIC)
    with pytest.raises(CaptureError) as raised:
        capture_entries(Request(kernel=str(path), target=sm_90, args={"x_ptr": "fp32[64]", "n": 1}))
    assert raised.value.message.endswith(
        f"{path.name}:4: the heuristic of EVEN raised KeyError: 'other'"
    )
    with pytest.raises(CaptureError, match=r"add needs a value for x_ptr, n$"):
        capture_entries(Request(kernel=str(path), target=sm_90))


def test_the_matmul_sample_has_one_capture_per_open_configuration(
    sm_90: Target,
) -> None:
    fixed: dict[str, ConstexprValue] = {
        "BLOCK_SIZE_M": 64,
        "BLOCK_SIZE_N": 64,
        "BLOCK_SIZE_K": 32,
        "num_stages": 2,
        "num_warps": 4,
        "ACTIVATION": "leaky_relu",
    }
    request = Request(kernel="matmul", target=sm_90, settings=fixed)
    (entry,) = capture_entries(request)
    manifest = msgspec.json.decode((entry / "irlens.json").read_bytes(), type=Manifest)
    assert manifest.constexprs == {
        "BLOCK_SIZE_M": 64,
        "BLOCK_SIZE_N": 64,
        "BLOCK_SIZE_K": 32,
        "GROUP_SIZE_M": 8,
        "ACTIVATION": "leaky_relu",
    }
    assert manifest.grid == (4096, 1, 1)
    assert "arith.cmpf oge" in (entry / "matmul_kernel.ttir").read_text(), "leaky_relu is there"
    # Two of the five configurations have 8 warps and two have 4; all have the same blocks.
    del fixed["num_warps"]
    request = msgspec.structs.replace(request, settings=fixed)
    assert len(capture_entries(request)) == 3
