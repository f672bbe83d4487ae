"""Matrix multiplication with as many programs as the GPU holds: each computes several tiles.

No last wave of programs leaves most of the GPU idle, and a program starts once. What is moved does
not change: A is read once for each column of tiles, ``2 * M * K * cdiv(N, BLOCK_SIZE_N)`` bytes,
B once for each row of tiles, ``2 * K * N * cdiv(M, BLOCK_SIZE_M)``, and C is written once,
``2 * M * N``, as in ``matmul_tiled``.
"""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "matmul_persistent_kernel": {
        "sizes": {"M": 4096, "N": 4096, "K": 4096},
        "args": {
            "a_ptr": "fp16[M, K]",
            "b_ptr": "fp16[K, N]",
            "c_ptr": "fp16[M, N]",
            "M": "M",
            "N": "N",
            "K": "K",
        },
        "constexprs": {"BLOCK_SIZE_M": 128, "BLOCK_SIZE_N": 128, "BLOCK_SIZE_K": 64},
        "options": {"num_warps": 8, "num_stages": 3},
        # As many programs as the GPU holds at once.
        "grid": [
            "min(cdiv(M, BLOCK_SIZE_M) * cdiv(N, BLOCK_SIZE_N), sm_count * blocks_per_sm)",
        ],
        "outputs": ["c_ptr"],
        "reference": "matmul_reference",
        "tolerance": {"rtol": 1e-3, "atol": 1e-2},
        "traffic": {
            "read": "2 * M * K * cdiv(N, BLOCK_SIZE_N) + 2 * K * N * cdiv(M, BLOCK_SIZE_M)",
            "written": "2 * M * N",
        },
    }
}


@triton.jit
def matmul_persistent_kernel(
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
    """Store every ``num_programs``-th tile of C; the matrices are contiguous."""
    num_pid_n = tl.cdiv(N, BLOCK_SIZE_N)
    num_tiles = tl.cdiv(M, BLOCK_SIZE_M) * num_pid_n
    for tile in tl.range(tl.program_id(0), num_tiles, tl.num_programs(0)):
        rows = tile // num_pid_n * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
        cols = tile % num_pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
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
