"""Rows of which each program keeps the first columns; a smaller tile would keep fewer."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "first_columns": {
        "args": {"x": "fp32[600, 32768]", "out": "fp32[600, KEPT]", "columns": 32768},
        "constexprs": {"KEPT": 16384},
        "options": {"num_warps": 8},
        "grid": [600],
    },
}


@triton.jit
def first_columns(x, out, columns, KEPT: tl.constexpr):
    """Copy the first columns of a row."""
    row = tl.program_id(0)
    at = tl.arange(0, KEPT)
    tl.store(out + row * KEPT + at, tl.load(x + row * columns + at))
