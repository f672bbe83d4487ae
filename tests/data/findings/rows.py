"""Tiles that the TMA moves: rows that it gathers and scatters, and some beside a single number."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "moved_rows": {
        "sizes": {"M": 4096, "N": 2048},
        "args": {
            "source": "bf16[M, N]",
            "target": "bf16[M, N]",
            "places": "int32[M]:values[7]",
            "M": "M",
            "N": "N",
        },
        "constexprs": {"ROWS": 32, "COLUMNS": 64},
        "grid": ["cdiv(M, ROWS)", "cdiv(N, COLUMNS)"],
    },
    "scaled_rows": {
        "sizes": {"M": 4096, "N": 2048},
        "args": {"source": "bf16[M, N]", "target": "bf16[M, N]", "factors": "fp32[M]", "M": "M", "N": "N"},
        "constexprs": {"ROWS": 32, "COLUMNS": 64},
        "grid": ["cdiv(M, ROWS)", "cdiv(N, COLUMNS)"],
    },
}


@triton.jit
def moved_rows(source, target, places, M, N, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Move rows from where they are listed to the same places."""
    rows = tl.load(places + tl.program_id(0) * ROWS + tl.arange(0, ROWS))
    first = tl.program_id(1) * COLUMNS
    read = tl.make_tensor_descriptor(source, [M, N], [N, 1], [1, COLUMNS])
    written = tl.make_tensor_descriptor(target, [M, N], [N, 1], [1, COLUMNS])
    written.scatter(read.gather(rows, first), rows, first)


@triton.jit
def scaled_rows(source, target, factors, M, N, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Multiply each tile by the number of its rows."""
    row, first = tl.program_id(0) * ROWS, tl.program_id(1) * COLUMNS
    read = tl.make_tensor_descriptor(source, [M, N], [N, 1], [ROWS, COLUMNS])
    written = tl.make_tensor_descriptor(target, [M, N], [N, 1], [ROWS, COLUMNS])
    factor = tl.load(factors + tl.program_id(0))
    written.store([row, first], (read.load([row, first]) * factor).to(tl.bfloat16))
