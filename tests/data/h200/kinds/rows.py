"""Kernels that take a row, or a part of one, in each program."""
import triton
import triton.language as tl

IRLENS_KERNELS = {
    "swiglu_kernel": {
        "sizes": {"rows": 8192, "cols": 11008},
        "args": {"x_ptr": "fp16[rows, 2 * cols]", "y_ptr": "fp16[rows, cols]", "cols": "cols"},
        "constexprs": {"BLOCK": 1024}, "options": {"num_warps": 4},
        "grid": ["rows", "cdiv(cols, BLOCK)"],
    },
    "rotary_kernel": {
        "sizes": {"tokens": 8192, "heads": 32, "dim": 128},
        "args": {"x_ptr": "fp16[tokens, heads, dim]", "out_ptr": "fp16[tokens, heads, dim]", "heads": "heads", "theta": 10000.0},
        "constexprs": {"HALF": 64, "BH": 8}, "options": {"num_warps": 4},
        "grid": ["tokens", "cdiv(heads, BH)"],
    },
    "rotary_table_kernel": {
        "sizes": {"tokens": 8192, "heads": 32, "dim": 128},
        "args": {"x_ptr": "fp16[tokens, heads, dim]", "cos_ptr": "fp32[tokens, 64]", "sin_ptr": "fp32[tokens, 64]", "out_ptr": "fp16[tokens, heads, dim]", "heads": "heads"},
        "constexprs": {"HALF": 64, "BH": 8}, "options": {"num_warps": 4},
        "grid": ["tokens", "cdiv(heads, BH)"],
    },
    "logsumexp_kernel": {
        "sizes": {"rows": 4096, "vocab": 50257},
        "args": {"x_ptr": "fp16[rows, vocab]", "y_ptr": "fp32[rows]", "vocab": "vocab"},
        "constexprs": {"BLOCK": 4096}, "options": {"num_warps": 8},
        "grid": ["rows"],
    },
    "group_norm_kernel": {
        "sizes": {"n": 32, "c": 320, "hw": 4096, "groups": 32},
        "args": {"x_ptr": "fp16[n, c, hw]", "w_ptr": "fp32[c]", "b_ptr": "fp32[c]", "y_ptr": "fp16[n, c, hw]", "hw": "hw", "per": 10, "groups": "groups"},
        "constexprs": {"BLOCK": 4096}, "options": {"num_warps": 8},
        "grid": ["n * groups"],
    },
    "topk_kernel": {
        "sizes": {"rows": 8192, "cols": 1024},
        "args": {"x_ptr": "fp32[rows, cols]", "y_ptr": "fp32[rows, cols]", "cols": "cols"},
        "constexprs": {"BLOCK": 1024}, "options": {"num_warps": 4},
        "grid": ["rows"],
    },
    "scan_kernel": {
        "sizes": {"rows": 4096, "cols": 8192},
        "args": {"x_ptr": "fp32[rows, cols]", "y_ptr": "fp32[rows, cols]", "cols": "cols"},
        "constexprs": {"BLOCK": 2048}, "options": {"num_warps": 4},
        "grid": ["rows"],
    },
    "pool_kernel": {
        "sizes": {"n": 64, "h": 112, "w": 112, "c": 64},
        "args": {"x_ptr": "fp16[n, c, h, w]", "y_ptr": "fp16[n, c, h // 2, w // 2]", "h": "h", "w": "w"},
        "constexprs": {"BLOCK": 1024}, "options": {"num_warps": 4},
        "grid": ["n * c", "cdiv((h // 2) * (w // 2), BLOCK)"],
    },
    "gemv_kernel": {
        "sizes": {"M": 16384, "N": 8192},
        "args": {"a_ptr": "fp16[M, N]", "x_ptr": "fp16[N]", "y_ptr": "fp32[M]", "M": "M", "N": "N"},
        "constexprs": {"BM": 16, "BN": 256}, "options": {"num_warps": 4},
        "grid": ["cdiv(M, BM)"],
    },
}

@triton.jit
def swiglu_kernel(x_ptr, y_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = at < cols
    gate = tl.load(x_ptr + row * 2 * cols + at, mask=mask, other=0.0).to(tl.float32)
    up = tl.load(x_ptr + row * 2 * cols + cols + at, mask=mask, other=0.0)
    tl.store(y_ptr + row * cols + at, (gate * tl.sigmoid(gate)).to(tl.float16) * up, mask=mask)

@triton.jit
def rotary_kernel(x_ptr, out_ptr, heads, theta, HALF: tl.constexpr, BH: tl.constexpr):
    token = tl.program_id(0)
    head = tl.program_id(1) * BH + tl.arange(0, BH)
    at = tl.arange(0, HALF)
    angle = token.to(tl.float32) * tl.exp(-tl.log(theta) * at.to(tl.float32) / HALF)
    cos, sin = tl.cos(angle)[None, :], tl.sin(angle)[None, :]
    base = (token * heads + head)[:, None] * (2 * HALF) + at[None, :]
    mask = (head < heads)[:, None]
    a = tl.load(x_ptr + base, mask=mask, other=0.0).to(tl.float32)
    b = tl.load(x_ptr + base + HALF, mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + base, (a * cos - b * sin).to(tl.float16), mask=mask)
    tl.store(out_ptr + base + HALF, (b * cos + a * sin).to(tl.float16), mask=mask)

@triton.jit
def rotary_table_kernel(x_ptr, cos_ptr, sin_ptr, out_ptr, heads, HALF: tl.constexpr, BH: tl.constexpr):
    token = tl.program_id(0)
    head = tl.program_id(1) * BH + tl.arange(0, BH)
    at = tl.arange(0, HALF)
    cos = tl.load(cos_ptr + token * HALF + at)[None, :]
    sin = tl.load(sin_ptr + token * HALF + at)[None, :]
    base = (token * heads + head)[:, None] * (2 * HALF) + at[None, :]
    mask = (head < heads)[:, None]
    a = tl.load(x_ptr + base, mask=mask, other=0.0).to(tl.float32)
    b = tl.load(x_ptr + base + HALF, mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + base, (a * cos - b * sin).to(tl.float16), mask=mask)
    tl.store(out_ptr + base + HALF, (b * cos + a * sin).to(tl.float16), mask=mask)

@triton.jit
def logsumexp_kernel(x_ptr, y_ptr, vocab, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    most = tl.full((BLOCK,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, vocab, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * vocab + at, mask=at < vocab, other=float("-inf")).to(tl.float32)
        more = tl.maximum(most, x)
        more = tl.where(more == float("-inf"), 0.0, more)
        total = total * tl.exp(most - more) + tl.exp(x - more)
        most = more
    peak = tl.max(most, axis=0)
    tl.store(y_ptr + row, peak + tl.log(tl.sum(total * tl.exp(most - peak), axis=0)))

@triton.jit
def group_norm_kernel(x_ptr, w_ptr, b_ptr, y_ptr, hw, per, groups, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    group = pid % groups
    base = pid.to(tl.int64) * per * hw
    at = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, per * hw, BLOCK):
        x = tl.load(x_ptr + base + start + at, mask=start + at < per * hw, other=0.0).to(tl.float32)
        total += x
        squares += x * x
    mean = tl.sum(total, axis=0) / (per * hw)
    scale = tl.rsqrt(tl.sum(squares, axis=0) / (per * hw) - mean * mean + 1e-5)
    for start in range(0, per * hw, BLOCK):
        mask = start + at < per * hw
        channel = group * per + (start + at) // hw
        x = tl.load(x_ptr + base + start + at, mask=mask, other=0.0).to(tl.float32)
        weight = tl.load(w_ptr + channel, mask=mask, other=0.0)
        bias = tl.load(b_ptr + channel, mask=mask, other=0.0)
        tl.store(y_ptr + base + start + at, ((x - mean) * scale * weight + bias).to(tl.float16), mask=mask)

@triton.jit
def topk_kernel(x_ptr, y_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * cols + at, mask=at < cols, other=float("-inf"))
    tl.store(y_ptr + row * cols + at, tl.sort(x, descending=True), mask=at < cols)

@triton.jit
def scan_kernel(x_ptr, y_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    carry = 0.0
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * cols + at, mask=at < cols, other=0.0)
        tl.store(y_ptr + row * cols + at, tl.cumsum(x, axis=0) + carry, mask=at < cols)
        carry += tl.sum(x, axis=0)

@triton.jit
def pool_kernel(x_ptr, y_ptr, h, w, BLOCK: tl.constexpr):
    plane = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    oh, ow = h // 2, w // 2
    mask = at < oh * ow
    y, x = at // ow * 2, at % ow * 2
    base = x_ptr + plane * h * w + y * w + x
    a = tl.load(base, mask=mask, other=0.0)
    b = tl.load(base + 1, mask=mask, other=0.0)
    c = tl.load(base + w, mask=mask, other=0.0)
    d = tl.load(base + w + 1, mask=mask, other=0.0)
    tl.store(y_ptr + plane * oh * ow + at, tl.maximum(tl.maximum(a, b), tl.maximum(c, d)), mask=mask)

@triton.jit
def gemv_kernel(a_ptr, x_ptr, y_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, N, BN):
        at = start + tl.arange(0, BN)
        a = tl.load(a_ptr + rows[:, None] * N + at[None, :]).to(tl.float32)
        acc += a * tl.load(x_ptr + at)[None, :].to(tl.float32)
    tl.store(y_ptr + rows, tl.sum(acc, axis=1))
