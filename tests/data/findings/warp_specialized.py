"""Warp specialization: asked for, and done or not."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "ws_matmul": {
        "sizes": {"M": 1024, "N": 1024, "K": 1024},
        "args": {"a": "fp16[M, K]", "b": "fp16[K, N]", "c": "fp16[M, N]", "M": "M", "N": "N", "K": "K"},
        "constexprs": {"BM": 128, "BN": 128, "BK": 64, "WS": True, "TMA": True},
        "options": {"num_warps": 4, "num_stages": 3},
        "grid": ["M // BM", "N // BN"],
    },
    "ws_sum": {
        "sizes": {"rows": 512, "n": 8192},
        "args": {"x": "fp32[rows, n]", "y": "fp32[rows]", "n": "n"},
        "constexprs": {"BLOCK": 1024},
        "options": {"num_warps": 4},
        "grid": ["rows"],
    },
}  # fmt: skip


@triton.jit
def ws_matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
              WS: tl.constexpr, TMA: tl.constexpr):
    """Product, its loads by descriptors or pointers."""
    m = tl.program_id(0) * BM
    n = tl.program_id(1) * BN
    if TMA:
        a_desc = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
        b_desc = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    rows = m + tl.arange(0, BM)
    cols = n + tl.arange(0, BN)
    acc = tl.zeros([BM, BN], tl.float32)
    for start in tl.range(0, K, BK, warp_specialize=WS):
        if TMA:
            x = a_desc.load([m, start])
            w = b_desc.load([start, n])
        else:
            k = start + tl.arange(0, BK)
            x = tl.load(a + rows[:, None] * K + k[None, :])
            w = tl.load(b + k[:, None] * N + cols[None, :])
        acc = tl.dot(x, w, acc)
    tl.store(c + rows[:, None] * N + cols[None, :], acc.to(tl.float16))


@triton.jit
def ws_sum(x, y, n, BLOCK: tl.constexpr):
    """Sum of a row without a product."""
    row = tl.program_id(0)
    acc = tl.zeros([BLOCK], tl.float32)
    for start in tl.range(0, n, BLOCK, warp_specialize=True, num_stages=3):
        acc += tl.load(x + row * n + start + tl.arange(0, BLOCK))
    tl.store(y + row, tl.sum(acc, 0))
