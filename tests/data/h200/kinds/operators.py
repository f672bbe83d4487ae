"""Operators of models and of training, timed after the first sixteen kinds."""
import triton
import triton.language as tl

IRLENS_KERNELS = {
    "dequant_matmul": {
        "sizes": {"M": 512, "N": 4096, "K": 4096},
        "args": {"a": "fp16[M, K]", "q": "int32[K // 8, N]", "s": "fp16[K // 128, N]", "c": "fp16[M, N]", "M": "M", "N": "N", "K": "K"},
        "constexprs": {"BM": 64, "BN": 128, "BK": 128}, "options": {"num_warps": 4, "num_stages": 3},
        "grid": ["cdiv(M, BM)", "cdiv(N, BN)"], "outputs": ["c"],
    },
    "rope_kernel": {
        "sizes": {"T": 8192, "H": 32, "D": 128},
        "args": {"q": "bf16[T, H, D]", "cos": "fp32[T, D // 2]", "sin": "fp32[T, D // 2]", "o": "bf16[T, H, D]", "T": "T"},
        "constexprs": {"H": "H", "D": "D", "BH": 4}, "options": {"num_warps": 4},
        "grid": ["T", "cdiv(H, BH)"], "outputs": ["o"],
    },
    "depthwise_kernel": {
        "sizes": {"N": 64, "C": 256, "L": 4096},
        "args": {"x": "fp32[N, C, L]", "w": "fp32[C, 4]", "o": "fp32[N, C, L]", "C": "C", "L": "L"},
        "constexprs": {"BL": 1024}, "options": {"num_warps": 4},
        "grid": ["cdiv(L, BL)", "C", "N"], "outputs": ["o"],
    },
    "gated_linear_kernel": {
        "sizes": {"B": 64, "T": 2048, "D": 64},
        "args": {"q": "bf16[B, T, D]", "k": "bf16[B, T, D]", "v": "bf16[B, T, D]", "o": "bf16[B, T, D]", "T": "T"},
        "constexprs": {"D": "D", "BT": 64, "BV": 64}, "options": {"num_warps": 4, "num_stages": 2},
        "grid": ["B", "cdiv(D, BV)"], "outputs": ["o"],
    },
    "batch_mean_var": {
        "sizes": {"N": 32, "C": 256, "S": 12544},
        "args": {"x": "fp32[N, C, S]", "mean": "fp32[N, C]", "var": "fp32[N, C]", "S": "S"},
        "constexprs": {"BS": 1024}, "options": {"num_warps": 4, "num_stages": 2},
        "grid": ["N * C"], "outputs": ["mean", "var"],
    },
    "adam_kernel": {
        "sizes": {"n": 33554432},
        "args": {"p": "fp32[n]", "g": "bf16[n]", "m": "fp32[n]", "v": "fp32[n]", "lr": 0.001, "n": "n"},
        "constexprs": {"B": 1024}, "options": {"num_warps": 4},
        "grid": ["cdiv(n, B)"], "outputs": ["p", "m", "v"],
    },
    "gram_kernel": {
        "sizes": {"N": 4096, "K": 1024},
        "args": {"x": "bf16[N, K]", "o": "fp32[N, N]", "N": "N", "K": "K"},
        "constexprs": {"BM": 128, "BN": 128, "BK": 64}, "options": {"num_warps": 8, "num_stages": 3},
        "grid": ["cdiv(N, BM)", "cdiv(N, BN)"], "outputs": ["o"],
    },
    "prefix_kernel": {
        "sizes": {"R": 4096, "L": 8192},
        "args": {"x": "fp32[R, L]", "o": "fp32[R, L]", "L": "L"},
        "constexprs": {"B": 1024}, "options": {"num_warps": 4},
        "grid": ["R"], "outputs": ["o"],
    },
    "decode_gqa": {
        "sizes": {"B": 32, "HK": 8, "T": 8192, "D": 128},
        "args": {"q": "bf16[B, HK, 16, D]", "k": "bf16[B, HK, T, D]", "v": "bf16[B, HK, T, D]", "o": "fp32[B, HK, 4, 16, D]", "l": "fp32[B, HK, 4, 16]", "T": "T"},
        "constexprs": {"D": "D", "BT": 64, "SPLIT": 4}, "options": {"num_warps": 4, "num_stages": 2},
        "grid": ["B * HK", "SPLIT"], "outputs": ["o", "l"],
    },
    "pairwise_l1": {
        "sizes": {"N": 2048, "M": 2048, "D": 128},
        "args": {"x": "fp32[N, D]", "y": "fp32[M, D]", "o": "fp32[N, M]", "M": "M"},
        "constexprs": {"D": "D", "BN": 32, "BM": 32}, "options": {"num_warps": 4},
        "grid": ["cdiv(N, BN)", "cdiv(M, BM)"], "outputs": ["o"],
    },
    "residual_norm": {
        "sizes": {"R": 16384, "C": 5120},
        "args": {"x": "bf16[R, C]", "r": "bf16[R, C]", "w": "bf16[C]", "o": "bf16[R, C]", "ro": "bf16[R, C]", "C": "C"},
        "constexprs": {"B": 8192}, "options": {"num_warps": 8},
        "grid": ["R"], "outputs": ["o", "ro"],
    },
    "upsample_kernel": {
        "sizes": {"N": 16, "C": 64, "H": 128, "W": 128},
        "args": {"x": "fp16[N, C, H, W]", "o": "fp16[N, C, 2 * H, 2 * W]", "H": "H", "W": "W"},
        "constexprs": {"BH": 8, "BW": 64}, "options": {"num_warps": 4},
        "grid": ["cdiv(2 * H, BH)", "cdiv(2 * W, BW)", "N * C"], "outputs": ["o"],
    },
}


@triton.jit
def dequant_matmul(a, q, s, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    pa = a + rm[:, None] * K + rk[None, :]
    pq = q + (rk[:, None] // 8) * N + rn[None, :]
    shift = (rk % 8) * 4
    for k in range(0, K, BK):
        x = tl.load(pa)
        w = tl.load(pq)
        sc = tl.load(s + (k // 128) * N + rn)
        w = ((w >> shift[:, None]) & 15).to(tl.float16)
        w = (w - 8.0) * sc[None, :]
        acc += tl.dot(x, w.to(tl.float16))
        pa += BK
        pq += (BK // 8) * N
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(tl.float16))


@triton.jit
def rope_kernel(q, cos, sin, o, T, H: tl.constexpr, D: tl.constexpr, BH: tl.constexpr):
    t = tl.program_id(0)
    h = tl.program_id(1) * BH + tl.arange(0, BH)
    d = tl.arange(0, D // 2)
    c = tl.load(cos + t * (D // 2) + d)[None, :]
    s = tl.load(sin + t * (D // 2) + d)[None, :]
    base = t * H * D + h[:, None] * D + d[None, :]
    x = tl.load(q + base).to(tl.float32)
    y = tl.load(q + base + D // 2).to(tl.float32)
    tl.store(o + base, (x * c - y * s).to(tl.bfloat16))
    tl.store(o + base + D // 2, (y * c + x * s).to(tl.bfloat16))


@triton.jit
def depthwise_kernel(x, w, o, C, L, BL: tl.constexpr):
    l = tl.program_id(0) * BL + tl.arange(0, BL)
    c = tl.program_id(1)
    n = tl.program_id(2)
    base = (n * C + c) * L
    acc = tl.zeros((BL,), tl.float32)
    for j in tl.static_range(4):
        p = l + j - 3
        acc += tl.load(x + base + p, mask=(p >= 0) & (p < L), other=0.0) * tl.load(w + c * 4 + j)
    tl.store(o + base + l, acc * tl.sigmoid(acc), mask=l < L)


@triton.jit
def gated_linear_kernel(q, k, v, o, T, D: tl.constexpr, BT: tl.constexpr, BV: tl.constexpr):
    b = tl.program_id(0)
    dv = tl.program_id(1) * BV + tl.arange(0, BV)
    d = tl.arange(0, D)
    i = tl.arange(0, BT)
    h = tl.zeros((D, BV), tl.float32)
    for t in range(0, T, BT):
        rows = b * T * D + (t + i)[:, None] * D
        bq = tl.load(q + rows + d[None, :])
        bk = tl.load(k + rows + d[None, :])
        bv = tl.load(v + rows + dv[None, :])
        a = tl.dot(bq, tl.trans(bk))
        a = tl.where(i[:, None] >= i[None, :], a, 0.0)
        r = tl.dot(a.to(tl.bfloat16), bv) + tl.dot(bq, h.to(tl.bfloat16))
        h = h * 0.98 + tl.dot(tl.trans(bk), bv)
        tl.store(o + rows + dv[None, :], r.to(tl.bfloat16))


@triton.jit
def batch_mean_var(x, mean, var, S, BS: tl.constexpr):
    row = tl.program_id(0)
    s = tl.zeros((BS,), tl.float32)
    ss = tl.zeros((BS,), tl.float32)
    for i in range(0, S, BS):
        c = i + tl.arange(0, BS)
        v = tl.load(x + row * S + c, mask=c < S, other=0.0)
        s += v
        ss += v * v
    m = tl.sum(s, 0) / S
    tl.store(mean + row, m)
    tl.store(var + row, tl.sum(ss, 0) / S - m * m)


@triton.jit
def adam_kernel(p, g, m, v, lr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    k = i < n
    x = tl.load(g + i, mask=k, other=0.0).to(tl.float32)
    a = tl.load(m + i, mask=k, other=0.0) * 0.9 + 0.1 * x
    b = tl.load(v + i, mask=k, other=0.0) * 0.999 + 0.001 * x * x
    w = tl.load(p + i, mask=k, other=0.0)
    tl.store(m + i, a, mask=k)
    tl.store(v + i, b, mask=k)
    tl.store(p + i, w - lr * a / (tl.sqrt(b) + 1e-8), mask=k)


@triton.jit
def gram_kernel(x, o, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        a = tl.load(x + rm[:, None] * K + (k + rk)[None, :])
        b = tl.load(x + rn[:, None] * K + (k + rk)[None, :])
        acc = tl.dot(a, tl.trans(b), acc)
    tl.store(o + rm[:, None] * N + rn[None, :], acc)


@triton.jit
def prefix_kernel(x, o, L, B: tl.constexpr):
    row = tl.program_id(0)
    carry = tl.zeros((1,), tl.float32)
    for i in range(0, L, B):
        c = i + tl.arange(0, B)
        v = tl.load(x + row * L + c)
        tl.store(o + row * L + c, tl.cumsum(v, 0) + carry)
        carry += tl.sum(v, 0)


@triton.jit
def decode_gqa(q, k, v, o, l, T, D: tl.constexpr, BT: tl.constexpr, SPLIT: tl.constexpr):
    bh = tl.program_id(0)
    part = tl.program_id(1)
    r = tl.arange(0, 16)
    d = tl.arange(0, D)
    t = tl.arange(0, BT)
    bq = tl.load(q + bh * 16 * D + r[:, None] * D + d[None, :])
    m = tl.full((16,), -1e30, tl.float32)
    z = tl.zeros((16,), tl.float32)
    acc = tl.zeros((16, D), tl.float32)
    n = T // SPLIT
    for i in range(part * n, part * n + n, BT):
        at = bh * T * D + (i + t)[:, None] * D + d[None, :]
        s = tl.dot(bq, tl.trans(tl.load(k + at))) * 0.088
        mn = tl.maximum(m, tl.max(s, 1))
        p = tl.exp(s - mn[:, None])
        f = tl.exp(m - mn)
        z = z * f + tl.sum(p, 1)
        acc = acc * f[:, None] + tl.dot(p.to(tl.bfloat16), tl.load(v + at))
        m = mn
    tl.store(o + (bh * SPLIT + part) * 16 * D + r[:, None] * D + d[None, :], acc / z[:, None])
    tl.store(l + (bh * SPLIT + part) * 16 + r, m + tl.log(z))


@triton.jit
def pairwise_l1(x, y, o, M, D: tl.constexpr, BN: tl.constexpr, BM: tl.constexpr):
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    m = tl.program_id(1) * BM + tl.arange(0, BM)
    acc = tl.zeros((BN, BM), tl.float32)
    for d in range(0, D):
        a = tl.load(x + n * D + d)
        b = tl.load(y + m * D + d)
        acc += tl.abs(a[:, None] - b[None, :])
    tl.store(o + n[:, None] * M + m[None, :], acc)


@triton.jit
def residual_norm(x, r, w, o, ro, C, B: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, B)
    k = c < C
    v = tl.load(x + row * C + c, mask=k, other=0.0).to(tl.float32)
    v += tl.load(r + row * C + c, mask=k, other=0.0).to(tl.float32)
    tl.store(ro + row * C + c, v.to(tl.bfloat16), mask=k)
    rstd = tl.rsqrt(tl.sum(v * v, 0) / C + 1e-6)
    g = tl.load(w + c, mask=k, other=0.0).to(tl.float32)
    tl.store(o + row * C + c, (v * rstd * g).to(tl.bfloat16), mask=k)


@triton.jit
def upsample_kernel(x, o, H, W, BH: tl.constexpr, BW: tl.constexpr):
    h = tl.program_id(0) * BH + tl.arange(0, BH)
    w = tl.program_id(1) * BW + tl.arange(0, BW)
    nc = tl.program_id(2)
    sh = tl.maximum(h - 1, 0) // 2
    sw = tl.maximum(w - 1, 0) // 2
    th = tl.minimum(sh + 1, H - 1)
    tw = tl.minimum(sw + 1, W - 1)
    base = x + nc * H * W
    a = tl.load(base + sh[:, None] * W + sw[None, :]).to(tl.float32)
    b = tl.load(base + sh[:, None] * W + tw[None, :]).to(tl.float32)
    c = tl.load(base + th[:, None] * W + sw[None, :]).to(tl.float32)
    d = tl.load(base + th[:, None] * W + tw[None, :]).to(tl.float32)
    r = 0.5625 * a + 0.1875 * (b + c) + 0.0625 * d
    tl.store(o + nc * 4 * H * W + h[:, None] * (2 * W) + w[None, :], r.to(tl.float16))
