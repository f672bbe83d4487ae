"""A loop whose two copies have a ring of barriers each; all waits have the place of the loop."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "chained": {
        "args": {
            "left": "fp16[4096, 64]:block[64, 64]",
            "middle": "fp16[4096, 64]:block[64, 64]",
            "right": "fp16[4096, 64]:block[64, 64]",
            "out": "fp32[4096, 64]",
            "rows": 4096,
        },
        "constexprs": {},
        "options": {"num_warps": 4, "num_stages": 3},
        "grid": [64],
    },
}


@triton.jit
def chained(left, middle, right, out, rows):
    """Multiply by one matrix, and the product by another, tile after tile."""
    at = tl.arange(0, 64)
    tile = left.load([tl.program_id(0) * 64, 0])
    total = tl.zeros([64, 64], tl.float32)
    for row in tl.range(0, rows, 64):
        product = tl.dot(tile, middle.load([row, 0]).T)
        total = tl.dot(product.to(tl.float16), right.load([row, 0]), total)
    tl.store(out + (tl.program_id(0) * 64 + at)[:, None] * 64 + at[None, :], total)
