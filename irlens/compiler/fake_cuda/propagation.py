"""Enter the fake tensors' mode where PyTorch leaves it: backward, threads, custom operators.

A ``TorchFunctionMode`` is active in the thread that entered it, and inactive while a function that
it handles runs. Code of the program that is called from there has to enter it again.
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

#: Keys under which PyTorch registers an operator's kernel for CUDA tensors.
_CUDA_KEYS = ("CUDA", "CompositeExplicitAutograd")
_CUDA = torch._C.DispatchKeySet(torch._C.DispatchKey.CUDA)


def install_mode(mode: TorchFunctionMode, to_meta: Callable[[Any], Any]) -> None:
    """Install a mode for the whole process; ``to_meta`` returns "meta" for a "cuda" device."""
    _enter_in_backward(mode)
    _enter_in_saved_tensor_hooks(mode)
    _enter_in_threads(mode)
    _patch_default_device(to_meta)
    mode.__enter__()


class CustomOperators(TorchDispatchMode):  # type: ignore[misc]  # mypy does not follow torch
    """Runs the program's Python kernels for CUDA tensors instead of those for "meta" tensors.

    The latter, "fake" implementations, create outputs and launch nothing.
    """

    def __init__(self, mode: TorchFunctionMode) -> None:
        super().__init__()
        self._mode = mode

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        keywords = kwargs or {}
        is_fake = any(isinstance(each, torch.Tensor) and each.is_meta for each in tree_leaves(args))
        if not is_fake or not _has_python_kernel(func):
            return func(*args, **keywords)
        with self._mode:
            return func.redispatch(_CUDA, *args, **keywords)


def _has_python_kernel(operator: OpOverload) -> bool:
    """Whether an operator's CUDA kernel is a Python function: a C++ one would access memory."""
    namespace, _, name = operator.name().partition("::")
    return any(f"{namespace}/{name}/{key}" in torch.library._impls for key in _CUDA_KEYS)


def _enter_in_backward(mode: TorchFunctionMode) -> None:
    """Enter the mode for the program's own ``backward``, its hooks, and recomputed checkpoints."""
    run = torch.autograd._engine_run_backward

    def entered(*args: Any, **kwargs: Any) -> Any:
        with mode:  # the engine's threads copy it
            return run(*args, **kwargs)

    torch.autograd._engine_run_backward = entered


def _enter_in_saved_tensor_hooks(mode: TorchFunctionMode) -> None:
    """Enter the mode where an operator's C++ saves tensors for ``backward``, as checkpoints do."""
    hooks = torch.autograd.graph.saved_tensors_hooks
    init = hooks.__init__

    def entered(self: Any, pack_hook: Any, unpack_hook: Any) -> None:
        def packed(tensor: torch.Tensor) -> Any:
            with mode:
                return pack_hook(tensor)

        init(self, packed, unpack_hook)

    hooks.__init__ = entered


def _enter_in_threads(mode: TorchFunctionMode) -> None:
    start = Thread.start

    def entered(self: Thread) -> None:
        run = self.run

        def run_in_mode() -> None:
            with mode:
                run()

        self.run = run_in_mode  # type: ignore[method-assign]
        start(self)

    Thread.start = entered  # type: ignore[method-assign]


def _patch_default_device(to_meta: Callable[[Any], Any]) -> None:
    """Handle ``torch.set_default_device``, whose mode runs after every other one."""
    construct = DeviceContext.__torch_function__

    def patched(
        self: Any, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if torch.compiler.is_compiling():  # in a trace, tensors are on "cuda" already
            return construct(self, func, types, args, kwargs)
        device, self.device = self.device, to_meta(self.device)
        try:
            return construct(self, func, types, args, kwargs)
        finally:
            self.device = device

    # TorchDynamo traces it too, and treats a function by the file that it is from.
    filename = construct.__code__.co_filename
    patched.__code__ = patched.__code__.replace(co_filename=filename)
    DeviceContext.__torch_function__ = patched
