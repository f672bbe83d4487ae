"""Softmax of rows of any length, block by block, with a running maximum and sum.

After "Online normalizer calculation for softmax" (Milakov and Gimelshein, 2018). The first loop
finds maximum and sum together, the second stores: every element is read twice and written once,
``8 * n_rows * n_cols`` bytes read and ``4 * n_rows * n_cols`` written. The second read of a row
that the L2 still holds costs no DRAM traffic.
"""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "softmax_online_kernel": {
        "sizes": {"n_rows": 4096, "n_cols": 50_304},
        "args": {
            "output_ptr": "fp32[n_rows, n_cols]",
            "input_ptr": "fp32[n_rows, n_cols]",
            "n_cols": "n_cols",
        },
        "constexprs": {"BLOCK_SIZE": 4096},
        "options": {"num_warps": 8},
        "grid": ["n_rows"],
        "outputs": ["output_ptr"],
        "reference": "softmax_reference",
        "tolerance": {"rtol": 1e-5, "atol": 1e-6},
        "traffic": {"read": "8 * n_rows * n_cols", "written": "4 * n_rows * n_cols"},
    }
}


@triton.jit
def softmax_online_kernel(output_ptr, input_ptr, n_cols, BLOCK_SIZE: tl.constexpr):
    """Store the softmax of one row, ``BLOCK_SIZE`` columns at a time."""
    row = tl.program_id(0).to(tl.int64) * n_cols
    # Each lane keeps its own maximum and sum: lanes meet once, after the loop.
    largest = tl.full((BLOCK_SIZE,), -float("inf"), dtype=tl.float32)
    total = tl.zeros((BLOCK_SIZE,), dtype=tl.float32)
    for start in tl.range(0, n_cols, BLOCK_SIZE):
        cols = start + tl.arange(0, BLOCK_SIZE)
        mask = cols < n_cols
        x = tl.load(input_ptr + row + cols, mask=mask, other=-float("inf"))
        new_largest = tl.maximum(largest, x)
        # A lane that has seen no element would subtract infinity from infinity.
        shift = tl.where(new_largest == -float("inf"), 0.0, new_largest)
        total = total * tl.exp(largest - shift) + tl.exp(x - shift)
        largest = new_largest
    row_max = tl.max(largest, axis=0)
    row_sum = tl.sum(total * tl.exp(largest - row_max), axis=0)
    for start in tl.range(0, n_cols, BLOCK_SIZE):
        cols = start + tl.arange(0, BLOCK_SIZE)
        mask = cols < n_cols
        x = tl.load(input_ptr + row + cols, mask=mask)
        tl.store(output_ptr + row + cols, tl.exp(x - row_max) / row_sum, mask=mask)


def softmax_reference(input_ptr):
    """Return what ``output_ptr`` should hold."""
    return input_ptr.softmax(dim=-1)
