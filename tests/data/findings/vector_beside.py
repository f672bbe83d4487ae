"""A product of a matrix and a vector, without tensor cores."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "vector_beside": {
        "sizes": {"rows": 8192, "n": 8192},
        "args": {"a": "fp16[rows, n]", "x": "fp16[n]", "y": "fp32[rows]", "n": "n"},
        "constexprs": {"M": 4, "N": 128},
        "options": {"num_warps": 4},
        "grid": ["rows // M"],
    }
}


@triton.jit
def vector_beside(a, x, y, n, M: tl.constexpr, N: tl.constexpr):
    """Multiply each tile by the part of the vector that it meets."""
    rows = tl.program_id(0) * M + tl.arange(0, M)
    sums = tl.zeros((M, N), tl.float32)
    for k in range(0, n, N):
        columns = k + tl.arange(0, N)
        part = tl.load(a + rows[:, None] * n + columns[None, :]).to(tl.float32)
        sums += part * tl.load(x + columns)[None, :].to(tl.float32)
    tl.store(y + rows, tl.sum(sums, 1))
