"""The linear layer with tensor descriptors: on Hopper the copy engine moves whole tiles."""

import triton
import triton.language as tl


@triton.jit
def linear(
    x_desc, w_desc, bias_ptr, y_desc, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    across, down = tl.cdiv(N, BN), tl.cdiv(M, BM)
    row, col = tl.swizzle2d(
        tl.program_id(0) // across, tl.program_id(0) % across, down, across, GROUP
    )
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        x = x_desc.load([row * BM, start])
        w = w_desc.load([col * BN, start])
        total = tl.dot(x, w.T, total)
    total += tl.load(bias_ptr + col * BN + tl.arange(0, BN))[None, :]
    y_desc.store([row * BM, col * BN], total.to(y_desc.dtype))


IRLENS_KERNELS = {
    "linear": {
        "sizes": {"M": 8192, "N": 4096, "K": 4096},
        "args": {
            "x_desc": "bf16[M, K]:block[BM, BK]", "w_desc": "bf16[N, K]:block[BN, BK]",
            "bias_ptr": "bf16[N]", "y_desc": "bf16[M, N]:block[BM, BN]", "M": "M", "N": "N", "K": "K",
        },
        "constexprs": {"BM": 128, "BN": 256, "BK": 64, "GROUP": 8},
        "options": {"num_stages": 3, "num_warps": 8},
        "grid": ["cdiv(M, BM) * cdiv(N, BN)"],
    }
}  # fmt: skip
