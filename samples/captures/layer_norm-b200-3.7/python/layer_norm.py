"""Layer normalization of a row in one program: mean, variance around it, scale and shift.

By default 16 warps hold 16,384 columns, 32 a thread, and registers decide how many programs share
an SM. That is a close call: for sm_100, Triton 3.6 takes 64 registers and later versions more, so
that one program fits where two did (triton-lang/triton issue 11127).
"""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "layer_norm_kernel": {
        "sizes": {"n_rows": 4096, "n_cols": 15_360},
        "args": {
            "input_ptr": "fp16[n_rows, n_cols]",
            "weight_ptr": "fp16[n_cols]",
            "bias_ptr": "fp16[n_cols]",
            "output_ptr": "fp16[n_rows, n_cols]",
            "input_row_stride": "n_cols",
            "output_row_stride": "n_cols",
            "n_cols": "n_cols",
            "eps": 1e-5,
        },
        "constexprs": {"BLOCK_SIZE": "next_power_of_2(n_cols)"},
        "options": {"num_warps": 16},
        "grid": ["n_rows"],
        "outputs": ["output_ptr"],
        "reference": "layer_norm_reference",
        "tolerance": {"rtol": 2e-3, "atol": 1e-3},
    }
}


@triton.jit
def layer_norm_kernel(
    input_ptr,
    weight_ptr,
    bias_ptr,
    output_ptr,
    input_row_stride,
    output_row_stride,
    n_cols,
    eps,
    BLOCK_SIZE: tl.constexpr,
):
    """Store one normalized row; ``BLOCK_SIZE`` must cover all of it."""
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    x = tl.load(input_ptr + row * input_row_stride + cols, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / n_cols
    centered = x - mean
    variance = tl.sum(tl.where(mask, centered * centered, 0.0), axis=0) / n_cols
    rstd = 1 / tl.sqrt(variance + eps)
    weight = tl.load(weight_ptr + cols, mask=mask)
    bias = tl.load(bias_ptr + cols, mask=mask)
    output = centered * rstd * weight + bias
    tl.store(output_ptr + row * output_row_stride + cols, output, mask=mask)


def layer_norm_reference(input_ptr, weight_ptr, bias_ptr, eps):
    """Return what ``output_ptr`` should hold."""
    from torch.nn.functional import layer_norm

    return layer_norm(input_ptr, weight_ptr.shape, weight_ptr, bias_ptr, eps)
