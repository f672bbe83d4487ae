"""Sine and cosine: their slow path, for large arguments, keeps an array in local memory."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "trigonometry": {
        "args": {"x_ptr": "fp32[132, 1024]", "out_ptr": "fp32[132, 1024]"},
        "constexprs": {"SIZE": 1024},
        "options": {"num_warps": 4},
        "grid": [132],
    }
}


@triton.jit
def trigonometry(x_ptr, out_ptr, SIZE: tl.constexpr):
    """Store sin(x) + cos(x)."""
    offsets = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    x = tl.load(x_ptr + offsets)
    tl.store(out_ptr + offsets, tl.sin(x) + tl.cos(x))
