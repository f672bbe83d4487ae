"""Products beyond a plain matrix product."""
import triton
import triton.language as tl

IRLENS_KERNELS = {
    "mlp_gate_kernel": {
        "sizes": {"M": 2048, "N": 5504, "K": 2048},
        "args": {"x_ptr": "fp16[M, K]", "g_ptr": "fp16[K, N]", "u_ptr": "fp16[K, N]", "y_ptr": "fp16[M, N]", "M": "M", "N": "N", "K": "K"},
        "constexprs": {"BM": 128, "BN": 64, "BK": 64}, "options": {"num_warps": 8, "num_stages": 3},
        "grid": ["cdiv(M, BM)", "cdiv(N, BN)"],
    },
    "splitk_kernel": {
        "sizes": {"M": 256, "N": 2048, "K": 16384},
        "args": {"a_ptr": "fp16[M, K]", "b_ptr": "fp16[K, N]", "c_ptr": "fp32[M, N]", "M": "M", "N": "N", "K": "K"},
        "constexprs": {"BM": 64, "BN": 128, "BK": 64, "SPLIT": 8}, "options": {"num_warps": 4, "num_stages": 3},
        "grid": ["cdiv(M, BM)", "cdiv(N, BN)", "SPLIT"],
    },
    "decode_kernel": {
        "sizes": {"batch": 64, "heads": 32, "ctx": 4096},
        "args": {"q_ptr": "fp16[batch, heads, 128]", "k_ptr": "fp16[batch, heads, ctx, 128]", "v_ptr": "fp16[batch, heads, ctx, 128]", "o_ptr": "fp16[batch, heads, 128]", "ctx": "ctx", "scale": 0.088},
        "constexprs": {"BN": 64, "D": 128}, "options": {"num_warps": 4, "num_stages": 2},
        "grid": ["batch * heads"],
    },
}

@triton.jit
def mlp_gate_kernel(x_ptr, g_ptr, u_ptr, y_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    gate = tl.zeros((BM, BN), tl.float32)
    up = tl.zeros((BM, BN), tl.float32)
    for k0 in range(0, K, BK):
        ks = k0 + tl.arange(0, BK)
        x = tl.load(x_ptr + rows[:, None] * K + ks[None, :])
        gate += tl.dot(x, tl.load(g_ptr + ks[:, None] * N + cols[None, :]))
        up += tl.dot(x, tl.load(u_ptr + ks[:, None] * N + cols[None, :]))
    y = gate * tl.sigmoid(gate) * up
    tl.store(y_ptr + rows[:, None] * N + cols[None, :], y.to(tl.float16))

@triton.jit
def splitk_kernel(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    part = K // SPLIT
    first = tl.program_id(2) * part
    acc = tl.zeros((BM, BN), tl.float32)
    for k0 in range(first, first + part, BK):
        ks = k0 + tl.arange(0, BK)
        acc += tl.dot(tl.load(a_ptr + rows[:, None] * K + ks[None, :]), tl.load(b_ptr + ks[:, None] * N + cols[None, :]))
    tl.atomic_add(c_ptr + rows[:, None] * N + cols[None, :], acc)

@triton.jit
def decode_kernel(q_ptr, k_ptr, v_ptr, o_ptr, ctx, scale, BN: tl.constexpr, D: tl.constexpr):
    head = tl.program_id(0).to(tl.int64)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + head * D + d).to(tl.float32) * scale
    most, total = float("-inf"), 0.0
    acc = tl.zeros((D,), tl.float32)
    for start in range(0, ctx, BN):
        at = head * ctx + start + tl.arange(0, BN)
        k = tl.load(k_ptr + at[:, None] * D + d[None, :]).to(tl.float32)
        s = tl.sum(k * q[None, :], axis=1)
        more = tl.maximum(most, tl.max(s, axis=0))
        p = tl.exp(s - more)
        alpha = tl.exp(most - more)
        v = tl.load(v_ptr + at[:, None] * D + d[None, :]).to(tl.float32)
        acc = acc * alpha + tl.sum(p[:, None] * v, axis=0)
        total = total * alpha + tl.sum(p, axis=0)
        most = more
    tl.store(o_ptr + head * D + d, (acc / total).to(tl.float16))
