"""Warp-specialized kernels in Gluon: one partition loads, and the kernel's own warps compute."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
)

# Up to 3.8 these have other names.
copy = getattr(async_copy, "async_load", None) or async_copy.async_copy_global_to_shared
load = getattr(tma, "async_load", None) or tma.async_copy_global_to_shared
store = getattr(tma, "async_store", None) or tma.async_copy_shared_to_global

IRLENS_KERNELS = {
    "matmul": {
        "args": {
            "a": "fp16[4096, 4096]:block[128, 64]:NVMMASharedLayout(128, 16, 2)",
            "b": "fp16[4096, 4096]:block[64, 128]:NVMMASharedLayout(128, 16, 2)",
            "c": "fp16[4096, 4096]:block[128, 128]:NVMMASharedLayout(128, 16, 2)",
            "extent": 4096,
        },
        "constexprs": {"stages": 3, "loader_registers": 24},
        "options": {"num_warps": 4},
        "grid": [32, 32],
    },
    "add_rows": {
        "args": {"source": "fp32[1048576]", "target": "fp32[1024]", "rows": 1024},
        "options": {"num_warps": 8},
        "grid": [1],
    },
}


@gluon.jit
def load_tiles(a, b, a_tiles, b_tiles, ready, free, extent, stages: gl.constexpr):
    """Copy tile after tile, as soon as there is room for one."""
    step: gl.constexpr = a.block_type.shape[1]
    size: gl.constexpr = a.block_type.nbytes + b.block_type.nbytes
    row = gl.program_id(0) * a.block_type.shape[0]
    column = gl.program_id(1) * b.block_type.shape[1]
    for number in range(gl.cdiv(extent, step)):
        slot = number % stages
        mbarrier.wait(free.index(slot), ((number // stages) & 1) ^ 1)
        mbarrier.expect(ready.index(slot), size)
        load(a, [row, number * step], ready.index(slot), a_tiles.index(slot))
        load(b, [number * step, column], ready.index(slot), b_tiles.index(slot))


@gluon.jit
def multiply(c, a_tiles, b_tiles, ready, free, extent, step: gl.constexpr, stages: gl.constexpr):
    """Multiply tile after tile, and store the sum."""
    rows: gl.constexpr = c.block_type.shape[0]
    columns: gl.constexpr = c.block_type.shape[1]
    layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [gl.num_warps(), 1], [16, columns, 16])
    total = gl.zeros([rows, columns], gl.float32, layout)
    for number in range(gl.cdiv(extent, step)):
        slot = number % stages
        mbarrier.wait(ready.index(slot), (number // stages) & 1)
        total = warpgroup_mma(a_tiles.index(slot), b_tiles.index(slot), total, is_async=False)
        mbarrier.arrive(free.index(slot), count=1)
    tile = gl.allocate_shared_memory(c.dtype, c.block_type.shape, c.layout)
    tile.store(total.to(c.dtype))
    fence_async_shared()
    store(c, [gl.program_id(0) * rows, gl.program_id(1) * columns], tile)
    tma.store_wait(pendings=0)


@gluon.jit
def matmul(a, b, c, extent, stages: gl.constexpr, loader_registers: gl.constexpr):
    """Store one tile of a product; bulk copies fill a ring of buffers."""
    step: gl.constexpr = a.block_type.shape[1]
    a_tiles = gl.allocate_shared_memory(a.dtype, [stages, a.block_type.shape[0], step], a.layout)
    b_tiles = gl.allocate_shared_memory(b.dtype, [stages, step, b.block_type.shape[1]], b.layout)
    ready = gl.allocate_shared_memory(gl.int64, [stages, 1], mbarrier.MBarrierLayout())
    free = gl.allocate_shared_memory(gl.int64, [stages, 1], mbarrier.MBarrierLayout())
    for slot in gl.static_range(stages):
        mbarrier.init(ready.index(slot), count=1)
        mbarrier.init(free.index(slot), count=1)
    gl.warp_specialize(
        [
            (multiply, (c, a_tiles, b_tiles, ready, free, extent, step, stages)),
            (load_tiles, (a, b, a_tiles, b_tiles, ready, free, extent, stages)),
        ],
        [1],
        [loader_registers],
    )


@gluon.jit
def copy_rows(source, buffers, ready, free, rows):
    """Copy row after row, two ahead."""
    layout: gl.constexpr = gl.BlockedLayout([4], [32], [gl.num_warps()], [0])
    extent: gl.constexpr = buffers.shape[1]
    at = gl.arange(0, extent, layout)
    for row in gl.static_range(2):
        copy(buffers.index(row), source + row * extent + at)
        async_copy.commit_group()
    for row in range(rows):
        ahead = row + 2
        copy(buffers.index(ahead % 3), source + ahead * extent + at)
        async_copy.commit_group()
        async_copy.wait_group(2)
        mbarrier.arrive(ready, count=1)
        mbarrier.wait(free, row & 1)


@gluon.jit
def add(target, buffers, ready, free, rows):
    """Add up the rows."""
    layout: gl.constexpr = gl.BlockedLayout([4], [32], [gl.num_warps()], [0])
    extent: gl.constexpr = buffers.shape[1]
    at = gl.arange(0, extent, layout)
    total = gl.zeros([extent], gl.float32, layout)
    for row in range(rows):
        mbarrier.wait(ready, row & 1)
        total += buffers.index(row % 3).load(layout)
        mbarrier.arrive(free, count=1)
    gl.store(target + at, total)


@gluon.jit
def add_rows(source, target, rows):
    """Add up rows; two more warps copy them by ``cp.async``."""
    shared: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [0])
    buffers = gl.allocate_shared_memory(gl.float32, [3, 1024], shared)
    ready = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    free = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(ready, count=1)
    mbarrier.init(free, count=1)
    gl.warp_specialize(
        [
            (add, (target, buffers, ready, free, rows)),
            (copy_rows, (source, buffers, ready, free, rows)),
        ],
        [2],
        [24],
    )
