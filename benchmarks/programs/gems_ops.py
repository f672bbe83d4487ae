"""FlagGems's kernels, called directly, at the sizes of the environment."""

from functools import partial

import flag_gems
import torch
from operator_runs import run, size

BATCH, LENGTH = size("BATCH", 2), size("LENGTH", 256)
HEADS, SIZE = size("HEADS", 4), size("SIZE", 64)
ROWS, HIDDEN, CLASSES = size("ROWS", 512), size("HIDDEN", 1024), size("CLASSES", 4096)


def tensor(*shape: int) -> torch.Tensor:
    """Return random numbers."""
    return torch.randn(shape, device="cuda", dtype=torch.float16)


x, y, weight = tensor(ROWS, HIDDEN), tensor(ROWS, HIDDEN), tensor(HIDDEN)
square = tensor(HIDDEN, HIDDEN)
stack = tensor(BATCH * HEADS, LENGTH, SIZE)
heads = [tensor(BATCH, HEADS, LENGTH, SIZE) for _ in range(3)]
image = tensor(BATCH * 4, 16, 64, 64)
rows = torch.randint(ROWS, (ROWS,), device="cuda")

run(
    {
        **{
            name: partial(getattr(flag_gems, name), x)
            for name in ("abs", "exp", "sigmoid", "tanh", "gelu", "sum", "max", "mean", "argmax")
        },
        **{
            name: partial(getattr(flag_gems, name), x, y)
            for name in ("add", "mul", "true_divide", "eq")
        },
        "softmax": lambda: flag_gems.softmax(x, -1),
        "log_softmax": lambda: flag_gems.log_softmax(x, -1),
        "cumsum": lambda: flag_gems.cumsum(x, 1),
        "sum_dim": lambda: flag_gems.sum_dim(x, [1]),
        "sum_dim 0": lambda: flag_gems.sum_dim(x, [0]),
        "amax": lambda: flag_gems.amax(x, [1]),
        "var_mean": lambda: flag_gems.var_mean(x, [1]),
        "vector_norm": lambda: flag_gems.vector_norm(x, 2, [1]),
        "topk": lambda: flag_gems.topk(x, 8),
        "sort": lambda: flag_gems.sort(x),
        "triu": lambda: flag_gems.triu(x),
        "flip": lambda: flag_gems.flip(x, [0]),
        "cat": lambda: flag_gems.cat([x, y]),
        "index_select": lambda: flag_gems.index_select(x, 0, rows),
        "gather": lambda: flag_gems.gather(x, 1, torch.randint(HIDDEN, x.shape, device="cuda")),
        "embedding": lambda: flag_gems.embedding(x, rows),
        "mm": lambda: flag_gems.mm(x, square),
        "addmm": lambda: flag_gems.addmm(weight, x, square),
        "bmm": lambda: flag_gems.bmm(stack, stack.transpose(1, 2)),
        "mv": lambda: flag_gems.mv(x, weight),
        "layer_norm": lambda: flag_gems.layer_norm(x, (HIDDEN,), weight, weight),
        "group_norm": lambda: flag_gems.group_norm(
            image, tensor(16), tensor(16), len(image), 16, 4096, 4
        ),
        "rms_norm": lambda: flag_gems.rms_norm(x, (HIDDEN,), weight),
        "conv2d": lambda: flag_gems.conv2d(image, tensor(32, 16, 3, 3), padding=1),
        "attention": lambda: flag_gems.scaled_dot_product_attention(*heads, is_causal=True),
        "silu_and_mul": lambda: flag_gems.silu_and_mul(x, y),
        "skip_layer_norm": lambda: flag_gems.skip_layer_norm(x, y, (HIDDEN,), weight, weight),
    }
)  # fmt: skip
