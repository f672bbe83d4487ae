"""Short rows that are sorted, each by a program of its own."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "sorted_rows": {
        "sizes": {"n_rows": 4224},
        "args": {"x_ptr": "fp32[n_rows, N]", "out_ptr": "fp32[n_rows, N]"},
        "constexprs": {"N": 128, "FLIP": False},
        "options": {"num_warps": 4},
        "grid": ["n_rows"],
    }
}


@triton.jit
def sorted_rows(x_ptr, out_ptr, N: tl.constexpr, FLIP: tl.constexpr):
    """Store every row in order, or turned round."""
    columns = tl.program_id(0) * N + tl.arange(0, N)
    x = tl.load(x_ptr + columns)
    tl.store(out_ptr + columns, tl.flip(x, 0) if FLIP else tl.sort(x))
