"""RMS normalization of a row in one program: divide by the root mean square, then scale.

The input is read once and the output written once, ``2 * n_rows * n_cols`` bytes each; each
program also reads the weights, ``2 * n_cols`` bytes, which the L2 holds after the first.
"""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "rms_norm_kernel": {
        "sizes": {"n_rows": 4096, "n_cols": 8192},
        "args": {
            "input_ptr": "fp16[n_rows, n_cols]",
            "weight_ptr": "fp16[n_cols]",
            "output_ptr": "fp16[n_rows, n_cols]",
            "n_cols": "n_cols",
            "eps": 1e-6,
        },
        "constexprs": {"BLOCK_SIZE": "next_power_of_2(n_cols)"},
        "options": {"num_warps": 8},
        "grid": ["n_rows"],
        "outputs": ["output_ptr"],
        "reference": "rms_norm_reference",
        "tolerance": {"rtol": 2e-3, "atol": 1e-4},
        "traffic": {"read": "4 * n_rows * n_cols", "written": "2 * n_rows * n_cols"},
    }
}


@triton.jit
def rms_norm_kernel(input_ptr, weight_ptr, output_ptr, n_cols, eps, BLOCK_SIZE: tl.constexpr):
    """Store one normalized row; ``BLOCK_SIZE`` must cover all of it."""
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    x = tl.load(input_ptr + row * n_cols + cols, mask=mask, other=0.0).to(tl.float32)
    rms = tl.sqrt(tl.sum(x * x, axis=0) / n_cols + eps)
    weight = tl.load(weight_ptr + cols, mask=mask)
    tl.store(output_ptr + row * n_cols + cols, x / rms * weight, mask=mask)


def rms_norm_reference(input_ptr, weight_ptr, eps):
    """Return what ``output_ptr`` should hold."""
    x = input_ptr.float()
    rms = (x.square().mean(dim=-1, keepdim=True) + eps).sqrt()
    return (x / rms * weight_ptr.float()).to(input_ptr.dtype)
