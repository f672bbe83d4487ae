"""What triton.tar.xz was compiled from: see README.md."""

# ruff: noqa: N803
import triton
import triton.language as tl


@triton.jit
def gemm(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pm = tl.program_id(0)
    pn = tl.program_id(1)
    rm = pm * BM + tl.arange(0, BM)
    rn = pn * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    pa = a + rm[:, None] * K + rk[None, :]
    pb = b + rk[:, None] * N + rn[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(tl.load(pa), tl.load(pb), acc)
        pa += BK
        pb += BK * N
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(tl.float16))


@triton.jit
def softmax(y, x, n, B: tl.constexpr):
    r = tl.program_id(0)
    o = tl.arange(0, B)
    v = tl.load(x + r * n + o, mask=o < n, other=-float("inf"))
    v = tl.exp(v - tl.max(v, 0))
    tl.store(y + r * n + o, v / tl.sum(v, 0), mask=o < n)


@triton.jit
def stream(y, x, n, B: tl.constexpr):
    acc = tl.zeros((B,), tl.float32)
    o = tl.arange(0, B)
    for k in tl.range(0, n, B, num_stages=3):
        acc += tl.load(x + k + o)
    tl.store(y + o, acc)
