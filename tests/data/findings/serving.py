"""Parts of kernels that serve models, whose findings have causes that are easily mistaken."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "grouped": {
        "sizes": {"G": 4},
        "args": {"a": "i64[G]", "b": "i64[G]", "c": "fp16[64, 64]", "sizes": "i32[G]"},
        "constexprs": {"BM": 32, "BN": 32, "BK": 32},
        "options": {"num_warps": 4, "num_stages": 3},
        "grid": ["G"],
    },
    "convolution": {
        "sizes": {"C": 16, "W": 56, "K": 32},
        "args": {
            "x": "fp16[4, C, W, W]", "w": "fp16[K, C, 9]", "y": "fp16[4, K, W, W]",
            "C": "C", "W": "W", "K": "K",
        },
        "constexprs": {"BM": 64, "BN": 32, "BK": 32},
        "options": {"num_warps": 4, "num_stages": 3},
        "grid": ["4 * W * W // BM", "K // BN"],
    },
    "packed": {
        "sizes": {"K": 512, "N": 1024},
        "args": {"a": "fp16[16, K]", "q": "i32[K // 8, N]", "c": "fp32[16, N]", "N": "N", "K": "K"},
        "constexprs": {"BN": 64, "BK": 64},
        "options": {"num_warps": 4, "num_stages": 3},
        "grid": ["N // BN"],
    },
    "gate": {
        "args": {"experts": "i32[4096, 2]", "counts": "i32[64]"},
        "constexprs": {"BLOCK": 128},
        "options": {"num_warps": 4},
        "grid": ["4096 // BLOCK"],
    },
    "loss": {
        "sizes": {"rows": 64, "V": 50257},
        "args": {"x": "bf16[rows, V]", "y": "fp32[rows]", "V": "V"},
        "constexprs": {"BLOCK": 1024},
        "options": {"num_warps": 4, "num_stages": 3},
        "grid": ["rows"],
    },
    "scaled": {
        "sizes": {"K": 1024},
        "args": {
            "a": "fp8e4nv[32, K]", "b": "fp8e4nv[32, K]", "s": "fp32[32, K // 128]",
            "t": "fp32[32, K // 128]", "c": "fp32[32, 32]", "K": "K",
        },
        "constexprs": {"BK": 128},
        "options": {"num_warps": 4, "num_stages": 3},
        "grid": [1],
    },
    "microscaled": {
        "sizes": {"N": 256, "K": 512},
        "args": {
            "a": "u8[128, K // 2]", "s": "u8[128, K // 32]", "b": "u8[K // 2, N]",
            "t": "u8[N, K // 32]", "c": "fp32[128, N]", "N": "N", "K": "K",
        },
        "constexprs": {"BN": 64, "BK": 128},
        "options": {"num_warps": 4, "num_stages": 3},
        "grid": ["N // BN"],
    },
    "running": {
        "args": {"x": "fp32[256, 8192]", "y": "fp32[256, 8192]", "columns": 8192},
        "constexprs": {"BLOCK": 1024},
        "options": {"num_warps": 4},
        "grid": [256],
    },
    "scales": {
        "sizes": {"M": 512, "K": 2048},
        "args": {"x": "u8[M, K // 32]", "y": "fp32[M]", "K": "K"},
        "constexprs": {"BM": 64, "BK": 256},
        "options": {"num_warps": 1},
        "grid": ["M // BM"],
    },
}  # fmt: skip


@triton.jit
def grouped(a, b, c, sizes, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Multiply matrices whose addresses and width are loaded: nothing is known to be aligned."""
    g = tl.program_id(0)
    k = tl.load(sizes + g)
    x = tl.load(a + g).to(tl.pointer_type(tl.float16))
    w = tl.load(b + g).to(tl.pointer_type(tl.float16))
    rows, columns, ks = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros([BM, BN], tl.float32)
    x += rows[:, None] * k + ks[None, :]
    w += ks[:, None] * k + columns[None, :]
    for _ in range(0, tl.cdiv(k, BK)):
        acc = tl.dot(tl.load(x), tl.load(w), acc)
        x += BK
        w += BK * k
    tl.store(c + rows[:, None] * 64 + columns[None, :], acc.to(tl.float16))


@triton.jit
def convolution(x, w, y, C, W, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Convolve with filters of 3 x 3 as one product: the windows of neighbours overlap."""
    p = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    image, row, column = p // (W * W), p // W % W, p % W
    acc = tl.zeros([BM, BN], tl.float32)
    for start in range(0, C * 9, BK):
        k = start + tl.arange(0, BK)
        tap = k % 9
        h = row[:, None] + (tap // 3)[None, :] - 1
        v = column[:, None] + (tap % 3)[None, :] - 1
        inside = (h >= 0) & (h < W) & (v >= 0) & (v < W) & (k < C * 9)[None, :]
        place = ((image[:, None] * C + (k // 9)[None, :]) * W + h) * W + v
        weights = tl.load(w + n[None, :] * C * 9 + k[:, None], mask=(k < C * 9)[:, None], other=0.0)
        acc = tl.dot(tl.load(x + place, mask=inside, other=0.0), weights, acc)
    out = y + ((image[:, None] * K + n[None, :]) * W + row[:, None]) * W + column[:, None]
    tl.store(out, acc.to(tl.float16))


@triton.jit
def packed(a, q, c, N, K, BN: tl.constexpr, BK: tl.constexpr):
    """Multiply by weights of 4 bits, of which each word has eight along K."""
    rows, columns = tl.arange(0, 16), tl.program_id(0) * BN + tl.arange(0, BN)
    ks = tl.arange(0, BK)
    acc = tl.zeros([16, BN], tl.float32)
    for start in range(0, K, BK):
        left = tl.load(a + rows[:, None] * K + start + ks[None, :])
        words = tl.load(q + ((start + ks) // 8)[:, None] * N + columns[None, :])
        weights = words >> (ks % 8 * 4)[:, None] & 15
        acc = tl.dot(left, weights.to(tl.float16), acc)
    tl.store(c + rows[:, None] * N + columns[None, :], acc)


@triton.jit
def gate(experts, counts, BLOCK: tl.constexpr):
    """Count the tokens of each expert, of which a token has two."""
    tokens = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    for choice in tl.static_range(2):
        tl.atomic_add(counts + tl.load(experts + tokens * 2 + choice), 1)


@triton.jit
def loss(x, y, V, BLOCK: tl.constexpr):
    """Sum the exponentials of rows that start at any element."""
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, V, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(x + row * V + at, mask=at < V, other=-float("inf"))
        total += tl.exp(value.to(tl.float32))
    tl.store(y + row, tl.sum(total, 0))


@triton.jit
def scales(x, y, K, BM: tl.constexpr, BK: tl.constexpr):
    """Add up tiles of scales, of which a block of 32 elements has one."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.arange(0, BK // 32)
    total = tl.zeros([BM, BK // 32], tl.float32)
    for start in range(0, K // 32, BK // 32):
        total += tl.load(x + rows[:, None] * (K // 32) + start + columns[None, :]).to(tl.float32)
    tl.store(y + rows, tl.sum(total, 1))


@triton.jit
def scaled(a, b, s, t, c, K, BK: tl.constexpr):
    """Multiply with scales for each row and block of K, which no dot takes."""
    rows, ks = tl.arange(0, 32), tl.arange(0, BK)
    acc = tl.zeros([32, 32], tl.float32)
    for k in range(0, K // BK):
        left = tl.load(a + rows[:, None] * K + k * BK + ks[None, :])
        right = tl.load(b + rows[None, :] * K + k * BK + ks[:, None])
        of_rows = tl.load(s + rows * (K // BK) + k)
        of_columns = tl.load(t + rows * (K // BK) + k)
        acc += tl.dot(left, right) * of_rows[:, None] * of_columns[None, :]
    tl.store(c + rows[:, None] * 32 + rows[None, :], acc)


@triton.jit
def running(x, y, columns, BLOCK: tl.constexpr):
    """Store running sums of a row."""
    row, carry = tl.program_id(0) * columns, 0.0
    for start in tl.range(0, columns, BLOCK, num_stages=3):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(x + row + at, mask=at < columns, other=0.0)
        tl.store(y + row + at, tl.cumsum(value, 0) + carry, mask=at < columns)
        carry += tl.sum(value, 0)


@triton.jit
def microscaled(a, s, b, t, c, N, K, BN: tl.constexpr, BK: tl.constexpr):
    """Multiply fp4 with scales of 32 elements; the right matrix is contiguous along N."""
    rows, columns = tl.arange(0, 128), tl.program_id(0) * BN + tl.arange(0, BN)
    pairs, blocks = tl.arange(0, BK // 2), tl.arange(0, BK // 32)
    acc = tl.zeros([128, BN], tl.float32)
    for k in range(0, K // BK):
        left = tl.load(a + rows[:, None] * (K // 2) + k * (BK // 2) + pairs[None, :])
        right = tl.load(b + (k * (BK // 2) + pairs)[:, None] * N + columns[None, :])
        of_rows = tl.load(s + rows[:, None] * (K // 32) + k * (BK // 32) + blocks[None, :])
        of_columns = tl.load(t + columns[:, None] * (K // 32) + k * (BK // 32) + blocks[None, :])
        acc = tl.dot_scaled(left, of_rows, "e2m1", right, of_columns, "e2m1", acc)
    tl.store(c + rows[:, None] * N + columns[None, :], acc)
