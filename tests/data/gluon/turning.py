"""A tile that is stored to shared memory along its rows and read down its columns."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl

IRLENS_KERNELS = {
    "turn": {
        "sizes": {"n": 1024},
        "args": {"x": "fp32[n, n]", "y": "fp32[n, n]", "stride": "n"},
        "constexprs": {
            "SIZE": 64,
            "along": "BlockedLayout([1, 4], [2, 16], [4, 1], [1, 0])",
            "down": "BlockedLayout([4, 1], [16, 2], [1, 4], [0, 1])",
            "shared": "SwizzledSharedLayout(vec=1, per_phase=1, max_phase=1, order=[1, 0])",
        },
        "options": {"num_warps": 4},
        "grid": ["cdiv(n, SIZE)", "cdiv(n, SIZE)"],
    },
}


@gluon.jit
def turn(
    x, y, stride, SIZE: gl.constexpr,
    along: gl.constexpr, down: gl.constexpr, shared: gl.constexpr,
):  # fmt: skip
    """Transpose a tile."""
    row, column = gl.program_id(0) * SIZE, gl.program_id(1) * SIZE
    rows = row + gl.arange(0, SIZE, layout=gl.SliceLayout(1, along))
    columns = column + gl.arange(0, SIZE, layout=gl.SliceLayout(0, along))
    buffer = gl.allocate_shared_memory(gl.float32, [SIZE, SIZE], layout=shared)
    buffer.store(gl.load(x + rows[:, None] * stride + columns[None, :]))
    rows = row + gl.arange(0, SIZE, layout=gl.SliceLayout(1, down))
    columns = column + gl.arange(0, SIZE, layout=gl.SliceLayout(0, down))
    gl.store(y + columns[None, :] * stride + rows[:, None], buffer.load(down))
