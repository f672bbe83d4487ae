"""One matrix product, whose operands' types and shape are the caller's."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "dot": {
        "sizes": {"m": 64, "n": 64, "k": 64},
        "args": {"a": "fp16[m, k]", "b": "fp16[k, n]", "c": "fp32[m, n]"},
        "constexprs": {"m": 64, "n": 64, "k": 64, "precision": "tf32", "whole": False},
        "grid": [1],
    },
}


@triton.jit
def dot(a, b, c, m: tl.constexpr, n: tl.constexpr, k: tl.constexpr, precision: tl.constexpr, whole: tl.constexpr):
    rows = tl.arange(0, m)
    columns = tl.arange(0, n)
    depth = tl.arange(0, k)
    x = tl.load(a + rows[:, None] * k + depth[None, :])
    y = tl.load(b + depth[:, None] * n + columns[None, :])
    if whole:
        z = tl.dot(x, y, out_dtype=tl.int32)
    else:
        z = tl.dot(x, y, input_precision=precision)
    tl.store(c + rows[:, None] * n + columns[None, :], z)
