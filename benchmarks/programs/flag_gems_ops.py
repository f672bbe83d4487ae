"""PyTorch's operators with FlagGems's Triton kernels in their place."""

from collections.abc import Callable
from functools import partial
from typing import Any

import flag_gems
import torch
from operator_runs import run
from torch.nn import functional


def tensor(*shape: int, gradient: bool = False, dtype: torch.dtype = torch.float16) -> torch.Tensor:
    """Return random numbers."""
    return torch.randn(shape, device="cuda", dtype=dtype, requires_grad=gradient)


x, y = tensor(256, 1024), tensor(256, 1024)
square, batch = tensor(512, 512), tensor(4, 256, 256)
mask = torch.ones(256, 1024, device="cuda", dtype=torch.bool)
index = torch.randint(256, (64,), device="cuda")
positions = torch.randint(256, (64, 1024), device="cuda")
image = tensor(2, 16, 32, 32)
operators: dict[str, Callable[[], Any]] = {
    **{
        name: partial(getattr(torch, name), x)
        for name in (
            "abs", "all", "amax", "any", "argmax", "argmin", "cos", "erf", "exp", "isinf", "isnan",
            "log", "logical_not", "max", "mean", "min", "neg", "ones_like", "prod", "rand_like",
            "randn_like", "reciprocal", "relu", "rsqrt", "sigmoid", "sin", "sort", "sqrt", "sum",
            "tanh", "triu", "var_mean", "zeros_like",
        )
    },
    **{
        name: partial(getattr(torch, name), x, y)
        for name in (
            "add", "sub", "mul", "div", "eq", "ne", "lt", "le", "gt", "ge", "maximum", "minimum",
            "pow", "isclose", "floor_divide", "remainder",
        )
    },
    "cumsum": lambda: x.cumsum(1),
    "softmax": lambda: torch.softmax(x, -1),
    "log_softmax": lambda: torch.log_softmax(x, -1),
    "flip": lambda: x.flip(0),
    "bitwise_and": lambda: index & index,
    "clamp": lambda: x.clamp(-1, 1),
    "where": lambda: torch.where(mask, x, y),
    "masked_fill": lambda: x.masked_fill(mask, 0),
    "topk": lambda: x.topk(8),
    "index_select": lambda: x.index_select(0, index),
    "gather": lambda: x.gather(0, positions),
    "scatter": lambda: x.scatter(0, positions, tensor(64, 1024)),
    "cat": lambda: torch.cat([x, y]),
    "stack": lambda: torch.stack([x, y]),
    "repeat": lambda: x.repeat(2, 2),
    "arange": lambda: torch.arange(1000, device="cuda"),
    "full": lambda: torch.full((256, 256), 2.0, device="cuda"),
    "linspace": lambda: torch.linspace(0, 1, 1000, device="cuda"),
    "mm": lambda: square @ square,
    "addmm": lambda: torch.addmm(square, square, square),
    "bmm": lambda: batch @ batch,
    "mv": lambda: torch.mv(square, square[0]),
    "outer": lambda: torch.outer(square[0], square[1]),
    "embedding": lambda: functional.embedding(index, tensor(256, 1024, gradient=True)),
    "gelu": lambda: functional.gelu(x),
    "silu": lambda: functional.silu(x),
    "cross_entropy": lambda: functional.cross_entropy(
        tensor(64, 256, gradient=True, dtype=torch.float32), index
    ),
    "dropout": lambda: functional.dropout(x, 0.1),
    "layer_norm": lambda: functional.layer_norm(
        tensor(256, 1024, gradient=True), (1024,), tensor(1024), tensor(1024)
    ),
    "group_norm": lambda: functional.group_norm(image, 4, tensor(16), tensor(16)),
    "vector_norm": lambda: torch.linalg.vector_norm(x, dim=1),
    "conv2d": lambda: functional.conv2d(image, tensor(32, 16, 3, 3), padding=1),
    "attention": lambda: functional.scaled_dot_product_attention(
        tensor(2, 8, 256, 64), tensor(2, 8, 256, 64), tensor(2, 8, 256, 64), is_causal=True
    ),
    "rms_norm": lambda: flag_gems.rms_norm(tensor(256, 1024, gradient=True), (1024,), tensor(1024)),
}  # fmt: skip

with flag_gems.use_gems():
    run(operators)
