"""kernels.py OUT TARGET: what triton.tar.xz was made of, compiled without a GPU.

One target a process: Triton keeps what it compiled per device and does not look at the target.
"""

import json
import os
import pathlib
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase
from triton.runtime.jit import MockTensor

out = pathlib.Path(sys.argv[1])
targets = sys.argv[2:]
F = MockTensor(tl.float32)
H = MockTensor(tl.float16)
B8 = MockTensor(tl.uint8)


class D(DriverBase):
    def __init__(s, t):
        s.t = t

    @classmethod
    def is_active(cls):
        return True

    def get_current_target(s):
        return s.t

    def get_current_device(s):
        return 0

    def get_current_stream(s, d=None):
        return 0

    def get_active_torch_device(s):
        return None

    def get_benchmarker(s):
        raise NotImplementedError

    def map_python_to_cpp_type(s, t):
        return t


def tgt(n):
    return (
        GPUTarget("cuda", int(n[3:]), 32)
        if n.startswith("sm")
        else GPUTarget("hip", n, 64 if n.startswith("gfx9") else 32)
    )


@triton.jit
def softmax_kernel(
    output_ptr,
    input_ptr,
    input_row_stride,
    output_row_stride,
    n_rows,
    n_cols,
    BLOCK_SIZE: tl.constexpr,
    num_stages: tl.constexpr,
):
    row_start = tl.program_id(0)
    row_step = tl.num_programs(0)
    for row_idx in tl.range(row_start, n_rows, row_step, num_stages=num_stages):
        row_start_ptr = input_ptr + row_idx * input_row_stride
        col_offsets = tl.arange(0, BLOCK_SIZE)
        input_ptrs = row_start_ptr + col_offsets
        mask = col_offsets < n_cols
        row = tl.load(input_ptrs, mask=mask, other=-float("inf"))
        row_minus_max = row - tl.max(row, axis=0)
        numerator = tl.exp(row_minus_max)
        denominator = tl.sum(numerator, axis=0)
        softmax_output = numerator / denominator
        output_row_start_ptr = output_ptr + row_idx * output_row_stride
        tl.store(output_row_start_ptr + col_offsets, softmax_output, mask=mask)


@triton.jit
def add(x, y, o, n, B: tl.constexpr):
    offs = tl.program_id(0) * B + tl.arange(0, B)
    m = offs < n
    tl.store(o + offs, tl.load(x + offs, mask=m) + tl.load(y + offs, mask=m), mask=m)


@triton.jit
def matmul(
    a,
    b,
    c,
    M,
    N,
    K,
    sam,
    sak,
    sbk,
    sbn,
    scm,
    scn,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    G: tl.constexpr,
    LEAKY: tl.constexpr,
):
    pid = tl.program_id(0)
    npm = tl.cdiv(M, BM)
    npn = tl.cdiv(N, BN)
    npg = G * npn
    gid = pid // npg
    fm = gid * G
    gs = min(npm - fm, G)
    pm = fm + ((pid % npg) % gs)
    pn = (pid % npg) // gs
    om = (pm * BM + tl.arange(0, BM)) % M
    on = (pn * BN + tl.arange(0, BN)) % N
    ok = tl.arange(0, BK)
    ap = a + (om[:, None] * sam + ok[None, :] * sak)
    bp = b + (ok[:, None] * sbk + on[None, :] * sbn)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        x = tl.load(ap, mask=ok[None, :] < K - k * BK, other=0.0)
        y = tl.load(bp, mask=ok[:, None] < K - k * BK, other=0.0)
        acc = tl.dot(x, y, acc)
        ap += BK * sak
        bp += BK * sbk
    if LEAKY:
        acc = tl.where(acc >= 0, acc, 0.01 * acc)
    r = acc.to(tl.float16)
    cm = pm * BM + tl.arange(0, BM)
    cn = pn * BN + tl.arange(0, BN)
    tl.store(
        c + scm * cm[:, None] + scn * cn[None, :], r, mask=(cm[:, None] < M) & (cn[None, :] < N)
    )


@triton.jit
def attn(Q, K, V, O, sm, N, BM: tl.constexpr, BN: tl.constexpr, DH: tl.constexpr, S: tl.constexpr):
    pid = tl.program_id(0)
    om = pid * BM + tl.arange(0, BM)
    on = tl.arange(0, BN)
    d = tl.arange(0, DH)
    q = tl.load(Q + om[:, None] * DH + d[None, :])
    m = tl.full([BM], float("-inf"), tl.float32)
    l = tl.full([BM], 1.0, tl.float32)
    acc = tl.zeros([BM, DH], tl.float32)
    for s in tl.range(0, N, BN, num_stages=S):
        k = tl.load(K + (s + on)[None, :] * DH + d[:, None])
        v = tl.load(V + (s + on)[:, None] * DH + d[None, :])
        qk = tl.dot(q, k) * sm
        mi = tl.maximum(m, tl.max(qk, 1))
        p = tl.math.exp2(qk - mi[:, None])
        al = tl.math.exp2(m - mi)
        l = l * al + tl.sum(p, 1)
        acc = acc * al[:, None]
        acc = tl.dot(p.to(tl.float16), v, acc)
        m = mi
    tl.store(O + om[:, None] * DH + d[None, :], (acc / l[:, None]).to(tl.float16))


@triton.jit
def layernorm(X, Y, W, Bi, stride, N, eps, B: tl.constexpr):
    row = tl.program_id(0)
    X += row * stride
    Y += row * stride
    s = tl.zeros([B], tl.float32)
    for off in range(0, N, B):
        c = off + tl.arange(0, B)
        s += tl.load(X + c, mask=c < N, other=0.0).to(tl.float32)
    mean = tl.sum(s, axis=0) / N
    v = tl.zeros([B], tl.float32)
    for off in range(0, N, B):
        c = off + tl.arange(0, B)
        x = tl.load(X + c, mask=c < N, other=0.0).to(tl.float32)
        x = tl.where(c < N, x - mean, 0.0)
        v += x * x
    rstd = 1 / tl.sqrt(tl.sum(v, axis=0) / N + eps)
    for off in range(0, N, B):
        c = off + tl.arange(0, B)
        mk = c < N
        tl.store(
            Y + c,
            (tl.load(X + c, mask=mk, other=0.0) - mean) * rstd * tl.load(W + c, mask=mk)
            + tl.load(Bi + c, mask=mk),
            mask=mk,
        )


@triton.jit
def helper(x, y):
    return tl.where(x > y, x, y)


@triton.jit(noinline=True)
def outlined(x, y):
    return helper(x, y) * 2.0


@triton.jit
def comb(a, b):
    return a * 0.5 + b


@triton.jit
def comb2(am, ai, bm, bi):
    g = am > bm
    return tl.where(g, am, bm), tl.where(g, ai, bi)


@triton.jit
def misc(X, Y, Z, n, flag, B: tl.constexpr, NV: tl.constexpr):
    i = tl.arange(0, B)
    x = tl.load(X + i)
    y = tl.load(Y + i)
    z = x + y + outlined(tl.load(X), n * 1.0)
    if flag > 3:
        z = tl.cumsum(z, 0)
    elif flag > 1:
        z = tl.associative_scan(z, 0, comb)
    else:
        z = tl.sort(z)
    k = 0
    while k < n:
        z += tl.sin(z)
        k += 2
        if k > 7:
            z += 1.0
    mx, ix = tl.reduce((z, i), 0, comb2)
    h = tl.histogram(i, 32)
    tl.store(Z + tl.arange(0, 32), h.to(tl.float32))
    tl.atomic_add(Z + i, z + mx + ix, sem="relaxed")
    tl.atomic_cas(Z.to(tl.pointer_type(tl.int32)), 1, 2)
    tl.device_print("z =", ix)
    tl.debug_barrier()
    am = tl.argmax(x, 0)
    z = tl.flip(z)
    w = tl.reshape(z, (16, B // 16))
    w = tl.trans(w)
    w = tl.join(w, w)
    a, b = tl.split(w)
    c = tl.cat(x, y, can_reorder=True)
    tl.store(Z + tl.arange(0, 2 * B), c)
    tl.store(Z + tl.arange(0, B), tl.reshape(a + b, (B,)) + am)
    tl.store(Z + i, tl.gather(z, i, 0), eviction_policy="evict_last")
    if NV:
        tl.store(
            Z + i,
            tl.inline_asm_elementwise(
                "mov.b32 $0, $1;", "=f,f", [z], dtype=tl.float32, is_pure=True, pack=1
            ),
        )


@triton.jit
def nested(X, Z, n, m, B: tl.constexpr):
    i = tl.arange(0, B)
    acc = tl.zeros([B], tl.float32)
    for a in range(n):
        for b in tl.range(m, num_stages=3):
            idx = tl.load(X.to(tl.pointer_type(tl.int32)) + b * B + i)
            acc += tl.load(X + idx)
            if b == 5:
                acc *= 2.0
        for b in tl.range(m, loop_unroll_factor=2):
            acc += tl.load(X + b * B + i)
    tl.store(Z + i, acc)


@triton.jit
def halfload(X, Z, n, B: tl.constexpr):
    i = tl.arange(0, B)
    acc = tl.zeros([B], tl.float32)
    for a in tl.range(0, n, num_stages=3):
        acc += tl.load(X + a * 7 + i).to(tl.float32)
    tl.store(Z + i, acc)


@triton.jit
def matmul_tma(
    ap, bp, cp, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, WS: tl.constexpr
):
    a = tl.make_tensor_descriptor(ap, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    b = tl.make_tensor_descriptor(bp, shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
    c = tl.make_tensor_descriptor(cp, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    pm = tl.program_id(0)
    pn = tl.program_id(1)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(tl.cdiv(K, BK), warp_specialize=WS):
        acc = tl.dot(a.load([pm * BM, k * BK]), b.load([pn * BN, k * BK]).T, acc)
    c.store([pm * BM, pn * BN], acc.to(tl.float16))


@triton.jit
def scaled(a, asc, b, bsc, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    om = tl.arange(0, BM)
    on = tl.arange(0, BN)
    ok = tl.arange(0, BK)
    os = tl.arange(0, BK // 32)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + om[:, None] * K + k + ok[None, :])
        y = tl.load(b + (k + ok)[:, None] * BN + on[None, :])
        sx = tl.load(asc + om[:, None] * (K // 32) + k // 32 + os[None, :])
        sy = tl.load(bsc + on[:, None] * (K // 32) + k // 32 + os[None, :])
        acc = tl.dot_scaled(x, sx, "e4m3", y, sy, "e4m3", acc)
    tl.store(c + om[:, None] * BN + on[None, :], acc)


@triton.jit
def persistent(
    ap,
    bp,
    cp,
    M,
    N,
    K,
    NSM: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    FL: tl.constexpr,
):
    pid = tl.program_id(0)
    npn = tl.cdiv(N, BN)
    nt = tl.cdiv(M, BM) * npn
    kt = tl.cdiv(K, BK)
    ok = tl.arange(0, BK)
    for t in tl.range(pid, nt, NSM, flatten=FL):
        pm = t // npn
        pn = t % npn
        om = pm * BM + tl.arange(0, BM)
        on = pn * BN + tl.arange(0, BN)
        acc = tl.zeros((BM, BN), tl.float32)
        for ki in range(kt):
            x = tl.load(ap + om[:, None] * K + ki * BK + ok[None, :])
            y = tl.load(bp + (ki * BK + ok)[:, None] * N + on[None, :])
            acc = tl.dot(x, y, acc)
        tl.store(cp + om[:, None] * N + on[None, :], acc.to(tl.float16))


mm = dict(M=4096, N=4096, K=4096, sam=4096, sak=1, sbk=4096, sbn=1, scm=4096, scn=1)


def cfgs():
    for S in (1, 2, 4):
        yield (
            f"softmax{S}",
            softmax_kernel,
            (F, F, 1024, 1024, 4096, 1024),
            dict(BLOCK_SIZE=1024, num_stages=S, num_warps=8),
        )
    yield (
        "softmax_odd",
        softmax_kernel,
        (F, F, 781, 781, 4096, 781),
        dict(BLOCK_SIZE=1024, num_stages=3, num_warps=4),
    )
    yield "add", add, (F, F, F, 1000000), dict(B=1024)
    for S in (1, 2, 3, 4):
        yield (
            f"matmul{S}",
            matmul,
            (H, H, H),
            dict(mm, BM=128, BN=128, BK=64, G=8, LEAKY=S % 2, num_warps=8, num_stages=S),
        )
    yield (
        "matmul_small",
        matmul,
        (H, H, H),
        dict(mm, BM=32, BN=32, BK=32, G=8, LEAKY=0, num_warps=2, num_stages=5),
    )
    yield (
        "matmul_f32",
        matmul,
        (F, F, H),
        dict(mm, BM=64, BN=64, BK=32, G=8, LEAKY=0, num_warps=4, num_stages=3),
    )
    for S in (1, 2, 3, 4):
        yield (
            f"attn{S}",
            attn,
            (H, H, H, H, 0.5, 4096),
            dict(BM=128, BN=64, DH=64, S=S, num_warps=4),
        )
    yield "layernorm", layernorm, (H, H, H, H, 8192, 8192, 1e-5), dict(B=1024, num_warps=8)
    yield "misc", misc, (F, F, F, 100, 8), dict(B=256, NV=targets[0][0] == "s")
    yield "nested", nested, (F, F, 100, 8), dict(B=256)
    yield "halfload", halfload, (H, F, 100), dict(B=256)
    yield (
        "tma",
        matmul_tma,
        (H, H, H, 4096, 4096, 4096),
        dict(BM=128, BN=128, BK=64, WS=False, num_warps=8, num_stages=3),
    )
    yield (
        "tma_ws",
        matmul_tma,
        (H, H, H, 4096, 4096, 4096),
        dict(BM=128, BN=128, BK=64, WS=True, num_warps=4, num_stages=3),
    )
    yield (
        "scaled",
        scaled,
        (B8, B8, B8, B8, F, 4096),
        dict(BM=128, BN=128, BK=128, num_warps=4, num_stages=2),
    )
    yield (
        "persistent",
        persistent,
        (H, H, H, 4096, 4096, 4096),
        dict(NSM=132, BM=128, BN=128, BK=64, FL=False, num_warps=8, num_stages=3),
    )
    yield (
        "persistent_fl",
        persistent,
        (H, H, H, 4096, 4096, 4096),
        dict(NSM=132, BM=128, BN=128, BK=64, FL=True, num_warps=8, num_stages=3),
    )


triton.runtime.driver.set_active(D(tgt(targets[0])))
for name, fn, a, kw in cfgs():
    stem = f"{triton.__version__}-{targets[0]}-{name}"
    os.environ["TRITON_CACHE_DIR"] = str(out / "cache" / stem)
    try:
        k = fn.warmup(*a, grid=(1,), **kw)
    except Exception as error:  # fp8 on GPUs without it, ...
        print("not compiled:", stem, type(error).__name__)
        continue
    for stage in ("ttir", "ttgir"):
        (out / f"{stem}.{stage}").write_text(k.asm[stage])
    (out / f"{stem}.json").write_text(json.dumps(k.metadata._asdict(), default=str))
