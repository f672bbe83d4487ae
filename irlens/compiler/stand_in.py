"""Tensors that are not there, to compile for."""

import itertools
from typing import Any

from irlens.compiler.values import Tensor


class StandIn:
    """A tensor that is not there: what Triton and tuning functions ask of one, without memory."""

    def __init__(self, tensor: Tensor, dtype: object) -> None:
        self.shape = tensor.shape
        self.dtype = dtype
        self._tensor = tensor

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    def data_ptr(self) -> int:
        """Return an address with the alignment that PyTorch's allocator grants."""
        return 0

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
