"""Vectors that no thread shares with another, so that more warps leave each as many."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "many_vectors": {
        "args": {"x": "fp32[132, 96, 256]", "out": "fp32[132, 96, 256]"},
        "constexprs": {"COUNT": 96, "SIZE": 256},
        "options": {"num_warps": 32},
        "grid": [132],
    },
}


@triton.jit
def many_vectors(x, out, COUNT: tl.constexpr, SIZE: tl.constexpr):
    """Divide vectors by their sum, in which all of them are needed first."""
    at = tl.program_id(0) * COUNT * SIZE + tl.arange(0, SIZE)
    held = ()
    total = tl.zeros((SIZE,), tl.float32)
    for each in tl.static_range(COUNT):
        vector = tl.load(x + at + each * SIZE)
        held = held + (vector,)
        total += vector
    total = 1 / tl.sum(total)
    for each in tl.static_range(COUNT):
        tl.store(out + at + each * SIZE, held[each] * total)
