"""A product whose tiles are scaled by a row, and by what is computed from one."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "scaled_product": {
        "sizes": {"M": 4096, "N": 4096, "K": 4096},
        "args": {
            "a_ptr": "fp16[M, K]", "b_ptr": "fp16[K, N]", "scale_ptr": "fp32[cdiv(K, BLOCK_K), N]",
            "c_ptr": "fp16[M, N]", "M": "M", "N": "N", "K": "K",
        },
        "constexprs": {"BLOCK": 128, "BLOCK_K": 16, "EXPONENTS": False},
        "options": {"num_warps": 4},
        "grid": ["cdiv(M, BLOCK)", "cdiv(N, BLOCK)"],
    }
}  # fmt: skip


@triton.jit
def scaled_product(
    a_ptr, b_ptr, scale_ptr, c_ptr, M, N, K,
    BLOCK: tl.constexpr, BLOCK_K: tl.constexpr, EXPONENTS: tl.constexpr,
):  # fmt: skip
    """Store a product whose blocks along K have scales of their own."""
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    along = tl.arange(0, BLOCK_K)
    sums = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, K, BLOCK_K):
        a = tl.load(a_ptr + rows[:, None] * K + (k + along)[None, :])
        b = tl.load(b_ptr + (k + along)[:, None] * N + columns[None, :])
        scale = tl.load(scale_ptr + k // BLOCK_K * N + columns)
        if EXPONENTS:
            scale = tl.exp2(scale)
        sums += tl.dot(a, b) * scale[None, :]
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], sums.to(tl.float16))
