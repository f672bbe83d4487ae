"""Sums of short rows, one or several per program."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "short_rows": {
        "sizes": {"n_rows": 4224},
        "args": {"x_ptr": "fp32[n_rows, N]", "out_ptr": "fp32[n_rows]"},
        "constexprs": {"M": 1, "N": 128},
        "options": {"num_warps": 4},
        "grid": ["cdiv(n_rows, M)"],
    }
}


@triton.jit
def short_rows(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr):
    """Store the sum of every row."""
    rows = tl.program_id(0) * M + tl.arange(0, M)
    x = tl.load(x_ptr + rows[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(out_ptr + rows, tl.sum(x, axis=1))
