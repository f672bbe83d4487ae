"""Liger-Kernel's operators, forward and backward.

Its own tests compare values in Python, which only a GPU has, and stop before the backward pass.
"""

import torch
from liger_kernel.transformers import functional
from liger_kernel.transformers.grpo_loss import triton_grpo_loss
from operator_runs import run, size


def tensor(*shape: int, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
    """Return random numbers with a gradient."""
    return torch.randn(shape, device="cuda", dtype=dtype, requires_grad=True)


def labels(size: int, classes: int) -> torch.Tensor:
    """Return random classes."""
    return torch.randint(classes, (size,), device="cuda")


ROWS, HIDDEN, CLASSES = size("ROWS", 512), size("HIDDEN", 1024), size("CLASSES", 4096)
SCALE = size("SCALE", 1)
x, weight, bias = tensor(ROWS, HIDDEN), tensor(HIDDEN), tensor(HIDDEN)
scores = tensor(ROWS, CLASSES, dtype=torch.float32)
q = torch.log_softmax(tensor(ROWS, CLASSES, dtype=torch.float32), -1).detach()
target = labels(ROWS, CLASSES)
heads = (2, 8, 128 * SCALE, 64)
cos, sin = tensor(2, 128 * SCALE, 64).detach(), tensor(2, 128 * SCALE, 64).detach()
vision = tensor(3, 2, 128 * SCALE, 64).detach()
streams = tensor(2, 128 * SCALE, 4, 256)
# The coefficients of a manifold-constrained hyper-connection: 4 streams have 4 + 4 + 16.
mixing = [tensor(4 * 256, 24), tensor(24, dtype=torch.float32)]
mixing += [tensor(dtype=torch.float32) for _ in range(3)]

run(
    {
        "attn_res": lambda: functional.liger_attn_res(
            tensor(4, 2, 128 * SCALE, 256), tensor(256), tensor(256)
        ),
        "cross_entropy": lambda: functional.liger_cross_entropy(scores, target),
        "dyt": lambda: functional.liger_dyt(x, tensor(1), weight, bias),
        "fused_add_rms_norm": lambda: functional.liger_fused_add_rms_norm(
            x, tensor(ROWS, HIDDEN), weight, 1e-6
        ),
        "fused_linear_cross_entropy": lambda: functional.liger_fused_linear_cross_entropy(
            x, tensor(CLASSES, HIDDEN), target
        ),
        "fused_linear_jsd": lambda: functional.liger_fused_linear_jsd(
            x, tensor(CLASSES, HIDDEN),
            tensor(ROWS, HIDDEN).detach(), tensor(CLASSES, HIDDEN).detach(),
        ),
        "fused_neighborhood_attention": lambda: functional.liger_fused_neighborhood_attention(
            tensor(*heads), tensor(*heads), tensor(*heads)
        ),
        "geglu": lambda: functional.liger_geglu(x, tensor(ROWS, HIDDEN)),
        "group_norm": lambda: functional.liger_group_norm(
            tensor(8 * SCALE, 64, 256 * SCALE), tensor(64), tensor(64), 64, 8, 1e-5
        ),
        "grpo_loss": lambda: triton_grpo_loss(
            tensor(4, 129, CLASSES), None, tensor(4, 128).detach(),
            labels(4 * 128, CLASSES).view(4, 128), tensor(4).detach(),
        ),
        "jsd": lambda: functional.liger_jsd(torch.log_softmax(scores, -1), q),
        "kl_div": lambda: functional.liger_kl_div(torch.log_softmax(scores, -1), q.exp()),
        "layer_norm": lambda: functional.liger_layer_norm(x, weight, bias, 1e-6),
        "mhc": lambda: functional.liger_mhc_forward(streams, torch.nn.Identity(), *mixing),
        "modulated_rms_norm": lambda: functional.liger_modulated_rms_norm(
            tensor(2, 128 * SCALE, HIDDEN), weight, tensor(2, HIDDEN), tensor(2, HIDDEN)
        ),
        "multi_token_attention": lambda: functional.liger_multi_token_attention(
            tensor(2, 4, 64 * SCALE, 64 * SCALE), tensor(4, 4, 3, 3), padding=1
        ),
        "poly_norm": lambda: functional.liger_poly_norm(x, tensor(3), tensor()),
        "qwen2vl_mrope": lambda: functional.liger_qwen2vl_mrope(
            tensor(*heads), tensor(*heads), vision, vision, [8, 12, 12]
        ),
        "relu_squared": lambda: functional.liger_relu_squared(x),
        "rms_norm": lambda: functional.liger_rms_norm(x, weight, 1e-6),
        "rope": lambda: functional.liger_rope(tensor(*heads), tensor(*heads), cos, sin),
        "softmax": lambda: functional.liger_softmax(x),
        "sparsemax": lambda: functional.liger_sparsemax(x),
        "swiglu": lambda: functional.liger_swiglu(x, tensor(ROWS, HIDDEN)),
        "tvd": lambda: functional.liger_tvd(torch.softmax(scores, -1), q.exp()),
    }
)  # fmt: skip
