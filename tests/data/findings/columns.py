"""Reads a matrix along its rows or down its columns."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "columns": {
        "sizes": {"n": 4096},
        "args": {
            "x_ptr": "fp32[n, n]",
            "out_ptr": "fp32[n, 1024]",
            "row_stride": 1,
            "column_stride": "n",
        },
        "constexprs": {"SIZE": 1024},
        "options": {"num_warps": 4},
        "grid": ["n"],
    },
    "gather": {
        "sizes": {"n": 4096},
        "args": {"x_ptr": "fp32[n]", "index_ptr": "i32[n]", "out_ptr": "fp32[n]"},
        "constexprs": {"SIZE": 1024},
        "options": {"num_warps": 4},
        "grid": [132],
    },
    "untold": {
        "sizes": {"n": 4096},
        "args": {"x_ptr": "fp32[n, n]", "out_ptr": "fp32[n, 1024]", "row_stride": "n"},
        "constexprs": {"SIZE": 1024},
        "options": {"num_warps": 4},
        "grid": ["n"],
    },
    "heads": {
        "sizes": {"n": 4096},
        "args": {"x_ptr": "fp32[n, n]", "out_ptr": "fp32[n]", "n": "n"},
        "constexprs": {"SIZE": 128},
        "options": {"num_warps": 4},
        "grid": ["n // SIZE"],
    },
    "strip": {
        "sizes": {"n": 4096},
        "args": {"x_ptr": "fp32[n, n]", "out_ptr": "fp32[n]"},
        "constexprs": {"HEIGHT": 256, "WIDTH": 2},
        "options": {"num_warps": 4},
        "grid": ["cdiv(n, WIDTH)"],
    },
}


@triton.jit
def columns(x_ptr, out_ptr, row_stride, column_stride, SIZE: tl.constexpr):
    """Copy part of one row, or of a column, to a row."""
    program = tl.program_id(0)
    offsets = tl.arange(0, SIZE)
    x = tl.load(x_ptr + program * row_stride + offsets * column_stride)
    tl.store(out_ptr + program * SIZE + offsets, x)


@triton.jit
def gather(x_ptr, index_ptr, out_ptr, SIZE: tl.constexpr):
    """Copy what the indices name."""
    offsets = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    tl.store(out_ptr + offsets, tl.load(x_ptr + tl.load(index_ptr + offsets)))


@triton.jit
def heads(x_ptr, out_ptr, n, SIZE: tl.constexpr):
    """Add up rows, a column after the other."""
    rows = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    total = tl.zeros([SIZE], tl.float32)
    for column in range(n):
        total += tl.load(x_ptr + rows * n + column)
    tl.store(out_ptr + rows, total)


@triton.jit
def strip(x_ptr, out_ptr, HEIGHT: tl.constexpr, WIDTH: tl.constexpr):
    """Store the sums of a few columns."""
    rows = tl.arange(0, HEIGHT)
    columns = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
    x = tl.load(x_ptr + rows[:, None] * 4096 + columns[None, :])
    tl.store(out_ptr + columns, tl.sum(x, axis=0))


@triton.jit(do_not_specialize=["row_stride"])
def untold(x_ptr, out_ptr, row_stride, SIZE: tl.constexpr):
    """Copy part of a row, whose beginning the compiler knows nothing of."""
    program = tl.program_id(0)
    offsets = tl.arange(0, SIZE)
    x = tl.load(x_ptr + program * row_stride + offsets)
    tl.store(out_ptr + program * SIZE + offsets, x)
