"""Sum of every column: a program takes ``BLOCK_N`` columns and walks down the rows.

The input is read once, ``4 * n_rows * n_cols`` bytes, and one value is written for each column,
``4 * n_cols`` bytes. Lanes are added once, at the end. Few columns make many programs, and many
rows many bytes in flight: 32 rows and 64 columns take three times as long on a GPU of 132 SMs.
"""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "column_sum_kernel": {
        "sizes": {"n_rows": 4096, "n_cols": 8192},
        "args": {
            "input_ptr": "fp32[n_rows, n_cols]",
            "output_ptr": "fp32[n_cols]",
            "n_rows": "n_rows",
            "n_cols": "n_cols",
        },
        "constexprs": {"BLOCK_M": 64, "BLOCK_N": 16},
        "options": {"num_warps": 8},
        "grid": ["cdiv(n_cols, BLOCK_N)"],
        "outputs": ["output_ptr"],
        "reference": "column_sum_reference",
        "tolerance": {"rtol": 1e-5, "atol": 1e-3},
        "traffic": {"read": "4 * n_rows * n_cols", "written": "4 * n_cols"},
    }
}


@triton.jit
def column_sum_kernel(
    input_ptr, output_ptr, n_rows, n_cols, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr
):
    """Store the sums of ``BLOCK_N`` columns, taken ``BLOCK_M`` rows at a time."""
    cols = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in tl.range(0, n_rows, BLOCK_M):
        rows = start + tl.arange(0, BLOCK_M)
        mask = (rows[:, None] < n_rows) & (cols[None, :] < n_cols)
        offsets = rows[:, None] * n_cols + cols[None, :]
        total += tl.load(input_ptr + offsets, mask=mask, other=0.0)
    tl.store(output_ptr + cols, tl.sum(total, axis=0), mask=cols < n_cols)


def column_sum_reference(input_ptr):
    """Return what ``output_ptr`` should hold."""
    return input_ptr.sum(dim=0)
