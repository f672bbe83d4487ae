"""Kernels whose offsets wrap in 32 bits, each with its remedy."""

import triton
import triton.language as tl


@triton.jit
def rows(p, stride, n_rows, n_columns, WIDE: tl.constexpr):
    """Fill tiles of a matrix; the product of row and stride is the first that is too large."""
    blocks = tl.cdiv(n_rows, 128)
    r = (tl.program_id(0) % blocks) * 128 + tl.arange(0, 128)
    c = (tl.program_id(0) // blocks) * 32 + tl.arange(0, 32)
    if WIDE:
        q = p + r[:, None].to(tl.int64) * stride + c[None, :]
    else:
        q = p + r[:, None] * stride + c[None, :]
    mask = (r[:, None] < n_rows) & (c[None, :] < n_columns)
    tl.store(q, tl.zeros((128, 32), tl.float32), mask=mask)


@triton.jit
def added(p, n, WIDE: tl.constexpr):
    """Fill a vector; what an iteration adds to the offset is the first that is too large."""
    offset = tl.program_id(0)
    if WIDE:
        offset = offset.to(tl.int64)
    offset = offset * 1073741824
    for _ in range(4):
        at = offset + tl.arange(0, 1024)
        tl.store(p + at, tl.zeros((1024,), tl.int8), mask=at < n)
        offset += 536870912


@triton.jit
def narrowed(p, n, WIDE: tl.constexpr):
    """Fill a vector; the program converts the offset to 32 bits itself."""
    offset = tl.program_id(0).to(tl.int64) * 1073741824
    if not WIDE:
        offset = offset.to(tl.int32)
    at = offset + tl.arange(0, 1024)
    tl.store(p + at, tl.zeros((1024,), tl.int8), mask=at < n)


@triton.jit
def unmasked(p, stride, WIDE: tl.constexpr):
    """Fill rows without a mask; the last programs wrap, and leave the tensor in 64 bits too."""
    row = tl.program_id(0)
    if WIDE:
        row = row.to(tl.int64)
    tl.store(p + row * stride + tl.arange(0, 1024), tl.zeros((1024,), tl.int8))


IRLENS_KERNELS = {
    "rows": {
        "args": {
            "p": "fp32[n_rows, stride]",
            "stride": "stride",
            "n_rows": "n_rows",
            "n_columns": "n_columns",
        },
        "sizes": {"n_rows": 65536, "n_columns": 8192, "stride": 65536},
        "constexprs": {"WIDE": False},
        "options": {"num_warps": 8},
        "grid": ["cdiv(n_rows, 128) * cdiv(n_columns, 32)"],
    },
    "added": {
        "args": {"p": "int8[4294967296]", "n": 4294967296},
        "constexprs": {"WIDE": False},
        "grid": [3],
    },
    "narrowed": {
        "args": {"p": "int8[4294967296]", "n": 4294967296},
        "constexprs": {"WIDE": False},
        "grid": [4],
    },
    "unmasked": {
        "args": {"p": "int8[2048, 2097152]", "stride": 2097152},
        "constexprs": {"WIDE": False},
        "grid": [2049],
    },
}
