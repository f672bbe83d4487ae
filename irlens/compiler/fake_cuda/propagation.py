"""Enter the fake tensors' mode where PyTorch leaves it, and give convolutions a GPU's strides.

PyTorch leaves the mode in the backward pass, in threads and in custom operators.

A ``TorchFunctionMode`` is active in the thread that entered it, and inactive while a function that
it handles runs. Code of the program that is called from there has to enter it again.
"""

import re
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from threading import Thread
from typing import Any

import torch
from torch._ops import OpOverload
from torch._subclasses import fake_tensor
from torch.overrides import TorchFunctionMode
from torch.utils._device import DeviceContext
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack
from torch.utils._pytree import tree_leaves, tree_map

from irlens.compiler.fake_cuda import NoValueError
from irlens.compiler.fake_cuda.device import (
    PLAIN,
    as_torch_fake,
    is_fake,
    kernel_registry,
    overload_of,
    within,
)
from irlens.compiler.fake_cuda.recorded_operators import tensors_in
from irlens.compiler.fake_cuda.values import Values

_META = torch.device("meta")
_CONVOLUTIONS = ("convolution", "_convolution", "convolution_backward")
#: In PyTorch's errors about tensors without values.
META_ERROR = re.compile(r"(?<![a-z])meta(?![a-z])", re.IGNORECASE)
#: Keys under which PyTorch registers an operator's kernel for CUDA tensors.
_CUDA_KEYS = ("CUDA", "CompositeExplicitAutograd")
_CUDA = torch._C.DispatchKeySet(torch._C.DispatchKey.CUDA)


def install_mode(mode: TorchFunctionMode, values: Values, to_meta: Callable[[Any], Any]) -> None:
    """Install a mode for the whole process; ``to_meta`` returns "meta" for a "cuda" device."""
    _enter_in_backward(mode, values)
    _enter_in_autograd_kernels(mode)
    _enter_in_saved_tensor_hooks(mode)
    _enter_in_threads(mode)
    _patch_default_device(to_meta)
    mode.__enter__()


def operators(mode: TorchFunctionMode, values: Values) -> AbstractContextManager[object]:
    """Return a context in which operators on fake tensors run and are recorded, once each."""
    stack = _get_current_dispatch_mode_stack()
    is_active = any(isinstance(each, FakeOperators) for each in stack)
    return nullcontext() if is_active else FakeOperators(mode, values)


class FakeOperators(TorchDispatchMode):  # type: ignore[misc]  # mypy does not follow torch
    """Runs operators on fake tensors, and records them for ``Values``.

    It runs the program's Python kernels for CUDA tensors instead of those for "meta" tensors: the
    latter, "fake" implementations, create outputs and launch nothing. An operator whose results
    depend on values runs on the CPU.

    Args:
        mode: The mode of fake tensors, for the program's kernels.
    """

    supports_higher_order_operators = True

    def __init__(self, mode: TorchFunctionMode, values: Values) -> None:
        super().__init__()
        self._mode = mode
        self._values = values

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """Return ``True``: TorchDynamo may compile what an operator calls."""
        return True

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        keywords = kwargs or {}
        tensors = tensors_in((args, keywords))
        if not isinstance(func, OpOverload) or not all(type(each) in PLAIN for each in tensors):
            return func(*args, **keywords)
        on_gpu = any(is_fake(each) for each in tensors)
        creates = keywords.get("device") == _META
        if (on_gpu or creates) and _has_python_kernel(func):
            options = {"device": torch.device("cuda", 0)} if creates else {}
            with self._mode:
                return func.redispatch(_CUDA, *args, **{**keywords, **options})
        try:
            result = func(*args, **keywords)
        except (NotImplementedError, RuntimeError) as error:
            # The implementation needs a value: the size of a masked selection, a scalar's truth.
            if on_gpu and META_ERROR.search(str(error)) and not isinstance(error, NoValueError):
                result = self._values.run(func, args, keywords, str(func))
                self._values.observe(func, args, keywords, result)
                return result
            raise
        if on_gpu or creates:
            self._values.note(func, args, keywords, result)
        return result


def _has_python_kernel(operator: OpOverload) -> bool:
    """Whether an operator's CUDA kernel is a Python function: a C++ one would access memory."""
    namespace, _, name = operator.name().partition("::")
    return any(f"{namespace}/{name}/{key}" in torch.library._impls for key in _CUDA_KEYS)


def _enter_in_backward(mode: TorchFunctionMode, values: Values) -> None:
    """Enter the mode for the program's own ``backward``, its hooks, and recomputed checkpoints."""
    # The engine's threads copy them.
    run = within(torch.autograd._engine_run_backward, lambda: operators(mode, values))
    torch.autograd._engine_run_backward = within(run, lambda: mode)


def _enter_in_autograd_kernels(mode: TorchFunctionMode) -> None:
    """Use the program's kernels for autograd on CUDA with "meta" tensors, and enter the mode."""
    impl = torch.library.Library.impl

    @wraps(impl)
    def registered(
        self: Any, op_name: Any, fn: Any, dispatch_key: str = "", *args: Any, **options: Any
    ) -> Any:
        result = impl(self, op_name, fn, dispatch_key, *args, **options)
        if dispatch_key == "AutogradCUDA" and callable(fn):
            impl(self, op_name, within(fn, lambda: mode), "AutogradMeta", *args, **options)
        return result

    torch.library.Library.impl = registered


def _enter_in_saved_tensor_hooks(mode: TorchFunctionMode) -> None:
    """Enter the mode where an operator's C++ saves tensors for ``backward``, as checkpoints do."""
    hooks = torch.autograd.graph.saved_tensors_hooks
    init = hooks.__init__

    def entered(self: Any, pack_hook: Any, unpack_hook: Any) -> None:
        init(self, within(pack_hook, lambda: mode), unpack_hook)

    hooks.__init__ = entered


def _enter_in_threads(mode: TorchFunctionMode) -> None:
    start = Thread.start

    def entered(self: Thread) -> None:
        self.run = within(self.run, lambda: mode)  # type: ignore[method-assign]
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


def install_convolution() -> None:
    """Make convolutions of "meta" tensors return a GPU's strides, for the whole process.

    The memory format depends on the device's library, which PyTorch chooses for its fake tensors on
    "cuda" and not for "meta": so each convolution runs once with the former.
    """
    with kernel_registry() as kernels:
        for name in _CONVOLUTIONS:
            operator = overload_of(name)
            kernel = operator.py_kernels.get(torch._C.DispatchKey.Meta)
            if kernel is not None:
                # Library.impl would leave "meta" to the operator's decomposition.
                kernels.m.impl(name, "Meta", _formatted(operator, kernel), False)


def _formatted(operator: Any, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel whose results have the strides of those on "cuda"."""

    def convolve(*args: Any, **kwargs: Any) -> Any:
        if any(fake_tensor.is_fake(each) for each in tree_leaves((args, kwargs))):
            return kernel(*args, **kwargs)  # PyTorch chooses the format of its fake tensors
        with torch.no_grad(), fake_tensor.FakeTensorMode():
            fake_args, fake_kwargs = tree_map(as_torch_fake, (args, kwargs))
            result = operator(*fake_args, **fake_kwargs)
        return tree_map(_on_meta, result)

    return convolve


def _on_meta(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")
