"""PyTorch on a machine without a GPU, for programs that take one for granted.

Tensors on "cuda" become PyTorch's meta tensors: they have a shape, strides, a dtype and offsets,
take no memory, and hold no values. To the program they say that they are on "cuda". What asks for
a value raises ``NoValueError``; that two outputs are alike is taken for granted, and counted.
"""

import re
from collections.abc import Callable
from typing import Any

import torch
import triton.testing
from torch._ops import OpOverload, OpOverloadPacket
from torch.overrides import TorchFunctionMode, resolve_name

from irlens.compiler.fake_cuda import Liberties, NoValueError
from irlens.compiler.fake_cuda.attention import choose_attention
from irlens.compiler.fake_cuda.autocast import autocast_absent
from irlens.compiler.fake_cuda.compile import compile_for_absent, compile_nothing
from irlens.compiler.fake_cuda.device import pretend_device
from irlens.compiler.fake_cuda.reach import OwnOperators, pretend_everywhere
from irlens.compiler.fake_cuda.runtime import GpuFacts, pretend_runtime

_META = torch.device("meta")
#: In what PyTorch complains of where a tensor has no values.
_OF_META = re.compile(r"(?<![a-z])meta(?![a-z])", re.IGNORECASE)


def pretend_gpu(facts: GpuFacts, liberties: Liberties) -> None:
    """Make PyTorch believe that there is a GPU, in the whole process and for good.

    Args:
        facts: The GPU.
        liberties: Counts, from now on, what is done otherwise than there.
    """
    pretend_runtime(facts)
    _number_devices()
    autocast_absent()
    if pretend_device():
        compile_for_absent(_AbsentTensors, liberties)
    else:
        compile_nothing(liberties)

    def alike(*args: object, **kwargs: object) -> None:
        liberties.compared += 1

    torch.testing.assert_close = alike
    torch.testing.assert_allclose = alike
    triton.testing.assert_close = alike
    choose_attention(
        torch.cuda.get_device_capability(), is_amd=facts.target.vendor == "amd", liberties=liberties
    )
    mode = _AbsentTensors(liberties)
    pretend_everywhere(mode, _there)
    mode.__enter__()


class _AbsentTensors(TorchFunctionMode):  # type: ignore[misc]  # mypy does not follow torch
    """Turns "cuda" into "meta" on the way in, and back where a program asks."""

    def __init__(self, liberties: Liberties) -> None:
        super().__init__()
        self._liberties = liberties

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        given = kwargs or {}
        # A device can be named that is not there; and a fake tensor knows its own.
        if func is torch.device or _is_faking():
            return func(*args, **given)
        if func in _COMPARISONS and any(_is_absent(each) for each in args):
            self._liberties.compared += 1
            return True
        if args and isinstance(args[0], torch.Tensor):
            if args[0].is_meta:
                if func in _ANSWERS:
                    return _ANSWERS[func](*args, **given)
                if func in _VALUES:
                    raise NoValueError(_name(func))
            if func == torch.Tensor.cuda:
                return args[0].to(_META)
            if func == torch.Tensor.pin_memory:  # needs the GPU's runtime
                return _pinned(args[0])
            if func == torch.Tensor.is_pinned:
                return args[0].untyped_storage().data_ptr() in _PINNED
        named = {name: _named(name, value) for name, value in given.items()}
        placed = _placed(func, args)
        try:
            made = self._pass_on(func, *placed, **named)
            return _pinned(made) if given.get("pin_memory") is True else made
        except (NotImplementedError, RuntimeError) as error:
            # Deeper down it is asked for one: a mask's number of elements, a scalar's truth.
            if _OF_META.search(str(error)) and not isinstance(error, NoValueError):
                raise NoValueError(_name(func)) from error
            raise

    def _pass_on(self, func: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(func, OpOverload | OpOverloadPacket):
            with OwnOperators(self):
                return func(*args, **kwargs)
        return func(*args, **kwargs)


def _is_faking() -> bool:
    """Whether tensors are fake here: TorchDynamo and TorchInductor trace."""
    return torch._C._get_dispatch_mode(torch._C._TorchDispatchModeKey.FAKE) is not None


def _placed(func: Any, args: Any) -> list[Any]:
    """Return what stands for the arguments without a name."""
    if func == torch.Tensor.to:  # it takes no numbers but devices'
        return [_named("device", value) for value in args]
    if isinstance(func, OpOverload | OpOverloadPacket):  # a text may be any to an operator
        return [value if isinstance(value, str) else _there(value) for value in args]
    return [_there(value) for value in args]


def _is_absent(value: object) -> bool:
    return isinstance(value, torch.Tensor) and bool(value.is_meta)


def _there(value: Any) -> Any:
    """Return what stands for a device that is named, and all else as it is."""
    if isinstance(value, torch.device):
        return _META if value.type == "cuda" else value
    if isinstance(value, str) and (value == "cuda" or value.startswith("cuda:")):
        return _META
    return value


def _named(name: str, value: Any) -> Any:
    """Return what stands for an argument, which may be a device by its number."""
    if name == "pin_memory":  # needs the GPU's runtime
        return False
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return _META if name == "device" and is_number else _there(value)


#: Where the memory lies that the GPU could reach on the CPU.
_PINNED: set[int] = set()


def _pinned(tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor, and remember of one on the CPU that the GPU could reach it."""
    if not tensor.is_meta:
        _PINNED.add(tensor.untyped_storage().data_ptr())
    return tensor


def _to(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
    """Convert as ``Tensor.to`` does, but leave the tensor where it is: it has no values to move."""
    kwargs.pop("copy", None)
    _, dtype, _, memory_format = torch._C._nn._parse_to(*args, **kwargs)
    if dtype is not None:
        tensor = tensor.type(dtype)
    return tensor if memory_format is None else tensor.contiguous(memory_format=memory_format)


def _type(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
    """Convert as ``Tensor.type`` does, or return the name of the type that it has on the GPU."""
    answer = tensor.type(*args, **kwargs)
    return answer.replace("torch.meta.", "torch.cuda.") if isinstance(answer, str) else answer


def _stay(tensor: torch.Tensor, *args: object, **kwargs: object) -> torch.Tensor:
    return tensor


def _shown(tensor: torch.Tensor, *_: object, **__: object) -> str:
    """Return what is printed of a tensor, in whatever format: no number."""
    return repr(tensor).replace("device='meta'", "device='cuda:0'")


#: What is answered otherwise of a tensor that is not there.
_ANSWERS: dict[Any, Callable[..., Any]] = {
    torch.Tensor.is_cuda.__get__: lambda tensor, *_: True,
    torch.Tensor.is_meta.__get__: lambda tensor, *_: False,
    torch.Tensor.device.__get__: lambda tensor, *_: torch.device("cuda", 0),
    torch.Tensor.get_device: lambda tensor: 0,
    torch.Tensor.to: _to,
    torch.Tensor.type: _type,
    torch.Tensor.cpu: _stay,
    torch.Tensor.cuda: _stay,
    torch.Tensor.pin_memory: _stay,
    torch.Tensor.__repr__: _shown,
    torch.Tensor.__format__: _shown,
}

#: What cannot be answered of it.
_VALUES = frozenset(
    getattr(torch.Tensor, name)
    for name in (
        "item", "tolist", "numpy", "__bool__", "__int__", "__float__", "__index__", "__complex__",
        "__array__", "__dlpack__", "__dlpack_device__",
    )
)  # fmt: skip

_COMPARISONS = frozenset({torch.allclose, torch.equal, torch.Tensor.allclose, torch.Tensor.equal})


def _name(function: Any) -> str:
    """Return what a program calls a function of PyTorch's: "torch.Tensor.item"."""
    return str(resolve_name(function) or getattr(function, "__name__", function))


def _number_devices() -> None:
    """Let ``.to(0)`` mean the GPU, as it does where there is one."""
    parse = torch._C._nn._parse_to

    def pretending(*args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], int):
            args = (torch.device("cuda", args[0]), *args[1:])
        return parse(*args, **kwargs)

    torch._C._nn._parse_to = pretending
