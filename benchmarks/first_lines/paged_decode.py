import torch
import triton
import triton.language as tl


@triton.jit
def paged_decode(
    Q, K, V, O, TABLE, LENGTHS, scale,
    stride_qb, stride_qh, stride_page, stride_tok, stride_kh, stride_tb,
    GROUP: tl.constexpr, HEAD: tl.constexpr, PAGE: tl.constexpr,
):
    seq, kvh = tl.program_id(0), tl.program_id(1)
    heads = kvh * GROUP + tl.arange(0, GROUP)
    dims = tl.arange(0, HEAD)
    q = tl.load(Q + seq * stride_qb + heads[:, None] * stride_qh + dims[None, :])
    length = tl.load(LENGTHS + seq)
    best = tl.full((GROUP,), float("-inf"), tl.float32)
    total = tl.zeros((GROUP,), tl.float32)
    acc = tl.zeros((GROUP, HEAD), tl.float32)
    tok = tl.arange(0, PAGE)
    for start in range(0, length, PAGE):
        page = tl.load(TABLE + seq * stride_tb + start // PAGE)
        base = page.to(tl.int64) * stride_page + kvh * stride_kh
        k = tl.load(K + base + tok[None, :] * stride_tok + dims[:, None])
        s = tl.dot(q, k) * scale
        s = tl.where(start + tok[None, :] < length, s, float("-inf"))
        new = tl.maximum(best, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        shrink = tl.exp2(best - new)
        total = total * shrink + tl.sum(p, 1)
        v = tl.load(V + base + tok[:, None] * stride_tok + dims[None, :])
        acc = acc * shrink[:, None] + tl.dot(p.to(v.dtype), v)
        best = new
    tl.store(O + seq * stride_qb + heads[:, None] * stride_qh + dims[None, :], (acc / total[:, None]).to(O.dtype.element_ty))


def decode(q, k, v, table, lengths, page):
    batch, heads, dim = q.shape
    kv = k.shape[2]
    o = torch.empty_like(q)
    paged_decode[(batch, kv)](
        q, k, v, o, table, lengths, dim**-0.5 * 1.4427,
        q.stride(0), q.stride(1), k.stride(0), k.stride(1), k.stride(2), table.stride(0),
        GROUP=heads // kv, HEAD=dim, PAGE=page, num_warps=4, num_stages=2,
    )
    return o


if __name__ == "__main__":
    batch, heads, kv, dim, page, tokens = 8, 128, 8, 128, 64, 4096
    pages = tokens // page
    q = torch.randn(batch, heads, dim, device="cuda", dtype=torch.float16)
    k = torch.randn(batch * pages, page, kv, dim, device="cuda", dtype=torch.float16)
    v = torch.randn_like(k)
    table = torch.arange(batch * pages, device="cuda", dtype=torch.int32).view(batch, pages)
    lengths = torch.full((batch,), tokens, device="cuda", dtype=torch.int32)
    decode(q, k, v, table, lengths, page)
