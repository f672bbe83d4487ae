"""Matrix multiplication of fp16 on tensor cores, with the fp32 accumulator stored unrounded.

Products of fp16 are exact in fp32, and tensor cores add them there: storing fp32 keeps what
``matmul_tiled`` rounds away. A and B are read as there, ``2 * M * K * cdiv(N, BLOCK_SIZE_N)`` and
``2 * K * N * cdiv(M, BLOCK_SIZE_M)`` bytes; C takes twice the bytes, ``4 * M * N``.
"""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "matmul_fp32_output_kernel": {
        "sizes": {"M": 4096, "N": 4096, "K": 4096},
        "args": {
            "a_ptr": "fp16[M, K]",
            "b_ptr": "fp16[K, N]",
            "c_ptr": "fp32[M, N]",
            "M": "M",
            "N": "N",
            "K": "K",
        },
        "constexprs": {"BLOCK_SIZE_M": 128, "BLOCK_SIZE_N": 128, "BLOCK_SIZE_K": 64},
        "options": {"num_warps": 8, "num_stages": 3},
        "grid": ["cdiv(N, BLOCK_SIZE_N)", "cdiv(M, BLOCK_SIZE_M)"],
        "outputs": ["c_ptr"],
        "reference": "matmul_reference",
        "tolerance": {"rtol": 1e-4, "atol": 1e-2},
        "traffic": {
            "read": "2 * M * K * cdiv(N, BLOCK_SIZE_N) + 2 * K * N * cdiv(M, BLOCK_SIZE_M)",
            "written": "4 * M * N",
        },
    }
}


@triton.jit
def matmul_fp32_output_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    BLOCK_SIZE_M: tl.constexpr,
    BLOCK_SIZE_N: tl.constexpr,
    BLOCK_SIZE_K: tl.constexpr,
):
    """Store one ``BLOCK_SIZE_M`` x ``BLOCK_SIZE_N`` tile of C; the matrices are contiguous."""
    cols = tl.program_id(0) * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
    rows = tl.program_id(1) * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
    accumulator = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_SIZE_K):
        ks = start + tl.arange(0, BLOCK_SIZE_K)
        a_mask = (rows[:, None] < M) & (ks[None, :] < K)
        b_mask = (ks[:, None] < K) & (cols[None, :] < N)
        a = tl.load(a_ptr + rows[:, None] * K + ks[None, :], mask=a_mask, other=0.0)
        b = tl.load(b_ptr + ks[:, None] * N + cols[None, :], mask=b_mask, other=0.0)
        accumulator = tl.dot(a, b, accumulator)
    c_mask = (rows[:, None] < M) & (cols[None, :] < N)
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], accumulator, mask=c_mask)


def matmul_reference(a_ptr, b_ptr):
    """Return what ``c_ptr`` should hold."""
    return a_ptr.float() @ b_ptr.float()
