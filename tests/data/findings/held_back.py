"""Loops that the pipeliner leaves alone as a whole, and loads that look narrow to it."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "differences": {
        "sizes": {"rows": 512, "n": 8192},
        "args": {"x": "fp32[rows, n]", "y": "fp32[rows]", "n": "n"},
        "constexprs": {"BLOCK": 1024, "STAGES": 3, "SECOND": True},
        "options": {"num_warps": 4},
        "grid": ["rows"],
    },
    "synchronized": {
        "sizes": {"rows": 512, "n": 8192},
        "args": {"x": "fp32[rows, n]", "y": "fp32[rows]", "n": "n"},
        "constexprs": {"BLOCK": 1024, "STAGES": 3, "BARRIER": True, "SPECIALIZE": False},
        "options": {"num_warps": 4},
        "grid": ["rows"],
    },
    "until": {
        "sizes": {"rows": 512, "n": 8192},
        "args": {"x": "fp16[rows, n]", "stops": "i32[n]", "y": "fp32[rows]", "n": "n"},
        "constexprs": {"BLOCK": 1024, "STAGES": 3, "LIMIT": True},
        "options": {"num_warps": 4},
        "grid": ["rows"],
    },
    "counted": {
        "sizes": {"rows": 512, "n": 8192},
        "args": {"x": "fp32[rows, n]", "y": "fp32[rows]", "n": "n"},
        "constexprs": {"BLOCK": 1024, "FOR": False},
        "options": {"num_warps": 4, "num_stages": 3},
        "grid": ["rows"],
    },
    "described": {
        "sizes": {"rows": 512, "n": 8192},
        "args": {"x": "fp16[rows, n]:block[1, BLOCK]", "y": "fp32[rows]", "n": "n"},
        "constexprs": {"BLOCK": 1024, "STAGES": 3},
        "options": {"num_warps": 4},
        "grid": ["rows"],
    },
    "nested": {
        "sizes": {"rows": 512, "n": 8192},
        "args": {"x": "fp32[rows, n]", "w": "fp32[rows, BLOCK]", "y": "fp32[rows]", "n": "n", "share": 8},
        "constexprs": {"BLOCK": 1024, "STAGES": 3, "EACH": True},
        "options": {"num_warps": 4},
        "grid": ["rows // 8"],
    },
    "skipped": {
        "sizes": {"M": 1024, "N": 1024, "K": 1024},
        "args": {"a": "fp16[M, K]", "b": "fp16[K, N]", "c": "fp32[M, N]", "N": "N", "K": "K", "first": 256},
        "constexprs": {"B": 32, "SKIP": True},
        "options": {"num_warps": 4, "num_stages": 3},
        "grid": ["M // B", "N // B"],
    },
}  # fmt: skip


@triton.jit
def differences(
    x, y, n, BLOCK: tl.constexpr, STAGES: tl.constexpr, SECOND: tl.constexpr
):  # fmt: skip
    """Sum of differences of the second or first order, each with blocks of earlier iterations."""
    row, columns = tl.program_id(0), tl.arange(0, BLOCK)
    older = tl.zeros((BLOCK,), tl.float32)
    last = tl.zeros((BLOCK,), tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in tl.range(0, n, BLOCK, num_stages=STAGES):
        value = tl.load(x + row * n + start + columns)
        if SECOND:
            total += tl.abs(value - 2 * last + older)
            older = last
        else:
            total += tl.abs(value - last)
        last = value
    tl.store(y + row, tl.sum(total))


@triton.jit
def synchronized(
    x, y, n,
    BLOCK: tl.constexpr, STAGES: tl.constexpr, BARRIER: tl.constexpr, SPECIALIZE: tl.constexpr,
):  # fmt: skip
    """Sum of a row, with a barrier in each iteration or without."""
    row, columns = tl.program_id(0), tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in tl.range(0, n, BLOCK, num_stages=STAGES, warp_specialize=SPECIALIZE):
        total += tl.load(x + row * n + start + columns)
        if BARRIER:
            tl.debug_barrier()
    tl.store(y + row, tl.sum(total))


@triton.jit
def until(
    x, stops, y, n, BLOCK: tl.constexpr, STAGES: tl.constexpr, LIMIT: tl.constexpr
):  # fmt: skip
    """Sum of a row up to a bound that each iteration may lower."""
    row, columns = tl.program_id(0), tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    limit = n
    for start in tl.range(0, n, BLOCK, num_stages=STAGES):
        value = tl.load(x + row * n + start + columns, mask=start + columns < limit, other=0.0)
        total += value.to(tl.float32)
        if LIMIT:
            limit = tl.minimum(limit, tl.load(stops + start))
    tl.store(y + row, tl.sum(total))


@triton.jit
def counted(x, y, n, BLOCK: tl.constexpr, FOR: tl.constexpr):
    """Sum of a row in a ``while`` loop, or in one that requests stages."""
    row, columns = tl.program_id(0), tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    if FOR:
        for start in tl.range(0, n, BLOCK, num_stages=3):
            total += tl.load(x + row * n + start + columns)
    else:
        first = 0
        while first < n:
            total += tl.load(x + row * n + first + columns)
            first += BLOCK
    tl.store(y + row, tl.sum(total))


@triton.jit
def described(x, y, n, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    """Sum of a row through a descriptor that the host creates."""
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in tl.range(0, n, BLOCK, num_stages=STAGES):
        total += tl.reshape(x.load([row, start]), (BLOCK,)).to(tl.float32)
    tl.store(y + row, tl.sum(total))


@triton.jit
def nested(
    x, w, y, n, share, BLOCK: tl.constexpr, STAGES: tl.constexpr, EACH: tl.constexpr
):  # fmt: skip
    """Weighted sums of some rows, with a block of weights for each or for all."""
    first, columns = tl.program_id(0) * share, tl.arange(0, BLOCK)
    weights = tl.load(w + columns)
    for row in tl.range(first, first + share, num_stages=STAGES):
        if EACH:
            weights = tl.load(w + row * BLOCK + columns)
        total = tl.zeros((BLOCK,), tl.float32)
        for start in tl.range(0, n, BLOCK, num_stages=STAGES):
            total += tl.load(x + row * n + start + columns) * weights
        tl.store(y + row, tl.sum(total))


@triton.jit
def skipped(a, b, c, N, K, first, B: tl.constexpr, SKIP: tl.constexpr):
    """Product that leaves out blocks of K, by a condition or none."""
    m, n = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), c.dtype.element_ty)
    for start in range(0, K, B):
        k = start + tl.arange(0, B)
        if not SKIP or start >= first:
            x, w = tl.load(a + m[:, None] * K + k), tl.load(b + k[:, None] * N + n)
            acc = tl.dot(x, w, acc, out_dtype=acc.dtype)
    tl.store(c + m[:, None] * N + n, acc)
