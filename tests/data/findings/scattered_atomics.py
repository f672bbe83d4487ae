"""Sums at addresses that data decide."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "bins": {
        "sizes": {"n": 1048576},
        "args": {"x_ptr": "int32[n]", "bins_ptr": "int32[256]"},
        "constexprs": {"BLOCK": 1024},
        "options": {"num_warps": 4},
        "grid": ["cdiv(n, BLOCK)"],
    },
    "rows": {
        "sizes": {"V": 32000, "T": 8192},
        "args": {"out_ptr": "fp32[V, D]", "x_ptr": "fp32[T, D]", "ids_ptr": "int64[T]"},
        "constexprs": {"D": 1024},
        "options": {"num_warps": 4},
        "grid": ["T"],
    },
}


@triton.jit
def bins(x_ptr, bins_ptr, BLOCK: tl.constexpr):
    """Count numbers, as a histogram does."""
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))
    tl.atomic_add(bins_ptr + x, 1, sem="relaxed")


@triton.jit
def rows(out_ptr, x_ptr, ids_ptr, D: tl.constexpr):
    """Add rows to those that their numbers name, as an embedding's gradient does."""
    row = tl.load(ids_ptr + tl.program_id(0))
    at = tl.arange(0, D)
    x = tl.load(x_ptr + tl.program_id(0) * D + at)
    tl.atomic_add(out_ptr + row * D + at, x, sem="relaxed")
