"""Loops whose loads the compiler pipelines, or does not."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "biased_dot": {
        "sizes": {"K": 4096},
        "args": {
            "a_ptr": "fp16[64, K]",
            "b_ptr": "fp16[K, 64]",
            "bias_ptr": "fp32[K]",
            "c_ptr": "fp32[64, 64]",
            "K": "K",
        },
        "constexprs": {"BIAS": True, "STAGES": 4},
        "options": {"num_warps": 4},
        "grid": [132],
    },
    "row_sum": {
        "sizes": {"n_rows": 4096, "n_cols": 1024},
        "args": {
            "x_ptr": "fp16[n_rows, n_cols]",
            "out_ptr": "fp32[1024]",
            "n_rows": "n_rows",
            "stride": "n_cols",
        },
        "constexprs": {"STAGES": None},
        "options": {"num_warps": 4},
        "grid": [132],
    },
    "few_rows": {
        "sizes": {"n_cols": 1024},
        "args": {"x_ptr": "fp16[ROWS, n_cols]", "out_ptr": "fp32[1024]", "stride": "n_cols"},
        "constexprs": {"ROWS": 3, "STAGES": None},
        "options": {"num_warps": 4},
        "grid": [132],
    },
}


@triton.jit
def biased_dot(a_ptr, b_ptr, bias_ptr, c_ptr, K, BIAS: tl.constexpr, STAGES: tl.constexpr):
    """Add a row to every partial product, or a constant."""
    m = tl.arange(0, 64)
    total = tl.zeros([64, 64], tl.float32)
    for k in tl.range(0, K, 64, num_stages=STAGES):
        a = tl.load(a_ptr + m[:, None] * K + (k + m)[None, :])
        b = tl.load(b_ptr + (k + m)[:, None] * 64 + m[None, :])
        total = tl.dot(a, b, total)
        if BIAS:
            total += tl.load(bias_ptr + k + m)[None, :]
    tl.store(c_ptr + m[:, None] * 64 + m[None, :], total)


@triton.jit
def row_sum(x_ptr, out_ptr, n_rows, stride, STAGES: tl.constexpr):
    """Add up the rows."""
    columns = tl.arange(0, 1024)
    total = tl.zeros([1024], tl.float32)
    for row in tl.range(0, n_rows, num_stages=STAGES):
        total += tl.load(x_ptr + row * stride + columns)
    tl.store(out_ptr + columns, total)


@triton.jit
def few_rows(x_ptr, out_ptr, stride, ROWS: tl.constexpr, STAGES: tl.constexpr):
    """Add up so few rows that LLVM unrolls the loop."""
    columns = tl.arange(0, 1024)
    total = tl.zeros([1024], tl.float32)
    for row in tl.range(0, ROWS, num_stages=STAGES):
        total += tl.load(x_ptr + row * stride + columns)
    tl.store(out_ptr + columns, total)
