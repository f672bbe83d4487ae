"""Gluon kernels that access memory in every way there is."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.amd import cdna3
from triton.experimental.gluon.language.amd.cdna4 import async_copy as lds
from triton.experimental.gluon.language.nvidia.ampere import async_copy
from triton.experimental.gluon.language.nvidia.blackwell import tma as blackwell
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma

# Up to 3.8 these have other names.
copy = getattr(async_copy, "async_load", None) or async_copy.async_copy_global_to_shared
load = getattr(tma, "async_load", None) or tma.async_copy_global_to_shared
store = getattr(tma, "async_store", None) or tma.async_copy_shared_to_global

IRLENS_KERNELS = {
    "masked_copies": {
        "sizes": {"n": 100000}, "args": {"source": "fp32[n]", "target": "fp32[n]", "n": "n"},
        "constexprs": {"block": 1024, "layout": "BlockedLayout([4], [32], [4], [0])"},
        "grid": ["cdiv(n, block)"],
    },
    "bulk_copies": {
        "args": {
            "source": "fp16[1000, 512]:block[128, 64]:NVMMASharedLayout(128, 16, 2)",
            "target": "fp16[1000, 512]:block[128, 64]:NVMMASharedLayout(128, 16, 2)",
            "columns": 512,
        },
        "grid": [8],
    },
    "strided": {
        "args": {"source": "fp32[4194304]", "target": "fp32[1048576]", "stride": 4},
        "constexprs": {"block": 1024, "layout": "BlockedLayout([4], [32], [4], [0])"},
        "grid": [1024],
    },
    "by_data": {
        "args": {"source": "int32[1024]", "target": "int32[1024]"},
        "constexprs": {"block": 1024, "layout": "BlockedLayout([4], [32], [4], [0])"},
        "grid": [1],
    },
    "gather": {
        "args": {
            "source": "fp16[1000, 64]:block[1, 64]:NVMMASharedLayout(128, 16, 2)",
            "target": "fp16[32, 128]:block[1, 64]:NVMMASharedLayout(128, 16, 2)",
        },
        "constexprs": {"step": 3},
        "grid": [4],
    },
    "described": {
        "args": {"source": "fp16[1000, 64]", "target": "fp16[16, 64, 64]", "rows": 1000, "columns": 64},
        "grid": [16],
    },
    "buffers": {
        "sizes": {"n": 100000}, "args": {"source": "fp32[n]", "target": "fp32[n]", "n": "n"},
        "constexprs": {"block": 1024, "layout": "BlockedLayout([4], [64], [4], [0])"},
        "grid": ["cdiv(n, block)"],
    },
    "buffers_to_lds": {
        "sizes": {"n": 100000}, "args": {"source": "fp32[n]", "target": "fp32[n]", "n": "n"},
        "constexprs": {"block": 1024, "layout": "BlockedLayout([4], [64], [4], [0])"},
        "grid": ["cdiv(n, block)"],
    },
}


@gluon.jit
def strided(source, target, stride, block: gl.constexpr, layout: gl.constexpr):
    """Load every so many elements."""
    at = gl.program_id(0) * block + gl.arange(0, block, layout)
    gl.store(target + at, gl.load(source + at * stride))


@gluon.jit
def by_data(source, target, block: gl.constexpr, layout: gl.constexpr):
    """Load what indices in memory say."""
    index = gl.load(source + gl.arange(0, block, layout))
    gl.store(target + gl.arange(0, block, layout), gl.load(source + index))


@gluon.jit
def gather(source, target, step: gl.constexpr):
    """Copy every so many rows, by the TMA."""
    offsets: gl.constexpr = gl.SliceLayout(0, gl.BlockedLayout([1, 4], [32, 1], [1, 4], [1, 0]))
    tile = gl.allocate_shared_memory(source.dtype, [32, 64], source.layout)
    ready = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(ready, count=1)
    mbarrier.expect(ready, 32 * source.block_type.nbytes)
    rows = gl.arange(0, 32, offsets) * step + gl.program_id(0)
    blackwell.async_gather(source, rows, 0, ready, tile)
    mbarrier.wait(ready, 0)
    blackwell.async_scatter(target, gl.arange(0, 32, offsets), 64, tile)
    tma.store_wait(pendings=0)


@gluon.jit
def described(source, target, rows, columns):
    """Copy by a descriptor that the kernel makes."""
    layout: gl.constexpr = gl.NVMMASharedLayout(128, 16, 2)
    a = tma.make_tensor_descriptor(source, [rows, columns], [columns, 1], [64, 64], layout)
    tile = gl.allocate_shared_memory(gl.float16, [64, 64], layout)
    ready = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(ready, count=1)
    mbarrier.expect(ready, a.block_type.nbytes)
    load(a, [gl.program_id(0) * 64, 0], ready, tile)
    mbarrier.wait(ready, 0)
    blocked: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    at = gl.arange(0, 64, gl.SliceLayout(1, blocked))[:, None] * 64
    at = at + gl.arange(0, 64, gl.SliceLayout(0, blocked))[None, :]
    gl.store(target + gl.program_id(0) * 4096 + at, tile.load(blocked))


@gluon.jit
def masked_copies(source, target, n, block: gl.constexpr, layout: gl.constexpr):
    """Copy by way of shared memory."""
    shared: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [0])
    buffer = gl.allocate_shared_memory(gl.float32, [block], shared)
    at = gl.program_id(0) * block + gl.arange(0, block, layout)
    copy(buffer, source + at, mask=at < n)
    async_copy.commit_group()
    async_copy.wait_group(0)
    gl.store(target + at, buffer.load(layout), mask=at < n)


@gluon.jit
def bulk_copies(source, target, columns):
    """Copy rows of tiles by the TMA; the last program's rows are partly outside."""
    rows: gl.constexpr = source.block_type.shape[0]
    step: gl.constexpr = source.block_type.shape[1]
    tile = gl.allocate_shared_memory(source.dtype, source.block_type.shape, source.layout)
    ready = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(ready, count=1)
    phase = 0
    for column in range(0, columns, step):
        mbarrier.expect(ready, source.block_type.nbytes)
        load(source, [gl.program_id(0) * rows, column], ready, tile, pred=column < 256)
        mbarrier.wait(ready, phase)
        phase ^= 1
        store(target, [gl.program_id(0) * rows, column], tile)
        tma.store_wait(pendings=0)
    mbarrier.invalidate(ready)


@gluon.jit
def buffers(source, target, n, block: gl.constexpr, layout: gl.constexpr):
    """Copy by AMD's buffer instructions."""
    at = gl.program_id(0) * block + gl.arange(0, block, layout)
    value = cdna3.buffer_load(source, at, mask=at < n)
    cdna3.buffer_store(value, target, at, mask=at < n)


@gluon.jit
def buffers_to_lds(source, target, n, block: gl.constexpr, layout: gl.constexpr):
    """Copy by way of LDS."""
    shared: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [0])
    buffer = gl.allocate_shared_memory(gl.float32, [block], shared)
    at = gl.program_id(0) * block + gl.arange(0, block, layout)
    lds.buffer_load_to_shared(buffer, source, at, mask=at < n)
    lds.commit_group()
    lds.wait_group(0)
    gl.store(target + at, buffer.load(layout), mask=at < n)
