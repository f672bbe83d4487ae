"""Which kernel PyTorch would take for attention on a GPU that is not there.

``scaled_dot_product_attention`` chooses by what it is given, by the GPU, and by the libraries that
PyTorch was built with; the choice decides on strides, and on what ``torch.compile`` makes. It is
made here as aten/src/ATen/native/transformers/cuda/sdp_utils.cpp makes it, save for cuDNN, of which
nothing is known: so it is a guess, and told.
"""

import torch
from torch.nn.functional import pad

from irlens.compiler.fake_cuda import Liberties
from irlens.compiler.fake_cuda.operators import registering

_HALF = (torch.float16, torch.bfloat16)
#: The largest head that the flash kernel takes, and what heads are padded to a multiple of.
_FLASH_HEAD, _FLASH_ALIGNED = 256, 8


def choose_attention(capability: tuple[int, int], *, is_amd: bool, liberties: Liberties) -> None:
    """Let attention on "cuda" be what it would be on a GPU, in the whole process and for good.

    Args:
        capability: The GPU's compute capability.
        is_amd: Whether the vendor is AMD: then every GPU has both kernels for both half types.
        liberties: Is told of a choice.
    """
    modern = is_amd or capability >= (8, 0)

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
        given = (query, key, value)
        plain = _are_plain(given) and not enable_gqa
        if plain and _takes_flash(given, attn_mask, is_causal=is_causal, modern=modern):
            liberties.attention = True
            return _flash(given, dropout_p, is_causal=is_causal, scale=scale)
        if plain and _takes_efficient(given, modern=modern):
            liberties.attention = True
            return _efficient(given, attn_mask, dropout_p, is_causal=is_causal, scale=scale)
        math = torch.ops.aten._scaled_dot_product_attention_math
        return math(*given, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)[0]

    with registering() as kernels:
        for key in ("CUDA", "AutogradCUDA", "Meta", "AutogradMeta"):
            # Not `impl` of the library itself, which leaves "meta" to what attention is made of.
            kernels.m.impl("scaled_dot_product_attention", key, attend, False)


def _flash(
    given: tuple[torch.Tensor, ...], dropout_p: float, *, is_causal: bool, scale: float | None
) -> torch.Tensor:
    head = given[0].size(-1)
    padding = -head % _FLASH_ALIGNED
    padded = [pad(tensor, (0, padding)) if padding else tensor for tensor in given]
    attention = torch.ops.aten._scaled_dot_product_flash_attention(
        *padded, dropout_p, is_causal, scale=head**-0.5 if scale is None else scale
    )
    return attention[0][..., :head] if padding else attention[0]


def _efficient(
    given: tuple[torch.Tensor, ...],
    mask: torch.Tensor | None,
    dropout_p: float,
    *,
    is_causal: bool,
    scale: float | None,
) -> torch.Tensor:
    query, key, _ = given
    bias = None if mask is None else _bias(mask, query, key)
    differentiates = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in given)
    return torch.ops.aten._scaled_dot_product_efficient_attention(
        *given, bias, differentiates, dropout_p, is_causal, scale=scale
    )[0]


def _bias(mask: torch.Tensor, query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
    """Return a mask as the memory-efficient kernel takes it: rows begin at every 16th element."""
    if mask.dtype == torch.bool:
        least = torch.scalar_tensor(float("-inf"), dtype=query.dtype, device=mask.device)
        mask = torch.where(mask, 0.0, least)
    columns = mask.size(-1)
    if mask.stride(-1) != 1 or any(stride % 16 for stride in mask.stride()[:-1]):
        mask = pad(mask, (0, 16 - columns % 16))[..., :columns]
    return mask.expand(query.size(0), query.size(1), query.size(2), key.size(2))


def _takes_flash(
    given: tuple[torch.Tensor, ...], mask: torch.Tensor | None, *, is_causal: bool, modern: bool
) -> bool:
    """Whether the flash kernel is allowed and can."""
    query, key, _ = given
    return (
        torch.backends.cuda.flash_sdp_enabled()
        and modern
        and mask is None
        and query.dtype in _HALF
        and len({tensor.size(-1) for tensor in given}) == 1
        and query.size(-1) <= _FLASH_HEAD
        and not (is_causal and query.size(-2) != key.size(-2))
    )


def _takes_efficient(given: tuple[torch.Tensor, ...], *, modern: bool) -> bool:
    """Whether the memory-efficient kernel is allowed and can."""
    dtype = given[0].dtype
    known = (torch.float16, torch.float32, *((torch.bfloat16,) if modern else ()))
    # What the kernel's matrix multiplications load at once: 16 bytes.
    aligned = 8 if dtype in _HALF else 4 if modern else 1
    return (
        torch.backends.cuda.mem_efficient_sdp_enabled()
        and dtype in known
        and all(tensor.size(-1) % aligned == 0 for tensor in given)
    )


def _are_plain(given: tuple[torch.Tensor, ...]) -> bool:
    """Whether tensors have batch, heads, rows and a dense last dimension, and none is empty."""
    return all(
        tensor.dim() == 4 and tensor.stride(-1) == 1 and 0 not in tensor.shape for tensor in given
    )
