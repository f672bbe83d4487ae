"""A product of which another one takes the result as its right operand."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "right_operand": {
        "sizes": {"M": 2048},
        "args": {
            "a": "fp16[M, 64]", "b": "fp16[64, M]", "w": "fp16[M, M]", "c": "fp32[M, M]", "n": "M",
        },
        "constexprs": {"BM": 64, "BN": 64, "TRANSPOSED": False},
        "options": {"num_warps": 4, "num_stages": 3},
        "grid": ["M // BM", "M // BN"],
    },
}


@triton.jit
def right_operand(a, b, w, c, n, BM: tl.constexpr, BN: tl.constexpr, TRANSPOSED: tl.constexpr):
    """Compute w @ relu(a @ b)."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rd = tl.arange(0, 64)
    rk = tl.arange(0, BM)
    result = c + rm[:, None] * n + rn[None, :]
    if TRANSPOSED:
        bt = tl.load(b + rd[None, :] * n + rn[:, None])
        acc = tl.zeros((BN, BM), tl.float32)
        for s in range(0, n, BM):
            aa = tl.load(a + (s + rk)[:, None] * 64 + rd[None, :])
            p = tl.dot(bt, tl.trans(aa))
            p = tl.where(p > 0, p, 0).to(tl.float16)
            ww = tl.load(w + rm[:, None] * n + (s + rk)[None, :])
            acc += tl.dot(p, tl.trans(ww))
        tl.store(result, tl.trans(acc))
    else:
        bb = tl.load(b + rd[:, None] * n + rn[None, :])
        acc = tl.zeros((BM, BN), tl.float32)
        for s in range(0, n, BM):
            aa = tl.load(a + (s + rk)[:, None] * 64 + rd[None, :])
            p = tl.dot(aa, bb)
            p = tl.where(p > 0, p, 0).to(tl.float16)
            ww = tl.load(w + rm[:, None] * n + (s + rk)[None, :])
            acc += tl.dot(ww, p)
        tl.store(result, acc)
