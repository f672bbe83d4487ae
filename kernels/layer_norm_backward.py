"""Gradients of layer normalization, with the sums over rows left as one partial for each program.

Mean and variance are computed again from the input, which costs no memory traffic, since the row
is in registers anyway. A program takes every ``n_programs``-th row: input and output gradient are
read once, ``8 * n_rows * n_cols`` bytes, the weight once by each program, ``4 * n_programs *
n_cols``; written are the input's gradient, ``4 * n_rows * n_cols``, and two rows of partial sums
by each program, ``8 * n_programs * n_cols``. ``column_sum`` adds these: no atomics, and the same
result on every run.
"""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "layer_norm_backward_kernel": {
        "sizes": {"n_rows": 4096, "n_cols": 4096, "n_programs": 256},
        "args": {
            "input_ptr": "fp32[n_rows, n_cols]",
            "weight_ptr": "fp32[n_cols]",
            "grad_output_ptr": "fp32[n_rows, n_cols]",
            "grad_input_ptr": "fp32[n_rows, n_cols]",
            "grad_weight_ptr": "fp32[n_programs, n_cols]",
            "grad_bias_ptr": "fp32[n_programs, n_cols]",
            "n_rows": "n_rows",
            "n_cols": "n_cols",
            "eps": 1e-5,
        },
        "constexprs": {"BLOCK_SIZE": "next_power_of_2(n_cols)"},
        "options": {"num_warps": 8},
        "grid": ["n_programs"],
        "outputs": ["grad_input_ptr", "grad_weight_ptr", "grad_bias_ptr"],
        "reference": "layer_norm_backward_reference",
        "tolerance": {"rtol": 1e-4, "atol": 1e-4},
        "traffic": {
            "read": "8 * n_rows * n_cols + 4 * n_programs * n_cols",
            "written": "4 * n_rows * n_cols + 8 * n_programs * n_cols",
        },
    }
}


@triton.jit
def layer_norm_backward_kernel(
    input_ptr,
    weight_ptr,
    grad_output_ptr,
    grad_input_ptr,
    grad_weight_ptr,
    grad_bias_ptr,
    n_rows,
    n_cols,
    eps,
    BLOCK_SIZE: tl.constexpr,
):
    """Store the gradients of every ``num_programs``-th row; ``BLOCK_SIZE`` must cover a row."""
    program = tl.program_id(0)
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    weight = tl.load(weight_ptr + cols, mask=mask, other=0.0)
    grad_weight = tl.zeros((BLOCK_SIZE,), dtype=tl.float32)
    grad_bias = tl.zeros((BLOCK_SIZE,), dtype=tl.float32)
    for row in tl.range(program, n_rows, tl.num_programs(0)):
        x = tl.load(input_ptr + row * n_cols + cols, mask=mask, other=0.0)
        grad = tl.load(grad_output_ptr + row * n_cols + cols, mask=mask, other=0.0)
        centered = tl.where(mask, x - tl.sum(x, axis=0) / n_cols, 0.0)
        rstd = 1 / tl.sqrt(tl.sum(centered * centered, axis=0) / n_cols + eps)
        normalized = centered * rstd
        # What of the gradient would only move the row's mean or scale it has no effect.
        scaled = weight * grad
        along = tl.sum(scaled * normalized, axis=0) / n_cols
        grad_input = (scaled - tl.sum(scaled, axis=0) / n_cols - normalized * along) * rstd
        tl.store(grad_input_ptr + row * n_cols + cols, grad_input, mask=mask)
        grad_weight += grad * normalized
        grad_bias += grad
    tl.store(grad_weight_ptr + program * n_cols + cols, grad_weight, mask=mask)
    tl.store(grad_bias_ptr + program * n_cols + cols, grad_bias, mask=mask)


def layer_norm_backward_reference(input_ptr, weight_ptr, grad_output_ptr, grad_weight_ptr, eps):
    """Return what the gradients should hold: those of weight and bias for each program."""
    import torch
    from torch.nn.functional import layer_norm

    programs = grad_weight_ptr.shape[0]
    inputs = input_ptr.requires_grad_()
    layer_norm(inputs, weight_ptr.shape, weight_ptr, None, eps).backward(grad_output_ptr)
    normalized = layer_norm(input_ptr.detach(), weight_ptr.shape, None, None, eps)
    terms = grad_output_ptr * normalized
    grad_weight = torch.stack([terms[first::programs].sum(0) for first in range(programs)])
    grad_bias = torch.stack([grad_output_ptr[first::programs].sum(0) for first in range(programs)])
    return inputs.grad, grad_weight, grad_bias
