"""Adds up tiles: as large, as deep and as many as a test wants them."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "tile_sum": {
        "sizes": {"n_rows": 8192, "tiles": 64, "PROGRAMS": 1056},
        "args": {
            "x_ptr": "fp32[n_rows, 1024]",
            "out_ptr": "fp32[PROGRAMS, SIZE]",
            "tiles": "tiles",
        },
        "constexprs": {"SIZE": 1024, "STAGES": 3},
        "options": {"num_warps": 4},
        "grid": ["PROGRAMS"],
    }
}


@triton.jit
def tile_sum(x_ptr, out_ptr, tiles, SIZE: tl.constexpr, STAGES: tl.constexpr):
    """Store the sum of every program's tiles."""
    program = tl.program_id(0)
    offsets = tl.arange(0, SIZE)
    total = tl.zeros([SIZE], tl.float32)
    for tile in tl.range(0, tiles, num_stages=STAGES):
        total += tl.load(x_ptr + (program * tiles + tile) * SIZE + offsets)
    tl.store(out_ptr + program * SIZE + offsets, total)
