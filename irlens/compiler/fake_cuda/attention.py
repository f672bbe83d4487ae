"""Choose the kernel of ``scaled_dot_product_attention`` for the fake device.

PyTorch chooses by the arguments, the GPU, and the libraries of its build; the choice determines
strides, and the code of ``torch.compile``. These are the rules of
aten/src/ATen/native/transformers/cuda/sdp_utils.cpp without cuDNN, about which nothing is known:
so the choice is a guess, and reported as a deviation.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch.nn.functional import pad

from irlens.compiler.fake_cuda import Deviations
from irlens.compiler.fake_cuda.device import kernel_registry
from irlens.model.config import Vendor

_HALF = (torch.float16, torch.bfloat16)
#: The largest head of the flash kernel, and the multiple that heads are padded to.
_FLASH_HEAD, _FLASH_ALIGNED = 256, 8


def install_attention(capability: tuple[int, int], vendor: Vendor, deviations: Deviations) -> None:
    """Make attention on "cuda" use a GPU's kernels, for the whole process."""
    modern = vendor == "amd" or capability >= (8, 0)

    def attend(
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        attn_mask: torch.Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        *,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> torch.Tensor:
        inputs = (query, key, value)
        supported = _are_supported(inputs) and not enable_gqa
        is_square = not is_causal or query.size(-2) == key.size(-2)
        if supported and modern and is_square and _can_use_flash(inputs, attn_mask):
            deviations.attention = True
            return _flash(inputs, (dropout_p, is_causal), scale)
        if supported and _can_use_efficient(inputs, modern=modern):
            deviations.attention = True
            return _efficient(inputs, attn_mask, (dropout_p, is_causal), scale)
        math = torch.ops.aten._scaled_dot_product_attention_math
        return math(*inputs, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)[0]

    with kernel_registry() as kernels:
        for key in ("CUDA", "AutogradCUDA", "Meta", "AutogradMeta"):
            # Library.impl would leave "meta" to the operator's decomposition.
            kernels.m.impl("scaled_dot_product_attention", key, attend, False)


def _flash(
    inputs: tuple[torch.Tensor, ...], how: tuple[float, bool], scale: float | None
) -> torch.Tensor:
    head = inputs[0].size(-1)
    padding = -head % _FLASH_ALIGNED
    padded = [pad(tensor, (0, padding)) if padding else tensor for tensor in inputs]
    attention = torch.ops.aten._scaled_dot_product_flash_attention(
        *padded, *how, scale=head**-0.5 if scale is None else scale
    )
    return attention[0][..., :head] if padding else attention[0]


def _efficient(
    inputs: tuple[torch.Tensor, ...],
    mask: torch.Tensor | None,
    how: tuple[float, bool],
    scale: float | None,
) -> torch.Tensor:
    query, key, _ = inputs
    bias = None if mask is None else _bias(mask, query, key)
    differentiates = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in inputs)
    return torch.ops.aten._scaled_dot_product_efficient_attention(
        *inputs, bias, differentiates, *how, scale=scale
    )[0]


def _bias(mask: torch.Tensor, query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
    """Return a mask as the memory-efficient kernel takes it: rows start at multiples of 16."""
    if mask.dtype == torch.bool:
        lowest = torch.scalar_tensor(float("-inf"), dtype=query.dtype, device=mask.device)
        mask = torch.where(mask, 0.0, lowest)
    columns = mask.size(-1)
    if mask.stride(-1) != 1 or any(stride % 16 for stride in mask.stride()[:-1]):
        mask = pad(mask, (0, 16 - columns % 16))[..., :columns]
    return mask.expand(query.size(0), query.size(1), query.size(2), key.size(2))


def _can_use_flash(inputs: tuple[torch.Tensor, ...], mask: torch.Tensor | None) -> bool:
    """Whether the flash kernel is enabled and supports the inputs."""
    query = inputs[0]
    return (
        torch.backends.cuda.flash_sdp_enabled()
        and mask is None
        and query.dtype in _HALF
        and len({tensor.size(-1) for tensor in inputs}) == 1
        and query.size(-1) <= _FLASH_HEAD
    )


def _can_use_efficient(inputs: tuple[torch.Tensor, ...], *, modern: bool) -> bool:
    """Whether the memory-efficient kernel is enabled and supports the inputs."""
    dtype = inputs[0].dtype
    dtypes = (torch.float16, torch.float32, *((torch.bfloat16,) if modern else ()))
    # The kernel's matrix multiplications load 16 bytes at once.
    aligned = 8 if dtype in _HALF else 4 if modern else 1
    return (
        torch.backends.cuda.mem_efficient_sdp_enabled()
        and dtype in dtypes
        and all(tensor.size(-1) % aligned == 0 for tensor in inputs)
    )


def _are_supported(inputs: tuple[torch.Tensor, ...]) -> bool:
    """Whether tensors have batch, heads, rows and a dense last dimension, and none is empty."""
    return all(
        tensor.dim() == 4 and tensor.stride(-1) == 1 and 0 not in tensor.shape for tensor in inputs
    )


def _flash_attention(
    query: Any, key: Any, value: Any, dropout_p: float = 0.0, is_causal: bool = False,
    *_: Any, scale: float | None = None,
) -> Any:  # fmt: skip
    math = torch.ops.aten._scaled_dot_product_attention_math
    return math(query, key, value, None, dropout_p, is_causal, scale=scale)[0]


def _efficient_attention(
    query: Any, key: Any, value: Any, bias: Any, _log_sumexp: Any,
    dropout_p: float = 0.0, is_causal: bool = False, *, scale: float | None = None,
) -> Any:  # fmt: skip
    math = torch.ops.aten._scaled_dot_product_attention_math
    return math(query, key, value, bias, dropout_p, is_causal, scale=scale)[0]


#: What the CPU computes for the kernels of a GPU: their first result alone.
ATTENTION_ON_CPU: dict[Any, Callable[..., Any]] = {
    torch.ops.aten._scaled_dot_product_flash_attention.default: _flash_attention,
    torch.ops.aten._scaled_dot_product_efficient_attention.default: _efficient_attention,
}
