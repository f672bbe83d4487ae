"""Attention whose loop specializes the warps of a CTA: two products, each with its own rings."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "attention": {
        "args": {
            "queries": "fp16[4096, 64]:block[128, 64]",
            "keys": "fp16[4096, 64]:block[64, 64]",
            "values": "fp16[4096, 64]:block[64, 64]",
            "out": "fp16[4096, 64]:block[128, 64]",
            "scale": 0.18,
            "rows": 4096,
        },
        "constexprs": {},
        "options": {"num_warps": 4, "num_stages": 3},
        "grid": [32],
    },
}


@triton.jit
def attention(queries, keys, values, out, scale, rows):
    """Attend 128 queries to all rows, 64 at a time."""
    start = tl.program_id(0) * 128
    query = queries.load([start, 0])
    best = tl.full([128], float("-inf"), tl.float32)
    total = tl.full([128], 1.0, tl.float32)
    weighted = tl.zeros([128, 64], tl.float32)
    for row in tl.range(0, rows, 64, warp_specialize=True):
        scores = tl.dot(query, keys.load([row, 0]).T)
        higher = tl.maximum(best, tl.max(scores, 1) * scale)
        weights = tl.math.exp2(scores * scale - higher[:, None])
        rescale = tl.math.exp2(best - higher)
        weighted = weighted * rescale[:, None]
        weighted = tl.dot(weights.to(tl.float16), values.load([row, 0]), weighted)
        total = total * rescale + tl.sum(weights, 1)
        best = higher
    out.store([start, 0], (weighted / total[:, None]).to(tl.float16))
