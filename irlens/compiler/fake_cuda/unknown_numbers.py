"""Placeholders for numbers that a program reads and that only a kernel computes.

A training loop prints its loss and averages it, and decides nothing by it. So a placeholder goes
through arithmetic, formatting and logging, and stops the program only where it decides something: a
comparison, a branch, an index, a conversion to an integer.

It is a ``float`` that is NaN, since code in C takes nothing else for a number: NumPy arrays, JSON,
pickles and ``"%.3f" % loss`` get NaN, and so do ``float(loss)`` and ``complex(loss)``, which Python
allows to return only plain ones. Whether a number is finite is assumed: programs ask that in order
to stop.
"""

import math
import re
from collections.abc import Callable, Iterable
from functools import wraps
from numbers import Real
from typing import Any, ClassVar, NoReturn

from irlens.compiler.fake_cuda import Deviations, NoValueError

#: The part of a format that pads: fill and alignment, and the width.
_PADDING = re.compile(r"(?P<align>.?[<>^=])?[-+ ]?z?#?0?(?P<width>\d*)")
_SAMPLES = {"float": 0.0, "int": 0, "bool": False}


class UnknownNumber(float):
    """A number that only a kernel computes.

    Args:
        kind: The name of its type: "float", "int" or "bool".
        reason: Why it is unknown, as a clause.
    """

    __slots__ = ("kind", "reason")
    deviations: ClassVar[Deviations] = Deviations()
    kind: str
    reason: str

    def __new__(cls, kind: str, reason: str) -> "UnknownNumber":
        """Return a placeholder."""
        self = super().__new__(cls, "nan")
        self.kind = kind
        self.reason = reason
        return self

    def __repr__(self) -> str:
        return f"<unknown {self.kind}>"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        format(_SAMPLES[self.kind], spec)  # a wrong one raises, as on a GPU
        padding = _PADDING.match(spec)
        width = padding["width"] if padding is not None else ""
        align = (padding["align"] or ">").replace("=", ">") if padding is not None and width else ""
        return format(repr(self), f"{align}{width}")

    def __reduce__(self) -> tuple[type[float], tuple[str]]:
        return float, ("nan",)

    def __reduce_ex__(self, protocol: object) -> tuple[type[float], tuple[str]]:
        return self.__reduce__()

    def __copy__(self) -> "UnknownNumber":
        return self

    def __deepcopy__(self, memo: object) -> "UnknownNumber":
        return self

    def __float__(self) -> float:
        return math.nan

    def __complex__(self) -> complex:
        return complex(math.nan)  # pandas asks every float of a column

    def __round__(self, digits: object = None) -> Any:
        return UnknownNumber("int", self.reason) if digits is None else self

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def as_integer_ratio(self) -> NoReturn:
        """Refuse: ``statistics`` and ``fractions`` ask for it."""
        raise NoValueError("float.as_integer_ratio", self.reason)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Answer NumPy: unknown where all inputs are numbers; in an array it becomes NaN."""
        if ufunc.__name__ in _ASSUMED and len(inputs) == 1:
            self.deviations.finite += 1
            return _ASSUMED[ufunc.__name__]
        if any(each in ("d->?", "dd->?") for each in ufunc.types):
            raise NoValueError(f"numpy.{ufunc.__name__}", self.reason)
        if method == "__call__" and not options and all(isinstance(each, Real) for each in inputs):
            return UnknownNumber("float", self.reason)
        plain = [math.nan if isinstance(each, UnknownNumber) else each for each in inputs]
        return getattr(ufunc, method)(*plain, **options)


def _combined(*, divides: bool) -> Callable[..., Any]:
    """Return an arithmetic method, whose result is unknown."""

    def combined(self: UnknownNumber, *others: object) -> Any:
        if not all(isinstance(each, Real) for each in others):
            return NotImplemented  # a tensor knows better
        whole = not divides and all(map(_is_whole, (self, *others)))
        return UnknownNumber("int" if whole else "float", self.reason)

    return combined


def _is_whole(value: object) -> bool:
    if isinstance(value, UnknownNumber):
        return value.kind != "float"
    return hasattr(value, "__index__")


def _deciding(name: str, what: str) -> Callable[..., Any]:
    """Return a method that needs the number."""

    def decided(self: UnknownNumber, *others: object) -> Any:
        __tracebackhide__ = True  # pytest shows the program's own line
        if name in ("__eq__", "__ne__") and not all(isinstance(each, Real) for each in others):
            return NotImplemented
        raise NoValueError(what, self.reason)

    return decided


_ARITHMETIC = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")
for _name in (*_ARITHMETIC, *(f"r{each}" for each in _ARITHMETIC), "neg", "pos", "abs"):
    setattr(UnknownNumber, f"__{_name}__", _combined(divides="truediv" in _name))
for _name, _what in {
    **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge"), "a comparison"),
    "bool": "a condition",
    "int": "int()",
    "index": "an index",
    "floor": "math.floor",
    "ceil": "math.ceil",
    "trunc": "math.trunc",
}.items():
    setattr(UnknownNumber, f"__{_name}__", _deciding(f"__{_name}__", _what))
UnknownNumber.__hash__ = float.__hash__  # type: ignore[method-assign]  # gone with __eq__

#: What is assumed of numbers that are asked whether they are finite.
_ASSUMED = {"isnan": False, "isinf": False, "isfinite": True}
#: Functions of ``math`` whose result is unknown where an argument is.
_FUNCTIONS = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "cbrt", "pow", "fabs", "fmod",
    "tanh", "sin", "cos", "atan", "erf", "hypot", "fsum",
)  # fmt: skip


def install_math(deviations: Deviations) -> None:
    """Let functions of ``math`` take placeholders; before PyTorch looks at them."""
    UnknownNumber.deviations = deviations
    for name in _FUNCTIONS:
        if hasattr(math, name):
            setattr(math, name, _unknown_result(getattr(math, name)))
    for name, result in _ASSUMED.items():
        setattr(math, name, _assumed_result(getattr(math, name), result, deviations))
    math.isclose = _refused(math.isclose)


def _unknown(arguments: Iterable[object]) -> UnknownNumber | None:
    """Return the first placeholder of arguments."""
    return next((each for each in arguments if isinstance(each, UnknownNumber)), None)


def _unknown_result(function: Any) -> Any:
    """Return a function whose result is unknown where an argument is."""

    @wraps(function)
    def called(*args: Any) -> Any:
        found = _unknown(args)
        return function(*args) if found is None else UnknownNumber("float", found.reason)

    return called


def _assumed_result(function: Any, result: bool, deviations: Deviations) -> Any:
    """Return a function with an assumed result for placeholders."""

    @wraps(function)
    def called(value: Any, /) -> bool:
        if _unknown([value]) is None:
            return bool(function(value))
        deviations.finite += 1
        return result

    return called


def _refused(function: Any) -> Any:
    """Return a function that takes no placeholders."""

    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        found = _unknown((*args, *kwargs.values()))
        if found is not None:
            raise NoValueError(f"math.{function.__name__}", found.reason)
        return function(*args, **kwargs)

    return called


def plain_number(value: Any) -> Any:
    """Return a number of a placeholder's type for a placeholder, anything else unchanged."""
    if not isinstance(value, UnknownNumber):
        return value
    return math.nan if value.kind == "float" else _SAMPLES[value.kind]


def holds_unknown(arguments: Any) -> bool:
    """Whether placeholders are among the arguments of a call, or in their lists."""
    if not (UnknownNumber.deviations.unknown or UnknownNumber.deviations.timed):
        return False
    if isinstance(arguments, dict):
        arguments = arguments.values()
    elif not isinstance(arguments, tuple | list):
        return type(arguments) is UnknownNumber
    return any(map(holds_unknown, arguments))


def time_reader(deviations: Deviations, *, assumes: bool) -> Callable[[], float]:
    """Return the function that answers with the time of what a program measures, in milliseconds.

    Args:
        assumes: Whether to answer with 1, which programs can divide by, instead of a placeholder.
    """

    def read() -> float:
        deviations.timed += 1
        return 1.0 if assumes else UnknownNumber("float", "and nothing is timed without a GPU")

    return read


def kind_of(dtype: Any) -> str:
    """Return the type of the number that an element of a tensor becomes."""
    if dtype.is_floating_point:
        return "float"
    return "bool" if str(dtype) == "torch.bool" else "int"
