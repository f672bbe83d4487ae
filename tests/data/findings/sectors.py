"""Kernels whose requests touch more sectors than hold their bytes, each for one reason."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "stencil": {
        "sizes": {"n": 1000000},
        "args": {"x": "fp32[n]", "y": "fp32[n]", "n": "n"},
        "constexprs": {"BLOCK": 1024},
        "grid": ["cdiv(n, BLOCK)"],
    },
    "roll": {
        "sizes": {"n": 1000000},
        "args": {"x": "fp32[n]", "y": "fp32[n]", "n": "n", "shift": 17},
        "constexprs": {"BLOCK": 1024},
        "grid": ["cdiv(n, BLOCK)"],
    },
    "few_elements": {
        "sizes": {"rows": 4096},
        "args": {"x": "fp16[rows, D]", "y": "fp16[rows, D]", "stride": "D"},
        "constexprs": {"D": 64},
        "grid": ["rows"],
    },
    "constant_bound": {
        "sizes": {"rows": 512},
        "args": {"x": "fp32[rows, 1024]", "y": "fp32[rows, 1024]"},
        "constexprs": {"N": 1001, "BLOCK": 1024},
        "grid": ["rows"],
    },
    "two_bounds": {
        "sizes": {"n": 65536},
        "args": {"x": "fp32[n]", "y": "fp32[n]", "n": "n"},
        "constexprs": {"BLOCK": 1024},
        "grid": ["cdiv(n, BLOCK)"],
    },
    "every_other": {
        "sizes": {"n": 65536},
        "args": {"x": "fp32[2 * n]", "y": "fp32[n]"},
        "constexprs": {"STEP": 2, "BLOCK": 1024},
        "grid": ["n // BLOCK"],
    },
    "mixed_types": {
        "sizes": {"rows": 64, "columns": 4096},
        "args": {"x": "fp16[rows, columns]", "w": "i8[rows, columns]", "y": "fp16[rows, columns]"},
        "constexprs": {"C": 4096, "B": 64},
        "grid": ["columns // B"],
        "options": {"num_warps": 4},
    },
    "channels_last": {
        "sizes": {"pixels": 4096, "C": 48},
        "args": {"x": "bf16[pixels, C]", "y": "bf16[C, pixels]", "pixels": "pixels", "C": "C"},
        "constexprs": {"BLOCK": 256},
        "grid": ["pixels // BLOCK", "C"],
    },
    "transpose": {
        "sizes": {"m": 1024, "n": 2048},
        "args": {
            "x": "fp16[m, n]", "y": "fp16[n, m]", "sxm": "n", "sxn": 1, "sym": "m", "syn": 1,
        },
        "constexprs": {"B": 32},
        "grid": ["m // B", "n // B"],
    },
    "untold_order": {
        "sizes": {"m": 1024, "n": 2048},
        "args": {"x": "fp16[m, n]", "y": "fp16[m, n]", "sm": "n", "sn": 1},
        "constexprs": {"B": 64},
        "grid": ["m // B", "n // B"],
    },
    "column_bias": {
        "sizes": {"m": 1024, "n": 1024},
        "args": {"x": "fp16[m, n]", "b": "fp16[n]", "y": "fp16[m, n]"},
        "constexprs": {"BM": 8, "BN": 128},
        "grid": ["m // BM", "n // BN"],
    },
    "windows": {
        "sizes": {"n": 65536},
        "args": {"x": "fp32[n + 16]", "y": "fp32[n]"},
        "constexprs": {"BLOCK": 256, "K": 8},
        "grid": ["n // BLOCK"],
    },
    "repeated": {
        "sizes": {"rows": 1024},
        "args": {"x": "fp32[rows]", "y": "fp32[rows, N]"},
        "constexprs": {"M": 32, "N": 128},
        "grid": ["rows // M"],
    },
    "upsample": {
        "sizes": {"n": 65536},
        "args": {"x": "fp16[n // 2]", "y": "fp16[n]"},
        "constexprs": {"BLOCK": 1024},
        "grid": ["n // BLOCK"],
    },
    "stencil2d": {
        "sizes": {"h": 512, "w": 512},
        "args": {"x": "fp16[h, w]", "y": "fp16[h, w]", "h": "h", "w": "w"},
        "constexprs": {"BH": 16, "BW": 64},
        "grid": ["cdiv(h, BH)", "cdiv(w, BW)"],
    },
    "taps": {
        "sizes": {"h": 128, "w": 256},
        "args": {"x": "fp32[h, w + 16]", "y": "fp32[h, w]", "w": "w"},
        "constexprs": {"BLOCK": 128, "K": 7},
        "grid": ["h", "w // BLOCK"],
    },
    "offset_view": {
        "sizes": {"n": 65536},
        "args": {"x": "bf16[n + 64]", "y": "bf16[n]", "start": 3},
        "constexprs": {"BLOCK": 1024},
        "grid": ["n // BLOCK"],
    },
    "bytes": {
        "sizes": {"n": 65536},
        "args": {"x": "fp8e4nv[n + 64]", "y": "fp8e4nv[n]"},
        "constexprs": {"BLOCK": 128, "SHIFT": 5},
        "grid": ["n // BLOCK"],
    },
    "unaligned_rows": {
        "sizes": {"rows": 512, "cols": 1000},
        "args": {"x": "bf16[rows, cols]", "y": "bf16[rows, 1024]", "stride": "cols", "cols": "cols"},
        "constexprs": {"BLOCK": 1024},
        "grid": ["rows"],
    },
    "wrapped": {
        "sizes": {"rows": 256, "cols": 1000},
        "args": {"x": "fp32[rows, cols]", "y": "fp32[rows, 1024]", "cols": "cols"},
        "constexprs": {"BLOCK": 1024, "HINT": False},
        "grid": ["rows"],
    },
    "halves": {
        "sizes": {"n": 65536},
        "args": {"x": "fp16[n]", "y": "fp16[n]", "n": "n"},
        "constexprs": {"BLOCK": 1024},
        "grid": ["cdiv(n, BLOCK)"],
    },
    "pairs": {
        "sizes": {"n": 65536},
        "args": {"x": "fp32[2 * n]", "y": "fp32[n]", "n": "n"},
        "constexprs": {"BLOCK": 1024},
        "grid": ["n // BLOCK"],
    },
    "hinted_halves": {
        "sizes": {"n": 65536},
        "args": {"x": "fp16[n]", "y": "fp16[n]", "n": "n"},
        "constexprs": {"BLOCK": 1024},
        "grid": ["cdiv(n, BLOCK)"],
    },
    "spread": {
        "sizes": {"rows": 1024},
        "args": {"x": "fp32[rows]", "y": "fp32[rows, N]"},
        "constexprs": {"M": 32, "N": 128},
        "grid": ["rows // M"],
    },
    "doubled": {
        "sizes": {"n": 65536},
        "args": {"x": "fp16[n // 2]", "y": "fp16[n]"},
        "constexprs": {"BLOCK": 1024},
        "grid": ["n // BLOCK"],
    },
    "gathered_windows": {
        "sizes": {"n": 65536},
        "args": {"x": "fp32[n + 16]", "y": "fp32[n]"},
        "constexprs": {"BLOCK": 256, "K": 8},
        "grid": ["n // BLOCK"],
    },
    "untold_columns": {
        "sizes": {"m": 1024, "n": 2048},
        "args": {"x": "fp16[n, m]", "y": "fp16[n, m]", "sm": 1, "sn": "m"},
        "constexprs": {"B": 64},
        "grid": ["m // B", "n // B"],
    },
    "told_columns": {
        "sizes": {"m": 1024, "n": 2048},
        "args": {"x": "fp16[n, m]", "y": "fp16[n, m]", "sn": "m"},
        "constexprs": {"sm": 1, "B": 64},
        "grid": ["m // B", "n // B"],
    },
    "every_second": {
        "args": {"x": "fp16[64, 56, 112]", "y": "fp16[64, 28, 56]"},
        "constexprs": {"BLOCK": 128},
        "grid": [12, 64],
    },
    "one_tap": {
        "args": {"x": "fp32[128, 64, 9]", "y": "fp32[128, 64]"},
        "constexprs": {"N": 64},
        "grid": [2],
    },
    "inner": {
        "args": {"x": "fp16[64, 30, 30]", "y": "fp16[64, 784]"},
        "constexprs": {"BLOCK": 128},
        "grid": [7, 64],
    },
    "interleave": {
        "sizes": {"n": 65536},
        "args": {"x": "fp32[n]", "y": "fp32[2 * n]"},
        "constexprs": {"BLOCK": 512},
        "grid": ["n // BLOCK"],
    },
    "joined": {
        "sizes": {"n": 65536},
        "args": {"x": "fp32[n]", "y": "fp32[2 * n]"},
        "constexprs": {"BLOCK": 512},
        "grid": ["n // BLOCK"],
    },
    "indirect": {
        "args": {"x": "fp32[65536]", "at": "i32[4096]", "y": "fp32[4096]"},
        "constexprs": {"BLOCK": 256},
        "grid": [16],
    },
}  # fmt: skip


@triton.jit
def stencil(x, y, n, BLOCK: tl.constexpr):
    """Add the neighbours on both sides."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    left = tl.load(x + i - 1, mask=(i >= 1) & (i < n), other=0.0)
    here = tl.load(x + i, mask=i < n, other=0.0)
    right = tl.load(x + i + 1, mask=i + 1 < n, other=0.0)
    tl.store(y + i, left + here + right, mask=i < n)


@triton.jit
def roll(x, y, n, shift, BLOCK: tl.constexpr):
    """Rotate a vector."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + (i + n - shift) % n, mask=i < n), mask=i < n)


@triton.jit
def few_elements(x, y, stride, D: tl.constexpr):
    """Copy a row that has fewer elements than the program has threads."""
    at = tl.program_id(0) * stride + tl.arange(0, D)
    tl.store(y + at, tl.load(x + at))


@triton.jit
def constant_bound(x, y, N: tl.constexpr, BLOCK: tl.constexpr):
    """Copy rows whose length, a constant, is odd."""
    i = tl.arange(0, BLOCK)
    at = tl.program_id(0) * 1024 + i
    tl.store(y + at, tl.load(x + at, mask=i < N), mask=i < N)


@triton.jit
def two_bounds(x, y, n, BLOCK: tl.constexpr):
    """Copy all but the first element."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = (i >= 1) & (i < n)
    tl.store(y + i, tl.load(x + i, mask=mask), mask=mask)


@triton.jit
def every_other(x, y, STEP: tl.constexpr, BLOCK: tl.constexpr):
    """Copy every STEP-th element."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i * STEP))


@triton.jit
def channels_last(x, y, pixels, C, BLOCK: tl.constexpr):
    """Copy a channel of an image whose channels are interleaved."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    channel = tl.program_id(1)
    tl.store(y + channel * pixels + i, tl.load(x + i * C + channel))


@triton.jit
def transpose(x, y, sxm, sxn, sym, syn, B: tl.constexpr):
    """Transpose a tile; both accesses go along a contiguous dimension."""
    m = tl.program_id(0) * B + tl.arange(0, B)
    n = tl.program_id(1) * B + tl.arange(0, B)
    tile = tl.load(x + m[:, None] * sxm + n[None, :] * sxn)
    tl.store(y + n[None, :] * sym + m[:, None] * syn, tile)


@triton.jit(do_not_specialize=["sm", "sn"])
def untold_order(x, y, sm, sn, B: tl.constexpr):
    """Copy a tile with strides that the compiler knows nothing of."""
    m = tl.program_id(0) * B + tl.arange(0, B)
    n = tl.program_id(1) * B + tl.arange(0, B)
    at = m[:, None] * sm + n[None, :] * sn
    tl.store(y + at, tl.load(x + at))


@triton.jit
def column_bias(x, b, y, BM: tl.constexpr, BN: tl.constexpr):
    """Add a row to a tile."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    at = m[:, None] * 1024 + n[None, :]
    tl.store(y + at, tl.load(x + at) + tl.load(b + n)[None, :])


@triton.jit
def windows(x, y, BLOCK: tl.constexpr, K: tl.constexpr):
    """Add up windows of K neighbours, which overlap."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    window = tl.load(x + i[:, None] + tl.arange(0, K)[None, :])
    tl.store(y + i, tl.sum(window, axis=1))


@triton.jit
def repeated(x, y, M: tl.constexpr, N: tl.constexpr):
    """Spread a column, which every element of a row loads."""
    m = tl.program_id(0) * M + tl.arange(0, M)
    n = tl.arange(0, N)
    tile = tl.load(x + m[:, None] + tl.zeros((1, N), tl.int32))
    tl.store(y + m[:, None] * N + n[None, :], tile)


@triton.jit
def upsample(x, y, BLOCK: tl.constexpr):
    """Repeat each element."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i // 2))


@triton.jit
def stencil2d(x, y, h, w, BH: tl.constexpr, BW: tl.constexpr):
    """Add the neighbours on four sides."""
    r = (tl.program_id(0) * BH + tl.arange(0, BH))[:, None]
    c = (tl.program_id(1) * BW + tl.arange(0, BW))[None, :]
    at = x + r * w + c
    inside = (r < h) & (c < w)
    total = tl.load(at, mask=inside, other=0.0)
    total += tl.load(at - w, mask=inside & (r > 0), other=0.0)
    total += tl.load(at + w, mask=inside & (r + 1 < h), other=0.0)
    total += tl.load(at - 1, mask=inside & (c > 0), other=0.0)
    total += tl.load(at + 1, mask=inside & (c + 1 < w), other=0.0)
    tl.store(y + r * w + c, total, mask=inside)


@triton.jit
def taps(x, y, w, BLOCK: tl.constexpr, K: tl.constexpr):
    """Add up K neighbours, one iteration each."""
    row = tl.program_id(0)
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for k in range(K):
        total += tl.load(x + row * (w + 16) + c + k)
    tl.store(y + row * w + c, total)


@triton.jit
def offset_view(x, y, start, BLOCK: tl.constexpr):
    """Copy a part of a vector."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + start + i))


@triton.jit
def bytes(x, y, SHIFT: tl.constexpr, BLOCK: tl.constexpr):
    """Copy single bytes from a place off a boundary."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i + SHIFT))


@triton.jit
def unaligned_rows(x, y, stride, cols, BLOCK: tl.constexpr):
    """Copy rows of a length that is no multiple of 16."""
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    tl.store(y + row * 1024 + i, tl.load(x + row * stride + i, mask=i < cols), mask=i < cols)


@triton.jit
def wrapped(x, y, cols, BLOCK: tl.constexpr, HINT: tl.constexpr):
    """Copy rows, with indices modulo their length in place of a mask."""
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    at = i % cols
    if HINT:
        at = tl.max_contiguous(tl.multiple_of(at, 4), 4)
    tl.store(y + row * 1024 + i, tl.load(x + row * 1000 + at))


@triton.jit
def halves(x, y, n, BLOCK: tl.constexpr):
    """Swap the halves of each block of 32 elements."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + (i ^ 16), mask=i < n), mask=i < n)


@triton.jit
def pairs(x, y, n, BLOCK: tl.constexpr):
    """Copy every other element of a contiguous tile: the remedy of ``every_other``."""
    i = tl.program_id(0) * 2 * BLOCK + tl.arange(0, 2 * BLOCK)
    first, _ = tl.split(tl.reshape(tl.load(x + i), (BLOCK, 2)))
    tl.store(y + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), first)


@triton.jit
def hinted_halves(x, y, n, BLOCK: tl.constexpr):
    """Swap the halves of each block, with the hint that IRL301 proposes."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = tl.max_contiguous(tl.multiple_of(i ^ 16, 8), 8)
    tl.store(y + i, tl.load(x + at, mask=i < n), mask=i < n)


@triton.jit
def spread(x, y, M: tl.constexpr, N: tl.constexpr):
    """Spread a column by broadcasting the value: the remedy of ``repeated``."""
    m = tl.program_id(0) * M + tl.arange(0, M)
    n = tl.arange(0, N)
    tile = tl.broadcast_to(tl.load(x + m)[:, None], (M, N))
    tl.store(y + m[:, None] * N + n[None, :], tile)


@triton.jit
def doubled(x, y, BLOCK: tl.constexpr):
    """Repeat each element by broadcasting the value: the remedy of ``upsample``."""
    half = tl.program_id(0) * (BLOCK // 2) + tl.arange(0, BLOCK // 2)
    value = tl.broadcast_to(tl.load(x + half)[:, None], (BLOCK // 2, 2))
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.reshape(value, (BLOCK,)))


@triton.jit
def gathered_windows(x, y, BLOCK: tl.constexpr, K: tl.constexpr):
    """Add up windows of elements that are loaded once: the remedy of ``windows``."""
    start = tl.program_id(0) * BLOCK
    here = tl.arange(0, 2 * BLOCK)
    row = tl.load(x + start + here, mask=here < BLOCK + 16)
    at = tl.arange(0, BLOCK)[:, None] + tl.arange(0, K)[None, :]
    window = tl.reshape(tl.gather(row, tl.reshape(at, (BLOCK * K,)), 0), (BLOCK, K))
    tl.store(y + start + tl.arange(0, BLOCK), tl.sum(window, axis=1))


@triton.jit(do_not_specialize=["sm"])
def untold_columns(x, y, sm, sn, B: tl.constexpr):
    """Copy a tile that is contiguous along its first dimension, which the compiler does not know."""
    m = tl.program_id(0) * B + tl.arange(0, B)
    n = tl.program_id(1) * B + tl.arange(0, B)
    at = m[:, None] * sm + n[None, :] * sn
    tl.store(y + at, tl.load(x + at))


@triton.jit
def told_columns(x, y, sm: tl.constexpr, sn, B: tl.constexpr):
    """Copy the same tile, with the stride as a constant: the remedy of ``untold_columns``."""
    m = tl.program_id(0) * B + tl.arange(0, B)
    n = tl.program_id(1) * B + tl.arange(0, B)
    at = m[:, None] * sm + n[None, :] * sn
    tl.store(y + at, tl.load(x + at))


@triton.jit
def every_second(x, y, BLOCK: tl.constexpr):
    """Take every second pixel of every second row."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = tl.program_id(1) * 6272 + i // 56 * 224 + i % 56 * 2
    tl.store(y + tl.program_id(1) * 1568 + i, tl.load(x + at, mask=i < 1568), mask=i < 1568)


@triton.jit
def one_tap(x, y, N: tl.constexpr):
    """Take one tap of a filter of nine, whose taps lie side by side."""
    row, column = tl.program_id(0) * N + tl.arange(0, N)[:, None], tl.arange(0, 64)[None, :]
    tl.store(y + row * 64 + column, tl.load(x + (row * 64 + column) * 9))


@triton.jit
def inner(x, y, BLOCK: tl.constexpr):
    """Copy an image without its border."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    channel = tl.program_id(1)
    inside = i < 784
    at = channel * 900 + (i // 28 + 1) * 30 + i % 28 + 1
    tl.store(y + channel * 784 + i, tl.load(x + at, mask=inside), mask=inside)


@triton.jit
def interleave(x, y, BLOCK: tl.constexpr):
    """Store a value and its square side by side."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i)
    tl.store(y + 2 * i, value)
    tl.store(y + 2 * i + 1, value * value)


@triton.jit
def joined(x, y, BLOCK: tl.constexpr):
    """Store the same as one contiguous tile: the remedy of ``interleave``."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i)
    both = tl.reshape(tl.join(value, value * value), (2 * BLOCK,))
    tl.store(y + tl.program_id(0) * 2 * BLOCK + tl.arange(0, 2 * BLOCK), both)


@triton.jit
def indirect(x, at, y, BLOCK: tl.constexpr):
    """Copy what the indices name."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + tl.load(at + i)))


@triton.jit
def mixed_types(x, w, y, C: tl.constexpr, B: tl.constexpr):
    columns = tl.program_id(0) * B + tl.arange(0, B)
    at = tl.arange(0, B)[:, None] * C + columns[None, :]
    tl.store(y + at, tl.load(x + at) * tl.load(w + at))
