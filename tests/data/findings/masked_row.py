"""A row of fp16 beside a mask of bytes, which have one layout."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "masked_row": {
        "sizes": {"rows": 4096, "columns": 2048},
        "args": {
            "x_ptr": "fp16[rows, columns]",
            "mask_ptr": "int8[rows, columns]",
            "out_ptr": "fp16[rows, columns]",
            "stride": "columns",
        },
        "constexprs": {"BLOCK": "columns"},
        "options": {"num_warps": 4},
        "grid": ["rows"],
    },
}


@triton.jit
def masked_row(x_ptr, mask_ptr, out_ptr, stride, BLOCK: tl.constexpr):
    """Keep what a mask of bytes names."""
    at = tl.program_id(0) * stride + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    keep = tl.load(mask_ptr + at)
    tl.store(out_ptr + at, tl.where(keep != 0, x, 0.0))
