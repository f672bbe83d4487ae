"""Loops that load one value an iteration, beside a tile."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "scaled_rows": {
        "sizes": {"n": 4096},
        "args": {"x": "fp32[n, 1024]", "scale": "fp16[n]", "out": "fp32[1024]", "n": "n"},
        "constexprs": {"N": 1024, "SPREAD": False},
        "options": {"num_warps": 4},
        "grid": [132],
    },
    "scaled_copy": {
        "sizes": {"n": 4096},
        "args": {"x": "fp16[n, 1024]", "scale": "fp16[1024]", "out": "fp16[n, 1024]", "n": "n"},
        "constexprs": {"N": 1024, "STEP": 0, "IN_PLACE": False},
        "grid": [1],
    },
    "squares": {
        "sizes": {"rows": 4096, "n": 8192},
        "args": {"x": "bf16[rows, n]", "out": "fp32[rows]", "n": "n"},
        "constexprs": {"N": 1024, "STAGES": 3},
        "options": {"num_warps": 4},
        "grid": ["rows"],
    },
    "scaled_dot": {
        "sizes": {"K": 4096},
        "args": {
            "a": "fp16[32, K]",
            "b": "fp16[K, 32]",
            "scale": "fp32[K]",
            "c": "fp32[32, 32]",
            "K": "K",
        },
        "constexprs": {"STAGES": None},
        "options": {"num_warps": 4, "num_stages": 3},
        "grid": [132],
    },
}


@triton.jit
def scaled_rows(x, scale, out, n, N: tl.constexpr, SPREAD: tl.constexpr):
    """Add up rows, each with a factor."""
    columns = tl.arange(0, N)
    total = tl.zeros([N], tl.float32)
    for row in tl.range(0, n, num_stages=3):
        if SPREAD:
            factor = tl.load(scale + row + tl.zeros([N], tl.int32))
        else:
            factor = tl.load(scale + row)
        total += tl.load(x + row * N + columns) * factor
    tl.store(out + columns, total)


@triton.jit
def scaled_copy(x, scale, out, n, N: tl.constexpr, STEP: tl.constexpr, IN_PLACE: tl.constexpr):
    """Scale rows by one factor, or by one of their own, or change the factor in the loop."""
    columns = tl.arange(0, N)
    for row in tl.range(0, n, num_stages=3):
        factor = tl.load(scale + row * STEP)
        tl.store(out + row * N + columns, tl.load(x + row * N + columns) * factor)
        if IN_PLACE:
            tl.store(scale, factor + 1)


@triton.jit
def squares(x, out, n, N: tl.constexpr, STAGES: tl.constexpr):
    """Add up the squares of a row."""
    row, total = tl.program_id(0), tl.zeros([N], tl.float32)
    for k in tl.range(0, n, N, num_stages=STAGES):
        columns = k + tl.arange(0, N)
        value = tl.load(x + row * n + columns, mask=columns < n, other=0.0).to(tl.float32)
        total += value * value
    tl.store(out + row, tl.sum(total))


@triton.jit
def scaled_dot(a, b, scale, c, K, STAGES: tl.constexpr):
    """Add up products, each with a factor."""
    m = tl.arange(0, 32)
    total = tl.zeros([32, 32], tl.float32)
    for k in tl.range(0, K, 32, num_stages=STAGES):
        factor = tl.load(scale + k // 32)
        left = tl.load(a + m[:, None] * K + (k + m)[None, :])
        right = tl.load(b + (k + m)[:, None] * 32 + m[None, :])
        total += tl.dot(left, right) * factor
    tl.store(c + m[:, None] * 32 + m[None, :], total)
