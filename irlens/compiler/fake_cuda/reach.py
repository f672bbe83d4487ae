"""Pretending a GPU where PyTorch leaves its modes: in backward, in threads, in operators.

A ``TorchFunctionMode`` holds in the thread that entered it, and is left while what it passes on
runs. The program's own code that is called from there has to be taken back into it.
"""

from collections.abc import Callable
from threading import Thread
from typing import Any

import torch
from torch._ops import OpOverload
from torch.overrides import TorchFunctionMode
from torch.utils._device import DeviceContext
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

#: Where PyTorch keeps a kernel of an operator that serves CUDA tensors.
_SERVES_CUDA = ("CUDA", "CompositeExplicitAutograd")
_CUDA = torch._C.DispatchKeySet(torch._C.DispatchKey.CUDA)


def pretend_everywhere(mode: TorchFunctionMode, there: Callable[[Any], Any]) -> None:
    """Let a mode reach all of a program, for good.

    Args:
        mode: The mode.
        there: Returns what stands for a device.
    """
    _in_backward(mode)
    _in_saving(mode)
    _in_threads(mode)
    _as_default_device(there)


class OwnOperators(TorchDispatchMode):  # type: ignore[misc]  # mypy does not follow torch
    """Runs what a program registered for CUDA tensors, and not its stand-in for meta tensors.

    The stand-in, a "fake" implementation, makes outputs and launches nothing.
    """

    def __init__(self, mode: TorchFunctionMode) -> None:
        super().__init__()
        self._pretending = mode

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        given = kwargs or {}
        absent = any(isinstance(each, torch.Tensor) and each.is_meta for each in tree_leaves(args))
        if not absent or not _is_python(func):
            return func(*args, **given)
        with self._pretending:
            return func.redispatch(_CUDA, *args, **given)


def _is_python(operator: OpOverload) -> bool:
    """Whether a Python function serves an operator's CUDA tensors: C++ would touch their memory."""
    namespace, _, name = operator.name().partition("::")
    return any(f"{namespace}/{name}/{key}" in torch.library._impls for key in _SERVES_CUDA)


def _in_backward(mode: TorchFunctionMode) -> None:
    """Reach ``backward`` of a program's own functions, its hooks, and what checkpoints repeat."""
    run = torch.autograd._engine_run_backward

    def pretending(*args: Any, **kwargs: Any) -> Any:
        with mode:  # of which the engine's threads take a copy
            return run(*args, **kwargs)

    torch.autograd._engine_run_backward = pretending


def _in_saving(mode: TorchFunctionMode) -> None:
    """Reach what saves tensors for ``backward``, as checkpoints do: an operator's C++ calls it."""
    hooks = torch.autograd.graph.saved_tensors_hooks
    start = hooks.__init__

    def start_pretending(self: Any, pack_hook: Any, unpack_hook: Any) -> None:
        def packed(tensor: torch.Tensor) -> Any:
            with mode:
                return pack_hook(tensor)

        start(self, packed, unpack_hook)

    hooks.__init__ = start_pretending


def _in_threads(mode: TorchFunctionMode) -> None:
    start = Thread.start

    def start_pretending(self: Thread) -> None:
        run = self.run

        def pretending() -> None:
            with mode:
                run()

        self.run = pretending  # type: ignore[method-assign]
        start(self)

    Thread.start = start_pretending  # type: ignore[method-assign]


def _as_default_device(there: Callable[[Any], Any]) -> None:
    """Reach ``torch.set_default_device``, which comes after every mode."""
    construct = DeviceContext.__torch_function__

    def pretending(
        self: Any, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if torch.compiler.is_compiling():  # to which tensors are on "cuda" by themselves
            return construct(self, func, types, args, kwargs)
        named, self.device = self.device, there(self.device)
        try:
            return construct(self, func, types, args, kwargs)
        finally:
            self.device = named

    # TorchDynamo traces it, too, and goes by the file that a function is from.
    place = construct.__code__.co_filename
    pretending.__code__ = pretending.__code__.replace(co_filename=place)
    DeviceContext.__torch_function__ = pretending
