"""Arguments for Triton: placeholder tensors, and host-side tensor descriptors."""

import itertools
import sys
from collections.abc import Mapping
from typing import Any

import triton.language as tl

from irlens.compiler.calls.argument_values import Argument, Descriptor, Tensor, tensor_of
from irlens.compiler.triton_compat.jit import Kernel, Values
from irlens.model.errors import CaptureError


class PlaceholderTensor:
    """A tensor without memory: answers what Triton and tuning functions ask of a tensor."""

    def __init__(self, tensor: Tensor, dtype: object) -> None:
        self.shape = tensor.shape
        self.dtype = dtype
        self._tensor = tensor

    @property
    def signature(self) -> str:
        """Triton's name of the element type in a signature: "bf16", "i64", "u8"."""
        return self._tensor.dtype.signature

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    def data_ptr(self) -> int:
        """Return an address with the alignment that PyTorch's allocator grants its storage."""
        return self._tensor.offset * self._tensor.dtype.size

    def ptr_range(self) -> int:
        """Return the bytes that can be reached from ``data_ptr``."""
        return self._tensor.nbytes

    def element_size(self) -> int:
        """Return the bytes of one element."""
        return self._tensor.dtype.size

    def numel(self) -> int:
        """Return the number of elements."""
        return self._tensor.nbytes // self._tensor.dtype.size

    def dim(self) -> int:
        """Return the number of dimensions."""
        return self.ndim

    def is_contiguous(self) -> bool:
        """Return ``True``."""
        return True

    def size(self, dim: int | None = None) -> Any:
        """Return the shape, or one extent of it."""
        return self.shape if dim is None else self.shape[dim]

    def stride(self, dim: int | None = None) -> Any:
        """Return the strides in elements, or one of them."""
        inner = itertools.accumulate(self.shape[:0:-1], int.__mul__, initial=1)
        strides = tuple(inner)[::-1] if self.shape else ()
        return strides if dim is None else strides[dim]


def placeholders(args: Mapping[str, Argument]) -> Values:
    """Return values to compile with: every tensor becomes a ``PlaceholderTensor``.

    Its dtype is PyTorch's if the kernel's file has imported PyTorch, since the file's tuning
    functions may compare it with ``torch.float16``.
    """
    torch = sys.modules.get("torch")
    values: Values = {}
    for name, value in args.items():
        tensor = tensor_of(value)
        if tensor is not None:
            name_there = tensor.dtype.torch
            dtype = getattr(torch, name_there, None) if name_there is not None else None
            if dtype is None:
                dtype = getattr(tl, tensor.dtype.language)
            values[name] = PlaceholderTensor(tensor, dtype)
        else:
            values[name] = value
    return values


def with_descriptors(kernel: Kernel, values: Values, args: Mapping[str, Argument]) -> Values:
    """Return the values with tensor descriptors for the arguments that are passed as such.

    Args:
        args: The arguments. Extents of a block that are still expressions become 1, as in Triton's
            own examples until an autotuner has chosen a configuration.

    Raises:
        CaptureError: Triton rejects the descriptor.
    """
    return {
        name: _described(kernel, name, value, args[name]) if name in args else value
        for name, value in values.items()
    }


def _described(kernel: Kernel, name: str, tensor: object, argument: Argument) -> object:
    if not isinstance(argument, Descriptor):
        return tensor
    block = [extent if isinstance(extent, int) else 1 for extent in argument.block]
    try:
        if kernel.gluon:
            from irlens.compiler.triton_compat import gluon_layouts

            element = argument.tensor.dtype.language
            return gluon_layouts.make_descriptor(tensor, element, block, argument.layout)
        from triton.tools.tensor_descriptor import TensorDescriptor  # Triton 3.4 and newer

        return TensorDescriptor.from_tensor(tensor, block)
    except ModuleNotFoundError as error:
        raise CaptureError(
            f"{name}: this Triton has no tensor descriptors made on the host",
            hint="compile with Triton 3.4 or newer",
        ) from error
    except (AssertionError, TypeError, ValueError) as error:
        raise CaptureError(f"{name}: cannot make the descriptor {argument}: {error}") from error
