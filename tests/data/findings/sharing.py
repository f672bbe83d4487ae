"""Loops whose loads have fewer elements than a CTA has threads, down to one."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "short_rows": {
        "sizes": {"n_rows": 4096},
        "args": {
            "x_ptr": "fp32[n_rows, 64]",
            "y_ptr": "fp32[n_rows, 64]",
            "n_rows": "n_rows",
        },
        "options": {"num_warps": 4},
        "grid": [132],
    },
    "carried_row": {
        "sizes": {"n_rows": 4096},
        "args": {"x_ptr": "fp32[n_rows, 64]", "y_ptr": "fp32[64]", "n_rows": "n_rows"},
        "options": {"num_warps": 4},
        "grid": [132],
    },
    "chosen_rows": {
        "sizes": {"n_rows": 4096},
        "args": {
            "rows_ptr": "i32[n_rows]",
            "x_ptr": "fp32[n_rows, 1024]",
            "y_ptr": "fp32[n_rows, 1024]",
            "n_rows": "n_rows",
        },
        "options": {"num_warps": 4},
        "grid": [132],
    },
    "scaled_dot": {
        "sizes": {"K": 4096},
        "args": {
            "a_ptr": "fp16[64, K]",
            "b_ptr": "fp16[K, 64]",
            "scale_ptr": "fp32[4096]",
            "c_ptr": "fp32[64, 64]",
            "K": "K",
        },
        "options": {"num_warps": 4},
        "grid": [1],
    },
}


@triton.jit
def short_rows(x_ptr, y_ptr, n_rows):
    """Normalize rows of 64."""
    columns = tl.arange(0, 64)
    for row in tl.range(tl.program_id(0), n_rows, tl.num_programs(0), num_stages=3):
        x = tl.exp(tl.load(x_ptr + row * 64 + columns))
        tl.store(y_ptr + row * 64 + columns, x / tl.sum(x, axis=0))


@triton.jit
def carried_row(x_ptr, y_ptr, n_rows):
    """Load each row an iteration ahead."""
    columns = tl.arange(0, 64)
    total = tl.zeros([64], tl.float32)
    x = tl.load(x_ptr + columns)
    for row in tl.range(1, n_rows):
        following = tl.load(x_ptr + row * 64 + columns)
        total += tl.exp(x)
        x = following
    tl.store(y_ptr + columns, total + x)


@triton.jit
def chosen_rows(rows_ptr, x_ptr, y_ptr, n_rows):
    """Normalize the rows whose numbers a list has."""
    columns = tl.arange(0, 1024)
    for at in tl.range(tl.program_id(0), n_rows, tl.num_programs(0), num_stages=1):
        row = tl.load(rows_ptr + at)
        x = tl.exp(tl.load(x_ptr + row * 1024 + columns))
        tl.store(y_ptr + at * 1024 + columns, x / tl.sum(x, axis=0))


@triton.jit
def scaled_dot(a_ptr, b_ptr, scale_ptr, c_ptr, K):
    """Scale every partial product by a number of its own."""
    m = tl.arange(0, 64)
    total = tl.zeros([64, 64], tl.float32)
    for k in tl.range(0, K, 64, num_stages=1):
        a = tl.load(a_ptr + m[:, None] * K + (k + m)[None, :])
        b = tl.load(b_ptr + (k + m)[:, None] * 64 + m[None, :])
        scale = tl.load(scale_ptr + k)
        total += tl.dot(a, b) * scale
    tl.store(c_ptr + m[:, None] * 64 + m[None, :], total)
