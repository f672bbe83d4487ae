"""Tiles whose rows are whole and whose neighbours are not beside each other, or shifted."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "rotated": {
        "sizes": {"T": 4096},
        "args": {"x": "fp16[T, 128]", "cosine": "fp16[T, 64]", "out": "fp16[T, 128]"},
        "constexprs": {"R": 16, "STEP": 2},
        "options": {"num_warps": 4},
        "grid": [256],
    },
    "convolved": {
        "sizes": {"L": 4096},
        "args": {"x": "fp16[132, L]", "w": "fp16[132, 4]", "out": "fp16[132, L]", "L": "L"},
        "constexprs": {"B": 1024, "W": 4},
        "options": {"num_warps": 4},
        "grid": [132, 4],
    },
}


@triton.jit
def rotated(x, cosine, out, R: tl.constexpr, STEP: tl.constexpr):
    """Scale the even elements of rows of 128, as rotary embeddings do, or a row's first half."""
    rows = tl.program_id(0) * R + tl.arange(0, R)
    half = tl.arange(0, 64)
    place = rows[:, None] * 128 + STEP * half[None, :]
    factor = tl.load(cosine + rows[:, None] * 64 + half[None, :])
    tl.store(out + place, tl.load(x + place) * factor)


@triton.jit
def convolved(x, w, out, L, B: tl.constexpr, W: tl.constexpr):
    """Convolve rows with a filter of W elements, in an unrolled loop."""
    channel = tl.program_id(0)
    at = tl.program_id(1) * B + tl.arange(0, B)
    total = tl.zeros([B], tl.float32)
    for i in tl.static_range(W):
        back = at - (W - 1) + i
        value = tl.load(x + channel * L + back, mask=back >= 0, other=0.0)
        total += value * tl.load(w + channel * 4 + i)
    tl.store(out + channel * L + at, total, mask=at < L)
