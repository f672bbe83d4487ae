"""Install the fake CUDA device, and dispatch the program's calls to it.

Tensors on "cuda" become PyTorch's meta tensors: they have a shape, strides, a dtype and offsets,
take no memory, and hold no values. To the program they are on "cuda". Asking for a value computes
it on the CPU; where a kernel wrote it the program gets a placeholder for a number, and otherwise
``NoValueError``. Comparisons of what a kernel wrote are assumed to succeed, and counted.
"""

import re
from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
import triton.testing
from torch._ops import OpOverload, OpOverloadPacket
from torch.overrides import TorchFunctionMode, resolve_name
from torch.utils._pytree import tree_leaves, tree_map

from irlens.compiler.fake_cuda import Deviations, NoValueError
from irlens.compiler.fake_cuda.attention import install_attention
from irlens.compiler.fake_cuda.autocast import install_autocast
from irlens.compiler.fake_cuda.device import is_fake, register_device
from irlens.compiler.fake_cuda.inductor import disable_compile, install_compile, install_helion
from irlens.compiler.fake_cuda.propagation import (
    META_ERROR,
    install_convolution,
    install_mode,
    operators,
)
from irlens.compiler.fake_cuda.runtime import GpuFacts, install_runtime
from irlens.compiler.fake_cuda.unknown_numbers import (
    UnknownNumber,
    holds_unknown,
    kind_of,
    plain_number,
    time_reader,
)
from irlens.compiler.fake_cuda.values import Observer, Side, Values
from irlens.compiler.triton_compat.drivers import watch_writes

_META = torch.device("meta")


def install_fake_cuda(
    facts: GpuFacts,
    deviations: Deviations,
    assumed: float | None = None,
    observe: Observer | None = None,
) -> Values:
    """Install a fake CUDA device for the whole process, and return the values of its tensors.

    Args:
        assumed: The number that unknown values are assumed to be; ``None`` assumes nothing.
    """
    install_runtime(facts, deviations, time_reader(deviations, assumes=assumed is not None))
    _accept_device_numbers()
    install_autocast(deviations)
    vendor = facts.target.vendor
    values = Values(deviations, assumed)
    if observe is not None:
        values.observe = observe
    mode = _FakeCudaMode(deviations, values)
    if register_device(vendor):
        install_compile(mode, values, deviations)
        install_helion()
    else:
        disable_compile(deviations)

    for testing, name in _ASSERTIONS:
        function = getattr(testing, name)
        setattr(testing, name, _compared(function, None, values, deviations))
    capability = torch.cuda.get_device_capability()
    install_convolution()
    install_attention(capability, vendor, deviations)
    watch_writes(values.written)
    install_mode(mode, values, _to_meta)
    return values


class _FakeCudaMode(TorchFunctionMode):  # type: ignore[misc]  # mypy does not follow torch
    """Turns "cuda" into "meta" in arguments, and "meta" into "cuda" in the program's queries."""

    def __init__(self, deviations: Deviations, values: Values) -> None:
        super().__init__()
        self._deviations = deviations
        self._values = values

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        keywords = kwargs or {}
        # Constructing a device needs no GPU, and PyTorch's fake tensors have their own device.
        if func is torch.device or _is_tracing():
            return func(*args, **keywords)
        if func in _COMPARISONS and any(is_fake(each) for each in args):
            compare = _compared(func, True, self._values, self._deviations)
            return compare(*args, **keywords)
        if args and isinstance(args[0], torch.Tensor):
            answer = self._of_tensor(func, args, keywords)
            if answer is not NotImplemented:
                return answer
        if holds_unknown((args, keywords)):
            return self._call_with_unknown(func, types, args, keywords)
        positional = _positional_arguments(func, args)
        named = {name: _named_argument(name, value) for name, value in keywords.items()}
        try:
            result = self._call(func, *positional, **named)
            return _pinned(result) if keywords.get("pin_memory") is True else result
        except (NotImplementedError, RuntimeError) as error:
            # The implementation needs a value: the size of a masked selection, a scalar's truth.
            if META_ERROR.search(str(error)) and not isinstance(error, NoValueError):
                raise NoValueError(_name(func)) from error
            raise

    def _of_tensor(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Return what a query, a read or a move of a tensor gives, else ``NotImplemented``."""
        tensor = args[0]
        if tensor.is_meta:
            if func in _ANSWERS or func in _MOVES:
                return self._answer(func, args, kwargs)
            is_format = func == torch.Tensor.__format__
            if func in _VALUE_READS or (is_format and not tensor.dim()):
                return self._read(func, *args, **kwargs)
            if is_format and args[1:] == ("",):  # PyTorch formats no more than one number
                return self._answer(torch.Tensor.__repr__, args[:1], {})
            if func in _FINITE:
                return self._is_finite(func, *args, **kwargs)
        if func == torch.Tensor.cuda:
            return self._call(torch.Tensor.to, tensor, _META)
        if func == torch.Tensor.pin_memory:  # needs the GPU's runtime
            return _pinned(tensor)
        if func == torch.Tensor.is_pinned:
            return tensor.untyped_storage().data_ptr() in _PINNED
        return NotImplemented

    def _read(self, func: Any, tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        """Return the values of a fake tensor; placeholders where they are unknown numbers."""
        try:
            values = self._values.read(tensor, _name(func))
        except NoValueError as error:
            stand_in = _STAND_INS.get(func)
            if stand_in is None or tensor.dtype.is_complex or tensor.numel() > _MOST_NUMBERS:
                raise
            self._deviations.unknown += 1
            number = UnknownNumber(kind_of(tensor.dtype), error.reason)
            return stand_in(number, list(tensor.shape), *args)
        return func(values, *args, **kwargs)

    def _is_finite(self, func: Any, tensor: torch.Tensor, *args: Any) -> torch.Tensor:
        """Ask which elements are finite; unknown ones are assumed to be."""
        result: torch.Tensor = self._call(func, tensor, *args)
        with torch._C.DisableTorchFunction():  # to the program, it is on "cuda"
            try:
                self._values.check_known(tensor, _name(func))
            except NoValueError:
                self._deviations.finite += 1
                self._values.fill(result, func in _IS_FINITE)
        return result

    def _call_with_unknown(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Call a function with placeholders for numbers: what it returns is unknown too."""
        name, leaves = _name(func), tree_leaves((args, kwargs))
        found = next(each for each in leaves if isinstance(each, UnknownNumber))
        takes_whole = func in _FROM_PYTHON or _OF_NUMBERS.fullmatch(name)
        if found.kind != "float" and not takes_whole:
            raise NoValueError(name, found.reason)
        plain_args, plain_kwargs = tree_map(plain_number, (args, kwargs))
        result = self.__torch_function__(func, types, plain_args, plain_kwargs)
        given = set(map(id, leaves))

        def unknown(value: Any) -> Any:
            return value if id(value) in given else self._values.unknown(value, found.reason)

        with torch._C.DisableTorchFunction():
            if func in _IN_PLACE or name.endswith("_"):
                self._values.forget(args[0], found.reason)
            return tree_map(unknown, result)

    def _answer(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Return what the program is told of a fake tensor, or a copy on the other device."""
        if func in _ANSWERS:
            return _ANSWERS[func](self._values.side(args[0]), *args, **kwargs)
        with operators(self, self._values):
            return _MOVES[func](self._values, *args, **kwargs)

    def _call(self, func: Any, *args: Any, **kwargs: Any) -> Any:
        with operators(self, self._values):
            if func in _FROM_PYTHON and kwargs.get("device") == _META:
                return func(*args, **{**kwargs, "device": "cpu"}).to(_META)
            if func == torch.Tensor.new_tensor and is_fake(args[0]):
                kwargs = {"dtype": args[0].dtype, **kwargs, "device": "cpu"}
                return torch.tensor(*args[1:], **kwargs).to(_META)
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


def _to(values: Values, tensor: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
    """Convert like ``Tensor.to``; on either device there are no values to copy."""
    kwargs.pop("copy", None)
    like = args[0] if args else kwargs.pop("other", None)
    device, dtype, _, memory_format = torch._C._nn._parse_to(*args, **kwargs)
    if dtype is not None:
        tensor = tensor.type(dtype)
    if memory_format is not None:
        tensor = tensor.contiguous(memory_format=memory_format)
    if device is None:
        return tensor
    if is_fake(like):
        return values.move(tensor, values.side(like))
    return values.move(tensor, "cpu" if device.type == "cpu" else "cuda")


def _type(side: Side, tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
    """Convert like ``Tensor.type``, or return the name of the tensor's type."""
    result = tensor.type(*args, **kwargs)
    place = "torch." if side == "cpu" else "torch.cuda."
    return result.replace("torch.meta.", place) if isinstance(result, str) else result


def _repr(side: Side, tensor: torch.Tensor, *_: object, **__: object) -> str:
    """Return a tensor's text in any format; it has no numbers."""
    return repr(tensor).replace("device='meta'", f"device='{'cpu' if side == 'cpu' else 'cuda:0'}'")


#: Replacements of functions for fake tensors; the first argument is the device that the
#: program sees the tensor on.
_ANSWERS: dict[Any, Callable[..., Any]] = {
    torch.Tensor.is_meta.__get__: lambda side, *_: False,
    torch.Tensor.pin_memory: lambda side, tensor, *_, **__: tensor,
    torch.Tensor.is_cuda.__get__: lambda side, *_: side == "cuda",
    torch.Tensor.is_cpu.__get__: lambda side, *_: side == "cpu",
    torch.Tensor.device.__get__: lambda side, *_: torch.device(
        side, *((0,) if side == "cuda" else ())
    ),
    torch.Tensor.get_device: lambda side, tensor: -1 if side == "cpu" else 0,
    torch.Tensor.type: _type,
    torch.Tensor.__repr__: _repr,
}
#: Replacements that may copy a fake tensor to the other device.
_MOVES: dict[Any, Callable[..., torch.Tensor]] = {
    torch.Tensor.to: _to,
    torch.Tensor.cpu: lambda values, tensor, *_, **__: values.move(tensor, "cpu"),
    torch.Tensor.cuda: lambda values, tensor, *_, **__: values.move(tensor, "cuda"),
}

#: Functions that copy values from Python to a device.
_FROM_PYTHON = frozenset({torch.tensor, torch.as_tensor, torch.asarray})

#: Functions that read values.
_VALUE_READS = frozenset(
    getattr(torch.Tensor, name)
    for name in (
        "item", "tolist", "numpy", "__bool__", "__int__", "__float__", "__index__", "__complex__",
        "__array__", "__dlpack__", "__dlpack_device__",
    )
)  # fmt: skip


def _nested(number: UnknownNumber, shape: list[int]) -> Any:
    """Return placeholders as ``tolist`` nests numbers."""
    if not shape:
        return number
    return [_nested(number, shape[1:]) for _ in range(shape[0])]


#: Results of functions that read values, for unknown ones. Python takes only a plain ``float``.
_STAND_INS: dict[Any, Callable[..., Any]] = {
    torch.Tensor.item: lambda number, shape: number,
    torch.Tensor.tolist: _nested,
    torch.Tensor.__float__: lambda number, shape: float(number),
    torch.Tensor.__format__: lambda number, shape, spec="": format(number, spec),
}
#: Elements of a tensor up to which a program gets placeholders.
_MOST_NUMBERS = 1 << 20

#: Functions that ask whether elements are finite, and those of them that ask so.
_IS_FINITE = frozenset({torch.isfinite, torch.Tensor.isfinite})
_FINITE = _IS_FINITE | {torch.isnan, torch.Tensor.isnan, torch.isinf, torch.Tensor.isinf}

#: Functions that take a whole number for a value, and not for an index, an extent or an axis.
_OF_NUMBERS = re.compile(
    r".*\.(__)?[ri]?(add|sub|rsub|mul|div|truediv|true_divide|floordiv|floor_divide|remainder|mod|pow"
    r"|multiply|divide|subtract|fill|eq|ne|lt|le|gt|ge|new_tensor|tensor|where|clamp|lerp)_*"
)
#: Functions that write to their first argument, beyond those whose names end with "_".
_IN_PLACE = frozenset({torch.Tensor.__setitem__})

#: Assertions about outputs.
_ASSERTIONS = [
    (torch.testing, "assert_close"),
    (torch.testing, "assert_allclose"),
    (triton.testing, "assert_close"),
]

_COMPARISONS = frozenset({torch.allclose, torch.equal, torch.Tensor.allclose, torch.Tensor.equal})


def _compared(
    function: Callable[..., Any], equal: object, values: Values, deviations: Deviations
) -> Callable[..., Any]:
    """Return a comparison that is assumed to return ``equal`` where values are unknown."""
    what = _name(function)

    @wraps(function)
    def compare(*args: Any, **kwargs: Any) -> Any:
        with torch._C.DisableTorchFunction():  # to the program, tensors are on "cuda"
            fakes = [each for each in tree_leaves((args, kwargs)) if is_fake(each)]
            try:
                for each in fakes:  # before any is computed
                    values.check_known(each, what)
                real_args, real_kwargs = tree_map(
                    lambda each: values.read(each, what) if is_fake(each) else each, (args, kwargs)
                )
            except NoValueError:
                deviations.compared += 1
                return equal
        return function(*real_args, **real_kwargs)

    return compare


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
