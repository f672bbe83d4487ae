"""Many matrix multiplications in one launch: the grid's third axis is the batch.

Each product is small, and together they fill the GPU. For each one A is read once for each column
of tiles, ``2 * M * K * cdiv(N, BLOCK_SIZE_N)`` bytes, B once for each row of tiles,
``2 * K * N * cdiv(M, BLOCK_SIZE_M)``, and C written once, ``2 * M * N``; all of it ``batch`` times.
"""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "matmul_batched_kernel": {
        "sizes": {"batch": 64, "M": 512, "N": 512, "K": 512},
        "args": {
            "a_ptr": "fp16[batch, M, K]",
            "b_ptr": "fp16[batch, K, N]",
            "c_ptr": "fp16[batch, M, N]",
            "M": "M",
            "N": "N",
            "K": "K",
        },
        "constexprs": {"BLOCK_SIZE_M": 128, "BLOCK_SIZE_N": 128, "BLOCK_SIZE_K": 64},
        "options": {"num_warps": 8, "num_stages": 3},
        "grid": ["cdiv(N, BLOCK_SIZE_N)", "cdiv(M, BLOCK_SIZE_M)", "batch"],
        "outputs": ["c_ptr"],
        "reference": "matmul_reference",
        "tolerance": {"rtol": 1e-3, "atol": 1e-2},
        "traffic": {
            "read": "2 * batch * K * (M * cdiv(N, BLOCK_SIZE_N) + N * cdiv(M, BLOCK_SIZE_M))",
            "written": "2 * batch * M * N",
        },
    }
}


@triton.jit
def matmul_batched_kernel(
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
    """Store one ``BLOCK_SIZE_M`` x ``BLOCK_SIZE_N`` tile of one product; all is contiguous."""
    index = tl.program_id(2).to(tl.int64)
    a_ptr += index * M * K
    b_ptr += index * K * N
    c_ptr += index * M * N
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
    c = accumulator.to(c_ptr.dtype.element_ty)
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], c, mask=c_mask)


def matmul_reference(a_ptr, b_ptr):
    """Return what ``c_ptr`` should hold."""
    return (a_ptr.float() @ b_ptr.float()).to(a_ptr.dtype)
