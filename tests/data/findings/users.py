"""Kernels as users write them, each with something that keeps it from its speed."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "attention": {
        "sizes": {"heads": 32, "length": 2048},
        "args": {
            "q": "fp16[heads, length, D]", "k": "fp16[heads, length, D]",
            "v": "fp16[heads, length, D]", "o": "fp16[heads, length, D]",
            "scale": 0.125, "length": "length",
        },
        "constexprs": {"D": 64, "BM": 64, "BN": 64},
        "options": {"num_warps": 4, "num_stages": 2},
        "grid": ["length // BM", "heads"],
    },
    "biased_attention": {
        "sizes": {"length": 1024},
        "args": {
            "q": "fp16[length, D]", "k": "fp16[length, D]", "v": "fp16[length, D]",
            "bias": "fp32[length, length]", "o": "fp32[length, D]", "length": "length",
        },
        "constexprs": {"D": 32, "BM": 64, "BN": 32, "STAGES": None},
        "options": {"num_warps": 4, "num_stages": 2},
        "grid": ["length // BM"],
    },
    "w8a16": {
        "sizes": {"M": 1024, "N": 4096, "K": 4096},
        "args": {
            "a": "fp16[M, K]", "b": "i8[K, N]", "scales": "fp16[N]", "c": "fp16[M, N]",
            "N": "N", "K": "K",
        },
        "constexprs": {"BM": 64, "BN": 64, "BK": 64},
        "options": {"num_warps": 4, "num_stages": 3},
        "grid": ["M // BM", "N // BN"],
    },
    "fp8_matmul": {
        "sizes": {"M": 1024, "N": 1024, "K": 4096},
        "args": {
            "a": "fp8e4nv[M, K]", "b": "fp8e4nv[K, N]", "c": "fp16[M, N]",
            "stride_am": "K", "stride_bk": "N", "N": "N", "K": "K",
        },
        "constexprs": {"BM": 64, "BN": 64, "BK": 64},
        "options": {"num_warps": 4, "num_stages": 3},
        "grid": ["M // BM", "N // BN"],
    },
    "w8a8": {
        "sizes": {"M": 1024, "N": 1024, "K": 4096},
        "args": {"a": "i8[M, K]", "b": "i8[K, N]", "c": "i32[M, N]", "N": "N", "K": "K"},
        "constexprs": {"BM": 64, "BN": 64, "BK": 64, "ALONG_K": False},
        "options": {"num_warps": 4, "num_stages": 3},
        "grid": ["M // BM", "N // BN"],
    },
    "embedding_bag": {
        "args": {"table": "fp32[65536, D]", "ids": "i32[512, 64]", "out": "fp32[512, D]", "n": 64},
        "constexprs": {"D": 1024, "STAGES": 2},
        "options": {"num_warps": 4},
        "grid": [512],
    },
    "gather": {
        "args": {"x": "fp32[65536]", "ids": "i32[4096]", "y": "fp32[4096]"},
        "constexprs": {"BLOCK": 256},
        "options": {"num_warps": 4},
        "grid": [16],
    },
    "transposed_copy": {
        "sizes": {"m": 1024, "n": 2048},
        "args": {"x": "fp32[m, n]", "y": "fp32[n, m]", "m": "m", "n": "n"},
        "constexprs": {"BLOCK": 256},
        "options": {"num_warps": 4},
        "grid": ["n", "m // BLOCK"],
    },
    "masked_softmax": {
        "sizes": {"rows": 4096, "cols": 1000},
        "args": {
            "x": "fp16[rows, cols]", "keep": "i8[rows, cols]", "y": "fp16[rows, cols]",
            "stride": "cols", "cols": "cols",
        },
        "constexprs": {"BLOCK": 1024},
        "options": {"num_warps": 4},
        "grid": ["rows"],
    },
    "split_k": {
        "sizes": {"M": 512, "N": 512, "K": 8192},
        "args": {
            "a": "fp16[M, K]", "b": "fp16[K, N]", "c": "fp32[M, N]", "N": "N", "K": "K",
        },
        "constexprs": {"BM": 64, "BN": 64, "BK": 64, "SPLIT": 8},
        "options": {"num_warps": 4, "num_stages": 3},
        "grid": ["M // BM", "N // BN", "SPLIT"],
    },
    "causal_sum": {
        "sizes": {"rows": 512, "n": 8192},
        "args": {"x": "fp32[rows, n]", "w": "fp32[n]", "y": "fp32[rows]", "n": "n", "last": 4096},
        "constexprs": {"BLOCK": 1024, "STAGES": 3},
        "options": {"num_warps": 4},
        "grid": ["rows"],
    },
    "row_norm": {
        "sizes": {"rows": 4096, "n": 8192},
        "args": {"x": "fp16[rows, n]", "y": "fp16[rows, n]", "n": "n"},
        "constexprs": {"BLOCK": 1024},
        "options": {"num_warps": 4},
        "grid": ["rows"],
    },
    "persistent": {
        "sizes": {"M": 1024, "N": 1024, "K": 1024},
        "args": {"a": "fp16[M, K]", "b": "fp16[K, N]", "c": "fp16[M, N]", "M": "M", "N": "N", "K": "K"},
        "constexprs": {"BM": 64, "BN": 64, "BK": 64, "PRINT": False},
        "options": {"num_warps": 4, "num_stages": 3},
        "grid": [132],
    },
    "moved_line": {
        "sizes": {"M": 1024, "N": 1024, "K": 4096},
        "args": {"a": "fp16[M, K]", "b": "fp16[K, N]", "c": "fp16[M, N]", "N": "N", "K": "K"},
        "constexprs": {"BM": 64, "BN": 128, "BK": 64, "EARLY": False},
        "options": {"num_warps": 4, "num_stages": 4},
        "grid": ["M // BM", "N // BN"],
    },
    "turning": {
        "sizes": {"M": 1024, "N": 1024, "K": 4096},
        "args": {"a": "fp16[M, K]", "b": "fp16[K, N]", "c": "fp16[M, N]", "N": "N", "K": "K"},
        "constexprs": {"BM": 64, "BN": 128, "BK": 64, "TURN": True},
        "options": {"num_warps": 4, "num_stages": 3},
        "grid": ["M // BM", "N // BN"],
    },
    "transposed_operand": {
        "sizes": {"M": 2048, "N": 2048, "K": 2048},
        "args": {"a": "fp32[M, K]", "b": "fp32[K, N]", "c": "fp32[M, N]", "N": "N", "K": "K"},
        "constexprs": {"BM": 64, "BN": 64, "BK": 32},
        "options": {"num_warps": 4, "num_stages": 3},
        "grid": ["M // BM", "N // BN"],
    },
}  # fmt: skip


@triton.jit
def attention(q, k, v, o, scale, length, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """Attention of one head, online."""
    base = tl.program_id(1) * length * D
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    query = tl.load(q + base + m[:, None] * D + d[None, :])
    top = tl.full([BM], -float("inf"), tl.float32)
    norm = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    for start in range(0, length, BN):
        n = start + tl.arange(0, BN)
        key = tl.load(k + base + n[None, :] * D + d[:, None])
        s = tl.dot(query, key) * scale
        new = tl.maximum(top, tl.max(s, 1))
        p = tl.exp(s - new[:, None])
        alpha = tl.exp(top - new)
        norm = norm * alpha + tl.sum(p, 1)
        value = tl.load(v + base + n[:, None] * D + d[None, :])
        acc = tl.dot(p.to(tl.float16), value, acc * alpha[:, None])
        top = new
    tl.store(o + base + m[:, None] * D + d[None, :], (acc / norm[:, None]).to(tl.float16))


@triton.jit
def biased_attention(q, k, v, bias, o, length, D: tl.constexpr, BM: tl.constexpr,
                     BN: tl.constexpr, STAGES: tl.constexpr):
    """Attention with a bias, which becomes the accumulator of the first product."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    x = tl.load(q + rows[:, None] * D + d[None, :])
    acc = tl.zeros([BM, D], tl.float32)
    for start in tl.range(0, length, BN, num_stages=STAGES):
        columns = start + tl.arange(0, BN)
        scores = tl.dot(x, tl.load(k + columns[None, :] * D + d[:, None]))
        scores += tl.load(bias + rows[:, None] * length + columns[None, :])
        p = tl.exp2(scores - tl.max(scores, 1)[:, None])
        y = tl.load(v + columns[:, None] * D + d[None, :])
        acc = tl.dot(p.to(tl.float16), y, acc)
    tl.store(o + rows[:, None] * D + d[None, :], acc)


@triton.jit
def w8a16(a, b, scales, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Product of fp16 activations and int8 weights."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros([BM, BN], tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        x = tl.load(a + m[:, None] * K + k[None, :])
        w = tl.load(b + k[:, None] * N + n[None, :])
        scale = tl.load(scales + n)
        acc += tl.dot(x, w.to(tl.float16)) * scale[None, :]
    tl.store(c + m[:, None] * N + n[None, :], acc.to(tl.float16))


@triton.jit
def fp8_matmul(a, b, c, stride_am, stride_bk, N, K,
               BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Product of two row-major fp8 matrices."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros([BM, BN], tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        x = tl.load(a + m[:, None] * stride_am + k[None, :])
        w = tl.load(b + k[:, None] * stride_bk + n[None, :])
        acc = tl.dot(x, w, acc)
    tl.store(c + m[:, None] * N + n[None, :], acc.to(tl.float16))


@triton.jit
def w8a8(a, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
         ALONG_K: tl.constexpr):
    """Product of two int8 matrices, the second one row-major or column-major."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros([BM, BN], tl.int32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        x = tl.load(a + m[:, None] * K + k[None, :])
        if ALONG_K:
            w = tl.load(b + n[None, :] * K + k[:, None])
        else:
            w = tl.load(b + k[:, None] * N + n[None, :])
        acc = tl.dot(x, w, acc)
    tl.store(c + m[:, None] * N + n[None, :], acc)


@triton.jit
def embedding_bag(table, ids, out, n, D: tl.constexpr, STAGES: tl.constexpr):
    """Sum of the rows that a bag names."""
    bag = tl.program_id(0)
    d = tl.arange(0, D)
    slot = tl.arange(0, 2)
    acc = tl.zeros([2, D], tl.float32)
    for i in tl.range(0, n, 2, num_stages=STAGES):
        row = tl.load(ids + bag * n + i + slot)
        acc += tl.load(table + row[:, None] * D + d[None, :])
    tl.store(out + bag * D + d, tl.sum(acc, 0))


@triton.jit
def gather(x, ids, y, BLOCK: tl.constexpr):
    """Elements that indices name."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + tl.load(ids + i)))


@triton.jit
def transposed_copy(x, y, m, n, BLOCK: tl.constexpr):
    """A column of a matrix to a row of its transpose."""
    column = tl.program_id(0)
    rows = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + column * m + rows, tl.load(x + rows * n + column))


@triton.jit
def masked_softmax(x, keep, y, stride, cols, BLOCK: tl.constexpr):
    """Softmax of a row where a mask of bytes keeps elements."""
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    inside = i < cols
    kept = tl.load(keep + row * stride + i, mask=inside, other=0)
    value = tl.load(x + row * stride + i, mask=inside, other=-float("inf")).to(tl.float32)
    value = tl.where(kept != 0, value, -float("inf"))
    e = tl.exp(value - tl.max(value, 0))
    tl.store(y + row * stride + i, (e / tl.sum(e, 0)).to(tl.float16), mask=inside)


@triton.jit
def split_k(a, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
            SPLIT: tl.constexpr):
    """Product whose inner dimension several programs share."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros([BM, BN], tl.float32)
    for start in range(tl.program_id(2) * BK, K, BK * SPLIT):
        k = start + tl.arange(0, BK)
        acc = tl.dot(
            tl.load(a + m[:, None] * K + k[None, :]), tl.load(b + k[:, None] * N + n[None, :]), acc
        )
    tl.atomic_add(c + m[:, None] * N + n[None, :], acc)


@triton.jit
def causal_sum(x, w, y, n, last, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    """Weighted sum of a row, of which some blocks are skipped."""
    row = tl.program_id(0)
    acc = tl.zeros([BLOCK], tl.float32)
    for start in tl.range(0, n, BLOCK, num_stages=STAGES):
        i = start + tl.arange(0, BLOCK)
        weight = tl.load(w + i)
        if start < last:
            acc += weight * tl.load(x + row * n + i)
    tl.store(y + row, tl.sum(acc, 0))


@triton.jit
def row_norm(x, y, n, BLOCK: tl.constexpr):
    """Scale rows by their norms, in two passes over a long row."""
    row = tl.program_id(0)
    acc = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        value = tl.load(x + row * n + start + tl.arange(0, BLOCK)).to(tl.float32)
        acc += value * value
    scale = tl.rsqrt(tl.sum(acc, 0) / n)
    for start in range(0, n, BLOCK):
        i = row * n + start + tl.arange(0, BLOCK)
        tl.store(y + i, (tl.load(x + i).to(tl.float32) * scale).to(tl.float16))


@triton.jit
def persistent(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
               PRINT: tl.constexpr):
    """Tiles of a product, many per program."""
    tiles = tl.cdiv(M, BM) * tl.cdiv(N, BN)
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        m = tile // tl.cdiv(N, BN) * BM + tl.arange(0, BM)
        n = tile % tl.cdiv(N, BN) * BN + tl.arange(0, BN)
        acc = tl.zeros([BM, BN], tl.float32)
        for start in range(0, K, BK):
            k = start + tl.arange(0, BK)
            x = tl.load(a + m[:, None] * K + k[None, :])
            w = tl.load(b + k[:, None] * N + n[None, :])
            acc = tl.dot(x, w, acc)
            if PRINT:
                tl.device_print("start", start)
        tl.store(c + m[:, None] * N + n[None, :], acc.to(tl.float16))


@triton.jit
def moved_line(a, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, EARLY: tl.constexpr):
    """Load of the next iteration issued by hand, carried."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros([BM, BN], tl.float32)
    x = tl.load(a + m[:, None] * K + k[None, :])
    for start in range(0, K, BK):
        w = tl.load(b + (start + k)[:, None] * N + n[None, :])
        if EARLY:
            x = tl.load(a + m[:, None] * K + (start + k)[None, :])
        acc = tl.dot(x, w, acc)
        if not EARLY:
            x = tl.load(a + m[:, None] * K + (start + BK + k)[None, :], mask=start + BK < K)
    tl.store(c + m[:, None] * N + n[None, :], acc.to(tl.float16))


@triton.jit
def turning(a, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, TURN: tl.constexpr):
    """Pointers that a condition moves on, in one way or in another."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros([BM, BN], tl.float32)
    xs = a + m[:, None] * K + k[None, :]
    for start in range(0, K, BK):
        x = tl.load(xs)
        w = tl.load(b + (start + k)[:, None] * N + n[None, :])
        acc = tl.dot(x, w, acc)
        if TURN and start // BK % 2 == 1:
            xs += BK // 2
            xs += BK // 2
        else:
            xs += BK
    tl.store(c + m[:, None] * N + n[None, :], acc.to(tl.float16))


@triton.jit
def transposed_operand(a, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Product in tf32, of which wgmma takes the second operand with K contiguous only."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros([BM, BN], tl.float32)
    for start in range(0, K, BK):
        x = tl.load(a + m[:, None] * K + (start + k)[None, :])
        w = tl.load(b + (start + k)[:, None] * N + n[None, :])
        acc = tl.dot(x, w, acc)
    tl.store(c + m[:, None] * N + n[None, :], acc)
