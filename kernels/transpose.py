"""Transpose by square tiles: both the load and the store run along rows.

Every element is read once and written once, ``4 * n_rows * n_cols`` bytes each. Turning a tile
inside the program takes shared memory; without it, either the load or the store would run down a
column, one sector for each element.
"""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "transpose_kernel": {
        "sizes": {"n_rows": 8192, "n_cols": 8192},
        "args": {
            "input_ptr": "fp32[n_rows, n_cols]",
            "output_ptr": "fp32[n_cols, n_rows]",
            "n_rows": "n_rows",
            "n_cols": "n_cols",
        },
        "constexprs": {"BLOCK_SIZE": 64},
        "options": {"num_warps": 4},
        "grid": ["cdiv(n_cols, BLOCK_SIZE)", "cdiv(n_rows, BLOCK_SIZE)"],
        "outputs": ["output_ptr"],
        "reference": "transpose_reference",
        "tolerance": {"rtol": 0.0, "atol": 0.0},
        "traffic": {"read": "4 * n_rows * n_cols", "written": "4 * n_rows * n_cols"},
    }
}


@triton.jit
def transpose_kernel(input_ptr, output_ptr, n_rows, n_cols, BLOCK_SIZE: tl.constexpr):
    """Store one transposed tile of ``BLOCK_SIZE`` x ``BLOCK_SIZE``."""
    cols = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    rows = tl.program_id(1) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = (rows[:, None] < n_rows) & (cols[None, :] < n_cols)
    tile = tl.load(input_ptr + rows[:, None] * n_cols + cols[None, :], mask=mask)
    tl.store(output_ptr + cols[:, None] * n_rows + rows[None, :], tile.T, mask=mask.T)


def transpose_reference(input_ptr):
    """Return what ``output_ptr`` should hold."""
    return input_ptr.T
