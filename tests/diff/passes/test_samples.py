"""The passes that decide most of a kernel's speed, in each sample: checked by hand in the dumps."""

import re
from itertools import cycle, product

import pytest

from irlens import gpus
from irlens.artifacts import pass_dumps
from irlens.compiler import Request, capture
from irlens.diff.passes import States, change_of, crossing
from irlens.model.config import ConstexprValue
from irlens.model.errors import UnknownNameError

TILES: dict[str, ConstexprValue] = {
    "BLOCK_SIZE_M": 64, "BLOCK_SIZE_N": 32, "BLOCK_SIZE_K": 32, "num_warps": 4, "num_stages": 3,
}  # fmt: skip
TARGETS = ("sm_80", "sm_90", "sm_100")
#: Samples without a loop that is pipelined.
PLAIN = [
    "attention_merge", "column_sum", "copies:copy_strided_kernel", "dropout", "exp_sin", "gelu",
    "layer_norm", "layer_norm_backward", "layer_norm_looped", "rms_norm", "segment_sum",
    "softmax_naive:exp_kernel", "softmax_online", "softmax_rows", "spill", "transpose",
    "vector_add",
]  # fmt: skip
PRODUCTS = [
    "flash_attention", "matmul", "matmul_batched", "matmul_bias_relu", "matmul_fp32_output",
    "matmul_persistent", "matmul_tiled", "matmul_tma",
]  # fmt: skip
#: What becomes of a product.
LOWERED = {
    "sm_80": "ttg.nvidia_mma", "sm_90": "ttng.warp_group_dot", "sm_100": "ttng.tc_gen5_mma",
}  # fmt: skip


def settings_of(kernel: str) -> dict[str, ConstexprValue]:
    """Return a small tile, since the compiler prints its IR before each of 80 passes."""
    if kernel.startswith("matmul"):
        return TILES
    small = {"softmax": {"num_stages": 3}, "spill": {"BLOCK_SIZE": 1024}}
    return dict(small.get(kernel, {}))


@pytest.mark.slow
@pytest.mark.compiled_to("llir")
@pytest.mark.parametrize(
    ("kernel", "target"),
    [  # without loops and products, an architecture has the passes of the others
        *zip(PLAIN, cycle(TARGETS), strict=False),
        *product(["softmax", *PRODUCTS], TARGETS),
    ],
)
def test_the_passes_of_a_sample(kernel: str, target: str) -> None:
    request = Request(
        kernel=kernel, target=gpus.find(target).target, passes=True, settings=settings_of(kernel)
    )
    (compiled,) = capture(request)
    dumps = pass_dumps.of_capture(compiled)
    assert dumps is not None
    states = States(compiled, dumps)

    def first(named: str) -> str:
        number = crossing(states, named, "first").number
        return states.dumps.passes[number - 1].name if number is not None else ""

    described = kernel == "matmul_tma" and target != "sm_80"
    copy = f"async_{'tma_' * described}copy_global_to_local"
    if kernel in PLAIN:
        with pytest.raises(UnknownNameError):
            first(copy)
    else:
        assert first(copy) == "TritonGPUPipeline"
    if kernel in PRODUCTS:
        assert first(LOWERED[target]) == "TritonGPUAccelerateMatmul"
    assert first("ttg.shared") == "AllocateSharedMemoryNv"
    (coalescer,) = states.numbers("TritonGPUCoalesce")
    rows = [row for hunk in change_of(states, coalescer).hunks for row in hunk.rows]
    changed = [row.after or "" for row in rows if row.kind in ("added", "changed")]
    access = re.compile(r"tt\.(descriptor_)?(load|store) ")
    assert any(map(access.search, changed))
