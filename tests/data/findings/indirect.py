"""A gather whose second load needs what the first one brings."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "gather": {
        "sizes": {"n": 65536, "width": 1024},
        "args": {"table": "fp32[n, width]", "index": "i32[n]", "out": "fp32[width]", "n": "n"},
        "constexprs": {"WIDTH": 1024, "STAGES": 4},
        "options": {"num_warps": 4},
        "grid": ["1"],
    }
}


@triton.jit
def gather(table, index, out, n, WIDTH: tl.constexpr, STAGES: tl.constexpr):
    """Add up the rows that ``index`` names."""
    columns = tl.arange(0, WIDTH)
    total = tl.zeros([WIDTH], tl.float32)
    for i in tl.range(0, n, WIDTH, num_stages=STAGES):
        rows = tl.load(index + i + columns)
        total += tl.load(table + rows * WIDTH + columns)
    tl.store(out + columns, total)
