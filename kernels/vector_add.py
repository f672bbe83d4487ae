"""Element-wise addition: the smallest kernel that reads and writes memory."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "vector_add_kernel": {
        "sizes": {"n_elements": 33_554_432},
        "args": {
            "x_ptr": "fp32[n_elements]",
            "y_ptr": "fp32[n_elements]",
            "output_ptr": "fp32[n_elements]",
            "n_elements": "n_elements",
        },
        "constexprs": {"BLOCK_SIZE": 1024},
        "options": {"num_warps": 4},
        "grid": ["cdiv(n_elements, BLOCK_SIZE)"],
        "outputs": ["output_ptr"],
        "reference": "vector_add_reference",
        "tolerance": {"rtol": 0.0, "atol": 0.0},
    }
}


@triton.jit
def vector_add_kernel(x_ptr, y_ptr, output_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    """Store ``x + y``; each program handles ``BLOCK_SIZE`` neighbouring elements."""
    offsets = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(output_ptr + offsets, x + y, mask=mask)


def vector_add_reference(x_ptr, y_ptr):
    """Return what ``output_ptr`` should hold."""
    return x_ptr + y_ptr
