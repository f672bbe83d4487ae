"""A constant of a wider type than the data."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "halved": {
        "sizes": {"n": 1048576},
        "args": {"x_ptr": "fp32[n]", "y_ptr": "fp32[n]"},
        "constexprs": {"BLOCK": 1024, "WIDE": True},
        "options": {"num_warps": 4},
        "grid": ["n // BLOCK"],
    },
}


@triton.jit
def halved(x_ptr, y_ptr, BLOCK: tl.constexpr, WIDE: tl.constexpr):
    """Halve numbers, and add one, 16 times."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    half = tl.full((BLOCK,), 0.5, tl.float64 if WIDE else tl.float32)
    for _ in range(16):
        x = (x * half + 1.0).to(tl.float32)
    tl.store(y_ptr + at, x.to(y_ptr.dtype.element_ty))
