"""Helion's kernels for the fake device: its own look-up of the arguments' device."""

from collections.abc import Callable
from functools import wraps
from types import ModuleType
from typing import Any

import torch

from irlens.compiler.import_hooks import after_import

_CUDA = torch.device("cuda", 0)
#: Functions of ``helion._argument_device`` (1.5) that return a device.
_FUNCTIONS = ("_leaf_device", "_find_argument_device", "_canonicalize_argument_device")


def install_helion() -> None:
    """Let Helion find its arguments on "cuda", which it asks of the tensors past their mode."""
    after_import("helion._argument_device", _find_on_cuda)


def _find_on_cuda(module: ModuleType) -> None:
    for name in _FUNCTIONS:
        function = getattr(module, name, None)
        if function is not None:
            setattr(module, name, _on_cuda(function))


def _on_cuda(find: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(find)
    def found(*args: Any, **kwargs: Any) -> Any:
        device = find(*args, **kwargs)
        return _CUDA if getattr(device, "type", None) == "meta" else device

    return found
