"""A product whose right operand is unpacked from words of eight 4-bit weights along K."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "grouped": {
        "args": {"a": "fp16[64, 1024]", "w": "i32[128, 1024]", "out": "fp16[64, 1024]", "n": 1024},
        "constexprs": {"B": 64, "TOGETHER": 8},
        "options": {"num_stages": 3},
        "grid": [16],
    }
}


@triton.jit
def grouped(a, w, out, n, B: tl.constexpr, TOGETHER: tl.constexpr):
    """Load each word for all rows that it holds."""
    rows, columns = tl.arange(0, 64), tl.program_id(0) * 64 + tl.arange(0, 64)
    inner = tl.arange(0, B)
    total = tl.zeros([64, 64], tl.float32)
    for i in range(0, n, B):
        left = tl.load(a + rows[:, None] * n + (i + inner)[None, :])
        packed = tl.load(w + ((i + inner) // TOGETHER)[:, None] * 1024 + columns[None, :])
        right = (packed >> (inner % 8 * 4)[:, None]) & 15
        total = tl.dot(left, right.to(tl.float16), total)
    tl.store(out + rows[:, None] * 1024 + columns[None, :], total.to(tl.float16))
