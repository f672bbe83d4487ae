"""Two loops, one after the other, that each specialize the warps of a CTA."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "halves": {
        "args": {
            "left": "fp16[4096, 4096]:block[128, 64]",
            "right": "fp16[4096, 4096]:block[64, 128]",
            "out": "fp32[128, 128]",
            "depth": 4096,
        },
        "constexprs": {},
        "options": {"num_warps": 8, "num_stages": 3},
        "grid": [1],
    },
}


@triton.jit
def halves(left, right, out, depth):
    """Multiply the first half along K, double it, and add the second half."""
    total = tl.zeros([128, 128], tl.float32)
    for k in tl.range(0, depth // 2, 64, warp_specialize=True):
        total = tl.dot(left.load([0, k]), right.load([k, 0]), total)
    total *= 2
    for k in tl.range(depth // 2, depth, 64, warp_specialize=True):
        total = tl.dot(left.load([0, k]), right.load([k, 0]), total)
    at = tl.arange(0, 128)
    tl.store(out + at[:, None] * 128 + at[None, :], total)
