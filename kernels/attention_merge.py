"""Merge attention over two sets of keys: each has its output and the logarithm of its sum.

With keys split over programs or GPUs, each part ends with an output, normalized by its own sum of
exponentials, and that sum's logarithm. Two such states make one by weights that add up to 1; the
operation is associative, so that any number of parts can be merged in any order. Both outputs are
read and one written, ``4 * n_queries * HEAD_DIM`` and ``2 * n_queries * HEAD_DIM`` bytes, and the
same of the logarithms, ``8 * n_queries`` and ``4 * n_queries`` bytes.
"""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "attention_merge_kernel": {
        "sizes": {"n_queries": 524_288},
        "args": {
            "left_ptr": "fp16[n_queries, HEAD_DIM]",
            "left_lse_ptr": "fp32[n_queries]",
            "right_ptr": "fp16[n_queries, HEAD_DIM]",
            "right_lse_ptr": "fp32[n_queries]",
            "output_ptr": "fp16[n_queries, HEAD_DIM]",
            "output_lse_ptr": "fp32[n_queries]",
            "n_queries": "n_queries",
        },
        "constexprs": {"HEAD_DIM": 64, "BLOCK_M": 64},
        "options": {"num_warps": 4},
        "grid": ["cdiv(n_queries, BLOCK_M)"],
        "outputs": ["output_ptr", "output_lse_ptr"],
        "reference": "attention_merge_reference",
        "tolerance": {"rtol": 2e-3, "atol": 1e-4},
        "traffic": {
            "read": "4 * n_queries * HEAD_DIM + 8 * n_queries",
            "written": "2 * n_queries * HEAD_DIM + 4 * n_queries",
        },
    }
}


@triton.jit
def attention_merge_kernel(
    left_ptr,
    left_lse_ptr,
    right_ptr,
    right_lse_ptr,
    output_ptr,
    output_lse_ptr,
    n_queries,
    HEAD_DIM: tl.constexpr,
    BLOCK_M: tl.constexpr,
):
    """Store the merged output of ``BLOCK_M`` queries, and the logarithm of its sum."""
    queries = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    mask = queries < n_queries
    left_lse = tl.load(left_lse_ptr + queries, mask=mask, other=0.0)
    right_lse = tl.load(right_lse_ptr + queries, mask=mask, other=0.0)
    largest = tl.maximum(left_lse, right_lse)
    left_weight = tl.exp(left_lse - largest)
    right_weight = tl.exp(right_lse - largest)
    total = left_weight + right_weight
    tl.store(output_lse_ptr + queries, largest + tl.log(total), mask=mask)

    offsets = queries[:, None] * HEAD_DIM + tl.arange(0, HEAD_DIM)[None, :]
    left = tl.load(left_ptr + offsets, mask=mask[:, None]).to(tl.float32)
    right = tl.load(right_ptr + offsets, mask=mask[:, None]).to(tl.float32)
    output = left * (left_weight / total)[:, None] + right * (right_weight / total)[:, None]
    tl.store(output_ptr + offsets, output.to(output_ptr.dtype.element_ty), mask=mask[:, None])


def attention_merge_reference(left_ptr, left_lse_ptr, right_ptr, right_lse_ptr):
    """Return what ``output_ptr`` and ``output_lse_ptr`` should hold."""
    import torch

    lse = torch.stack([left_lse_ptr, right_lse_ptr])
    weights = lse.softmax(dim=0)[..., None]
    output = (torch.stack([left_ptr, right_ptr]).float() * weights).sum(dim=0)
    return output.to(left_ptr.dtype), lse.logsumexp(dim=0)
