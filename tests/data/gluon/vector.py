"""A vector that passes through shared memory, with more of it in a thread than it moves at once."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl

IRLENS_KERNELS = {
    "handed_over": {
        "sizes": {"n": 1048576},
        "args": {"x": "fp32[n]", "y": "fp32[n]"},
        "constexprs": {
            "SIZE": 2048,
            "along": "BlockedLayout([16], [32], [4], [0])",
            "other": "BlockedLayout([1], [32], [4], [0])",
            "shared": "SwizzledSharedLayout(vec=1, per_phase=1, max_phase=1, order=[0])",
        },
        "options": {"num_warps": 4},
        "grid": ["n // SIZE"],
    },
}


@gluon.jit
def handed_over(
    x, y, SIZE: gl.constexpr, along: gl.constexpr, other: gl.constexpr, shared: gl.constexpr
):
    """Copy a vector."""
    start = gl.program_id(0) * SIZE
    buffer = gl.allocate_shared_memory(gl.float32, [SIZE], layout=shared)
    buffer.store(gl.load(x + start + gl.arange(0, SIZE, layout=along)))
    gl.store(y + start + gl.arange(0, SIZE, layout=other), buffer.load(other))
