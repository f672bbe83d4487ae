"""The linear layer, its programs ordered so that neighbours share operands in the L2."""

import triton
import triton.language as tl


@triton.jit
def linear(
    x_ptr, w_ptr, bias_ptr, y_ptr, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    across, down = tl.cdiv(N, BN), tl.cdiv(M, BM)
    row, col = tl.swizzle2d(
        tl.program_id(0) // across, tl.program_id(0) % across, down, across, GROUP
    )
    rows = row * BM + tl.arange(0, BM)
    cols = col * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        x = tl.load(x_ptr + rows[:, None] * K + k[None, :])
        w = tl.load(w_ptr + cols[None, :] * K + k[:, None])
        total += tl.dot(x, w)
    total += tl.load(bias_ptr + cols)[None, :]
    tl.store(y_ptr + rows[:, None] * N + cols[None, :], total)


IRLENS_KERNELS = {
    "linear": {
        "sizes": {"M": 8192, "N": 4096, "K": 4096},
        "args": {
            "x_ptr": "bf16[M, K]", "w_ptr": "bf16[N, K]", "bias_ptr": "bf16[N]",
            "y_ptr": "bf16[M, N]", "M": "M", "N": "N", "K": "K",
        },
        "constexprs": {"BM": 128, "BN": 256, "BK": 64, "GROUP": 8},
        "options": {"num_stages": 3, "num_warps": 8},
        "grid": ["cdiv(M, BM) * cdiv(N, BN)"],
    }
}  # fmt: skip
