"""Kernels whose rows start off the boundaries of sectors."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "rows": {
        "sizes": {"n_rows": 512, "n_cols": 1008},
        "args": {
            "x_ptr": "i8[n_rows, n_cols]",
            "y_ptr": "i8[n_rows, 1024]",
            "stride": "n_cols",
        },
        "constexprs": {"BLOCK": 128},
        "options": {"num_warps": 1},
        "grid": ["n_rows"],
        "outputs": ["y_ptr"],
    },
    "shifted": {
        "sizes": {"n": 65536},
        "args": {"x_ptr": "fp32[n + 1]", "y_ptr": "fp32[n]"},
        "constexprs": {"BLOCK": 128},
        "options": {"num_warps": 4},
        "grid": ["n // BLOCK"],
        "outputs": ["y_ptr"],
    },
    "ragged": {
        "sizes": {"n_rows": 512, "n_cols": 781},
        "args": {
            "x_ptr": "fp32[n_rows, n_cols]",
            "y_ptr": "fp32[n_rows, 1024]",
            "stride": "n_cols",
        },
        "constexprs": {"BLOCK": 512},
        "options": {"num_warps": 4},
        "grid": ["n_rows"],
        "outputs": ["y_ptr"],
    },
}


@triton.jit
def rows(x_ptr, y_ptr, stride, BLOCK: tl.constexpr):
    """Copy the beginning of a row."""
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    tl.store(y_ptr + row * 1024 + columns, tl.load(x_ptr + row * stride + columns))


@triton.jit
def shifted(x_ptr, y_ptr, BLOCK: tl.constexpr):
    """Copy each element from the one after it."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets + 1))


@triton.jit
def ragged(x_ptr, y_ptr, stride, BLOCK: tl.constexpr):
    """Copy the beginning of a row that starts at any element."""
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    tl.store(y_ptr + row * 1024 + columns, tl.load(x_ptr + row * stride + columns))
