"""Layer normalization of rows of any length: mean, variance and output in a loop each.

Registers hold one block of a row, so the row is read three times, ``6 * n_rows * n_cols`` bytes,
and weight and bias once in each program, ``4 * n_rows * n_cols`` bytes, mostly from the L2.
``2 * n_rows * n_cols`` bytes are written. ``layer_norm`` reads a row once, while it fits.
"""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "layer_norm_looped_kernel": {
        "sizes": {"n_rows": 4096, "n_cols": 15_360},
        "args": {
            "input_ptr": "fp16[n_rows, n_cols]",
            "weight_ptr": "fp16[n_cols]",
            "bias_ptr": "fp16[n_cols]",
            "output_ptr": "fp16[n_rows, n_cols]",
            "n_cols": "n_cols",
            "eps": 1e-5,
        },
        "constexprs": {"BLOCK_SIZE": 2048},
        "options": {"num_warps": 8},
        "grid": ["n_rows"],
        "outputs": ["output_ptr"],
        "reference": "layer_norm_reference",
        "tolerance": {"rtol": 2e-3, "atol": 1e-3},
        "traffic": {"read": "10 * n_rows * n_cols", "written": "2 * n_rows * n_cols"},
    }
}


@triton.jit
def layer_norm_looped_kernel(
    input_ptr, weight_ptr, bias_ptr, output_ptr, n_cols, eps, BLOCK_SIZE: tl.constexpr
):
    """Store one normalized row, ``BLOCK_SIZE`` columns at a time."""
    input_ptr += tl.program_id(0).to(tl.int64) * n_cols
    output_ptr += tl.program_id(0).to(tl.int64) * n_cols
    total = tl.zeros((BLOCK_SIZE,), dtype=tl.float32)
    for start in range(0, n_cols, BLOCK_SIZE):
        cols = start + tl.arange(0, BLOCK_SIZE)
        total += tl.load(input_ptr + cols, mask=cols < n_cols, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / n_cols

    squares = tl.zeros((BLOCK_SIZE,), dtype=tl.float32)
    for start in range(0, n_cols, BLOCK_SIZE):
        cols = start + tl.arange(0, BLOCK_SIZE)
        x = tl.load(input_ptr + cols, mask=cols < n_cols, other=0.0).to(tl.float32)
        centered = tl.where(cols < n_cols, x - mean, 0.0)
        squares += centered * centered
    rstd = 1 / tl.sqrt(tl.sum(squares, axis=0) / n_cols + eps)

    for start in range(0, n_cols, BLOCK_SIZE):
        cols = start + tl.arange(0, BLOCK_SIZE)
        mask = cols < n_cols
        x = tl.load(input_ptr + cols, mask=mask).to(tl.float32)
        weight = tl.load(weight_ptr + cols, mask=mask)
        bias = tl.load(bias_ptr + cols, mask=mask)
        tl.store(output_ptr + cols, (x - mean) * rstd * weight + bias, mask=mask)


def layer_norm_reference(input_ptr, weight_ptr, bias_ptr, eps):
    """Return what ``output_ptr`` should hold."""
    from torch.nn.functional import layer_norm

    return layer_norm(input_ptr, weight_ptr.shape, weight_ptr, bias_ptr, eps)
