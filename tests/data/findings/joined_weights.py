"""A product whose right operand is unpacked from 4-bit weights."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "unpacked": {
        "args": {"a": "fp16[64, 4096]", "w": "i8[2048, 64]", "out": "fp32[64, 64]", "n": 4096},
        "constexprs": {"B": 64, "ALONG_K": False},
        "options": {"num_stages": 3},
        "grid": ["1"],
    }
}


@triton.jit
def unpacked(a, w, out, n, B: tl.constexpr, ALONG_K: tl.constexpr):
    """Multiply by weights of which one byte holds two rows' values."""
    rows, columns = tl.arange(0, 64), tl.arange(0, 64)
    inner, half = tl.arange(0, B), tl.arange(0, B // 2)
    total = tl.zeros([64, 64], tl.float32)
    for i in range(0, n, B):
        left = tl.load(a + rows[:, None] * 4096 + (i + inner)[None, :])
        packed = tl.load(w + _places(i // 2 + half, columns, ALONG_K))
        low, high = ((packed << 4) >> 4).to(tl.float16), (packed >> 4).to(tl.float16)
        right = tl.join(low, high).permute(0, 2, 1).reshape(B, 64)
        total = tl.dot(left, right, total)
    tl.store(out + rows[:, None] * 64 + columns[None, :], total)


@triton.jit
def _places(rows, columns, ALONG_K: tl.constexpr):
    return rows[:, None] + columns[None, :] * 2048 if ALONG_K else rows[:, None] * 64 + columns
