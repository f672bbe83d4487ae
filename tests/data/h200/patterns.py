"""Kernels that move memory in one pattern each, or keep one unit busy.

``benchmarks/memory_patterns.py`` times them.
"""

import triton
import triton.language as tl
from triton.language.extra import libdevice

IRLENS_KERNELS = {
    "lanes": {
        "sizes": {"n": 1048576},
        "args": {"x_ptr": "fp32[n * apart]", "y_ptr": "fp32[n]", "apart": 32},
        "constexprs": {"BLOCK": 1024}, "options": {"num_warps": 4}, "grid": ["n // BLOCK"],
    },
    "lanes_again": {
        "sizes": {"n": 131072},
        "args": {"x_ptr": "fp32[n * apart]", "y_ptr": "fp32[n]", "apart": 32, "rounds": 64, "n": "n"},
        "constexprs": {"BLOCK": 256}, "options": {"num_warps": 4}, "grid": ["n // BLOCK"],
    },
    "narrow": {
        "sizes": {"rows": 67584},
        "args": {"x_ptr": "fp16[rows, pitch]", "y_ptr": "fp32[rows]", "pitch": 4096, "cols": 4096},
        "constexprs": {"BM": 128, "BK": 64}, "options": {"num_warps": 4}, "grid": ["rows // BM"],
    },
    "product": {
        "sizes": {"M": 4096, "N": 4096, "K": 4096},
        "args": {
            "a_ptr": "fp16[M, pitch]", "b_ptr": "fp16[K, N]", "c_ptr": "fp16[M, N]",
            "N": "N", "K": "K", "pitch": 4096,
        },
        "constexprs": {"BM": 128, "BN": 128, "BK": 64},
        "options": {"num_warps": 4, "num_stages": 3}, "grid": ["M // BM", "N // BN"],
    },
    "moved_line": {
        "sizes": {"M": 1024, "N": 1024, "K": 4096},
        "args": {"a_ptr": "fp16[M, K]", "b_ptr": "fp16[K, N]", "c_ptr": "fp16[M, N]", "N": "N", "K": "K"},
        "constexprs": {"BM": 64, "BN": 128, "BK": 64},
        "options": {"num_warps": 4, "num_stages": 4}, "grid": ["M // BM", "N // BN"],
    },
    "walk": {
        "sizes": {"ctas": 528, "share": 1, "pitch": 262144},
        "args": {
            "x_ptr": "fp32[cdiv(ctas, share) * pitch]", "y_ptr": "fp32[ctas]",
            "pitch": "pitch", "length": 262144, "share": "share", "turn": 0,
        },
        "constexprs": {"BLOCK": 1024}, "options": {"num_warps": 4}, "grid": ["ctas"],
    },
    "again": {
        "sizes": {"part": 131072},
        "args": {"x_ptr": "fp32[132 * part]", "y_ptr": "fp32[132]", "part": "part", "rounds": 16, "move": 0},
        "constexprs": {"BLOCK": 8192}, "options": {"num_warps": 16}, "grid": [132],
    },
    "store": {
        "sizes": {"n": 4194304},
        "args": {"y_ptr": "fp32[n * apart]", "apart": 1, "rounds": 1, "n": "n"},
        "constexprs": {"BLOCK": 1024}, "options": {"num_warps": 4}, "grid": ["n // BLOCK"],
    },
    "stream": {
        "sizes": {"n": 134217728},
        "args": {"x_ptr": "fp32[n]", "y_ptr": "fp32[n]"},
        "constexprs": {"BLOCK": 4096, "LOAD": True, "STORE": True},
        "options": {"num_warps": 8}, "grid": ["n // BLOCK"],
    },
    "mix": {
        "sizes": {"n": 67108864},
        "args": {"x_ptr": "fp32[7 * n]", "y_ptr": "fp32[7 * n]", "n": "n"},
        "constexprs": {"R": 1, "W": 1, "BLOCK": 2048}, "options": {"num_warps": 4}, "grid": ["n // BLOCK"],
    },
    "chain": {
        "sizes": {"n": 8388608},
        "args": {"x_ptr": "fp32[n]", "y_ptr": "fp32[n]"},
        "constexprs": {"BLOCK": 1024, "OP": "erf", "TIMES": 32},
        "options": {"num_warps": 4}, "grid": ["n // BLOCK"],
    },
    "linear_scan": {
        "sizes": {"rows": 4096, "cols": 8192},
        "args": {"a_ptr": "fp32[rows, cols]", "b_ptr": "fp32[rows, cols]", "y_ptr": "fp32[rows, cols]", "cols": "cols"},
        "constexprs": {"BLOCK": 1024}, "options": {"num_warps": 4}, "grid": ["rows"],
    },
}  # fmt: skip


@triton.jit
def lanes(x_ptr, y_ptr, apart, BLOCK: tl.constexpr):
    """Load one word from each of many places that are equally far apart."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at.to(tl.int64) * apart))


@triton.jit
def lanes_again(x_ptr, y_ptr, apart, rounds, n, BLOCK: tl.constexpr):
    """Do so in rounds, in each of which another CTA takes a place."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for done in range(rounds):
        place = (at + done * 37 * BLOCK) % n
        total += tl.load(x_ptr + place.to(tl.int64) * apart)
    tl.store(y_ptr + at, total)


@triton.jit
def narrow(x_ptr, y_ptr, pitch, cols, BM: tl.constexpr, BK: tl.constexpr):
    """Sum rows, a few columns of many rows at a time."""
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    total = tl.zeros([BM, BK], tl.float32)
    for start in range(0, cols, BK):
        at = row.to(tl.int64)[:, None] * pitch + (start + tl.arange(0, BK))[None, :]
        total += tl.load(x_ptr + at).to(tl.float32)
    tl.store(y_ptr + row, tl.sum(total, axis=1))


@triton.jit
def product(a_ptr, b_ptr, c_ptr, N, K, pitch, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """A product of matrices, the rows of the first of which lie a pitch apart."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros([BM, BN], tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a = tl.load(a_ptr + m[:, None] * pitch + k[None, :])
        b = tl.load(b_ptr + k[:, None] * N + n[None, :])
        total = tl.dot(a, b, total)
    tl.store(c_ptr + m[:, None] * N + n[None, :], total.to(tl.float16))


@triton.jit
def moved_line(a_ptr, b_ptr, c_ptr, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """A product that loads one operand for the next iteration, by hand."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    total = tl.zeros([BM, BN], tl.float32)
    a = tl.load(a_ptr + m[:, None] * K + k[None, :])
    for start in range(0, K, BK):
        b = tl.load(b_ptr + (start + k)[:, None] * N + n[None, :])
        total = tl.dot(a, b, total)
        a = tl.load(a_ptr + m[:, None] * K + (start + BK + k)[None, :], mask=start + BK < K)
    tl.store(c_ptr + m[:, None] * N + n[None, :], total.to(tl.float16))


@triton.jit
def walk(x_ptr, y_ptr, pitch, length, share, turn, BLOCK: tl.constexpr):
    """Sum a part of a tensor, which a number of CTAs share, each from where its turn begins."""
    cta = tl.program_id(0)
    begin = (cta // share).to(tl.int64) * pitch
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, length, BLOCK):
        at = (start + cta * turn) % length + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + begin + at)
    tl.store(y_ptr + cta, tl.sum(total, axis=0))


@triton.jit
def again(x_ptr, y_ptr, part, rounds, move, BLOCK: tl.constexpr):
    """Sum a part of a tensor in each round, past the L1: its own, or another one each time."""
    cta = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.float32)
    for done in range(rounds):
        begin = (cta + done * move) % 132 * part
        for start in range(0, part, BLOCK):
            total += tl.load(x_ptr + begin + start + tl.arange(0, BLOCK), cache_modifier=".cg")
    tl.store(y_ptr + cta, tl.sum(total, axis=0))


@triton.jit
def store(y_ptr, apart, rounds, n, BLOCK: tl.constexpr):
    """Store one word to each of many places that are equally far apart."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    for done in range(rounds):
        place = (at + done * 37 * BLOCK) % n
        tl.store(y_ptr + place.to(tl.int64) * apart, at.to(tl.float32))


@triton.jit
def stream(x_ptr, y_ptr, BLOCK: tl.constexpr, LOAD: tl.constexpr, STORE: tl.constexpr):
    """Read, write or copy a tensor."""
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    if LOAD:
        x = tl.load(x_ptr + at)
        if STORE:
            tl.store(y_ptr + at, x)
        else:
            tl.store(y_ptr + tl.program_id(0), tl.sum(x, axis=0))
    else:
        tl.store(y_ptr + at, at.to(tl.float32))


@triton.jit
def mix(x_ptr, y_ptr, n, R: tl.constexpr, W: tl.constexpr, BLOCK: tl.constexpr):
    """Read some tensors and write others."""
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for r in tl.static_range(R):
        total += tl.load(x_ptr + r * n + at)
    if W == 0:
        tl.store(y_ptr + tl.program_id(0), tl.sum(total, axis=0))
    for w in tl.static_range(W):
        tl.store(y_ptr + w * n + at, total + w)


@triton.jit
def chain(x_ptr, y_ptr, BLOCK: tl.constexpr, OP: tl.constexpr, TIMES: tl.constexpr):
    """Apply a function to its own result."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    for _ in range(TIMES):
        if OP == "erf":
            x = tl.erf(x) + 0.5
        elif OP == "pow":
            x = libdevice.pow(x, 0.9) + 0.1
        elif OP == "exp":
            x = tl.exp(x) * 0.3
        elif OP == "log":
            x = tl.log(x) + 2.0
        elif OP == "tanh":
            x = libdevice.tanh(x) + 0.5
        elif OP == "sqrt":
            x = tl.sqrt(x) + 0.5
        elif OP == "divide":
            x = 1.0 / (x + 0.5)
        elif OP == "rsqrt":
            x = tl.rsqrt(x) + 0.5
        else:
            x = x * 0.9 + 0.1
    tl.store(y_ptr + at, x)


@triton.jit
def _then(a, b, c, d):
    return a * c, b * c + d


@triton.jit
def linear_scan(a_ptr, b_ptr, y_ptr, cols, BLOCK: tl.constexpr):
    """Scan a linear recurrence along rows, block by block."""
    row = tl.program_id(0) * cols
    at = tl.arange(0, BLOCK)
    last = 0.0
    for start in range(0, cols, BLOCK):
        a = tl.load(a_ptr + row + start + at)
        b = tl.load(b_ptr + row + start + at)
        a, b = tl.associative_scan((a, b), 0, _then)
        y = a * last + b
        last = tl.sum(tl.where(at == BLOCK - 1, y, 0.0), axis=0)
        tl.store(y_ptr + row + start + at, y)
