"""Kernels whose warps are specialized where ``WS`` is true (``specialized.json``)."""

import triton, triton.language as tl
@triton.jit
def mm(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, WS: tl.constexpr):
    pid = tl.program_id(0)
    n = tl.cdiv(N, BN)
    pm = pid // n; pn = pid % n
    ad = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    bd = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    cd = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    acc = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, tl.cdiv(K, BK), warp_specialize=WS):
        x = ad.load([pm*BM, k*BK]); y = bd.load([pn*BN, k*BK])
        acc = tl.dot(x, y.T, acc)
    cd.store([pm*BM, pn*BN], acc.to(tl.float16))

@triton.jit
def mmp(a, b, c, M, N, K, SMS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, WS: tl.constexpr):
    pid = tl.program_id(0)
    nn = tl.cdiv(N, BN); tiles = nn * tl.cdiv(M, BM)
    ad = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    bd = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    cd = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    for t in tl.range(pid, tiles, SMS, warp_specialize=WS):
        pm = t // nn; pn = t % nn
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(0, tl.cdiv(K, BK)):
            x = ad.load([pm*BM, k*BK]); y = bd.load([pn*BN, k*BK])
            acc = tl.dot(x, y.T, acc)
        cd.store([pm*BM, pn*BN], acc.to(tl.float16))

@triton.jit
def fa(q, k, v, o, Z, H, T, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, WS: tl.constexpr):
    start = tl.program_id(0); hz = tl.program_id(1)
    rows = Z * H * T
    qd = tl.make_tensor_descriptor(q, [rows, D], [D, 1], [BM, D])
    kd = tl.make_tensor_descriptor(k, [rows, D], [D, 1], [BN, D])
    vd = tl.make_tensor_descriptor(v, [rows, D], [D, 1], [BN, D])
    od = tl.make_tensor_descriptor(o, [rows, D], [D, 1], [BM, D])
    base = hz * T
    qb = qd.load([base + start * BM, 0])
    m = tl.zeros([BM], tl.float32) - float("inf")
    l = tl.zeros([BM], tl.float32) + 1.0
    acc = tl.zeros([BM, D], tl.float32)
    s = scale * 1.44269504
    for n in tl.range(0, T, BN, warp_specialize=WS):
        kb = kd.load([base + n, 0]).T
        qk = tl.dot(qb, kb)
        mij = tl.maximum(m, tl.max(qk, 1) * s)
        p = tl.math.exp2(qk * s - mij[:, None])
        alpha = tl.math.exp2(m - mij)
        l = l * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        vb = vd.load([base + n, 0])
        acc = tl.dot(p.to(tl.float16), vb, acc)
        m = mij
    acc = acc / l[:, None]
    od.store([base + start * BM, 0], acc.to(tl.float16))
