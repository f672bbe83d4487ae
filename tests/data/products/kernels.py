# ruff: noqa: N803, E741, I001
"""Kernels whose loops issue matrix products in every way that Triton writes them."""

import triton
import triton.language as tl


IRLENS_KERNELS = {
    "matmul": {
        "args": {
            "A": "fp16[4096, 4096]",
            "B": "fp16[4096, 4096]",
            "C": "fp16[4096, 4096]",
            "K": 4096,
        },
        "constexprs": {"BM": 128, "BN": 128, "BK": 64},
        "options": {"num_warps": 4},
        "grid": [32],
    },
    "matmul_eight": {
        "args": {
            "A": "fp16[4096, 4096]",
            "B": "fp16[4096, 4096]",
            "C": "fp16[4096, 4096]",
            "K": 4096,
        },
        "constexprs": {"BM": 128, "BN": 256, "BK": 64},
        "options": {"num_warps": 8},
        "grid": [32],
    },
    "unrolled": {
        "args": {
            "A": "fp16[4096, 4096]",
            "B": "fp16[4096, 4096]",
            "C": "fp16[4096, 4096]",
            "K": 4096,
        },
        "constexprs": {"BM": 128, "BN": 128, "BK": 64},
        "options": {"num_warps": 4},
        "grid": [32],
    },
    "static": {
        "args": {
            "A": "fp16[4096, 4096]",
            "B": "fp16[4096, 4096]",
            "C": "fp16[4096, 4096]",
            "K": 4096,
        },
        "constexprs": {"BM": 128, "BN": 128, "BK": 64},
        "options": {"num_warps": 4},
        "grid": [32],
    },
    "w8a16": {
        "args": {
            "W": "int8[4096, 4096]",
            "X": "fp16[4096, 4096]",
            "C": "fp16[4096, 4096]",
            "K": 4096,
        },
        "constexprs": {"BM": 128, "BN": 64, "BK": 64},
        "options": {"num_warps": 4},
        "grid": [32],
    },
    "w8a16_right": {
        "args": {
            "X": "fp16[4096, 4096]",
            "W": "int8[4096, 4096]",
            "C": "fp16[4096, 4096]",
            "K": 4096,
        },
        "constexprs": {"BM": 128, "BN": 64, "BK": 64},
        "options": {"num_warps": 4},
        "grid": [32],
    },
    "mxfp4": {
        "args": {
            "A": "bf16[128, 4096]",
            "B": "uint8[4096, 2048]",
            "S": "uint8[4096, 128]",
            "C": "bf16[128, 4096]",
            "K": 4096,
        },
        "constexprs": {"BM": 16, "BN": 128, "BK": 128},
        "options": {"num_warps": 4},
        "grid": [32],
    },
    "mxfp8": {
        "args": {
            "A": "fp8e4nv[4096, 4096]",
            "SA": "uint8[4096, 128]",
            "B": "fp8e4nv[4096, 4096]",
            "SB": "uint8[4096, 128]",
            "C": "bf16[4096, 4096]",
            "K": 4096,
        },
        "constexprs": {"BM": 128, "BN": 128, "BK": 128},
        "options": {"num_warps": 4},
        "grid": [32],
    },
    "attention": {
        "args": {
            "Q": "fp16[4096, 64]",
            "K": "fp16[4096, 64]",
            "V": "fp16[4096, 64]",
            "O": "fp16[4096, 64]",
            "rows": 4096,
        },
        "constexprs": {"BM": 128, "BN": 64, "D": 64},
        "options": {"num_warps": 4},
        "grid": [32],
    },
    "causal": {
        "args": {
            "Q": "fp16[4096, 64]",
            "K": "fp16[4096, 64]",
            "V": "fp16[4096, 64]",
            "O": "fp16[4096, 64]",
            "rows": 4096,
        },
        "constexprs": {"BM": 128, "BN": 64, "D": 64},
        "options": {"num_warps": 4},
        "grid": [32],
    },
    "backward_keys": {
        "args": {
            "Q": "fp16[4096, 64]",
            "K": "fp16[4096, 64]",
            "V": "fp16[4096, 64]",
            "DO": "fp16[4096, 64]",
            "DK": "fp16[4096, 64]",
            "DV": "fp16[4096, 64]",
            "L": "fp32[4096]",
            "D": "fp32[4096]",
            "rows": 4096,
        },
        "constexprs": {"BM": 64, "BN": 128, "HEAD": 64},
        "options": {"num_warps": 4},
        "grid": [32],
    },
    "backward_queries": {
        "args": {
            "Q": "fp16[4096, 64]",
            "K": "fp16[4096, 64]",
            "V": "fp16[4096, 64]",
            "DO": "fp16[4096, 64]",
            "DQ": "fp16[4096, 64]",
            "L": "fp32[4096]",
            "D": "fp32[4096]",
            "rows": 4096,
        },
        "constexprs": {"BM": 128, "BN": 64, "HEAD": 64},
        "options": {"num_warps": 4},
        "grid": [32],
    },
    "mlp": {
        "args": {
            "X": "fp16[4096, 128]",
            "W1": "fp16[128, 8192]",
            "W2": "fp16[8192, 128]",
            "O": "fp16[4096, 128]",
            "hidden": 8192,
        },
        "constexprs": {"BM": 128, "BH": 64, "D": 128},
        "options": {"num_warps": 4},
        "grid": [32],
    },
    "gated": {
        "args": {
            "X": "fp16[4096, 128]",
            "W1": "fp16[128, 8192]",
            "W2": "fp16[8192, 128]",
            "O": "fp16[4096, 128]",
            "hidden": 8192,
            "W3": "fp16[128, 8192]",
        },
        "constexprs": {"BM": 128, "BH": 64, "D": 128},
        "options": {"num_warps": 4},
        "grid": [32],
    },
    "two_sums": {
        "args": {
            "A": "fp16[4096, 4096]",
            "B": "fp16[4096, 4096]",
            "C": "fp16[4096, 4096]",
            "K": 4096,
            "B2": "fp16[4096, 4096]",
        },
        "constexprs": {"BM": 128, "BN": 64, "BK": 64},
        "options": {"num_warps": 4},
        "grid": [32],
    },
    "chain": {
        "args": {
            "A": "fp16[4096, 64]",
            "B": "fp16[64, 64]",
            "C": "fp16[64, 64]",
            "O": "fp32[4096, 64]",
            "rows": 4096,
        },
        "constexprs": {"BM": 64, "D": 64},
        "options": {"num_warps": 4},
        "grid": [32],
    },
    "branch": {
        "args": {
            "A": "fp16[4096, 4096]",
            "B": "fp16[4096, 4096]",
            "C": "fp16[4096, 4096]",
            "K": 4096,
            "flags": "int32[64]",
        },
        "constexprs": {"BM": 128, "BN": 128, "BK": 64},
        "options": {"num_warps": 4},
        "grid": [32],
    },
    "persistent": {
        "args": {
            "A": "fp16[4096, 4096]:block[128, 64]",
            "B": "fp16[4096, 4096]:block[128, 64]",
            "C": "fp16[4096, 4096]:block[128, 128]",
            "M": 4096,
            "N": 4096,
            "K": 4096,
        },
        "constexprs": {"BM": 128, "BN": 128, "BK": 64},
        "options": {"num_warps": 4},
        "grid": [32],
    },
    "persistent_flat": {
        "args": {
            "A": "fp16[4096, 4096]:block[128, 64]",
            "B": "fp16[4096, 4096]:block[128, 64]",
            "C": "fp16[4096, 4096]:block[128, 128]",
            "M": 4096,
            "N": 4096,
            "K": 4096,
        },
        "constexprs": {"BM": 128, "BN": 128, "BK": 64},
        "options": {"num_warps": 4},
        "grid": [32],
    },
    "tma": {
        "args": {
            "A": "fp16[4096, 4096]:block[128, 64]",
            "B": "fp16[4096, 4096]:block[128, 64]",
            "C": "fp16[4096, 4096]:block[128, 128]",
            "M": 4096,
            "N": 4096,
            "K": 4096,
        },
        "constexprs": {"BM": 128, "BN": 128, "BK": 64},
        "options": {"num_warps": 4},
        "grid": [32],
    },
    "specialized": {
        "args": {
            "A": "fp16[4096, 4096]:block[128, 64]",
            "B": "fp16[4096, 4096]:block[128, 64]",
            "C": "fp16[4096, 4096]:block[128, 128]",
            "M": 4096,
            "N": 4096,
            "K": 4096,
        },
        "constexprs": {"BM": 128, "BN": 128, "BK": 64},
        "options": {"num_warps": 4},
        "grid": [32],
    },
    "specialized_persistent": {
        "args": {
            "A": "fp16[4096, 4096]:block[128, 64]",
            "B": "fp16[4096, 4096]:block[128, 64]",
            "C": "fp16[4096, 4096]:block[128, 128]",
            "M": 4096,
            "N": 4096,
            "K": 4096,
        },
        "constexprs": {"BM": 128, "BN": 128, "BK": 64},
        "options": {"num_warps": 4},
        "grid": [32],
    },
}


@triton.jit
def matmul(A, B, C, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Multiply, tile after tile along K."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for at in range(0, K, BK):
        a = tl.load(A + m[:, None] * 4096 + (at + k)[None, :])
        b = tl.load(B + (at + k)[:, None] * 4096 + n[None, :])
        acc = tl.dot(a, b, acc)
    tl.store(C + m[:, None] * 4096 + n[None, :], acc.to(tl.float16))


@triton.jit
def matmul_eight(A, B, C, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Multiply by two warp groups."""
    matmul(A, B, C, K, BM, BN, BK)


@triton.jit
def unrolled(A, B, C, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Multiply, two tiles an iteration."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for at in tl.range(0, K, BK, loop_unroll_factor=2):
        a = tl.load(A + m[:, None] * 4096 + (at + k)[None, :])
        b = tl.load(B + (at + k)[:, None] * 4096 + n[None, :])
        acc = tl.dot(a, b, acc)
    tl.store(C + m[:, None] * 4096 + n[None, :], acc.to(tl.float16))


@triton.jit
def static(A, B, C, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Multiply by two halves of the columns: one line is two products."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.arange(0, BN // 2)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN // 2), tl.float32)
    for at in range(0, K, BK):
        a = tl.load(A + m[:, None] * 4096 + (at + k)[None, :])
        for half in tl.static_range(2):
            b = tl.load(B + (at + k)[:, None] * 4096 + (n + half * BN)[None, :])
            acc = tl.dot(a, b, acc)
    tl.store(C + m[:, None] * 4096 + n[None, :], acc.to(tl.float16))


@triton.jit
def w8a16(W, X, C, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Multiply int8 weights, converted in registers, by activations."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for at in range(0, K, BK):
        w = tl.load(W + m[:, None] * 4096 + (at + k)[None, :])
        x = tl.load(X + (at + k)[:, None] * 4096 + n[None, :])
        acc = tl.dot(w.to(tl.float16), x, acc)
    tl.store(C + m[:, None] * 4096 + n[None, :], acc.to(tl.float16))


@triton.jit
def w8a16_right(X, W, C, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Multiply activations by int8 weights, which the tensor core takes from shared memory."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for at in range(0, K, BK):
        x = tl.load(X + m[:, None] * 4096 + (at + k)[None, :])
        w = tl.load(W + (at + k)[:, None] * 4096 + n[None, :])
        acc = tl.dot(x, w.to(tl.float16), acc)
    tl.store(C + m[:, None] * 4096 + n[None, :], acc.to(tl.float16))


@triton.jit
def mxfp4(A, B, S, C, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Multiply a few rows by weights of four bits with a scale for 32 of them."""
    m = tl.arange(0, BM)
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    packed = tl.arange(0, BK // 2)
    scales = tl.arange(0, BK // 32)
    acc = tl.zeros((BM, BN), tl.float32)
    for at in range(0, K, BK):
        a = tl.load(A + m[:, None] * 4096 + (at + k)[None, :])
        b = tl.load(B + (at // 2 + packed)[:, None] + n[None, :] * 2048)
        s = tl.load(S + n[:, None] * 128 + (at // 32 + scales)[None, :])
        acc = tl.dot_scaled(a, None, "bf16", b, s, "e2m1", acc)
    tl.store(C + m[:, None] * 4096 + n[None, :], acc.to(tl.bfloat16))


@triton.jit
def mxfp8(A, SA, B, SB, C, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Multiply two scaled fp8 matrices."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.arange(0, BN)
    k = tl.arange(0, BK)
    scales = tl.arange(0, BK // 32)
    acc = tl.zeros((BM, BN), tl.float32)
    for at in range(0, K, BK):
        a = tl.load(A + m[:, None] * 4096 + (at + k)[None, :])
        b = tl.load(B + (at + k)[:, None] + n[None, :] * 4096)
        sa = tl.load(SA + m[:, None] * 128 + (at // 32 + scales)[None, :])
        sb = tl.load(SB + n[:, None] * 128 + (at // 32 + scales)[None, :])
        acc = tl.dot_scaled(a, sa, "e4m3", b, sb, "e4m3", acc)
    tl.store(C + m[:, None] * 4096 + n[None, :], acc.to(tl.bfloat16))


@triton.jit
def _attend(q, K, V, acc, total, best, low, high, m, BN: tl.constexpr, D: tl.constexpr,
            MASK: tl.constexpr):  # fmt: skip
    """Attend to the rows from low to high."""
    n = tl.arange(0, BN)
    d = tl.arange(0, D)
    for start in range(low, high, BN):
        k = tl.load(K + (start + n)[None, :] * D + d[:, None])
        scores = tl.dot(q, k)
        if MASK:
            scores = tl.where(m[:, None] >= (start + n)[None, :], scores, -1.0e6)
        higher = tl.maximum(best, tl.max(scores, 1))
        weights = tl.math.exp2(scores - higher[:, None])
        rescale = tl.math.exp2(best - higher)
        acc = acc * rescale[:, None]
        v = tl.load(V + (start + n)[:, None] * D + d[None, :])
        acc = tl.dot(weights.to(tl.float16), v, acc)
        total = total * rescale + tl.sum(weights, 1)
        best = higher
    return acc, total, best


@triton.jit
def attention(Q, K, V, O, rows, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    """Attend a block of queries to all rows."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    q = tl.load(Q + m[:, None] * D + d[None, :])
    best = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    acc, total, best = _attend(q, K, V, acc, total, best, 0, rows, m, BN, D, False)
    tl.store(O + m[:, None] * D + d[None, :], (acc / total[:, None]).to(tl.float16))


@triton.jit
def causal(Q, K, V, O, rows, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    """Attend a block of queries to earlier rows: one loop without a mask, and one with it."""
    first = tl.program_id(0) * BM
    m = first + tl.arange(0, BM)
    d = tl.arange(0, D)
    q = tl.load(Q + m[:, None] * D + d[None, :])
    best = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    acc, total, best = _attend(q, K, V, acc, total, best, 0, first, m, BN, D, False)
    acc, total, best = _attend(q, K, V, acc, total, best, first, first + BM, m, BN, D, True)
    tl.store(O + m[:, None] * D + d[None, :], (acc / total[:, None]).to(tl.float16))


@triton.jit
def backward_keys(Q, K, V, DO, DK, DV, L, D, rows, BM: tl.constexpr, BN: tl.constexpr,
                  HEAD: tl.constexpr):  # fmt: skip
    """Gradients of a block of keys and values."""
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    m = tl.arange(0, BM)
    d = tl.arange(0, HEAD)
    k = tl.load(K + n[:, None] * HEAD + d[None, :])
    v = tl.load(V + n[:, None] * HEAD + d[None, :])
    dk = tl.zeros((BN, HEAD), tl.float32)
    dv = tl.zeros((BN, HEAD), tl.float32)
    for start in range(0, rows, BM):
        qt = tl.load(Q + (start + m)[None, :] * HEAD + d[:, None])
        peak = tl.load(L + start + m)
        pt = tl.math.exp2(tl.dot(k, qt) - peak[None, :])
        do = tl.load(DO + (start + m)[:, None] * HEAD + d[None, :])
        dv += tl.dot(pt.to(tl.float16), do)
        delta = tl.load(D + start + m)
        dpt = tl.dot(v, tl.trans(do))
        dst = (pt * (dpt - delta[None, :])).to(tl.float16)
        dk += tl.dot(dst, tl.trans(qt))
    tl.store(DK + n[:, None] * HEAD + d[None, :], dk.to(tl.float16))
    tl.store(DV + n[:, None] * HEAD + d[None, :], dv.to(tl.float16))


@triton.jit
def backward_queries(Q, K, V, DO, DQ, L, D, rows, BM: tl.constexpr, BN: tl.constexpr,
                     HEAD: tl.constexpr):  # fmt: skip
    """Gradients of a block of queries."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.arange(0, BN)
    d = tl.arange(0, HEAD)
    q = tl.load(Q + m[:, None] * HEAD + d[None, :])
    do = tl.load(DO + m[:, None] * HEAD + d[None, :])
    peak = tl.load(L + m)
    delta = tl.load(D + m)
    dq = tl.zeros((BM, HEAD), tl.float32)
    for start in range(0, rows, BN):
        kt = tl.load(K + (start + n)[None, :] * HEAD + d[:, None])
        vt = tl.load(V + (start + n)[None, :] * HEAD + d[:, None])
        p = tl.math.exp2(tl.dot(q, kt) - peak[:, None])
        dp = tl.dot(do, vt)
        ds = (p * (dp - delta[:, None])).to(tl.float16)
        dq += tl.dot(ds, tl.trans(kt))
    tl.store(DQ + m[:, None] * HEAD + d[None, :], dq.to(tl.float16))


@triton.jit
def mlp(X, W1, W2, O, hidden, BM: tl.constexpr, BH: tl.constexpr, D: tl.constexpr):
    """Two layers; the hidden one is never stored."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    h = tl.arange(0, BH)
    d = tl.arange(0, D)
    x = tl.load(X + m[:, None] * D + d[None, :])
    acc = tl.zeros((BM, D), tl.float32)
    for start in range(0, hidden, BH):
        w1 = tl.load(W1 + d[:, None] * 8192 + (start + h)[None, :])
        between = tl.maximum(tl.dot(x, w1), 0.0).to(tl.float16)
        w2 = tl.load(W2 + (start + h)[:, None] * D + d[None, :])
        acc = tl.dot(between, w2, acc)
    tl.store(O + m[:, None] * D + d[None, :], acc.to(tl.float16))


@triton.jit
def gated(X, W1, W2, O, hidden, W3, BM: tl.constexpr, BH: tl.constexpr, D: tl.constexpr):
    """Two layers with a gate: three products an iteration."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    h = tl.arange(0, BH)
    d = tl.arange(0, D)
    x = tl.load(X + m[:, None] * D + d[None, :])
    acc = tl.zeros((BM, D), tl.float32)
    for start in range(0, hidden, BH):
        w1 = tl.load(W1 + d[:, None] * 8192 + (start + h)[None, :])
        w3 = tl.load(W3 + d[:, None] * 8192 + (start + h)[None, :])
        gate = tl.dot(x, w1)
        up = tl.dot(x, w3)
        between = (gate * tl.sigmoid(gate) * up).to(tl.float16)
        w2 = tl.load(W2 + (start + h)[:, None] * D + d[None, :])
        acc = tl.dot(between, w2, acc)
    tl.store(O + m[:, None] * D + d[None, :], acc.to(tl.float16))


@triton.jit
def two_sums(A, B, C, K, B2, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Two products of one left operand, each with an accumulator of its own."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.arange(0, BN)
    k = tl.arange(0, BK)
    first = tl.zeros((BM, BN), tl.float32)
    second = tl.zeros((BM, BN), tl.float32)
    for at in range(0, K, BK):
        a = tl.load(A + m[:, None] * 4096 + (at + k)[None, :])
        b = tl.load(B + (at + k)[:, None] * 4096 + n[None, :])
        first = tl.dot(a, b, first)
        b2 = tl.load(B2 + (at + k)[:, None] * 4096 + n[None, :])
        second = tl.dot(a, b2, second)
    tl.store(C + m[:, None] * 4096 + n[None, :], (first * second).to(tl.float16))


@triton.jit
def chain(A, B, C, O, rows, BM: tl.constexpr, D: tl.constexpr):
    """Three products, each of which takes the one before."""
    m = tl.arange(0, BM)
    d = tl.arange(0, D)
    b = tl.load(B + d[:, None] * D + d[None, :])
    c = tl.load(C + d[:, None] * D + d[None, :])
    acc = tl.zeros((D, D), tl.float32)
    for start in range(0, rows, BM):
        a = tl.load(A + (start + m)[:, None] * D + d[None, :])
        one = tl.dot(a, b).to(tl.float16)
        two = tl.dot(one, c).to(tl.float16)
        acc = tl.dot(tl.trans(a), two, acc)
    tl.store(O + d[:, None] * D + d[None, :], acc)


@triton.jit
def branch(A, B, C, K, flags, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Multiply only the tiles whose flag is set."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for at in range(0, K, BK):
        if tl.load(flags + at // BK) != 0:
            a = tl.load(A + m[:, None] * 4096 + (at + k)[None, :])
            b = tl.load(B + (at + k)[:, None] * 4096 + n[None, :])
            acc = tl.dot(a, b, acc)
    tl.store(C + m[:, None] * 4096 + n[None, :], acc.to(tl.float16))


@triton.jit
def persistent(A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Multiply tile after tile of the result."""
    across = tl.cdiv(N, BN)
    for tile in range(tl.program_id(0), tl.cdiv(M, BM) * across, tl.num_programs(0)):
        row, column = tile // across * BM, tile % across * BN
        acc = tl.zeros((BM, BN), tl.float32)
        for at in range(0, K, BK):
            acc = tl.dot(A.load([row, at]), B.load([column, at]).T, acc)
        C.store([row, column], acc.to(tl.float16))


@triton.jit
def persistent_flat(A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """The same, in one loop."""
    across = tl.cdiv(N, BN)
    tiles = tl.cdiv(M, BM) * across
    for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0), flatten=True):
        row, column = tile // across * BM, tile % across * BN
        acc = tl.zeros((BM, BN), tl.float32)
        for at in range(0, K, BK):
            acc = tl.dot(A.load([row, at]), B.load([column, at]).T, acc)
        C.store([row, column], acc.to(tl.float16))


@triton.jit
def tma(A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Multiply tiles that bulk copies bring."""
    row = tl.program_id(0) * BM
    acc = tl.zeros((BM, BN), tl.float32)
    for at in range(0, K, BK):
        acc = tl.dot(A.load([row, at]), B.load([0, at]).T, acc)
    C.store([row, 0], acc.to(tl.float16))


@triton.jit
def specialized(A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Multiply by warps of their own."""
    row = tl.program_id(0) * BM
    acc = tl.zeros((BM, BN), tl.float32)
    for at in tl.range(0, K, BK, warp_specialize=True):
        acc = tl.dot(A.load([row, at]), B.load([0, at]).T, acc)
    C.store([row, 0], acc.to(tl.float16))


@triton.jit
def specialized_persistent(A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr,
                           BK: tl.constexpr):  # fmt: skip
    """Multiply tile after tile, by warps of their own."""
    across = tl.cdiv(N, BN)
    tiles = tl.cdiv(M, BM) * across
    for tile in tl.range(
        tl.program_id(0), tiles, tl.num_programs(0), flatten=True, warp_specialize=True
    ):
        row, column = tile // across * BM, tile % across * BN
        acc = tl.zeros((BM, BN), tl.float32)
        for at in range(0, K, BK):
            acc = tl.dot(A.load([row, at]), B.load([column, at]).T, acc)
        C.store([row, column], acc.to(tl.float16))
