"""A row of which a thread holds much."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "heavy": {
        "sizes": {"n": 4096},
        "args": {"x": "fp32[n, n]", "out": "fp32[n, n]", "n": "n"},
        "constexprs": {"BLOCK": 4096},
        "options": {"num_warps": 4},
        "grid": ["n"],
    }
}


@triton.jit
def heavy(x, out, n, BLOCK: tl.constexpr):
    """Add a row's softmax, its sines and its square sum."""
    row, columns = tl.program_id(0), tl.arange(0, BLOCK)
    value = tl.load(x + row * n + columns)
    shifted = tl.exp(value - tl.max(value))
    sines = tl.sin(value)
    result = shifted / tl.sum(shifted) + sines * tl.sum(value * value) + value
    tl.store(out + row * n + columns, result)
