import torch
import triton
import triton.language as tl


@triton.jit
def attention_fwd(
    Q, K, V, O, scale, stride_h, stride_m, stride_d, T,
    HEAD: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):
    block, head = tl.program_id(0), tl.program_id(1)
    Q += head * stride_h
    K += head * stride_h
    V += head * stride_h
    O += head * stride_h
    rows = block * BLOCK_M + tl.arange(0, BLOCK_M)
    dims = tl.arange(0, HEAD)
    q = tl.load(Q + rows[:, None] * stride_m + dims[None, :] * stride_d)
    best = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, HEAD), tl.float32)
    for start in range(0, T, BLOCK_N):
        keys = start + tl.arange(0, BLOCK_N)
        k = tl.load(K + keys[None, :] * stride_m + dims[:, None] * stride_d)
        score = tl.dot(q, k) * (scale * 1.44269504)
        new = tl.maximum(best, tl.max(score, 1))
        p = tl.exp2(score - new[:, None])
        shrink = tl.exp2(best - new)
        total = total * shrink + tl.sum(p, 1)
        acc *= shrink[:, None]
        v = tl.load(V + keys[:, None] * stride_m + dims[None, :] * stride_d)
        acc = tl.dot(p.to(v.dtype), v, acc)
        best = new
    tl.store(O + rows[:, None] * stride_m + dims[None, :] * stride_d, acc / total[:, None])


def attention(q, k, v):
    batch, heads, tokens, head = q.shape
    o = torch.empty_like(q)
    grid = (triton.cdiv(tokens, 128), batch * heads)
    attention_fwd[grid](
        q, k, v, o, head**-0.5, q.stride(1), q.stride(2), q.stride(3), tokens,
        HEAD=head, BLOCK_M=128, BLOCK_N=64, num_warps=4, num_stages=2,
    )
    return o


if __name__ == "__main__":
    q, k, v = (torch.randn(4, 16, 4096, 64, device="cuda", dtype=torch.float16) for _ in range(3))
    out = attention(q, k, v)
    reference = torch.nn.functional.scaled_dot_product_attention(q, k, v)
    assert torch.allclose(out, reference, atol=1e-2)
