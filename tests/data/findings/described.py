"""A product of two matrices that come by descriptors made on the host."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "described": {
        "sizes": {"M": 4096, "N": 4096, "K": 4096},
        "args": {
            "a_desc": "fp16[M, K]:block[BM, BK]",
            "b_desc": "fp16[K, N] : block [BK, BN]",
            "c_desc": "fp16[M, N]:block[BM, 128]",
            "K": "K",
        },
        "grid": ["cdiv(M, BM)", "cdiv(N, BN)"],
    }
}


def set_blocks(nargs):
    """What an autotuner calls before it launches a configuration."""
    nargs["a_desc"].block_shape = [nargs["BM"], nargs["BK"]]
    nargs["b_desc"].block_shape = [nargs["BK"], nargs["BN"]]
    nargs["c_desc"].block_shape = [nargs["BM"], nargs["BN"]]


CONFIGS = [
    triton.Config({"BM": m, "BN": 128, "BK": 64}, num_warps=8, num_stages=3, pre_hook=set_blocks)
    for m in (64, 128)
]


@triton.autotune(CONFIGS, key=["K"])
@triton.jit
def described(a_desc, b_desc, c_desc, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Store A @ B."""
    m = tl.program_id(0) * BM
    n = tl.program_id(1) * BN
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        total = tl.dot(a_desc.load([m, k]), b_desc.load([k, n]), total)
    c_desc.store([m, n], total.to(tl.float16))
