"""Attention over pages that a table names."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "attend": {
        "sizes": {"n": 1024},
        "args": {
            "query": "fp16[64, 64]", "keys": "fp16[n, 4096]", "values": "fp16[n, 4096]",
            "index": "i32[n]", "out": "fp32[64, 64]", "n": "n",
        },
        "constexprs": {"PAGED": True, "STAGES": 3},
        "options": {"num_warps": 4},
        "grid": ["1"],
    },
}  # fmt: skip


@triton.jit
def attend(query, keys, values, index, out, n, PAGED: tl.constexpr, STAGES: tl.constexpr):
    """Attend to the pages that ``index`` names, or to all, one in each iteration."""
    rows, columns = tl.arange(0, 64), tl.arange(0, 64)
    tile = rows[:, None] * 64 + columns[None, :]
    q = tl.load(query + tile)
    total = tl.zeros([64, 64], tl.float32)
    for i in tl.range(0, n, num_stages=STAGES):
        page = tl.load(index + i) if PAGED else i
        k = tl.load(keys + page * 4096 + tile)
        v = tl.load(values + page * 4096 + tile)
        total = tl.dot(tl.dot(q, tl.trans(k)).to(tl.float16), v, total)
    tl.store(out + tile, total)
