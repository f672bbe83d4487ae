"""Transposes tiles of a matrix, which come through shared memory."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "transpose": {
        "sizes": {"n": 4096},
        "args": {"x_ptr": "fp32[n, n]", "out_ptr": "fp32[n, n]", "n": "n"},
        "constexprs": {"SIZE": 64, "STAGES": 3, "TRANSPOSED": True},
        "options": {"num_warps": 4},
        "grid": ["cdiv(n, SIZE)"],
    }
}


@triton.jit
def transpose(x_ptr, out_ptr, n, SIZE: tl.constexpr, STAGES: tl.constexpr, TRANSPOSED: tl.constexpr):
    """Write the tiles of one column of tiles to a row of tiles, or copy them."""
    rows = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    for start in tl.range(0, n, SIZE, num_stages=STAGES):
        columns = start + tl.arange(0, SIZE)
        x = tl.load(x_ptr + columns[:, None] * n + rows[None, :])
        if TRANSPOSED:
            tl.store(out_ptr + rows[:, None] * n + columns[None, :], tl.trans(x))
        else:
            tl.store(out_ptr + columns[:, None] * n + rows[None, :], x)
