"""Placeholder tensors: Triton must specialise a kernel for them as for real tensors."""

import importlib.util
from typing import Any

import pytest
from triton.backends.amd.compiler import HIPBackend
from triton.backends.nvidia.compiler import CUDABackend

from irlens.compiler.calls.argument_values import Tensor
from irlens.compiler.calls.dtypes import DTYPES
from irlens.compiler.triton_compat.tensors import placeholders

HAVE_TORCH = importlib.util.find_spec("torch") is not None
SHAPES = [(1,), (3, 5), (7, 1, 9), (2**29,), (2**29 - 1,), (2**31 - 1,), (2**31,)]


def placeholder_and_tensor(dtype: str, shape: tuple[int, ...]) -> tuple[Any, Any]:
    """Return a placeholder, and a real tensor on "meta"."""
    import torch

    tensor = Tensor(DTYPES[dtype], shape)
    placeholder = placeholders({"x": tensor})["x"]
    return placeholder, torch.empty(
        shape, dtype=getattr(torch, str(tensor.dtype.torch)), device="meta"
    )


@pytest.mark.skipif(not HAVE_TORCH, reason="needs PyTorch for real tensors")
@pytest.mark.parametrize("dtype", ["fp32", "int8", "bool", "fp8e5"])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_placeholder_is_specialised_like_the_tensor(dtype: str, shape: tuple[int, ...]) -> None:
    placeholder, real = placeholder_and_tensor(dtype, shape)
    for backend in (HIPBackend, CUDABackend):
        expected = backend.get_tensor_specialization(real, align=True)
        assert backend.get_tensor_specialization(placeholder, align=True) == expected


@pytest.mark.skipif(not HAVE_TORCH, reason="needs PyTorch for real tensors")
@pytest.mark.parametrize("shape", [*SHAPES, (), (0, 4)])
def test_a_placeholder_answers_like_the_tensor(shape: tuple[int, ...]) -> None:
    placeholder, real = placeholder_and_tensor("fp16", shape)
    assert placeholder.shape == real.shape
    assert placeholder.dtype == real.dtype
    assert placeholder.size() == real.size()
    assert placeholder.ndim == placeholder.dim() == real.dim()
    assert placeholder.numel() == real.numel()
    assert placeholder.element_size() == real.element_size()
    assert placeholder.is_contiguous() == real.is_contiguous()
    if 0 not in shape:  # PyTorch counts an empty extent as 1
        assert placeholder.stride() == real.stride()
    if shape:
        assert placeholder.stride(-1) == real.stride(-1)
        assert placeholder.size(-1) == real.size(-1)
