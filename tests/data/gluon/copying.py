"""A copy in Gluon whose layouts are the caller's: a constexpr's, and a descriptor's."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl

IRLENS_KERNELS = {
    "copy": {
        "args": {"source": "fp32[8192]", "target": "fp32[8192]"},
        "constexprs": {"block": 1024, "layout": "BlockedLayout([4], [32], [4], [0])"},
        "grid": [8],
    },
    "scale": {
        "args": {"source": "fp32[64, 64]:block[64, 32]", "target": "fp32[64, 64]"},
        "grid": [1],
    },
}


@gluon.jit
def copy(source, target, block: gl.constexpr, layout: gl.constexpr):
    """Each program copies one block."""
    at = gl.program_id(0) * block + gl.arange(0, block, layout)
    gl.store(target + at, gl.load(source + at))


@gluon.jit
def scale(source, target, factor: gl.constexpr = 2):
    """Only the descriptor's type is looked at."""
    extent: gl.constexpr = source.block_type.shape[1]
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [gl.num_warps()], [0])
    at = gl.arange(0, extent, layout)
    gl.allocate_shared_memory(source.dtype, source.block_type.shape, source.layout)
    gl.store(target + at, gl.load(target + at) * factor)
