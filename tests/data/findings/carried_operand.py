"""A product whose right operand the loop carries from the iteration before."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "carried_operand": {
        "sizes": {"T": 4096},
        "args": {"q": "fp16[T, 64]", "k": "fp16[T, 64]", "v": "fp16[T, 64]", "o": "fp16[T, 64]"},
        "constexprs": {"T": 4096, "B": 32, "AGAIN": False},
        "options": {"num_warps": 4},
        "grid": [132],
    }
}


@triton.jit
def carried_operand(q, k, v, o, T: tl.constexpr, B: tl.constexpr, AGAIN: tl.constexpr):
    """Multiply by a state, in the way of linear attention over chunks."""
    d, t = tl.arange(0, 64), tl.arange(0, B)
    state = tl.zeros([64, 64], tl.float32)
    for i in range(0, T, B):
        place = (i + t)[:, None] * 64 + d[None, :]
        queries, values = tl.load(q + place), tl.load(v + place)
        keys = tl.load(k + place)
        scores = tl.dot(queries, tl.trans(keys))
        out = tl.dot(scores.to(tl.float16), values) + tl.dot(queries, state.to(tl.float16))
        if AGAIN:
            keys = tl.load(k + place, eviction_policy="evict_first")
        state += tl.dot(tl.trans(keys), values)
        tl.store(o + place, out.to(tl.float16))
