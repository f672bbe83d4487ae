"""Functions as models have them, compiled by Inductor with all of its autotuning."""

from collections.abc import Callable
from typing import Any

import torch
from operator_runs import run, size
from torch import nn
from torch.nn import functional

SCALE = size("SCALE", 1)
ROWS, HIDDEN, CLASSES = size("ROWS", 512), size("HIDDEN", 1024), size("CLASSES", 4096)


def tensor(*shape: int, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
    """Return random numbers with a gradient."""
    return torch.randn(shape, device="cuda", dtype=dtype, requires_grad=True)


def plain(*shape: int, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
    """Return random numbers without a gradient."""
    return torch.randn(shape, device="cuda", dtype=dtype)


def compiled(function: Callable[..., Any], *args: Any) -> Callable[[], Any]:
    """Return a call of a function that is compiled."""

    def call() -> Any:
        torch._dynamo.reset()
        return torch.compile(function, mode="max-autotune-no-cudagraphs", dynamic=False)(*args)

    return call


def adam(
    weight: torch.Tensor, gradient: torch.Tensor, mean: torch.Tensor, square: torch.Tensor
) -> tuple[torch.Tensor, ...]:
    """Return a step of Adam."""
    mean = 0.9 * mean + 0.1 * gradient
    square = 0.999 * square + 0.001 * gradient * gradient
    return weight - 1e-3 * mean / (square.sqrt() + 1e-8), mean, square


def rotated(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Return rotary embeddings."""
    one, two = x.chunk(2, -1)
    return x * cos + torch.cat((-two, one), -1) * sin


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Return attention written out."""
    scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    return torch.softmax(scores.float(), -1).to(q.dtype) @ v


def flex(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Return attention with a bias of the distance."""
    from torch.nn.attention.flex_attention import flex_attention

    return flex_attention(q, k, v, score_mod=lambda s, b, h, i, j: s + (j - i) * 0.01)


def quantized(x: torch.Tensor, weight: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """Return a product with a weight of 8 bits."""
    return x @ (weight.to(x.dtype) * scale)


long = torch.int64
tokens = torch.randint(CLASSES, (ROWS,), device="cuda")
columns = torch.randint(HIDDEN, (ROWS, 64), device="cuda")
image = (8 * SCALE, 32, 56, 56)
head = (2, 8, 256 * SCALE, 64)
norm, wide = nn.LayerNorm(HIDDEN).cuda().bfloat16(), nn.RMSNorm(HIDDEN).cuda().bfloat16()
groups = nn.GroupNorm(8, 32).cuda().bfloat16()
batch = nn.BatchNorm2d(32).cuda().bfloat16()

run(
    {
        "adam": compiled(adam, *(plain(ROWS, HIDDEN, dtype=torch.float32) for _ in range(4))),
        "addmm gelu": compiled(
            lambda x, w, b: functional.gelu(torch.addmm(b, x, w)),
            plain(ROWS, HIDDEN), plain(HIDDEN, HIDDEN), plain(HIDDEN),
        ),
        "argmax": compiled(lambda x: x.argmax(-1), plain(ROWS, CLASSES)),
        "attention": compiled(attention, tensor(*head), tensor(*head), tensor(*head)),
        "batch norm": compiled(lambda x: functional.relu(batch(x)), tensor(*image)),
        "bmm": compiled(torch.bmm, plain(16, 256, 256), plain(16, 256, 256 * SCALE)),
        "cat": compiled(
            lambda x, y: torch.cat((x, y.relu()), -1), plain(ROWS, HIDDEN), plain(ROWS, 96)
        ),
        "channels last": compiled(
            lambda x: x.to(memory_format=torch.channels_last) * 2, plain(*image)
        ),
        "clip": compiled(lambda x: x / x.float().norm().clamp(min=1.0), plain(ROWS, HIDDEN)),
        "cross entropy": compiled(functional.cross_entropy, tensor(ROWS, CLASSES), tokens),
        "cumsum": compiled(lambda x: x.cumsum(-1), plain(ROWS, HIDDEN, dtype=torch.float32)),
        "depthwise": compiled(
            lambda x, w: functional.conv1d(x, w, groups=256, padding=1),
            plain(8, 256, 512 * SCALE), plain(256, 1, 3),
        ),
        "dropout": compiled(lambda x: functional.dropout(x.relu(), 0.1), tensor(ROWS, HIDDEN)),
        "embedding": compiled(functional.embedding, tokens, tensor(CLASSES, HIDDEN)),
        "flex": compiled(flex, tensor(*head), tensor(*head), tensor(*head)),
        "gather": compiled(lambda x, i: x.gather(-1, i) + 1, plain(ROWS, HIDDEN), columns),
        "geglu": compiled(
            lambda x: functional.gelu(x.chunk(2, -1)[0]) * x.chunk(2, -1)[1],
            tensor(ROWS, 2 * HIDDEN),
        ),
        "group norm": compiled(groups, tensor(*image)),
        "index add": compiled(
            lambda x, i, y: x.index_add(0, i, y), plain(CLASSES, 256, dtype=torch.float32),
            tokens, plain(ROWS, 256, dtype=torch.float32),
        ),
        "int8": compiled(
            quantized, plain(ROWS, HIDDEN),
            torch.randint(-128, 127, (HIDDEN, HIDDEN), device="cuda", dtype=torch.int8),
            plain(HIDDEN),
        ),
        "layer norm": compiled(norm, tensor(ROWS, HIDDEN)),
        "max pool": compiled(lambda x: functional.max_pool2d(x, 3, 2, 1), tensor(*image)),
        "mean of columns": compiled(lambda x: x.float().mean(0), plain(ROWS, HIDDEN)),
        "mish": compiled(functional.mish, tensor(ROWS, HIDDEN)),
        "mm": compiled(torch.mm, plain(ROWS, HIDDEN), plain(HIDDEN, HIDDEN)),
        "mm, few rows": compiled(torch.mm, plain(16, HIDDEN), plain(HIDDEN, CLASSES)),
        "pad": compiled(lambda x: functional.pad(x, (1, 1, 1, 1)) * 2, plain(*image)),
        "rms norm": compiled(wide, tensor(ROWS, HIDDEN)),
        "roll": compiled(lambda x: x.roll((3, 3), (2, 3)) + 1, plain(*image)),
        "rope": compiled(rotated, tensor(*head), plain(head[2], 64), plain(head[2], 64)),
        "softmax": compiled(lambda x: torch.softmax(x, -1), tensor(ROWS, CLASSES)),
        "sort": compiled(lambda x: x.sort(-1).values, plain(ROWS, 256)),
        "std of all": compiled(lambda x: x.float().std(), plain(ROWS, HIDDEN)),
        "transpose": compiled(lambda x: (x.t() * 2).contiguous(), plain(ROWS, HIDDEN)),
        "upsample": compiled(
            lambda x: functional.interpolate(x, scale_factor=2, mode="bilinear"),
            plain(8, 32, 56, 56),
        ),
        "variance of rows": compiled(lambda x: x.float().var(-1), plain(ROWS, CLASSES)),
    }
)  # fmt: skip
