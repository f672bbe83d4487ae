"""Kernels whose causes AMD's compiler decides."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "depthwise": {
        "sizes": {"C": 256, "L": 4096},
        "args": {"x": "fp32[C, L]", "w": "fp32[C, 4]", "out": "fp32[C, L]", "L": "L"},
        "constexprs": {"BC": 64, "BL": 16},
        "options": {"num_warps": 4},
        "grid": ["C // BC", "L // BL"],
    },
    "gathered": {
        "args": {"table": "fp16[65536, 256]", "ids": "i64[4096]", "out": "fp16[4096, 256]"},
        "constexprs": {"D": 256, "ROWS": 16},
        "options": {"num_warps": 4},
        "grid": ["4096 // ROWS"],
    },
    "scaled_blocks": {
        "sizes": {"M": 256, "N": 256, "K": 1024},
        "args": {
            "a": "u8[M, K // 2]", "a_scale": "u8[M, K // 32]", "b": "u8[K // 2, N]",
            "b_scale": "u8[N, K // 32]", "c": "fp32[M, N]", "N": "N", "K": "K",
        },
        "constexprs": {"BM": 64, "BN": 64, "BK": 128},
        "options": {"num_warps": 4, "num_stages": 2},
        "grid": ["M // BM", "N // BN"],
    },
    "added": {
        "sizes": {"M": 1024, "N": 1024, "K": 1024},
        "args": {"a": "fp16[M, K]", "b": "fp16[K, N]", "c": "fp32[M, N]", "N": "N", "K": "K"},
        "constexprs": {"BM": 64, "BN": 64, "BK": 32},
        "options": {"num_warps": 4, "num_stages": 1},
        "grid": ["M // BM", "N // BN", 2],
    },
    "ragged": {
        "sizes": {"M": 1024, "N": 1024, "K": 1024},
        "args": {"a": "fp16[M, K]", "b": "fp16[K, N]", "c": "fp16[M, N]", "N": "N", "K": "K"},
        "constexprs": {"BM": 64, "BN": 64, "BK": 32},
        "options": {"num_warps": 4, "num_stages": 2},
        "grid": ["M // BM", "N // BN"],
    },
    "listed": {
        "args": {"pointers": "i64[16]", "out": "fp32[16, 64]", "n": 1024, "stride": 1024},
        "options": {"num_warps": 4},
        "grid": [16],
    },
    "looked_up": {
        "sizes": {"ROWS": 1024, "N": 1024},
        "args": {
            "table": "fp32[ROWS, 64]", "ids": "i32[64, N]", "out": "fp32[64, 64]", "n": "N",
            "m": 60,
        },
        "constexprs": {"SHIFTED": False},
        "options": {"num_warps": 4},
        "grid": [1],
    },
    "halves": {
        "sizes": {"M": 1024},
        "args": {"x": "fp32[M, 1024]", "out": "fp32[64, 64]", "n": 1024},
        "options": {"num_warps": 4},
        "grid": ["M // 64"],
    },
    "tiles": {
        "sizes": {"M": 1024, "N": 1024, "K": 1024},
        "args": {"a": "fp16[M, K]", "b": "fp16[K, N]", "c": "fp16[M, N]", "N": "N", "K": "K"},
        "constexprs": {"BM": 64, "BN": 64, "BK": 32},
        "options": {"num_warps": 4, "num_stages": 2},
        "grid": ["M // BM", "N // BN"],
    },
}  # fmt: skip


@triton.jit
def depthwise(x, w, out, L, BC: tl.constexpr, BL: tl.constexpr):
    """Convolve each channel with its own four weights."""
    channel = tl.program_id(0) * BC + tl.arange(0, BC)
    place = tl.program_id(1) * BL + tl.arange(0, BL)
    total = tl.zeros([BC, BL], tl.float32)
    for tap in tl.static_range(4):
        source = place - 3 + tap
        value = tl.load(x + channel[:, None] * L + source[None, :], mask=source[None, :] >= 0)
        total += value * tl.load(w + channel * 4 + tap)[:, None]
    tl.store(out + channel[:, None] * L + place[None, :], total)


@triton.jit
def gathered(table, ids, out, D: tl.constexpr, ROWS: tl.constexpr):
    """Copy the rows that ``ids`` names."""
    row, column = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, D)
    index = tl.load(ids + row)
    value = tl.load(table + index[:, None] * D + column[None, :])
    tl.store(out + row[:, None] * D + column[None, :], value)


@triton.jit
def scaled_blocks(
    a, a_scale, b, b_scale, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    """Multiply blocks of 4-bit values, with a scale for each 32 of them."""
    m, n = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    pair, block = tl.arange(0, BK // 2), tl.arange(0, BK // 32)
    total = tl.zeros([BM, BN], tl.float32)
    for k in range(0, K // BK):
        x = tl.load(a + m[:, None] * (K // 2) + (k * (BK // 2) + pair)[None, :])
        x_scale = tl.load(a_scale + m[:, None] * (K // 32) + (k * (BK // 32) + block)[None, :])
        y = tl.load(b + (k * (BK // 2) + pair)[:, None] * N + n[None, :])
        y_scale = tl.load(b_scale + n[:, None] * (K // 32) + (k * (BK // 32) + block)[None, :])
        total = tl.dot_scaled(x, x_scale, "e2m1", y, y_scale, "e2m1", total)
    tl.store(c + m[:, None] * N + n[None, :], total)


@triton.jit
def added(a, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Add up the halves of a product's sums."""
    m, n = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    k, half = tl.arange(0, BK), tl.program_id(2) * (K // 2)
    total = tl.zeros([BM, BN], tl.float32)
    for first in range(half, half + K // 2, BK):
        x = tl.load(a + m[:, None] * K + (first + k)[None, :])
        y = tl.load(b + (first + k)[:, None] * N + n[None, :])
        total = tl.dot(x, y, total)
    tl.atomic_add(c + m[:, None] * N + n[None, :], total, sem="relaxed")


@triton.jit
def ragged(a, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Multiply two matrices, whatever K is."""
    m, n = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros([BM, BN], tl.float32)
    for first in range(0, K, BK):
        k = first + tl.arange(0, BK)
        x = tl.load(a + m[:, None] * K + k[None, :], mask=k[None, :] < K, other=0.0)
        y = tl.load(b + k[:, None] * N + n[None, :], mask=k[:, None] < K, other=0.0)
        total = tl.dot(x, y, total)
    tl.store(c + m[:, None] * N + n[None, :], total.to(tl.float16))


@triton.jit
def listed(pointers, out, n, stride):
    """Add up the columns of the matrices whose addresses are in memory."""
    first = tl.load(pointers + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    row, column = tl.arange(0, 64)[:, None], tl.arange(0, 64)
    total = tl.zeros([64, 64], tl.float32)
    for start in range(0, n, 64):
        column_here = start + column[None, :]
        total += tl.load(first + row * stride + column_here, mask=column_here < n, other=0.0)
    tl.store(out + tl.program_id(0) * 64 + column, tl.sum(total, axis=0))


@triton.jit
def looked_up(table, ids, out, n, m, SHIFTED: tl.constexpr):
    """Add up the rows of a table that each row of ``ids`` names, from its first number on."""
    lane, column = tl.arange(0, 64), tl.arange(0, 64)[None, :]
    first = tl.load(ids) if SHIFTED else 0
    total = tl.zeros([64, 64], tl.float32)
    for place in range(n):
        row = tl.load(ids + lane * n + place, mask=lane < m, other=0)
        total += tl.load(table + (first + row[:, None]) * 64 + column, mask=lane[:, None] < m)
    tl.store(out + lane[:, None] * 64 + column, total)


@triton.jit
def halves(x, out, n):
    """Add up the columns of a matrix, of which every other tile has a mask."""
    row, column = tl.program_id(0) * 64 + tl.arange(0, 64)[:, None], tl.arange(0, 64)[None, :]
    total = tl.zeros([64, 64], tl.float32)
    for start in range(0, n, 128):
        for half in tl.static_range(2):
            at = start + half * 64 + column
            total += tl.load(x + row * n + at, mask=at < n if half == 0 else None)
    tl.store(out + tl.arange(0, 64)[:, None] * 64 + column, total)


@triton.jit
def tiles(a, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Multiply two matrices."""
    m, n = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    total = tl.zeros([BM, BN], tl.float32)
    for first in range(0, K, BK):
        x = tl.load(a + m[:, None] * K + (first + k)[None, :])
        y = tl.load(b + (first + k)[:, None] * N + n[None, :])
        total = tl.dot(x, y, total)
    tl.store(c + m[:, None] * N + n[None, :], total.to(tl.float16))
