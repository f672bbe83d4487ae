"""Install the fake CUDA device, and dispatch the program's calls to it.

Tensors on "cuda" become PyTorch's meta tensors: they have a shape, strides, a dtype and offsets,
take no memory, and hold no values. To the program they are on "cuda". Asking for a value raises
``NoValueError``; comparisons of outputs are assumed to succeed, and counted.
"""

import re
from collections.abc import Callable
from typing import Any

import torch
import triton.testing
from torch._ops import OpOverload, OpOverloadPacket
from torch.overrides import TorchFunctionMode, resolve_name

from irlens.compiler.fake_cuda import Deviations, NoValueError
from irlens.compiler.fake_cuda.attention import install_attention
from irlens.compiler.fake_cuda.autocast import install_autocast
from irlens.compiler.fake_cuda.device import register_device
from irlens.compiler.fake_cuda.inductor import disable_compile, install_compile
from irlens.compiler.fake_cuda.propagation import CustomOperators, install_mode
from irlens.compiler.fake_cuda.runtime import GpuFacts, install_runtime

_META = torch.device("meta")
#: In PyTorch's errors about tensors without values.
_META_ERROR = re.compile(r"(?<![a-z])meta(?![a-z])", re.IGNORECASE)


def install_fake_cuda(facts: GpuFacts, deviations: Deviations) -> None:
    """Install a fake CUDA device for the whole process.

    Args:
        facts: The GPU.
        deviations: Counts what runs differently from a GPU from now on.
    """
    install_runtime(facts)
    _accept_device_numbers()
    install_autocast()
    if register_device():
        install_compile(_FakeCudaMode, deviations)
    else:
        disable_compile(deviations)

    def assert_close(*args: object, **kwargs: object) -> None:
        deviations.compared += 1

    torch.testing.assert_close = assert_close
    torch.testing.assert_allclose = assert_close
    triton.testing.assert_close = assert_close
    is_amd = facts.target.vendor == "amd"
    capability = torch.cuda.get_device_capability()
    install_attention(capability, is_amd=is_amd, deviations=deviations)
    install_mode(_FakeCudaMode(deviations), _to_meta)


class _FakeCudaMode(TorchFunctionMode):  # type: ignore[misc]  # mypy does not follow torch
    """Turns "cuda" into "meta" in arguments, and "meta" into "cuda" in the program's queries."""

    def __init__(self, deviations: Deviations) -> None:
        super().__init__()
        self._deviations = deviations

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        keywords = kwargs or {}
        # Constructing a device needs no GPU, and PyTorch's fake tensors have their own device.
        if func is torch.device or _is_tracing():
            return func(*args, **keywords)
        if func in _COMPARISONS and any(_is_fake(each) for each in args):
            self._deviations.compared += 1
            return True
        if args and isinstance(args[0], torch.Tensor):
            if args[0].is_meta:
                if func in _ANSWERS:
                    return _ANSWERS[func](*args, **keywords)
                if func in _VALUE_READS:
                    raise NoValueError(_name(func))
            if func == torch.Tensor.cuda:
                return args[0].to(_META)
            if func == torch.Tensor.pin_memory:  # needs the GPU's runtime
                return _pinned(args[0])
            if func == torch.Tensor.is_pinned:
                return args[0].untyped_storage().data_ptr() in _PINNED
        positional = _positional_arguments(func, args)
        named = {name: _named_argument(name, value) for name, value in keywords.items()}
        try:
            result = self._call(func, *positional, **named)
            return _pinned(result) if keywords.get("pin_memory") is True else result
        except (NotImplementedError, RuntimeError) as error:
            # The implementation needs a value: the size of a masked selection, a scalar's truth.
            if _META_ERROR.search(str(error)) and not isinstance(error, NoValueError):
                raise NoValueError(_name(func)) from error
            raise

    def _call(self, func: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(func, OpOverload | OpOverloadPacket):
            with CustomOperators(self):
                return func(*args, **kwargs)
        return func(*args, **kwargs)


def _is_tracing() -> bool:
    """Whether TorchDynamo or TorchInductor traces with PyTorch's fake tensors."""
    return torch._C._get_dispatch_mode(torch._C._TorchDispatchModeKey.FAKE) is not None


def _positional_arguments(func: Any, args: Any) -> list[Any]:
    """Return positional arguments with "meta" for "cuda"."""
    if func == torch.Tensor.to:  # its only numbers are devices
        return [_named_argument("device", value) for value in args]
    if isinstance(func, OpOverload | OpOverloadPacket):  # a string need not be a device
        return [value if isinstance(value, str) else _to_meta(value) for value in args]
    return [_to_meta(value) for value in args]


def _is_fake(value: object) -> bool:
    return isinstance(value, torch.Tensor) and bool(value.is_meta)


def _to_meta(value: Any) -> Any:
    """Return "meta" for a "cuda" device, anything else unchanged."""
    if isinstance(value, torch.device):
        return _META if value.type == "cuda" else value
    if isinstance(value, str) and (value == "cuda" or value.startswith("cuda:")):
        return _META
    return value


def _named_argument(name: str, value: Any) -> Any:
    """Return a keyword argument with "meta" for "cuda"; a device may be a number."""
    if name == "pin_memory":  # needs the GPU's runtime
        return False
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return _META if name == "device" and is_number else _to_meta(value)


#: Addresses of CPU memory that the program has pinned, which a GPU could access.
_PINNED: set[int] = set()


def _pinned(tensor: torch.Tensor) -> torch.Tensor:
    """Return the tensor; if it is on the CPU, mark its memory as pinned."""
    if not tensor.is_meta:
        _PINNED.add(tensor.untyped_storage().data_ptr())
    return tensor


def _to(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
    """Convert like ``Tensor.to``, but keep the device: there are no values to copy."""
    kwargs.pop("copy", None)
    _, dtype, _, memory_format = torch._C._nn._parse_to(*args, **kwargs)
    if dtype is not None:
        tensor = tensor.type(dtype)
    return tensor if memory_format is None else tensor.contiguous(memory_format=memory_format)


def _type(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
    """Convert like ``Tensor.type``, or return the name of the tensor's type on the GPU."""
    result = tensor.type(*args, **kwargs)
    return result.replace("torch.meta.", "torch.cuda.") if isinstance(result, str) else result


def _unchanged(tensor: torch.Tensor, *args: object, **kwargs: object) -> torch.Tensor:
    return tensor


def _repr(tensor: torch.Tensor, *_: object, **__: object) -> str:
    """Return a tensor's text in any format; it has no numbers."""
    return repr(tensor).replace("device='meta'", "device='cuda:0'")


#: Replacements of functions for fake tensors.
_ANSWERS: dict[Any, Callable[..., Any]] = {
    torch.Tensor.is_cuda.__get__: lambda tensor, *_: True,
    torch.Tensor.is_meta.__get__: lambda tensor, *_: False,
    torch.Tensor.device.__get__: lambda tensor, *_: torch.device("cuda", 0),
    torch.Tensor.get_device: lambda tensor: 0,
    torch.Tensor.to: _to,
    torch.Tensor.type: _type,
    torch.Tensor.cpu: _unchanged,
    torch.Tensor.cuda: _unchanged,
    torch.Tensor.pin_memory: _unchanged,
    torch.Tensor.__repr__: _repr,
    torch.Tensor.__format__: _repr,
}

#: Functions that read values.
_VALUE_READS = frozenset(
    getattr(torch.Tensor, name)
    for name in (
        "item", "tolist", "numpy", "__bool__", "__int__", "__float__", "__index__", "__complex__",
        "__array__", "__dlpack__", "__dlpack_device__",
    )
)  # fmt: skip

_COMPARISONS = frozenset({torch.allclose, torch.equal, torch.Tensor.allclose, torch.Tensor.equal})


def _name(function: Any) -> str:
    """Return the name of a PyTorch function: "torch.Tensor.item"."""
    return str(resolve_name(function) or getattr(function, "__name__", function))


def _accept_device_numbers() -> None:
    """Make ``.to(0)`` mean the GPU, as on a machine that has one."""
    parse = torch._C._nn._parse_to

    def patched(*args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], int):
            args = (torch.device("cuda", args[0]), *args[1:])
        return parse(*args, **kwargs)

    torch._C._nn._parse_to = patched
