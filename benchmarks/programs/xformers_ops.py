"""xformers's Triton operators that need no other package; attention has moved to mslk."""

import torch
from operator_runs import run
from xformers.ops import index_select_cat, rmsnorm, scaled_index_add, tiled_matmul


def tensor(*shape: int, gradient: bool = False) -> torch.Tensor:
    """Return random numbers."""
    return torch.randn(shape, device="cuda", dtype=torch.bfloat16, requires_grad=gradient)


def indices(size: int, number: int) -> torch.Tensor:
    """Return random indices, each at most once."""
    return torch.randperm(size, device="cuda")[:number]


run(
    {
        "index_select_cat": lambda: index_select_cat(
            [tensor(64, 1024, gradient=True), tensor(96, 2048, gradient=True)],
            [indices(64, 32), indices(96, 48)],
        ),
        "scaled_index_add": lambda: scaled_index_add(
            tensor(64, 128, 512), indices(64, 32), tensor(32, 128, 512, gradient=True),
            tensor(512, gradient=True),
        ),
        "rms_norm": lambda: rmsnorm.rms_norm(tensor(512, 4096), tensor(4096)),
        "rms_norm_add": lambda: rmsnorm.rms_norm_add(
            tensor(512, 4096), tensor(512, 4096), tensor(4096)
        ),
        "tiled_matmul": lambda: tiled_matmul(
            [[tensor(512, 1024, gradient=True)]],
            [[tensor(1024, 512, gradient=True) for _ in range(3)]],
        ),
    }
)  # fmt: skip
