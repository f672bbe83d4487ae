"""Sums to which many programs add."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "histogram": {
        "sizes": {"n": 65536},
        "args": {"x_ptr": "fp32[n]", "sum_ptr": "fp32[BLOCK]", "old_ptr": "fp32[BLOCK]"},
        "constexprs": {"BLOCK": 1024, "SEM": "'acq_rel'", "KEEP": False},
        "options": {"num_warps": 4},
        "grid": ["cdiv(n, BLOCK)"],
    },
    "total": {
        "sizes": {"n": 65536},
        "args": {"x_ptr": "fp32[n]", "sum_ptr": "fp32[1]"},
        "constexprs": {"BLOCK": 1024},
        "options": {"num_warps": 4},
        "grid": ["cdiv(n, BLOCK)"],
    },
    "exchange": {
        "sizes": {"n": 65536},
        "args": {"x_ptr": "fp32[n]", "sum_ptr": "fp32[n]"},
        "constexprs": {"BLOCK": 1024},
        "options": {"num_warps": 4},
        "grid": ["cdiv(n, BLOCK)"],
    },
}


@triton.jit
def histogram(x_ptr, sum_ptr, old_ptr, BLOCK: tl.constexpr, SEM: tl.constexpr, KEEP: tl.constexpr):
    """Add blocks to one, and keep what was there if asked to."""
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK + at)
    old = tl.atomic_add(sum_ptr + at, x, sem=SEM)
    if KEEP:
        tl.store(old_ptr + at, old)


@triton.jit
def total(x_ptr, sum_ptr, BLOCK: tl.constexpr):
    """Add the sum of each block to one number."""
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))
    tl.atomic_add(sum_ptr, tl.sum(x, axis=0))


@triton.jit
def exchange(x_ptr, sum_ptr, BLOCK: tl.constexpr):
    """Replace values, as the holder of a lock does that gives it back."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_xchg(sum_ptr + at, tl.load(x_ptr + at))
