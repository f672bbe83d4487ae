"""Running sums of short rows."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "running_sums": {
        "args": {"x_ptr": "fp32[4224, N]", "out_ptr": "fp32[4224, N]"},
        "constexprs": {"N": 256},
        "options": {"num_warps": 4},
        "grid": [4224],
    },
}


@triton.jit
def running_sums(x_ptr, out_ptr, N: tl.constexpr):
    """Store the running sums of every row."""
    place = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(out_ptr + place, tl.cumsum(tl.load(x_ptr + place), axis=0))
