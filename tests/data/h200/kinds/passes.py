"""Kernels whose programs read their row in two or three loops, one after the other."""
import triton
import triton.language as tl

IRLENS_KERNELS = {
    "two_pass_softmax": {
        "sizes": {"rows": 4096, "cols": 16384},
        "args": {"x_ptr": "fp16[rows, cols]", "y_ptr": "fp16[rows, cols]", "cols": "cols"},
        "constexprs": {"BLOCK": 2048}, "options": {"num_warps": 4}, "grid": ["rows"],
    },
    "instance_norm": {
        "sizes": {"planes": 4096, "hw": 12544},
        "args": {"x_ptr": "fp32[planes, hw]", "y_ptr": "fp32[planes, hw]", "hw": "hw"},
        "constexprs": {"BLOCK": 2048}, "options": {"num_warps": 4}, "grid": ["planes"],
    },
    "cross_entropy": {
        "sizes": {"rows": 4096, "vocab": 32000},
        "args": {"x_ptr": "fp16[rows, vocab]", "g_ptr": "fp16[rows, vocab]", "vocab": "vocab"},
        "constexprs": {"BLOCK": 4096}, "options": {"num_warps": 8}, "grid": ["rows"],
    },
}

@triton.jit
def two_pass_softmax(x_ptr, y_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * cols
    at = tl.arange(0, BLOCK)
    most = tl.full((BLOCK,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, cols, BLOCK):
        x = tl.load(x_ptr + row + start + at, mask=start + at < cols, other=float("-inf")).to(tl.float32)
        more = tl.maximum(most, x)
        total = total * tl.exp(most - more) + tl.exp(x - more)
        most = more
    peak = tl.max(most, axis=0)
    scale = 1.0 / tl.sum(total * tl.exp(most - peak), axis=0)
    for start in range(0, cols, BLOCK):
        mask = start + at < cols
        x = tl.load(x_ptr + row + start + at, mask=mask, other=0.0).to(tl.float32)
        tl.store(y_ptr + row + start + at, (tl.exp(x - peak) * scale).to(tl.float16), mask=mask)

@triton.jit
def instance_norm(x_ptr, y_ptr, hw, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * hw
    at = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, hw, BLOCK):
        total += tl.load(x_ptr + row + start + at, mask=start + at < hw, other=0.0)
    mean = tl.sum(total, axis=0) / hw
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, hw, BLOCK):
        mask = start + at < hw
        x = tl.where(mask, tl.load(x_ptr + row + start + at, mask=mask, other=0.0) - mean, 0.0)
        total += x * x
    scale = tl.rsqrt(tl.sum(total, axis=0) / hw + 1e-5)
    for start in range(0, hw, BLOCK):
        mask = start + at < hw
        x = tl.load(x_ptr + row + start + at, mask=mask, other=0.0)
        tl.store(y_ptr + row + start + at, (x - mean) * scale, mask=mask)

@triton.jit
def cross_entropy(x_ptr, g_ptr, vocab, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * vocab
    at = tl.arange(0, BLOCK)
    most = float("-inf")
    total = 0.0
    for start in range(0, vocab, BLOCK):
        x = tl.load(x_ptr + row + start + at, mask=start + at < vocab, other=float("-inf")).to(tl.float32)
        more = tl.maximum(most, tl.max(x, axis=0))
        total = total * tl.exp(most - more) + tl.sum(tl.exp(x - more), axis=0)
        most = more
    for start in range(0, vocab, BLOCK):
        mask = start + at < vocab
        x = tl.load(x_ptr + row + start + at, mask=mask, other=0.0).to(tl.float32)
        tl.store(g_ptr + row + start + at, (tl.exp(x - most) / total).to(tl.float16), mask=mask)
