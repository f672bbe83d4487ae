"""fp16 activations times int8 weights with a scale per column."""
import triton
import triton.language as tl

IRLENS_KERNELS = {"matmul_w8_kernel": {
    "sizes": {"M": 2048, "N": 4096, "K": 4096},
    "args": {"a_ptr": "fp16[M, K]", "b_ptr": "i8[K, N]", "s_ptr": "fp16[N]", "c_ptr": "fp16[M, N]", "M": "M", "N": "N", "K": "K"},
    "constexprs": {"BM": 128, "BN": 128, "BK": 64},
    "options": {"num_warps": 8, "num_stages": 3},
    "grid": ["cdiv(M, BM) * cdiv(N, BN)"],
}}

@triton.jit
def matmul_w8_kernel(a_ptr, b_ptr, s_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid = tl.program_id(0)
    rows = (pid % tl.cdiv(M, BM)) * BM + tl.arange(0, BM)
    cols = (pid // tl.cdiv(M, BM)) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k0 in range(0, K, BK):
        ks = k0 + tl.arange(0, BK)
        a = tl.load(a_ptr + rows[:, None] * K + ks[None, :])
        b = tl.load(b_ptr + ks[:, None] * N + cols[None, :])
        acc += tl.dot(a, b.to(tl.float16))
    scale = tl.load(s_ptr + cols)
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], (acc * scale[None, :]).to(tl.float16))
