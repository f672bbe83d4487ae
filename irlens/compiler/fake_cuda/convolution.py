"""Give convolutions the memory format that they have on the GPU.

It depends on the device's library, which PyTorch chooses for its fake tensors on "cuda" and not for
"meta": so each convolution runs once with the former.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode, is_fake
from torch.utils._pytree import tree_leaves, tree_map

from irlens.compiler.fake_cuda.device import as_torch_fake, kernel_registry, overload_of

_OPERATORS = ("convolution", "_convolution", "convolution_backward")


def install_convolution() -> None:
    """Make convolutions of "meta" tensors return a GPU's strides, for the whole process."""
    with kernel_registry() as kernels:
        for name in _OPERATORS:
            operator = overload_of(name)
            kernel = operator.py_kernels.get(torch._C.DispatchKey.Meta)
            if kernel is not None:
                # Library.impl would leave "meta" to the operator's decomposition.
                kernels.m.impl(name, "Meta", _formatted(operator, kernel), False)


def _formatted(operator: Any, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel whose results have the strides of those on "cuda"."""

    def convolve(*args: Any, **kwargs: Any) -> Any:
        if any(is_fake(each) for each in tree_leaves((args, kwargs))):
            return kernel(*args, **kwargs)  # PyTorch chooses the format of its fake tensors
        with torch.no_grad(), FakeTensorMode():
            fake_args, fake_kwargs = tree_map(as_torch_fake, (args, kwargs))
            result = operator(*fake_args, **fake_kwargs)
        return tree_map(_on_meta, result)

    return convolve


def _on_meta(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")
