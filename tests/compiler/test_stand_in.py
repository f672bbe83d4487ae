"""Stand-ins against real tensors: Triton must specialise a kernel for both alike."""

import importlib.util
from typing import Any

import pytest
from triton.backends.amd.compiler import HIPBackend
from triton.backends.nvidia.compiler import CUDABackend

from irlens.compiler.calls.dtypes import DTYPES
from irlens.compiler.calls.values import Tensor
from irlens.compiler.triton_compat import placeholders

HAVE_TORCH = importlib.util.find_spec("torch") is not None
SHAPES = [(1,), (3, 5), (7, 1, 9), (2**29,), (2**29 - 1,), (2**31 - 1,), (2**31,)]


def both(dtype: str, shape: tuple[int, ...]) -> tuple[Any, Any]:
    """Return a stand-in, and a real tensor that takes no memory."""
    import torch

    tensor = Tensor(DTYPES[dtype], shape)
    stand_in = placeholders({"x": tensor})["x"]
    return stand_in, torch.empty(
        shape, dtype=getattr(torch, str(tensor.dtype.torch)), device="meta"
    )


@pytest.mark.skipif(not HAVE_TORCH, reason="the real tensors are PyTorch's")
@pytest.mark.parametrize("dtype", ["fp32", "int8", "bool", "fp8e5"])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_stand_in_is_specialised_like_the_tensor(dtype: str, shape: tuple[int, ...]) -> None:
    stand_in, real = both(dtype, shape)
    for backend in (HIPBackend, CUDABackend):
        expected = backend.get_tensor_specialization(real, align=True)
        assert backend.get_tensor_specialization(stand_in, align=True) == expected


@pytest.mark.skipif(not HAVE_TORCH, reason="the real tensors are PyTorch's")
@pytest.mark.parametrize("shape", [*SHAPES, (), (0, 4)])
def test_a_stand_in_answers_like_the_tensor(shape: tuple[int, ...]) -> None:
    stand_in, real = both("fp16", shape)
    assert stand_in.shape == real.shape
    assert stand_in.dtype == real.dtype
    assert stand_in.size() == real.size()
    assert stand_in.ndim == stand_in.dim() == real.dim()
    assert stand_in.numel() == real.numel()
    assert stand_in.element_size() == real.element_size()
    assert stand_in.is_contiguous() == real.is_contiguous()
    if 0 not in shape:  # PyTorch counts an empty extent as 1
        assert stand_in.stride() == real.stride()
    if shape:
        assert stand_in.stride(-1) == real.stride(-1)
        assert stand_in.size(-1) == real.size(-1)
