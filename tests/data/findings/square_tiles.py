"""A tile whose sides are equal, and a loop that exchanges what it carries."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "turned": {
        "sizes": {"n": 4096},
        "args": {"x": "fp32[n, n]", "out": "fp32[n, n]", "n": "n"},
        "constexprs": {"BM": 4, "BN": 4},
        "grid": ["n // BM", "n // BN"],
    },
    "alternating": {
        "sizes": {"n": 4096},
        "args": {"x": "fp32[n, 1024]", "out": "fp32[1024]", "n": "n"},
        "constexprs": {"SWAP": True, "STAGES": 3},
        "grid": ["1"],
    },
}


@triton.jit
def turned(x, out, n, BM: tl.constexpr, BN: tl.constexpr):
    """Transpose a matrix in small tiles."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    tile = tl.load(x + columns[None, :] * n + rows[:, None])
    tl.store(out + rows[:, None] * n + columns[None, :], tile)


@triton.jit
def alternating(x, out, n, SWAP: tl.constexpr, STAGES: tl.constexpr):
    """Weigh the even rows otherwise than the odd ones."""
    columns = tl.arange(0, 1024)
    one = tl.load(x + columns)
    other = one + 1
    total = tl.zeros([1024], tl.float32)
    for i in tl.range(0, n, num_stages=STAGES):
        total += tl.load(x + i * 1024 + columns) * one
        if SWAP:
            one, other = other, one
    tl.store(out + columns, total + other)
