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
    },
    "pages": {
        "sizes": {"n": 1024},
        "args": {
            "query": "fp16[16, 64]", "table": "fp16[n, 1024]", "index": "i32[n]",
            "out": "fp32[16, 16]", "n": "n",
        },
        "constexprs": {"STAGES": 4},
        "options": {"num_warps": 4},
        "grid": ["1"],
    },
}  # fmt: skip


@triton.jit
def gather(table, index, out, n, WIDTH: tl.constexpr, STAGES: tl.constexpr):
    """Add up the rows that ``index`` names."""
    columns = tl.arange(0, WIDTH)
    total = tl.zeros([WIDTH], tl.float32)
    for i in tl.range(0, n, WIDTH, num_stages=STAGES):
        rows = tl.load(index + i + columns)
        total += tl.load(table + rows * WIDTH + columns)
    tl.store(out + columns, total)


@triton.jit
def pages(query, table, index, out, n, STAGES: tl.constexpr):
    """Multiply by the pages that ``index`` names, one in each iteration."""
    rows, columns = tl.arange(0, 16), tl.arange(0, 64)
    q = tl.load(query + rows[:, None] * 64 + columns[None, :])
    total = tl.zeros([16, 16], tl.float32)
    for i in tl.range(0, n, num_stages=STAGES):
        page = tl.load(index + i)
        tile = tl.load(table + page * 1024 + rows[:, None] * 64 + columns[None, :])
        total = tl.dot(q, tl.trans(tile), total)
    tl.store(out + rows[:, None] * 16 + rows[None, :], total)
