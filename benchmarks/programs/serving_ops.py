"""Operators of conch, SageAttention and cut-cross-entropy, at the sizes of the environment."""

import torch
from conch.ops.activation.gelu_tanh_and_mul import gelu_tanh_and_mul
from conch.ops.activation.silu_and_mul import silu_and_mul
from conch.ops.attention.paged_attention import paged_attention
from conch.ops.attention.varlen_attention import varlen_attention
from conch.ops.embedding.rotary_embedding import rotary_embedding
from conch.ops.normalization.gemma_rms_norm import gemma_rms_norm
from conch.ops.normalization.rms_norm import fused_add_rms_norm, rms_norm
from conch.ops.quantization.fp8 import scaled_fp8_quant
from conch.ops.quantization.gemm import mixed_precision_gemm, scaled_gemm
from conch.ops.quantization.int8 import scaled_int8_quant
from conch.ops.vllm.reshape_and_cache import reshape_and_cache
from cut_cross_entropy import linear_cross_entropy
from operator_runs import run, size
from sageattention import sageattn

BATCH, LENGTH = size("BATCH", 2), size("LENGTH", 256)
HEADS, SIZE = size("HEADS", 4), size("SIZE", 64)
ROWS, HIDDEN, CLASSES = size("ROWS", 512), size("HIDDEN", 1024), size("CLASSES", 4096)
PAGE = 16


def tensor(*shape: int, gradient: bool = False) -> torch.Tensor:
    """Return random numbers."""
    return torch.randn(shape, device="cuda", dtype=torch.bfloat16, requires_grad=gradient)


def integers(top: int, *shape: int, dtype: torch.dtype = torch.int32) -> torch.Tensor:
    """Return random integers."""
    return torch.randint(top, shape, device="cuda", dtype=dtype)


x, wide, weight = tensor(ROWS, HIDDEN), tensor(ROWS, 2 * HIDDEN), tensor(HIDDEN)
pages = LENGTH // PAGE
keys, values = (tensor(BATCH * pages, PAGE, HEADS, SIZE) for _ in range(2))
table = torch.arange(BATCH * pages, device="cuda", dtype=torch.int32).view(BATCH, pages)
lengths = torch.full((BATCH,), LENGTH, device="cuda", dtype=torch.int32)
starts = torch.arange(BATCH + 1, device="cuda", dtype=torch.int32) * LENGTH
tokens = BATCH * LENGTH
heads = [tensor(BATCH, HEADS, LENGTH, SIZE) for _ in range(3)]
bytes_a, bytes_b = (
    integers(127, ROWS, HIDDEN, dtype=torch.int8),
    integers(127, HIDDEN, HIDDEN, dtype=torch.int8),
)
scale = torch.ones(1, device="cuda")

run(
    {
        "gelu_tanh_and_mul": lambda: gelu_tanh_and_mul(wide),
        "silu_and_mul": lambda: silu_and_mul(wide),
        "rms_norm": lambda: rms_norm(x, weight, 1e-6),
        "fused_add_rms_norm": lambda: fused_add_rms_norm(x.clone(), x.clone(), weight, 1e-6),
        "gemma_rms_norm": lambda: gemma_rms_norm(x.clone(), weight, 1e-6),
        "scaled_fp8_quant": lambda: scaled_fp8_quant(x, scale),
        "scaled_int8_quant": lambda: scaled_int8_quant(x, scale),
        "rotary_embedding": lambda: rotary_embedding(
            torch.arange(tokens, device="cuda") % LENGTH, tensor(tokens, HEADS * SIZE),
            tensor(tokens, HEADS * SIZE), SIZE, tensor(LENGTH, SIZE),
        ),
        "paged_attention": lambda: paged_attention(
            tensor(BATCH, HEADS, SIZE), keys, values, table, lengths
        ),
        "varlen_attention": lambda: varlen_attention(
            tensor(tokens, HEADS, SIZE), keys, values, starts, LENGTH, lengths, LENGTH, table,
            causal=True,
        ),
        "reshape_and_cache": lambda: reshape_and_cache(
            tensor(tokens, HEADS, SIZE), tensor(tokens, HEADS, SIZE), keys, values,
            torch.randperm(tokens, device="cuda"),
        ),
        "mixed_precision_gemm": lambda: mixed_precision_gemm(
            x, integers(1 << 30, HIDDEN // 8, HIDDEN), tensor(HIDDEN // 128, HIDDEN), None, 4, 8,
            128,
        ),
        "scaled_gemm": lambda: scaled_gemm(bytes_a, bytes_b, scale, scale, torch.bfloat16),
        "sageattn": lambda: sageattn(*heads),
        "sageattn causal": lambda: sageattn(*heads, is_causal=True),
        "linear_cross_entropy": lambda: linear_cross_entropy(
            tensor(ROWS, HIDDEN, gradient=True), tensor(CLASSES, HIDDEN, gradient=True),
            integers(CLASSES, ROWS, dtype=torch.int64),
        ),
    }
)  # fmt: skip
