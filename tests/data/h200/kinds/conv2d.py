"""3x3 convolution of NHWC images as an implicit matrix product."""
import triton
import triton.language as tl

IRLENS_KERNELS = {"conv2d_kernel": {
    "sizes": {"n": 16, "h": 56, "w": 56, "c": 128, "k": 256},
    "args": {"x_ptr": "fp16[n, h, w, c]", "w_ptr": "fp16[9, c, k]", "y_ptr": "fp16[n, h, w, k]",
             "n": "n", "h": "h", "w": "w", "c": "c", "k": "k"},
    "constexprs": {"BM": 128, "BN": 128, "BK": 64},
    "options": {"num_warps": 8, "num_stages": 3},
    "grid": ["cdiv(n * h * w, BM)", "cdiv(k, BN)"],
}}

@triton.jit
def conv2d_kernel(x_ptr, w_ptr, y_ptr, n, h, w, c, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    image, rest = rows // (h * w), rows % (h * w)
    y, x = rest // w, rest % w
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for tap in range(9):
        yy, xx = y + tap // 3 - 1, x + tap % 3 - 1
        inside = (rows < n * h * w) & (yy >= 0) & (yy < h) & (xx >= 0) & (xx < w)
        base = ((image * h + yy) * w + xx) * c
        for c0 in range(0, c, BK):
            ks = c0 + tl.arange(0, BK)
            a = tl.load(x_ptr + base[:, None] + ks[None, :], mask=inside[:, None] & (ks < c)[None, :], other=0.0)
            b = tl.load(w_ptr + (tap * c + ks)[:, None] * k + cols[None, :], mask=(ks < c)[:, None] & (cols < k)[None, :], other=0.0)
            acc += tl.dot(a, b)
    tl.store(y_ptr + rows[:, None] * k + cols[None, :], acc.to(tl.float16), mask=(rows < n * h * w)[:, None] & (cols < k)[None, :])
