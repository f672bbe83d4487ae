"""Causes that are easily taken for others: each kernel can be launched without its own."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "skipping": {
        "sizes": {"M": 1024, "N": 1024, "K": 2048},
        "args": {"a": "fp16[M, K]", "b": "fp16[K, N]", "c": "fp32[M, N]", "N": "N", "K": "K"},
        "constexprs": {"BM": 64, "BN": 64, "BK": 64, "SKIP": True},
        "options": {"num_warps": 4, "num_stages": 3},
        "grid": ["M // BM", "N // BN"],
    },
    "normalized": {
        "sizes": {"M": 1024, "N": 1024, "K": 2048},
        "args": {"a": "fp16[M, K]", "b": "fp16[K, N]", "c": "fp32[M, N]", "N": "N", "K": "K"},
        "constexprs": {"BM": 64, "BN": 64, "BK": 64, "LENGTH": None},
        "options": {"num_warps": 4, "num_stages": 3},
        "grid": ["M // BM", "N // BN"],
    },
    "decayed": {
        "sizes": {"M": 1024, "N": 1024, "K": 2048},
        "args": {"a": "fp16[M, K]", "b": "fp16[K, N]", "c": "fp32[M, N]", "N": "N", "K": "K"},
        "constexprs": {
            "BM": 64, "BN": 64, "BK": 64, "DECAY": 0.5, "EACH": False, "WIDE": False,
            "THRICE": False,
        },
        "options": {"num_warps": 4, "num_stages": 3},
        "grid": ["M // BM", "N // BN"],
    },
    "turned": {
        "sizes": {"M": 1024, "N": 1024, "K": 2048},
        "args": {"a": "fp8e5[K, M]", "b": "fp8e5[N, K]", "c": "fp32[M, N]", "M": "M", "K": "K"},
        "constexprs": {"BM": 64, "BN": 64, "BK": 64, "ALONG_K": False},
        "options": {"num_warps": 4, "num_stages": 3},
        "grid": ["M // BM", "N // BN"],
    },
    "helped": {
        "sizes": {"M": 1024, "N": 1024, "K": 2048},
        "args": {"a": "fp16[M, K]", "b": "fp16[K, N]", "c": "fp32[M, N]", "N": "N", "K": "K"},
        "constexprs": {"BM": 64, "BN": 64, "BK": 64},
        "options": {"num_warps": 4, "num_stages": 3},
        "grid": ["M // BM", "N // BN"],
    },
    "kept": {
        "args": {"x": "fp32[4096, 2048]", "keep": "i1[4096, 2048]", "out": "fp32[2048]"},
        "constexprs": {"BLOCK": 2048},
        "options": {"num_warps": 4},
        "grid": [1],
    },
    "backwards": {
        "args": {"x": "fp32[8192, 1024]", "out": "fp32[8192, 1024]", "n": 1024},
        "constexprs": {"BLOCK": 1024, "TURN": True},
        "options": {"num_warps": 4},
        "grid": [8192],
    },
    "ragged": {
        "args": {
            "x": "fp32[8192, 1024]", "out": "fp32[8192, 1024]", "n": 1024, "lengths": "i32[8192]",
        },
        "constexprs": {"BLOCK": 1024, "TOLD": False},
        "options": {"num_warps": 4},
        "grid": [8192],
    },
    "two_strides": {
        "args": {
            "x": "fp32[8192, 1000]", "y": "fp32[8192, 1001]", "out": "fp32[8192, 512]",
            "n": 1000, "m": 1001,
        },
        "constexprs": {"BLOCK": 512},
        "options": {"num_warps": 4},
        "grid": [8192],
    },
}  # fmt: skip


@triton.jit
def skipping(
    a, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SKIP: tl.constexpr
):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    total = tl.zeros((BM, BN), tl.float32)
    for i in range(0, K, BK):
        x = tl.load(a + m[:, None] * K + (i + k)[None, :])
        y = tl.load(b + (i + k)[:, None] * N + n[None, :])
        if SKIP:
            if i % 256 != 0:
                total = tl.dot(x, y, total)
        else:
            total = tl.dot(x, y, total)
    tl.store(c + m[:, None] * N + n[None, :], total)


@triton.jit
def normalized(
    a, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, LENGTH: tl.constexpr
):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    total = tl.zeros((BM, BN), tl.float32)
    for i in range(0, K if LENGTH is None else LENGTH, BK):
        x = tl.load(a + m[:, None] * K + (i + k)[None, :]).to(tl.float32)
        y = tl.load(b + (i + k)[:, None] * N + n[None, :])
        x /= tl.sum(x, 1)[:, None]
        total = tl.dot(x.to(tl.float16), y, total)
    tl.store(c + m[:, None] * N + n[None, :], total)


@triton.jit
def decayed(
    a, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, DECAY: tl.constexpr,
    EACH: tl.constexpr, WIDE: tl.constexpr, THRICE: tl.constexpr,
):  # fmt: skip
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    total = tl.zeros((BM, BN), tl.float32)
    for i in range(0, K, BK):
        x = tl.load(a + m[:, None] * K + (i + k)[None, :])
        y = tl.load(b + (i + k)[:, None] * N + n[None, :]).to(tl.float16)
        if DECAY != 1.0:
            total *= DECAY
        if WIDE:
            x, y = x.to(tl.float32), y.to(tl.float32)
        total = tl.dot(x, y, total, input_precision="tf32x3" if THRICE else "tf32")
        if EACH:
            tl.store(c + m[:, None] * N + n[None, :], total)
    tl.store(c + m[:, None] * N + n[None, :], total)


@triton.jit
def turned(
    a, b, c, M, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, ALONG_K: tl.constexpr
):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    total = tl.zeros((BM, BN), tl.float32)
    for i in range(0, K, BK):
        if ALONG_K:
            x = tl.load(a + m[:, None] * K + (i + k)[None, :])
        else:
            x = tl.trans(tl.load(a + (i + k)[:, None] * M + m[None, :]))
        y = tl.load(b + n[:, None] * K + (i + k)[None, :])
        total = tl.dot(x, tl.trans(y), total)
    tl.store(c + m[:, None] * BN + n[None, :], total)


@triton.jit
def tile_at(pointer, rows, columns, stride):
    return tl.load(pointer + rows[:, None] * stride + columns[None, :])


@triton.jit
def helped(a, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    total = tl.zeros((BM, BN), tl.float32)
    for i in range(0, K, BK):
        x = tile_at(a, m, i + k, K)
        y = tile_at(b, i + k, n, N)
        total = tl.dot(x, y, total)
    tl.store(c + m[:, None] * N + n[None, :], total)


@triton.jit
def kept(x, keep, out, BLOCK: tl.constexpr):
    """The flags give each thread 16 elements, and as many of fp32."""
    columns = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for row in tl.range(0, 4096, num_stages=3):
        flags = tl.load(keep + row * BLOCK + columns)
        total += tl.where(flags, tl.load(x + row * BLOCK + columns), 0.0)
    tl.store(out + columns, total)


@triton.jit
def backwards(x, out, n, BLOCK: tl.constexpr, TURN: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    row = tl.program_id(0) * n
    value = tl.load(x + row + (BLOCK - 1 - columns if TURN else columns))
    tl.store(out + row + columns, value)


@triton.jit
def ragged(x, out, n, lengths, BLOCK: tl.constexpr, TOLD: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    row = tl.program_id(0)
    length = tl.load(lengths + row)
    if TOLD:
        length = tl.multiple_of(length, 16)
    value = tl.load(x + row * n + columns, mask=columns < length, other=0.0)
    tl.store(out + row * n + columns, value)


@triton.jit
def two_strides(x, y, out, n, m, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    row = tl.program_id(0)
    total = tl.load(x + row * n + columns) + tl.load(y + row * m + columns)
    tl.store(out + row * BLOCK + columns, total)
