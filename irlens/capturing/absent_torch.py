"""PyTorch on a machine without a GPU, for programs that take one for granted.

Tensors on "cuda" become PyTorch's meta tensors: they have a shape, strides, a dtype and offsets,
take no memory, and hold no values. To the program they say that they are on "cuda". What asks for
a value raises ``NoValueError``; that two outputs are alike is taken for granted, and counted.
"""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import msgspec
import torch
from torch.autograd.function import BackwardCFunction
from torch.overrides import TorchFunctionMode, resolve_name

from irlens.capturing.absent import Comparisons, NoValueError
from irlens.model.config import Target

_META = torch.device("meta")


class GpuFacts(msgspec.Struct, frozen=True):
    """What a program may ask ``torch.cuda`` of a GPU.

    Attributes:
        target: What it is.
        name: The product's name as its driver has it.
        properties: Those of ``torch.cuda.get_device_properties`` that are known.
    """

    target: Target
    name: str
    properties: dict[str, int]


def pretend_gpu(facts: GpuFacts) -> Comparisons:
    """Make PyTorch believe that there is a GPU, in this thread and for good.

    Returns:
        What counts the comparisons from now on.
    """
    compared = Comparisons()
    _pretend_runtime(facts)
    _refuse_autocast()

    def alike(*args: object, **kwargs: object) -> None:
        compared.number += 1

    torch.testing.assert_close = alike
    torch.testing.assert_allclose = alike
    mode = _AbsentTensors(compared)
    _pretend_in_backward(mode)
    mode.__enter__()
    return compared


class _AbsentTensors(TorchFunctionMode):  # type: ignore[misc]  # mypy does not follow torch
    """Turns "cuda" into "meta" on the way in, and back where a program asks."""

    def __init__(self, compared: Comparisons) -> None:
        super().__init__()
        self._compared = compared

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        given = kwargs or {}
        if func is torch.device:  # a device can be named that is not there
            return func(*args, **given)
        if args and isinstance(args[0], torch.Tensor):
            if args[0].is_meta:
                if func in _ANSWERS:
                    return _ANSWERS[func](*args, **given)
                if func in _VALUES:
                    raise NoValueError(_name(func))
                if func in _COMPARISONS:
                    self._compared.number += 1
                    return True
            if func == torch.Tensor.cuda:
                return args[0].to(_META)
            if func == torch.Tensor.pin_memory:  # needs the GPU's runtime
                return args[0]
        try:
            return func(
                *map(_there, args), **{name: _there(value) for name, value in given.items()}
            )
        except (NotImplementedError, RuntimeError) as error:
            # Deeper down it is asked for one: a mask's number of elements, a scalar's truth.
            if isinstance(error, NotImplementedError) or "meta tensor" in str(error):
                raise NoValueError(_name(func)) from error
            raise


def _there(value: Any) -> Any:
    """Return what stands for a device that is named, and all else as it is."""
    if isinstance(value, torch.device):
        return _META if value.type == "cuda" else value
    if isinstance(value, str) and (value == "cuda" or value.startswith("cuda:")):
        return _META
    return value


def _to(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
    """Convert as ``Tensor.to`` does, but leave the tensor where it is: it has no values to move."""
    kwargs.pop("copy", None)
    _, dtype, _, memory_format = torch._C._nn._parse_to(*args, **kwargs)
    if dtype is not None:
        tensor = tensor.type(dtype)
    return tensor if memory_format is None else tensor.contiguous(memory_format=memory_format)


def _stay(tensor: torch.Tensor, *args: object, **kwargs: object) -> torch.Tensor:
    return tensor


#: What is answered otherwise of a tensor that is not there.
_ANSWERS: dict[Any, Callable[..., Any]] = {
    torch.Tensor.is_cuda.__get__: lambda tensor, *_: True,
    torch.Tensor.is_meta.__get__: lambda tensor, *_: False,
    torch.Tensor.device.__get__: lambda tensor, *_: torch.device("cuda", 0),
    torch.Tensor.get_device: lambda tensor: 0,
    torch.Tensor.to: _to,
    torch.Tensor.cpu: _stay,
    torch.Tensor.cuda: _stay,
    torch.Tensor.pin_memory: _stay,
}

#: What cannot be answered of it.
_VALUES = frozenset(
    getattr(torch.Tensor, name)
    for name in (
        "item", "tolist", "numpy", "__bool__", "__int__", "__float__", "__index__", "__complex__",
        "__array__",
    )
)  # fmt: skip

_COMPARISONS = frozenset({torch.allclose, torch.equal, torch.Tensor.allclose, torch.Tensor.equal})


def _name(function: Any) -> str:
    """Return what a program calls a function of PyTorch's: "torch.Tensor.item"."""
    return str(resolve_name(function) or getattr(function, "__name__", function))


def _pretend_in_backward(mode: TorchFunctionMode) -> None:
    """Pretend in a program's own ``backward``, too: PyTorch calls it where modes are off."""
    apply = BackwardCFunction.apply

    def pretending(self: Any, *args: Any) -> Any:
        with mode:
            return apply(self, *args)

    BackwardCFunction.apply = pretending


class _Stream:
    """A stream, or an event in one, of a GPU that is not there."""

    cuda_stream = 0
    device = torch.device("cuda", 0)

    def __init__(self, *args: object, **kwargs: object) -> None:
        """Take what a real one takes."""

    def __enter__(self) -> "_Stream":
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing was entered."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return what does nothing: ``synchronize``, ``wait_stream``, ``record``, ..."""
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: None

    def query(self) -> bool:
        """Whether all is done."""
        return True

    def elapsed_time(self, end: object) -> float:
        """Return no number: no time has been measured."""
        return float("nan")


def _pretend_runtime(facts: GpuFacts) -> None:
    """Replace what asks CUDA's or ROCm's runtime."""
    version = _capability(facts.target)
    properties = SimpleNamespace(
        name=facts.name,
        major=version[0],
        minor=version[1],
        gcnArchName=facts.target.arch,
        warp_size=facts.target.warp_size,
        **facts.properties,
    )
    stream = _Stream()
    answers: dict[str, Any] = {
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "init": lambda: None,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "set_device": lambda device: None,
        "get_device_name": lambda device=None: facts.name,
        "get_device_capability": lambda device=None: version,
        "get_device_properties": lambda device=None: properties,
        "is_bf16_supported": lambda including_emulation=True: version >= (8, 0),
        "synchronize": lambda device=None: None,
        "empty_cache": lambda: None,
        "manual_seed": lambda seed: None,
        "manual_seed_all": lambda seed: None,
        "Stream": _Stream,
        "Event": _Stream,
        "device": _Stream,
        "stream": lambda stream: stream or _Stream(),
        "current_stream": lambda device=None: stream,
        "default_stream": lambda device=None: stream,
    }
    for name, answer in answers.items():
        setattr(torch.cuda, name, answer)
    if facts.target.vendor == "amd":
        torch.version.hip = "0.0"


def _capability(target: Target) -> tuple[int, int]:
    """Return major and minor version: 9.0 of sm_90; 9.4 of gfx942, whose 2 is the stepping."""
    if target.vendor == "nvidia":
        number = int(target.arch.removeprefix("sm_"))
        return number // 10, number % 10
    digits = target.arch.removeprefix("gfx")
    return int(digits[:-2]), int(digits[-2], 16)


def _refuse_autocast() -> None:
    """Autocasting chooses dtypes by the device, and would choose none on "meta": say so."""
    enter = torch.autocast.__enter__

    def refuse(self: Any) -> Any:
        if self.device == "cuda" and self._enabled:
            raise NoValueError("torch.autocast('cuda')")
        return enter(self)

    torch.autocast.__enter__ = refuse
