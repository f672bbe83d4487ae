"""Decoding of grouped queries over pages, whose loop has two causes of being shallow on gfx942."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "decode": {
        "sizes": {"T": 4096},
        "args": {
            "q": "fp16[64, 16, 128]", "kc": "fp16[8192, 16, 128]", "vc": "fp16[8192, 16, 128]",
            "table": "i32[64, T]", "out": "fp16[64, 16, 128]", "T": "T",
        },
        "constexprs": {"G": 16, "D": 128, "BT": 16},
        "options": {"num_warps": 4, "num_stages": 3},
        "grid": ["64"],
    },
}  # fmt: skip


@triton.jit
def decode(q, kc, vc, table, out, T, G: tl.constexpr, D: tl.constexpr, BT: tl.constexpr):
    """Decode one token for a group of queries that share keys and values."""
    head = tl.program_id(0)
    g = tl.arange(0, G)
    d = tl.arange(0, D)
    qv = tl.load(q + head * G * D + g[:, None] * D + d[None, :])
    m = tl.full((G,), -1e30, tl.float32)
    s = tl.zeros((G,), tl.float32)
    acc = tl.zeros((G, D), tl.float32)
    for t in range(0, T, BT):
        page = tl.load(table + head * T + t)
        r = tl.arange(0, BT)
        k = tl.load(kc + page * 16 * D + r[:, None] * D + d[None, :])
        p = tl.dot(qv, k.T)
        new = tl.maximum(m, tl.max(p, 1))
        p = tl.exp(p - new[:, None])
        scale = tl.exp(m - new)
        v = tl.load(vc + page * 16 * D + r[:, None] * D + d[None, :])
        acc = tl.dot(p.to(tl.float16), v, acc * scale[:, None])
        s = s * scale + tl.sum(p, 1)
        m = new
    tl.store(out + head * G * D + g[:, None] * D + d[None, :], (acc / s[:, None]).to(tl.float16))
