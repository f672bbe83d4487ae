"""Kernels whose accesses reach outside their tensors, or read the same bytes again."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "unmasked": {
        "sizes": {"n": 1000},
        "args": {"x_ptr": "fp32[n]", "y_ptr": "fp32[n]", "n": "n"},
        "constexprs": {"BLOCK": 256},
        "options": {"num_warps": 4},
        "grid": ["cdiv(n, BLOCK)"],
        "outputs": ["y_ptr"],
    },
    "before": {
        "sizes": {"n": 1024},
        "args": {"x_ptr": "fp32[n]", "y_ptr": "fp32[n]"},
        "constexprs": {"BLOCK": 256},
        "options": {"num_warps": 4},
        "grid": ["cdiv(n, BLOCK)"],
        "outputs": ["y_ptr"],
    },
    "scaled": {
        "sizes": {"n_rows": 64, "n_cols": 4096},
        "args": {
            "x_ptr": "fp32[n_rows, n_cols]",
            "scale_ptr": "fp32[256]",
            "y_ptr": "fp32[n_rows, n_cols]",
            "n_cols": "n_cols",
        },
        "constexprs": {"BLOCK": 256},
        "options": {"num_warps": 4},
        "grid": ["n_rows"],
        "outputs": ["y_ptr"],
    },
    "products": {
        "sizes": {"M": 2048, "N": 16384, "K": 4096},
        "args": {
            "a_ptr": "fp16[M, K]",
            "b_ptr": "fp16[K, N]",
            "c_ptr": "fp16[M, N]",
            "N": "N",
            "K": "K",
        },
        "constexprs": {"BLOCK": 64},
        "options": {"num_warps": 4},
        "grid": ["N // BLOCK", "M // BLOCK"],
        "outputs": ["c_ptr"],
    },
}


@triton.jit
def unmasked(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """Copy with a mask for the store alone."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    tl.store(y_ptr + offsets, x, mask=offsets < n)


@triton.jit
def before(x_ptr, y_ptr, BLOCK: tl.constexpr):
    """Copy each element from the one three places before it."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets - 3))


@triton.jit
def scaled(x_ptr, scale_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    """Scale a row, with factors that are loaded again for each block."""
    row = tl.program_id(0) * n_cols
    for start in range(0, n_cols, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        factors = tl.load(scale_ptr + tl.arange(0, BLOCK))
        x = tl.load(x_ptr + row + offsets, mask=offsets < n_cols)
        tl.store(y_ptr + row + offsets, x * factors, mask=offsets < n_cols)


@triton.jit
def products(a_ptr, b_ptr, c_ptr, N, K, BLOCK: tl.constexpr):
    """Multiply matrices, tile by tile along the rows of C."""
    rows = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for start in range(0, K, BLOCK):
        inner = start + tl.arange(0, BLOCK)
        a = tl.load(a_ptr + rows[:, None] * K + inner[None, :])
        b = tl.load(b_ptr + inner[:, None] * N + cols[None, :])
        total = tl.dot(a, b, total)
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], total.to(tl.float16))
