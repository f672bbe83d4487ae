"""Products of small matrices, whatever their type, tile and precision."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "dots": {
        "sizes": {"K": 4096},
        "args": {"a_ptr": "fp32[M, K]", "b_ptr": "fp32[K, N]", "c_ptr": "fp32[M, N]", "K": "K"},
        "constexprs": {"M": 64, "N": 64, "BLOCK_K": 32, "PRECISION": "'tf32'", "STAGES": 3},
        "options": {"num_warps": 4},
        "grid": ["1"],
    }
}


@triton.jit
def dots(a_ptr, b_ptr, c_ptr, K, M: tl.constexpr, N: tl.constexpr, BLOCK_K: tl.constexpr,
         PRECISION: tl.constexpr, STAGES: tl.constexpr):
    """Store A @ B."""
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    k = tl.arange(0, BLOCK_K)
    total = tl.zeros([M, N], tl.float32)
    for start in tl.range(0, K, BLOCK_K, num_stages=STAGES):
        a = tl.load(a_ptr + m[:, None] * K + (start + k)[None, :])
        b = tl.load(b_ptr + (start + k)[:, None] * N + n[None, :])
        total = tl.dot(a, b, total, input_precision=PRECISION)
    tl.store(c_ptr + m[:, None] * N + n[None, :], total)
