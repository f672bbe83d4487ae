"""A linear layer, y = x @ w.T + bias, as one writes it on the first day."""

import torch
import triton
import triton.language as tl


@triton.jit
def linear(
    x_ptr, w_ptr, bias_ptr, y_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        x = tl.load(x_ptr + rows[:, None] * K + k[None, :])
        w = tl.load(w_ptr + cols[None, :] * K + k[:, None])
        total += tl.dot(x, w)
    total += tl.load(bias_ptr + cols)[None, :]
    tl.store(y_ptr + rows[:, None] * N + cols[None, :], total)


def forward(x, w, bias):
    (M, K), N = x.shape, w.shape[0]
    y = torch.empty((M, N), device=x.device, dtype=x.dtype)
    grid = lambda meta: (triton.cdiv(M, meta["BM"]), triton.cdiv(N, meta["BN"]))
    linear[grid](x, w, bias, y, M, N, K, BM=32, BN=32, BK=32, num_stages=1)
    return y


IRLENS_KERNELS = {
    "linear": {
        "sizes": {"M": 8192, "N": 4096, "K": 4096},
        "args": {
            "x_ptr": "fp32[M, K]",
            "w_ptr": "fp32[N, K]",
            "bias_ptr": "fp32[N]",
            "y_ptr": "fp32[M, N]",
            "M": "M",
            "N": "N",
            "K": "K",
        },
        "constexprs": {"BM": 32, "BN": 32, "BK": 32},
        "options": {"num_stages": 1},
        "grid": ["cdiv(M, BM)", "cdiv(N, BN)"],
    }
}


if __name__ == "__main__":
    x = torch.randn(8192, 4096, device="cuda")
    w = torch.randn(4096, 4096, device="cuda")
    bias = torch.randn(4096, device="cuda")
    y = forward(x, w, bias)
    torch.testing.assert_close(y, torch.nn.functional.linear(x, w, bias), rtol=1e-2, atol=1e-1)
