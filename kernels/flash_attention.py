"""Attention that never stores its scores: softmax is taken tile by tile as the keys stream past.

Forward only, after "FlashAttention-2" (Dao, 2023). Heads of 128 want
``--set HEAD_DIM=128 --num-warps 8``; with ``--set CAUSAL=true`` a query sees no later key.
"""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "flash_attention_kernel": {
        "sizes": {"batch": 4, "heads": 32, "n_ctx": 4096},
        "args": {
            "q_ptr": "fp16[batch, heads, n_ctx, HEAD_DIM]",
            "k_ptr": "fp16[batch, heads, n_ctx, HEAD_DIM]",
            "v_ptr": "fp16[batch, heads, n_ctx, HEAD_DIM]",
            "output_ptr": "fp16[batch, heads, n_ctx, HEAD_DIM]",
            "n_ctx": "n_ctx",
            "scale": "HEAD_DIM ** -0.5",
        },
        "constexprs": {"HEAD_DIM": 64, "BLOCK_M": 128, "BLOCK_N": 64, "CAUSAL": False},
        "options": {"num_warps": 4, "num_stages": 3},
        "grid": ["cdiv(n_ctx, BLOCK_M)", "batch * heads"],
        "outputs": ["output_ptr"],
        "reference": "attention_reference",
        "tolerance": {"rtol": 1e-2, "atol": 1e-3},
    }
}

LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def flash_attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    output_ptr,
    n_ctx,
    scale,
    HEAD_DIM: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    """Store the result of ``BLOCK_M`` queries of one head; all tensors are contiguous."""
    queries = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    dims = tl.arange(0, HEAD_DIM)
    head = tl.program_id(1).to(tl.int64) * n_ctx * HEAD_DIM
    q_offsets = queries[:, None] * HEAD_DIM + dims[None, :]
    q_mask = queries[:, None] < n_ctx
    q = tl.load(q_ptr + head + q_offsets, mask=q_mask, other=0.0)

    # What the queries have seen so far: the largest score, the sum of the exponentials relative
    # to it, and the values weighted by them.
    row_max = tl.full((BLOCK_M,), -float("inf"), dtype=tl.float32)
    row_sum = tl.zeros((BLOCK_M,), dtype=tl.float32)
    weighted = tl.zeros((BLOCK_M, HEAD_DIM), dtype=tl.float32)
    # GPUs have an instruction for powers of 2, and here the change of base costs nothing.
    scale *= LOG2_E

    end = n_ctx
    if CAUSAL:
        end = min(n_ctx, (tl.program_id(0) + 1) * BLOCK_M)
    for start in tl.range(0, end, BLOCK_N):
        keys = start + tl.arange(0, BLOCK_N)
        k_offsets = keys[:, None] * HEAD_DIM + dims[None, :]
        k_mask = keys[:, None] < n_ctx
        k = tl.load(k_ptr + head + k_offsets, mask=k_mask, other=0.0)
        visible = keys[None, :] < n_ctx
        if CAUSAL:
            visible &= keys[None, :] <= queries[:, None]
        scores = tl.where(visible, tl.dot(q, k.T) * scale, -float("inf"))
        new_max = tl.maximum(row_max, tl.max(scores, axis=1))
        rescale = tl.exp2(row_max - new_max)
        weights = tl.exp2(scores - new_max[:, None])
        row_max = new_max
        row_sum = row_sum * rescale + tl.sum(weights, axis=1)
        v = tl.load(v_ptr + head + k_offsets, mask=k_mask, other=0.0)
        weighted = tl.dot(weights.to(v.dtype), v, weighted * rescale[:, None])

    output = (weighted / row_sum[:, None]).to(output_ptr.dtype.element_ty)
    tl.store(output_ptr + head + q_offsets, output, mask=q_mask)


def attention_reference(q_ptr, k_ptr, v_ptr, scale, CAUSAL):
    """Return what ``output_ptr`` should hold."""
    from torch.nn.functional import scaled_dot_product_attention

    return scaled_dot_product_attention(q_ptr, k_ptr, v_ptr, is_causal=CAUSAL, scale=scale)
