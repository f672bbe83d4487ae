"""Softmax with one program for each row, which stays in registers from load to store.

Every element is read once and written once, ``4 * n_rows * n_cols`` bytes each: no softmax moves
less. Compare with ``softmax_naive``, which keeps nothing in registers, ``softmax``, whose programs
take several rows, and ``softmax_online``, for rows that registers cannot hold.
"""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "softmax_rows_kernel": {
        "sizes": {"n_rows": 4096, "n_cols": 1024},
        "args": {
            "output_ptr": "fp32[n_rows, n_cols]",
            "input_ptr": "fp32[n_rows, n_cols]",
            "n_cols": "n_cols",
        },
        "constexprs": {"BLOCK_SIZE": "next_power_of_2(n_cols)"},
        "options": {"num_warps": 4},
        "grid": ["n_rows"],
        "outputs": ["output_ptr"],
        "reference": "softmax_reference",
        "tolerance": {"rtol": 1e-5, "atol": 1e-6},
        "traffic": {"read": "4 * n_rows * n_cols", "written": "4 * n_rows * n_cols"},
    }
}


@triton.jit
def softmax_rows_kernel(output_ptr, input_ptr, n_cols, BLOCK_SIZE: tl.constexpr):
    """Store the softmax of one row; ``BLOCK_SIZE`` must cover all of it."""
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    x = tl.load(input_ptr + row * n_cols + cols, mask=mask, other=-float("inf"))
    numerator = tl.exp(x - tl.max(x, axis=0))
    output = numerator / tl.sum(numerator, axis=0)
    tl.store(output_ptr + row * n_cols + cols, output, mask=mask)


def softmax_reference(input_ptr):
    """Return what ``output_ptr`` should hold."""
    return input_ptr.softmax(dim=-1)
