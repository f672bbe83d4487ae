"""PyTorch's own operators, and registering what serves them instead."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

#: Registered kernels live as long as this.
_KERNELS = torch.library.Library("aten", "IMPL")


@contextmanager
def registering() -> Iterator[Any]:
    """Give the library that kernels are registered with; to take another's place is meant here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Warning only once", category=UserWarning)
        yield _KERNELS


def overload_of(name: str) -> Any:
    """Return an overload of an operator by its name: "add.Tensor", or "addmm" for the default."""
    operator, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, operator), overload or "default")
