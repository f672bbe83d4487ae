"""A sum of a matrix and a transposed one, whose tiles lie in different orders."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "transposed_sum": {
        "sizes": {"M": 4096, "N": 4096},
        "args": {
            "x_ptr": "fp32[M, N]", "y_ptr": "fp32[N, M]", "z_ptr": "fp32[M, N]", "M": "M", "N": "N",
        },
        "constexprs": {"BM": 64, "BN": 64, "STAGES": None, "TRANSPOSED": True},
        "options": {"num_warps": 4},
        "grid": ["M // BM"],
    }
}  # fmt: skip


@triton.jit
def transposed_sum(
    x_ptr, y_ptr, z_ptr, M, N,
    BM: tl.constexpr, BN: tl.constexpr, STAGES: tl.constexpr, TRANSPOSED: tl.constexpr,
):  # fmt: skip
    """Add a transposed matrix, or one that is not."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    for start in tl.range(0, N, BN, num_stages=STAGES):
        columns = start + tl.arange(0, BN)
        x = tl.load(x_ptr + rows[:, None] * N + columns[None, :])
        if TRANSPOSED:
            y = tl.trans(tl.load(y_ptr + columns[:, None] * M + rows[None, :]))
        else:
            y = tl.load(y_ptr + rows[:, None] * N + columns[None, :])
        tl.store(z_ptr + rows[:, None] * N + columns[None, :], x + y)
