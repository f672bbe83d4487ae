"""Rows of a tensor whose address and stride are in memory, as in a grouped matmul."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "listed_rows": {
        "args": {
            "tensors": "int64[4]",
            "strides": "int32[4]",
            "out_ptr": "fp32[1024]",
            "n_rows": 4096,
        },
        "constexprs": {"ALIGNED": False, "STAGES": 3},
        "options": {"num_warps": 4},
        "grid": [132],
    },
}


@triton.jit
def listed_rows(tensors, strides, out_ptr, n_rows, ALIGNED: tl.constexpr, STAGES: tl.constexpr):
    """Add up the rows of a tensor whose address and stride are in memory."""
    columns = tl.arange(0, 1024)
    x_ptr = tl.load(tensors).to(tl.pointer_type(tl.float16))
    stride = tl.load(strides)
    if ALIGNED:
        x_ptr = tl.multiple_of(x_ptr, 16)
        stride = tl.multiple_of(stride, 16)
    total = tl.zeros([1024], tl.float32)
    for row in tl.range(0, n_rows, num_stages=STAGES):
        total += tl.load(x_ptr + row * stride + columns)
    tl.store(out_ptr + columns, total)
