import torch
import triton
import triton.language as tl


def configs():
    return [
        triton.Config({"BM": bm, "BN": bn, "BK": 64, "SPLIT": split}, num_warps=4, num_stages=stages)
        for bm, bn in ((16, 64), (16, 128), (32, 128))
        for split in (1, 4, 8)
        for stages in (3, 4)
    ]


@triton.autotune(configs=configs(), key=["M", "N", "K"], reset_to_zero=["c_ptr"])
@triton.jit
def split_k_matmul(
    a_ptr, b_ptr, c_ptr, M, N, K,
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT: tl.constexpr,
):
    pid_m, pid_n, pid_k = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    rm = pid_m * BM + tl.arange(0, BM)
    rn = pid_n * BN + tl.arange(0, BN)
    rk = pid_k * BK + tl.arange(0, BK)
    a_ptrs = a_ptr + (rm % M)[:, None] * stride_am + rk[None, :] * stride_ak
    b_ptrs = b_ptr + rk[:, None] * stride_bk + (rn % N)[None, :] * stride_bn
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK * SPLIT)):
        a = tl.load(a_ptrs)
        b = tl.load(b_ptrs)
        acc += tl.dot(a, b)
        a_ptrs += BK * SPLIT * stride_ak
        b_ptrs += BK * SPLIT * stride_bk
    c_ptrs = c_ptr + rm[:, None] * stride_cm + rn[None, :] * stride_cn
    mask = (rm[:, None] < M) & (rn[None, :] < N)
    if SPLIT == 1:
        tl.store(c_ptrs, acc, mask=mask)
    else:
        tl.atomic_add(c_ptrs, acc, mask=mask)


def matmul(a, b):
    (M, K), N = a.shape, b.shape[1]
    c = torch.zeros((M, N), device=a.device, dtype=torch.float32)
    grid = lambda meta: (triton.cdiv(M, meta["BM"]), triton.cdiv(N, meta["BN"]), meta["SPLIT"])
    split_k_matmul[grid](
        a, b, c, M, N, K,
        a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), c.stride(1),
    )
    return c


def test_split_k():
    a = torch.randn(16, 8192, device="cuda", dtype=torch.float16)
    b = torch.randn(8192, 4096, device="cuda", dtype=torch.float16)
    torch.testing.assert_close(matmul(a, b), (a @ b).float(), rtol=1e-2, atol=1e-1)
