"""Rows of fp16 with a weight and a bias of fp32, of which each thread holds 32 bytes."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "wide_rows": {
        "args": {
            "x": "fp16[64, 8192]", "weight": "fp32[8192]", "bias": "fp32[8192]",
            "y": "fp16[64, 8192]",
        },
        "constexprs": {"COLUMNS": 8192},
        "options": {"num_warps": 8},
        "grid": [64],
    },
}


@triton.jit
def wide_rows(x, weight, bias, y, COLUMNS: tl.constexpr):
    """Scale a row, and shift it."""
    at = tl.arange(0, COLUMNS)
    row = tl.program_id(0) * COLUMNS + at
    tl.store(y + row, tl.load(x + row) * tl.load(weight + at) + tl.load(bias + at))
