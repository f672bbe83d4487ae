"""Matrix multiplication ``C = A @ B``, with tiles visited in groups that share L2."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "matmul_kernel": {
        "sizes": {"M": 4096, "N": 4096, "K": 4096},
        "args": {
            "a_ptr": "fp16[M, K]",
            "b_ptr": "fp16[K, N]",
            "c_ptr": "fp16[M, N]",
            "M": "M",
            "N": "N",
            "K": "K",
            "stride_am": "K",
            "stride_ak": 1,
            "stride_bk": "N",
            "stride_bn": 1,
            "stride_cm": "N",
            "stride_cn": 1,
        },
        "constexprs": {"ACTIVATION": None},
        "grid": ["cdiv(M, BLOCK_SIZE_M) * cdiv(N, BLOCK_SIZE_N)"],
        "outputs": ["c_ptr"],
        "reference": "matmul_reference",
        "tolerance": {"rtol": 1e-2, "atol": 1e-1},
    }
}


def tile(m: int, n: int, k: int, num_stages: int, num_warps: int) -> triton.Config:
    """One configuration for the autotuner to try."""
    blocks = {"BLOCK_SIZE_M": m, "BLOCK_SIZE_N": n, "BLOCK_SIZE_K": k, "GROUP_SIZE_M": 8}
    return triton.Config(blocks, num_stages=num_stages, num_warps=num_warps)


@triton.autotune(
    configs=[
        tile(128, 256, 64, num_stages=3, num_warps=8),
        tile(128, 128, 64, num_stages=3, num_warps=8),
        tile(128, 128, 32, num_stages=4, num_warps=4),
        tile(64, 128, 32, num_stages=4, num_warps=4),
        tile(64, 64, 32, num_stages=5, num_warps=2),
    ],
    key=["M", "N", "K"],
)
@triton.jit
def matmul_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    stride_am,
    stride_ak,
    stride_bk,
    stride_bn,
    stride_cm,
    stride_cn,
    BLOCK_SIZE_M: tl.constexpr,
    BLOCK_SIZE_N: tl.constexpr,
    BLOCK_SIZE_K: tl.constexpr,
    GROUP_SIZE_M: tl.constexpr,
    ACTIVATION: tl.constexpr,
):
    """Store one ``BLOCK_SIZE_M`` x ``BLOCK_SIZE_N`` tile of C.

    Programs with neighbouring ids take the tiles of ``GROUP_SIZE_M`` rows column by column, so
    that those running at the same time read few distinct tiles of A and B.
    """
    pid = tl.program_id(axis=0)
    num_pid_m = tl.cdiv(M, BLOCK_SIZE_M)
    num_pid_n = tl.cdiv(N, BLOCK_SIZE_N)
    num_pid_in_group = GROUP_SIZE_M * num_pid_n
    first_pid_m = pid // num_pid_in_group * GROUP_SIZE_M
    group_size_m = min(num_pid_m - first_pid_m, GROUP_SIZE_M)
    pid_m = first_pid_m + pid % num_pid_in_group % group_size_m
    pid_n = pid % num_pid_in_group // group_size_m

    # Rows and columns past the edge wrap around: what they compute is never stored.
    offs_m = (pid_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)) % M
    offs_n = (pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)) % N
    offs_k = tl.arange(0, BLOCK_SIZE_K)
    a_ptrs = a_ptr + offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak
    b_ptrs = b_ptr + offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn

    accumulator = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_SIZE_K)):
        k_left = K - k * BLOCK_SIZE_K
        a = tl.load(a_ptrs, mask=offs_k[None, :] < k_left, other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < k_left, other=0.0)
        accumulator = tl.dot(a, b, accumulator)
        a_ptrs += BLOCK_SIZE_K * stride_ak
        b_ptrs += BLOCK_SIZE_K * stride_bk
    if ACTIVATION == "leaky_relu":
        accumulator = leaky_relu(accumulator)

    offs_cm = pid_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
    offs_cn = pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
    c_ptrs = c_ptr + offs_cm[:, None] * stride_cm + offs_cn[None, :] * stride_cn
    c_mask = (offs_cm[:, None] < M) & (offs_cn[None, :] < N)
    tl.store(c_ptrs, accumulator.to(c_ptr.dtype.element_ty), mask=c_mask)


@triton.jit
def leaky_relu(x):
    """Return ``x`` where it is positive, a hundredth of it elsewhere."""
    return tl.where(x >= 0, x, 0.01 * x)


def matmul_reference(a_ptr, b_ptr, ACTIVATION):
    """Return what ``c_ptr`` should hold."""
    from torch.nn.functional import leaky_relu

    c = a_ptr @ b_ptr
    return leaky_relu(c, 0.01) if ACTIVATION == "leaky_relu" else c
