"""Kernels with loops to be judged; ``labels.toml`` of the pipeline tests says how they were.

Each loop is marked by a comment on its line.
"""

import triton
import triton.language as tl
from triton.runtime.jit import MockTensor


@triton.jit
def matmul(a, b, c, M, N, K, sam, sbk, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    pa = a + rm[:, None] * sam + rk[None, :]
    pb = b + rk[:, None] * sbk + rn[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):  # loop
        x = tl.load(pa, mask=rk[None, :] < K - k, other=0.0)
        y = tl.load(pb, mask=rk[:, None] < K - k, other=0.0)
        acc = tl.dot(x, y, acc)
        pa += BK
        pb += BK * sbk
    tl.store(c + rm[:, None] * scm + rn[None, :], acc.to(tl.float16))


@triton.jit
def attention(q, k, v, o, sm_scale, n_ctx, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, STAGES: tl.constexpr):
    start = tl.program_id(0) * BM
    om = start + tl.arange(0, BM)
    on = tl.arange(0, BN)
    od = tl.arange(0, D)
    qq = tl.load(q + om[:, None] * D + od[None, :])
    m_i = tl.full((BM,), -float("inf"), tl.float32)
    l_i = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for n in tl.range(0, n_ctx, BN, num_stages=STAGES):  # loop
        kk = tl.load(k + (n + on)[None, :] * D + od[:, None])
        s = tl.dot(qq, kk) * sm_scale
        m_new = tl.maximum(m_i, tl.max(s, 1))
        p = tl.exp2(s - m_new[:, None])
        alpha = tl.exp2(m_i - m_new)
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        vv = tl.load(v + (n + on)[:, None] * D + od[None, :])
        acc = tl.dot(p.to(tl.float16), vv, acc)
        m_i = m_new
    tl.store(o + om[:, None] * D + od[None, :], (acc / l_i[:, None]).to(tl.float16))


@triton.jit
def matmul_tma(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, WS: tl.constexpr):
    da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    dc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    pm = tl.program_id(0) * BM
    pn = tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in tl.range(0, K, BK, warp_specialize=WS):  # loop
        x = da.load([pm, k])
        y = db.load([k, pn])
        acc = tl.dot(x, y, acc)
    dc.store([pm, pn], acc.to(tl.float16))


@triton.jit
def persistent_tma(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SMS: tl.constexpr, FLAT: tl.constexpr):
    da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    dc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    tiles_n = tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, BM) * tiles_n, SMS, flatten=FLAT):  # flat
        pm = tile // tiles_n * BM
        pn = tile % tiles_n * BN
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(0, K, BK):  # loop
            x = da.load([pm, k])
            y = db.load([k, pn])
            acc = tl.dot(x, y, acc)
        dc.store([pm, pn], acc.to(tl.float16))


@triton.jit
def row_sum_tma(a, out, M, N, BM: tl.constexpr, BN: tl.constexpr, STAGES: tl.constexpr):
    da = tl.make_tensor_descriptor(a, [M, N], [N, 1], [BM, BN])
    acc = tl.zeros((BM,), tl.float32)
    for n in tl.range(0, N, BN, num_stages=STAGES):  # loop
        acc += tl.sum(da.load([tl.program_id(0) * BM, n]), 1)
    tl.store(out + tl.program_id(0) * BM + tl.arange(0, BM), acc)


@triton.jit
def vector_add(x, y, out, n, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    for i in tl.range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK, num_stages=STAGES):  # loop
        o = i + tl.arange(0, BLOCK)
        tl.store(out + o, tl.load(x + o, mask=o < n) + tl.load(y + o, mask=o < n), mask=o < n)


@triton.jit
def gather(idx, x, out, n, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    for i in tl.range(0, n, BLOCK, num_stages=STAGES):  # loop
        o = i + tl.arange(0, BLOCK)
        j = tl.load(idx + o, mask=o < n, other=0)
        tl.store(out + o, tl.load(x + j, mask=o < n, other=0.0), mask=o < n)


@triton.jit
def gather_dot(idx, a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, STAGES: tl.constexpr):
    rm = tl.arange(0, BM)
    rn = tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, K, BK, num_stages=STAGES):  # loop
        j = tl.load(idx + k + rk)
        x = tl.load(a + rm[:, None] * K + (k + rk)[None, :])
        y = tl.load(b + j[:, None] * BN + rn[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + rm[:, None] * BN + rn[None, :], acc)


@triton.jit
def row_sum(x, out, stride, n, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    row = tl.program_id(0)
    acc = tl.zeros((BLOCK,), tl.float32)
    for i in tl.range(0, n, BLOCK, num_stages=STAGES):  # loop
        o = i + tl.arange(0, BLOCK)
        acc += tl.load(x + row * stride + o, mask=o < n, other=0.0)
    tl.store(out + row, tl.sum(acc, 0))


@triton.jit
def bytes_sum(x, out, n, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    acc = tl.zeros((BLOCK,), tl.int32)
    for i in tl.range(0, n, BLOCK, num_stages=STAGES):  # loop
        acc += tl.load(x + i + tl.arange(0, BLOCK)).to(tl.int32)
    tl.store(out + tl.arange(0, BLOCK), acc)


@triton.jit
def prefetched(x, out, n, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    """The author loads the next block before using this one."""
    o = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), tl.float32)
    now = tl.load(x + o)
    for i in tl.range(BLOCK, n, BLOCK, num_stages=STAGES):  # loop
        coming = tl.load(x + i + o)
        acc += tl.exp(now)
        now = coming
    tl.store(out + o, acc + now)


@triton.jit
def chase(first, following, out, n, STAGES: tl.constexpr):
    """Each load's address is what the one before it loaded."""
    at = tl.load(first)
    total = at
    for _ in tl.range(0, n, num_stages=STAGES):  # loop
        at = tl.load(following + at)
        total += at
    tl.store(out, total)


@triton.jit
def two_loops(x, y, out, n, BLOCK: tl.constexpr):
    """A deep loop and one that is not pipelined."""
    acc = tl.zeros((BLOCK,), tl.float32)
    for i in tl.range(0, n, BLOCK, num_stages=4):  # loop
        acc += tl.load(x + i + tl.arange(0, BLOCK))
    for i in tl.range(0, n, BLOCK, num_stages=1):  # second
        acc *= tl.load(y + i + tl.arange(0, BLOCK))
    tl.store(out + tl.arange(0, BLOCK), acc)


F32, F16, I32, I8 = (MockTensor(kind) for kind in (tl.float32, tl.float16, tl.int32, tl.int8))
TMA = {"BM": 128, "BN": 128, "BK": 64}

# How each is compiled, given a number of stages.
VARIANTS = {
    "matmul": lambda s: matmul.warmup(
        F16, F16, F16, 512, 512, 512, 512, 512, 512, BM=64, BN=64, BK=32, num_stages=s, grid=(1,)
    ),
    "attention": lambda s: attention.warmup(
        F16, F16, F16, F16, 1.0, 1024, BM=64, BN=32, D=64, STAGES=s, grid=(1,)
    ),
    "matmul_tma": lambda s: matmul_tma.warmup(
        F16, F16, F16, 512, 512, 512, **TMA, WS=False, num_stages=s, grid=(1,)
    ),
    "matmul_tma_specialized": lambda s: matmul_tma.warmup(
        F16, F16, F16, 512, 512, 512, **TMA, WS=True, num_stages=s, grid=(1,)
    ),
    "persistent_tma": lambda s: persistent_tma.warmup(
        F16, F16, F16, 512, 512, 512, **TMA, SMS=132, FLAT=False, num_stages=s, num_warps=8, grid=(1,)
    ),
    "flattened_tma": lambda s: persistent_tma.warmup(
        F16, F16, F16, 512, 512, 512, **TMA, SMS=132, FLAT=True, num_stages=s, num_warps=8, grid=(1,)
    ),
    "row_sum_tma": lambda s: row_sum_tma.warmup(
        F32, F32, 512, 512, BM=64, BN=64, STAGES=s, grid=(1,)
    ),
    "vector_add": lambda s: vector_add.warmup(
        F32, F32, F32, 65536, BLOCK=1024, STAGES=s, grid=(1,)
    ),
    "gather": lambda s: gather.warmup(I32, F32, F32, 65536, BLOCK=1024, STAGES=s, grid=(1,)),
    "gather_dot": lambda s: gather_dot.warmup(
        I32, F16, F16, F32, 1024, BM=64, BN=64, BK=32, STAGES=s, grid=(1,)
    ),
    "row_sum": lambda s: row_sum.warmup(F32, F32, 4096, 4096, BLOCK=1024, STAGES=s, grid=(1,)),
    "bytes_sum": lambda s: bytes_sum.warmup(I8, I32, 4096, BLOCK=1024, STAGES=s, grid=(1,)),
    "prefetched": lambda s: prefetched.warmup(F32, F32, 4096, BLOCK=1024, STAGES=s, grid=(1,)),
    "chase": lambda s: chase.warmup(I32, I32, I32, 100, STAGES=s, grid=(1,)),
    "two_loops": lambda s: two_loops.warmup(F32, F32, F32, 4096, BLOCK=1024, grid=(1,)),
}
