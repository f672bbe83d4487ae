import triton, triton.language as tl

@triton.jit(noinline=True)
def accumulate(p, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    total = 0.0
    for k in range(0, n):
        total += tl.sum(tl.load(p + k * BLOCK + i))
    return total

@triton.jit(noinline=True)
def inner(p, n, BLOCK: tl.constexpr):
    return accumulate(p, n, BLOCK) + 1.0

@triton.jit
def twice(p, q, n, BLOCK: tl.constexpr):
    b = tl.program_id(0)
    a = accumulate(p + b * n * BLOCK, n, BLOCK)
    c = accumulate(p + b * n * BLOCK, n + 1, BLOCK)
    tl.store(q + b, a * c)

@triton.jit
def looped(p, q, n, BLOCK: tl.constexpr):
    b = tl.program_id(0)
    s = 0.0
    for j in range(0, n):
        s += accumulate(p + b * j * BLOCK, n, BLOCK)
    tl.store(q + b, s)

@triton.jit
def nested(p, q, n, BLOCK: tl.constexpr):
    b = tl.program_id(0)
    s = 0.0
    for j in range(0, n):
        s += inner(p + b * j * BLOCK, n, BLOCK)
    s += inner(p, n, BLOCK)
    tl.store(q + b, s)

@triton.jit(noinline=True)
def body(w, q, acc_ptr, lo, n, stride, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    d = tl.arange(0, D)
    c = tl.arange(0, BN)
    a1 = tl.zeros((BN, D), tl.float32)
    kk = tl.load(w + c[:, None] * stride + d[None, :])
    for s in range(lo, n, BM):
        r = s + tl.arange(0, BM)
        x = tl.load(q + r[:, None] * stride + d[None, :])
        t = tl.dot(x, tl.trans(kk))
        p = tl.exp(t)
        a1 = tl.dot(tl.trans(p.to(x.dtype)), x, a1)
    tl.store(acc_ptr + c[:, None] * D + d[None, :], a1)

@triton.jit
def many(w, q, acc_ptr, n, stride, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    b = tl.program_id(0)
    for j in range(0, 4):
        body(w + b * BN * stride, q + j * n, acc_ptr + b * BN * D, 0, n, stride, BM, BN, D)

@triton.jit
def spilling(w, q, acc_ptr, n, stride, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    b = tl.program_id(0)
    body(w + b * BN * stride, q, acc_ptr + b * BN * D, 0, n, stride, BM, BN, D)

IRLENS_KERNELS = {
    'twice': {'sizes': {'n': 64}, 'args': {'p': 'fp32[n, n, 1024]', 'q': 'fp32[n]', 'n': 'n'}, 'constexprs': {'BLOCK': 1024}, 'grid': [8], 'outputs': ['q']},
    'looped': {'sizes': {'n': 64}, 'args': {'p': 'fp32[n, n, 1024]', 'q': 'fp32[n]', 'n': 'n'}, 'constexprs': {'BLOCK': 1024}, 'grid': [8], 'outputs': ['q']},
    'nested': {'sizes': {'n': 64}, 'args': {'p': 'fp32[n, n, 1024]', 'q': 'fp32[n]', 'n': 'n'}, 'constexprs': {'BLOCK': 1024}, 'grid': [8], 'outputs': ['q']},
    
    'spilling': {'sizes': {'n': 4096}, 'args': {'w': 'bf16[n, 128]', 'q': 'bf16[n, 128]', 'acc_ptr': 'fp32[n, 128]', 'n': 'n', 'stride': 128}, 'constexprs': {'BM': 128, 'BN': 128, 'D': 128}, 'options': {'num_warps': 4, 'num_stages': 2}, 'grid': ['n // BN'], 'outputs': ['acc_ptr']},
    'many': {'sizes': {'n': 4096}, 'args': {'w': 'bf16[n, 64]', 'q': 'bf16[n, 64]', 'acc_ptr': 'fp32[n, 64]', 'n': 'n', 'stride': 64}, 'constexprs': {'BM': 64, 'BN': 64, 'D': 64}, 'options': {'num_warps': 4, 'num_stages': 3}, 'grid': ['n // BN'], 'outputs': ['acc_ptr']},
}
