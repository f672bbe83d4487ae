"""Causes outside of the usual loop of a kernel: bounds, functions, types of sums, and launches."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "in_parts": {
        "sizes": {"M": 1024, "N": 1024, "K": 1024},
        "args": {
            "a": "fp8e4nv[M, K]", "b": "fp8e4nv[N, K]", "c": "fp32[M, N]", "N": "N", "K": "K",
        },
        "constexprs": {"BLOCK": 128, "PART": 32},
        "options": {"num_warps": 8, "num_stages": 3},
        "grid": ["M // BLOCK", "N // BLOCK"],
    },
    "beyond": {
        "sizes": {"M": 250, "N": 250, "K": 256},
        "args": {
            "a": "fp16[M, K]", "b": "fp16[K, N]", "c": "fp32[M, N]", "M": "M", "N": "N", "K": "K",
        },
        "constexprs": {"BLOCK": 64},
        "options": {"num_warps": 4, "num_stages": 3},
        "grid": ["cdiv(M, BLOCK)", "cdiv(N, BLOCK)"],
    },
    "striding": {
        "args": {"x": "fp32[8192, 1024]", "out": "fp32[8192, 1024]", "rows": 8192},
        "constexprs": {"BLOCK": 1024},
        "options": {"num_warps": 4, "num_stages": 3},
        "grid": [132],
    },
    "pixels": {
        "args": {"x": "fp16[4096, 64]", "out": "fp16[64, 64, 64]", "width": 54},
        "constexprs": {"BLOCK": 64},
        "options": {"num_warps": 4},
        "grid": [64],
    },
    "factors": {
        "args": {"x": "fp16[4096, 1024]", "factor": "fp32[1024]", "out": "fp16[4096, 1024]"},
        "constexprs": {"ROWS": 16, "BLOCK": 128},
        "options": {"num_warps": 4},
        "grid": [256, 8],
    },
    "halves": {
        "sizes": {"M": 1024, "N": 1024, "K": 1024},
        "args": {"a": "fp16[M, K]", "b": "fp16[K, N]", "c": "fp16[M, N]", "N": "N", "K": "K"},
        "constexprs": {"BLOCK": 64, "SCALE": None},
        "options": {"num_warps": 4, "num_stages": 3},
        "grid": ["M // BLOCK", "N // BLOCK"],
    },
    "outlined": {
        "args": {"a": "fp16[1024, 1024]", "b": "fp16[1024, 1024]", "c": "fp32[1024, 1024]"},
        "constexprs": {"BLOCK": 64},
        "options": {"num_warps": 4, "num_stages": 3},
        "grid": [16, 16],
    },
    "outlined_rows": {
        "args": {"x": "fp16[8192, 1001]", "out": "fp32[8192, 1024]", "n": 1001},
        "constexprs": {"BLOCK": 1024},
        "options": {"num_warps": 4},
        "grid": [512],
    },
    "persistent_rows": {
        "args": {"x": "fp32[8192, 1024]", "out": "fp32[8192, 1024]"},
        "constexprs": {"BLOCK": 1024, "PROGRAMS": 108},
        "options": {"num_warps": 4},
        "grid": ["PROGRAMS"],
    },
    "shared_tiles": {
        "args": {"x": "fp32[120, 1024]", "out": "fp32[120, 1024]"},
        "constexprs": {"BLOCK": 1024},
        "options": {"num_warps": 4},
        "grid": [60],
    },
    "segments": {
        "args": {"x": "fp32[65536, 128]", "segment": "i32[65536]", "out": "fp32[1024, 128]"},
        "constexprs": {"COLUMNS": 128, "ROWS": 16},
        "options": {"num_warps": 4},
        "grid": ["65536 // ROWS"],
    },
    "guarded": {
        "sizes": {"M": 1024, "N": 1024, "K": 1024},
        "args": {"a": "fp16[M, K]", "b": "fp16[N, K]", "c": "fp32[M, N]", "N": "N", "K": "K"},
        "constexprs": {"BLOCK": 64, "ALWAYS": False, "STAGES": None},
        "options": {"num_warps": 4, "num_stages": 3},
        "grid": ["M // BLOCK", "N // BLOCK"],
    },
    "projected": {
        "sizes": {"M": 16384, "K": 2048},
        "args": {"a": "fp16[M, K]", "b": "fp16[K, D]", "c": "fp16[M, D]", "K": "K"},
        "constexprs": {"D": 256, "ROWS": 128, "BLOCK": 32},
        "options": {"num_warps": 8, "num_stages": 2, "maxnreg": 64},
        "grid": ["M // ROWS"],
    },
}  # fmt: skip


@triton.jit
def beyond(a, b, c, M, N, K, BLOCK: tl.constexpr):
    """Load rows and columns beyond the matrices through pointers that the loop moves on."""
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    k = tl.arange(0, BLOCK)
    left, right = a + m[:, None] * K + k[None, :], b + k[:, None] * N + n[None, :]
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, K, BLOCK):
        total = tl.dot(tl.load(left), tl.load(right, mask=(k < K - start)[:, None]), total)
        left += BLOCK
        right += BLOCK * N
    inside = (m < M)[:, None] & (n < N)[None, :]
    tl.store(c + m[:, None] * N + n[None, :], total, mask=inside)


@triton.jit
def striding(x, out, rows, BLOCK: tl.constexpr):
    """Loop over rows as far apart as there are programs."""
    row, columns = tl.program_id(0), tl.arange(0, BLOCK)
    while row < rows:
        value = tl.load(x + row * BLOCK + columns)
        value = tl.exp(value - tl.max(value, 0))
        tl.store(out + row * BLOCK + columns, value / tl.sum(value, 0))
        row += tl.num_programs(0)


@triton.jit
def pixels(x, out, width, BLOCK: tl.constexpr):
    """Store channels last as channels first: the quotient hides that pixels lie side by side."""
    pixel, channel = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, 64)
    value = tl.load(x + pixel[:, None] * 64 + channel[None, :])
    place = pixel // width * width + pixel % width
    tl.store(out + channel[None, :] * 4096 + place[:, None], value)


@triton.jit
def factors(x, factor, out, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    scale = tl.load(tl.broadcast_to(factor + columns[None, :], (ROWS, BLOCK)))
    value = tl.load(x + rows[:, None] * 1024 + columns[None, :])
    tl.store(out + rows[:, None] * 1024 + columns[None, :], value * scale)


@triton.jit
def halves(a, b, c, N, K, BLOCK: tl.constexpr, SCALE: tl.constexpr):
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    k = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), tl.float16)
    for start in range(0, K, BLOCK):
        x = tl.load(a + m[:, None] * K + (start + k)[None, :])
        y = tl.load(b + (start + k)[:, None] * N + n[None, :])
        if SCALE is None:
            total = tl.dot(x, y, total, out_dtype=tl.float16)
        else:
            total += tl.dot(x, y, out_dtype=tl.float16) * SCALE
    tl.store(c + m[:, None] * N + n[None, :], total)


@triton.jit(noinline=True)
def tile(a, b, row, column, BLOCK: tl.constexpr):
    m, n, k = row + tl.arange(0, BLOCK), column + tl.arange(0, BLOCK), tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, 1024, BLOCK):
        x = tl.load(a + m[:, None] * 1024 + (start + k)[None, :])
        y = tl.load(b + (start + k)[:, None] * 1024 + n[None, :])
        total = tl.dot(x, y, total)
    return total


@triton.jit
def outlined(a, b, c, BLOCK: tl.constexpr):
    row, column = tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK
    m, n = row + tl.arange(0, BLOCK), column + tl.arange(0, BLOCK)
    total = tile(a, b, row, column, BLOCK) + tile(a, b, column, row, BLOCK)
    tl.store(c + m[:, None] * 1024 + n[None, :], total)


@triton.jit(noinline=True)
def sixteen_rows(x, out, first, n, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for row in tl.range(0, 16, num_stages=3):
        total += tl.load(x + (first + row) * n + columns, mask=columns < n, other=0.0)
    tl.store(out + first * BLOCK + columns, total)


@triton.jit
def outlined_rows(x, out, n, BLOCK: tl.constexpr):
    sixteen_rows(x, out, tl.program_id(0) * 16, n, BLOCK)


@triton.jit
def persistent_rows(x, out, BLOCK: tl.constexpr, PROGRAMS: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    for row in tl.range(tl.program_id(0), 8192, PROGRAMS, num_stages=3):
        tl.store(out + row * BLOCK + columns, tl.load(x + row * BLOCK + columns) * 2.0)


@triton.jit
def shared_tiles(x, out, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    for row in tl.range(tl.program_id(0), 120, tl.num_programs(0)):
        tl.store(out + row * BLOCK + columns, tl.load(x + row * BLOCK + columns) * 2.0)


@triton.jit
def segments(x, segment, out, COLUMNS: tl.constexpr, ROWS: tl.constexpr):
    rows, columns = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    place = tl.load(segment + rows)
    value = tl.load(x + rows[:, None] * COLUMNS + columns[None, :])
    tl.atomic_add(out + place[:, None] * COLUMNS + columns[None, :], value, sem="relaxed")


@triton.jit
def guarded(
    a, b, c, N, K, BLOCK: tl.constexpr, ALWAYS: tl.constexpr, STAGES: tl.constexpr
):  # fmt: skip
    """Load both operands where a tile is not skipped, whatever stages the loop has."""
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    k = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in tl.range(0, K, BLOCK, num_stages=STAGES):
        if ALWAYS or start % 128 == tl.program_id(0) % 2:
            x = tl.load(a + m[:, None] * K + (start + k)[None, :])
            y = tl.load(b + n[:, None] * K + (start + k)[None, :])
            total += tl.sum(tl.exp(tl.dot(x, tl.trans(y))), 1)[:, None]
    tl.store(c + m[:, None] * N + n[None, :], total)


@triton.jit
def projected(a, b, c, K, D: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """Multiply by a matrix of few columns, which are all in one tile."""
    m, n, k = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, D), tl.arange(0, BLOCK)
    total = tl.zeros((ROWS, D), tl.float32)
    for start in range(0, K, BLOCK):
        x = tl.load(a + m[:, None] * K + (start + k)[None, :])
        y = tl.load(b + (start + k)[:, None] * D + n[None, :])
        total = tl.dot(x, y, total)
    tl.store(c + m[:, None] * D + n[None, :], total.to(tl.float16))


@triton.jit
def in_parts(a, b, c, N, K, BLOCK: tl.constexpr, PART: tl.constexpr):
    """Add up fp8 products in registers after each part of K."""
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    k = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, K, BLOCK):
        x = tl.load(a + m[:, None] * K + (start + k)[None, :])
        y = tl.load(b + n[None, :] * K + (start + k)[:, None])
        total = tl.dot(x, y, total, max_num_imprecise_acc=PART)
    tl.store(c + m[:, None] * N + n[None, :], total)
