"""A tile that two products take, as the left operand and as the right one."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "two_products": {
        "sizes": {"M": 1024},
        "args": {"q": "fp16[M, 32]", "k": "fp16[32, 32]", "out": "fp32[32, 32]", "M": "M"},
        "constexprs": {"AGAIN": False},
        "options": {"num_warps": 4},
        "grid": [304],
    },
}


@triton.jit
def two_products(q, k, out, M, AGAIN: tl.constexpr):
    """Compute (Q K^T)^T Q, in the way of the backward pass of attention."""
    n = tl.arange(0, 32)
    keys = tl.load(k + n[:, None] * 32 + n[None, :])
    total = tl.zeros([32, 32], tl.float32)
    for m in range(0, M, 32):
        tile = tl.load(q + (m + n)[:, None] * 32 + n[None, :])
        scores = tl.dot(tile, tl.trans(keys)).to(tl.float16)
        if AGAIN:
            tile = tl.load(q + (m + n)[:, None] * 32 + n[None, :], eviction_policy="evict_first")
        total += tl.dot(tl.trans(scores), tile)
    tl.store(out + n[:, None] * 32 + n[None, :], total)
