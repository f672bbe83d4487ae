# ruff: noqa: RUF005
"""Matrix products that Gluon issues, commits and waits for by hand."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.blackwell import (
    TensorMemoryLayout,
    allocate_tensor_memory,
    tcgen05_commit,
    tcgen05_mma,
)
from triton.experimental.gluon.language.nvidia.hopper import (
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)

load = getattr(tma, "async_load", None) or tma.async_copy_global_to_shared

IRLENS_KERNELS = {
    "outstanding": {
        "args": {
            "a": "fp16[4096, 4096]:block[128, 64]:NVMMASharedLayout(128, 16, 2)",
            "b": "fp16[4096, 4096]:block[64, 128]:NVMMASharedLayout(128, 16, 2)",
            "c": "fp32[4096, 128]",
            "extent": 4096,
        },
        "constexprs": {"stages": 4, "pending": 1},
        "options": {"num_warps": 4},
        "grid": [32],
    },
    "two_chains": {
        "args": {
            "a": "fp16[4096, 4096]:block[128, 64]:NVMMASharedLayout(128, 16, 2)",
            "b": "fp16[4096, 4096]:block[64, 128]:NVMMASharedLayout(128, 16, 2)",
            "c": "fp32[4096, 128]",
            "extent": 4096,
        },
        "constexprs": {"stages": 4, "pending": 1},
        "options": {"num_warps": 4},
        "grid": [32],
    },
    "blackwell": {
        "args": {
            "a": "fp16[4096, 4096]:block[128, 64]:NVMMASharedLayout(128, 16, 2)",
            "b": "fp16[4096, 4096]:block[64, 128]:NVMMASharedLayout(128, 16, 2)",
            "c": "fp32[4096, 128]",
            "extent": 4096,
        },
        "constexprs": {"stages": 4, "ahead": 1},
        "options": {"num_warps": 4},
        "grid": [32],
    },
    "one_commit": {
        "args": {
            "a": "fp16[4096, 4096]:block[128, 64]:NVMMASharedLayout(128, 16, 2)",
            "b": "fp16[4096, 4096]:block[64, 128]:NVMMASharedLayout(128, 16, 2)",
            "c": "fp32[4096, 128]",
            "extent": 4096,
        },
        "constexprs": {"stages": 4},
        "options": {"num_warps": 4},
        "grid": [32],
    },
}


@gluon.jit
def _buffers(a, b, stages: gl.constexpr):
    a_tiles = gl.allocate_shared_memory(a.dtype, [stages] + a.block_type.shape, a.layout)
    b_tiles = gl.allocate_shared_memory(b.dtype, [stages] + b.block_type.shape, b.layout)
    ready = gl.allocate_shared_memory(gl.int64, [stages, 1], mbarrier.MBarrierLayout())
    for slot in gl.static_range(stages):
        mbarrier.init(ready.index(slot), count=1)
    return a_tiles, b_tiles, ready


@gluon.jit
def _issue(a, b, a_tiles, b_tiles, ready, number, stages: gl.constexpr):
    slot = number % stages
    step: gl.constexpr = a.block_type.shape[1]
    mbarrier.expect(ready.index(slot), a.block_type.nbytes + b.block_type.nbytes)
    row = gl.program_id(0) * a.block_type.shape[0]
    load(a, [row, number * step], ready.index(slot), a_tiles.index(slot))
    load(b, [number * step, 0], ready.index(slot), b_tiles.index(slot))


@gluon.jit
def _store(c, total, layout: gl.constexpr):
    rows: gl.constexpr = total.shape[0]
    columns: gl.constexpr = total.shape[1]
    m = gl.program_id(0) * rows + gl.arange(0, rows, gl.SliceLayout(1, layout))
    n = gl.arange(0, columns, gl.SliceLayout(0, layout))
    gl.store(c + m[:, None] * columns + n[None, :], total)


@gluon.jit
def outstanding(a, b, c, extent, stages: gl.constexpr, pending: gl.constexpr):
    """Leave some products outstanding."""
    layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 128, 16])
    a_tiles, b_tiles, ready = _buffers(a, b, stages)
    for first in gl.static_range(stages - 2):
        _issue(a, b, a_tiles, b_tiles, ready, first, stages)
    total = gl.zeros([128, 128], gl.float32, layout)
    for number in range(gl.cdiv(extent, 64)):
        slot = number % stages
        mbarrier.wait(ready.index(slot), (number // stages) & 1)
        total = warpgroup_mma(a_tiles.index(slot), b_tiles.index(slot), total, is_async=True)
        total = warpgroup_mma_wait(num_outstanding=pending, deps=(total,))
        _issue(a, b, a_tiles, b_tiles, ready, number + stages - 2, stages)
    total = warpgroup_mma_wait(num_outstanding=0, deps=(total,))
    _store(c, total, layout)


@gluon.jit
def two_chains(a, b, c, extent, stages: gl.constexpr, pending: gl.constexpr):
    """Two products an iteration, and one wait for both."""
    layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 128, 16])
    a_tiles, b_tiles, ready = _buffers(a, b, stages)
    for first in gl.static_range(stages - 2):
        _issue(a, b, a_tiles, b_tiles, ready, first, stages)
    one = gl.zeros([128, 128], gl.float32, layout)
    two = gl.zeros([128, 128], gl.float32, layout)
    for number in range(gl.cdiv(extent, 64)):
        slot = number % stages
        mbarrier.wait(ready.index(slot), (number // stages) & 1)
        one = warpgroup_mma(a_tiles.index(slot), b_tiles.index(slot), one, is_async=True)
        two = warpgroup_mma(a_tiles.index(slot), b_tiles.index(slot), two, is_async=True)
        one, two = warpgroup_mma_wait(num_outstanding=pending, deps=(one, two))
        _issue(a, b, a_tiles, b_tiles, ready, number + stages - 2, stages)
    one, two = warpgroup_mma_wait(num_outstanding=0, deps=(one, two))
    _store(c, one + two, layout)


@gluon.jit
def blackwell(a, b, c, extent, stages: gl.constexpr, ahead: gl.constexpr):
    """Wait for the product of some iterations ago."""
    a_tiles, b_tiles, ready = _buffers(a, b, stages)
    done = gl.allocate_shared_memory(gl.int64, [stages, 1], mbarrier.MBarrierLayout())
    for spare in gl.static_range(stages):
        mbarrier.init(done.index(spare), count=1)
    for first in gl.static_range(stages - ahead):
        _issue(a, b, a_tiles, b_tiles, ready, first, stages)
    total = allocate_tensor_memory(gl.float32, [128, 128], TensorMemoryLayout([128, 128], 1))
    for number in range(gl.cdiv(extent, 64)):
        slot = number % stages
        mbarrier.wait(ready.index(slot), (number // stages) & 1)
        tcgen05_mma(a_tiles.index(slot), b_tiles.index(slot), total, use_acc=number > 0)
        tcgen05_commit(done.index(slot))
        before = number + stages - ahead
        mbarrier.wait(done.index(before % stages), (before // stages - 1) & 1, pred=number >= ahead)
        _issue(a, b, a_tiles, b_tiles, ready, before, stages)
    layout: gl.constexpr = total.get_reg_layout()
    _store(c, total.load(layout), layout)


@gluon.jit
def one_commit(a, b, c, extent, stages: gl.constexpr):
    """Two products, one commit behind them, and the wait in the next iteration."""
    a_tiles, b_tiles, ready = _buffers(a, b, stages)
    done = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    for spare in gl.static_range(2):
        mbarrier.init(done.index(spare), count=1)
    for first in gl.static_range(stages - 1):
        _issue(a, b, a_tiles, b_tiles, ready, first, stages)
    tensor_layout: gl.constexpr = TensorMemoryLayout([128, 128], 1)
    one = allocate_tensor_memory(gl.float32, [128, 128], tensor_layout)
    two = allocate_tensor_memory(gl.float32, [128, 128], tensor_layout)
    for number in range(gl.cdiv(extent, 64)):
        slot = number % stages
        mbarrier.wait(ready.index(slot), (number // stages) & 1)
        tcgen05_mma(a_tiles.index(slot), b_tiles.index(slot), one, use_acc=number > 0)
        tcgen05_mma(a_tiles.index(slot), b_tiles.index(slot), two, use_acc=number > 0)
        tcgen05_commit(done.index(number % 2))
        past = number + 1
        mbarrier.wait(done.index(past % 2), (past // 2 - 1) & 1, pred=number > 0)
        _issue(a, b, a_tiles, b_tiles, ready, number + stages - 1, stages)
    layout: gl.constexpr = one.get_reg_layout()
    _store(c, one.load(layout) + two.load(layout), layout)
