"""Warp specialization: asked for, and done or not."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "ws_matmul": {
        "sizes": {"M": 1024, "N": 1024, "K": 1024},
        "args": {"a": "fp16[M, K]", "b": "fp16[K, N]", "c": "fp16[M, N]", "M": "M", "N": "N", "K": "K"},
        "constexprs": {"BM": 128, "BN": 128, "BK": 64, "WS": True, "TMA": True},
        "options": {"num_warps": 4, "num_stages": 3},
        "grid": ["M // BM", "N // BN"],
    },
    "ws_tiles": {
        "sizes": {"M": 1024, "N": 1024, "K": 1024},
        "args": {"a": "fp16[M, K]", "b": "fp16[K, N]", "c": "fp16[M, N]", "M": "M", "N": "N", "K": "K"},
        "constexprs": {"BM": 128, "BN": 16, "BK": 32, "FLAT": True},
        "options": {"num_warps": 4, "num_stages": 3},
        "grid": [32],
    },
    "ws_sparse": {
        "sizes": {"M": 1024, "N": 1024, "K": 1024},
        "args": {"a": "fp16[M, K]", "b": "fp16[K, N]", "kept": "i32[K // BK]", "c": "fp16[M, N]", "M": "M", "N": "N", "K": "K"},
        "constexprs": {"BM": 128, "BN": 16, "BK": 32, "SKIP": True},
        "options": {"num_warps": 4, "num_stages": 3},
        "grid": ["M // BM", "N // BN"],
    },
    "ws_scores": {
        "sizes": {"length": 1024},
        "args": {"q": "fp16[length, 64]", "k": "fp16[length, 64]", "o": "fp32[length, 64]", "length": "length"},
        "constexprs": {"BN": 64, "WS": True},
        "options": {"num_warps": 4, "num_stages": 2},
        "grid": ["length // 128"],
    },
    "ws_sum": {
        "sizes": {"rows": 512, "n": 8192},
        "args": {"x": "fp32[rows, n]", "y": "fp32[rows]", "n": "n"},
        "constexprs": {"BLOCK": 1024},
        "options": {"num_warps": 4},
        "grid": ["rows"],
    },
}  # fmt: skip


@triton.jit
def ws_matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
              WS: tl.constexpr, TMA: tl.constexpr):
    """Product, its loads by descriptors or pointers."""
    m = tl.program_id(0) * BM
    n = tl.program_id(1) * BN
    if TMA:
        a_desc = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
        b_desc = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    rows = m + tl.arange(0, BM)
    cols = n + tl.arange(0, BN)
    acc = tl.zeros([BM, BN], tl.float32)
    for start in tl.range(0, K, BK, warp_specialize=WS):
        if TMA:
            x = a_desc.load([m, start])
            w = b_desc.load([start, n])
        else:
            k = start + tl.arange(0, BK)
            x = tl.load(a + rows[:, None] * K + k[None, :])
            w = tl.load(b + k[:, None] * N + cols[None, :])
        acc = tl.dot(x, w, acc)
    tl.store(c + rows[:, None] * N + cols[None, :], acc.to(tl.float16))


@triton.jit
def ws_tiles(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
             FLAT: tl.constexpr):
    """Product whose programs compute several tiles, the nest of loops made one or not."""
    a_desc = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    b_desc = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    tiles = (M // BM) * (N // BN)
    for tile in tl.range(tl.program_id(0), tiles, 32, warp_specialize=True, flatten=FLAT):
        m, n = tile // (N // BN) * BM, tile % (N // BN) * BN
        acc = tl.zeros([BM, BN], tl.float32)
        for start in range(0, K, BK):
            acc = tl.dot(a_desc.load([m, start]), b_desc.load([start, n]), acc)
        rows, cols = m + tl.arange(0, BM), n + tl.arange(0, BN)
        tl.store(c + rows[:, None] * N + cols[None, :], acc.to(tl.float16))


@triton.jit
def ws_sparse(a, b, kept, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
              SKIP: tl.constexpr):
    """Product that leaves out blocks of K."""
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    a_desc = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    b_desc = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    acc = tl.zeros([BM, BN], tl.float32)
    for block in tl.range(0, K // BK, warp_specialize=True):
        x, w = a_desc.load([m, block * BK]), b_desc.load([block * BK, n])
        if SKIP:
            if tl.load(kept + block) > 0:
                acc = tl.dot(x, w, acc)
        else:
            acc = tl.dot(x, w, acc)
    rows, cols = m + tl.arange(0, BM), n + tl.arange(0, BN)
    tl.store(c + rows[:, None] * N + cols[None, :], acc.to(tl.float16))


@triton.jit
def ws_scores(q, k, o, length, BN: tl.constexpr, WS: tl.constexpr):
    """Attention whose keys are the values."""
    rows, cols = tl.program_id(0) * 128 + tl.arange(0, 128), tl.arange(0, 64)
    q_desc = tl.make_tensor_descriptor(q, [length, 64], [64, 1], [128, 64])
    k_desc = tl.make_tensor_descriptor(k, [length, 64], [64, 1], [BN, 64])
    queries = q_desc.load([tl.program_id(0) * 128, 0])
    acc = tl.zeros([128, 64], tl.float32)
    largest, total = tl.full([128], float("-inf"), tl.float32), tl.zeros([128], tl.float32)
    for start in tl.range(0, length, BN, warp_specialize=WS):
        keys = k_desc.load([start, 0])
        scores = tl.dot(queries, keys.T) * 0.125
        larger = tl.maximum(largest, tl.max(scores, 1))
        weights = tl.exp(scores - larger[:, None])
        change = tl.exp(largest - larger)
        total = total * change + tl.sum(weights, 1)
        acc = tl.dot(weights.to(tl.float16), keys, acc * change[:, None])
        largest = larger
    tl.store(o + rows[:, None] * 64 + cols[None, :], acc / total[:, None])


@triton.jit
def ws_sum(x, y, n, BLOCK: tl.constexpr):
    """Sum of a row without a product."""
    row = tl.program_id(0)
    acc = tl.zeros([BLOCK], tl.float32)
    for start in tl.range(0, n, BLOCK, warp_specialize=True, num_stages=3):
        acc += tl.load(x + row * n + start + tl.arange(0, BLOCK))
    tl.store(y + row, tl.sum(acc, 0))
