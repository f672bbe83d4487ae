"""Matrix multiplication with its epilogue fused: ``C = relu(A @ B + bias)``.

Bias and ReLU work on the accumulator in registers. They cost one read of the bias for each row of
tiles, ``2 * N * cdiv(M, BLOCK_SIZE_M)`` bytes; as kernels of their own each would read and write
C once more, ``4 * M * N`` bytes. The rest is as in ``matmul_tiled``: A is read once for each
column of tiles, B once for each row of tiles, and ``2 * M * N`` bytes of C are written.
"""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "matmul_bias_relu_kernel": {
        "sizes": {"M": 4096, "N": 4096, "K": 4096},
        "args": {
            "a_ptr": "fp16[M, K]",
            "b_ptr": "fp16[K, N]",
            "bias_ptr": "fp16[N]",
            "c_ptr": "fp16[M, N]",
            "M": "M",
            "N": "N",
            "K": "K",
        },
        "constexprs": {"BLOCK_SIZE_M": 128, "BLOCK_SIZE_N": 128, "BLOCK_SIZE_K": 64},
        "options": {"num_warps": 8, "num_stages": 3},
        "grid": ["cdiv(N, BLOCK_SIZE_N)", "cdiv(M, BLOCK_SIZE_M)"],
        "outputs": ["c_ptr"],
        "reference": "matmul_reference",
        "tolerance": {"rtol": 1e-3, "atol": 1e-2},
        "traffic": {
            "read": "2 * M * K * cdiv(N, BLOCK_SIZE_N) + 2 * (K + 1) * N * cdiv(M, BLOCK_SIZE_M)",
            "written": "2 * M * N",
        },
    }
}


@triton.jit
def matmul_bias_relu_kernel(
    a_ptr,
    b_ptr,
    bias_ptr,
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
    bias = tl.load(bias_ptr + cols, mask=cols < N, other=0.0)
    accumulator = tl.maximum(accumulator + bias[None, :], 0.0)
    c_mask = (rows[:, None] < M) & (cols[None, :] < N)
    c = accumulator.to(c_ptr.dtype.element_ty)
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], c, mask=c_mask)


def matmul_reference(a_ptr, b_ptr, bias_ptr):
    """Return what ``c_ptr`` should hold."""
    c = a_ptr.float() @ b_ptr.float() + bias_ptr.float()
    return c.relu().to(a_ptr.dtype)
