"""Rows of which each program sees the first columns; a smaller tile would see fewer."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "first_maximum": {
        "args": {"x": "fp32[300, 32768]", "out": "fp32[300]", "columns": 32768},
        "constexprs": {"SEEN": 16384},
        "options": {"num_warps": 32},
        "grid": [300],
    },
}


@triton.jit
def first_maximum(x, out, columns, SEEN: tl.constexpr):
    """Store as much of a row, whatever is seen of it."""
    row = tl.program_id(0)
    at = tl.arange(0, SEEN)
    tl.store(out + row, tl.max(tl.load(x + row * columns + at)))
