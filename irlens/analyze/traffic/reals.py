"""Floating-point operations that indices are computed with, as in interpolation.

Only what follows from integers is computed; a constant alone stays unknown to all other
operations, so that accumulators, which begin with one, are data.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irlens.analyze.mlir_loops import place_of
from irlens.analyze.traffic.values import (
    Array,
    Integer,
    Mask,
    Real,
    Unknown,
    Value,
    check_size,
    materialize,
    separated,
    truth,
)
from irlens.isa.mlir import Operation
from irlens.isa.mlir.operations import Deed
from irlens.isa.mlir.types import Scalar, Type

#: The numbers that a type is computed with.
_TYPES: dict[Type, Any] = {Scalar("f32"): np.float32, Scalar("f64"): np.float64}
#: Integers beyond these are not converted.
_MOST = float(1 << 62)


class Literal(Unknown, frozen=True):
    """A constant or an argument, which only the operations of this module know."""

    number: float = 0.0


def literal(operation: Operation) -> Literal | None:
    """Return a constant of a type that is computed with; ``None`` for others."""
    if operation.operand_type.element not in _TYPES:
        return None
    try:
        number = float(operation.literal)
    except ValueError:
        return None
    return Literal(f"{place_of(operation)}: arith.constant is not evaluated", number=number)


def _from_integer(operation: Operation, operands: Sequence[Value]) -> Value | None:
    (value,) = operands
    kind = _TYPES.get(operation.result_type.element)
    if not isinstance(value, Integer) or kind is None:
        return None
    return Real(materialize(value).astype(kind))


def _to_integer(operation: Operation, operands: Sequence[Value]) -> Value | None:
    (value,) = operands
    bits = operation.result_type.element.bits or 64
    most = min(_MOST, float(1 << bits - 1))
    if not isinstance(value, Real) or not (np.abs(value.array) < most).all():
        return None
    return separated(np.trunc(value.array).astype(np.int64))


def _arrays(operands: Sequence[Value]) -> list[Array] | None:
    """Return operands as arrays of one type; ``None`` if one is unknown or all are constants."""
    reals = [each.array for each in operands if isinstance(each, Real)]
    if not reals or not all(isinstance(each, Real | Literal) for each in operands):
        return None
    numbers = [
        each.array if isinstance(each, Real) else reals[0].dtype.type(each.number)
        for each in operands
        if isinstance(each, Real | Literal)
    ]
    check_size(*reals)
    return numbers


def _computed(operation: Operation, operands: Sequence[Value]) -> Value | None:
    arrays = _arrays(operands)
    if arrays is None:
        return None
    with np.errstate(all="ignore"):
        return Real(_FUNCTIONS[operation.does](*arrays))


def _compared(operation: Operation, operands: Sequence[Value]) -> Value | None:
    arrays = _arrays(operands)
    compare = _COMPARE.get(operation.words[0])
    return None if arrays is None or compare is None else Mask((np.asarray(compare(*arrays)),))


def chosen(condition: Mask, left: Value, right: Value) -> Value | None:
    """Return which of two numbers a condition selects; ``None`` if they are not known."""
    arrays = _arrays((left, right))
    if arrays is None:
        return None
    held = truth(condition)
    check_size(held, *arrays)
    return Real(np.where(held, *arrays))


_FUNCTIONS: dict[Deed | None, Callable[..., Array]] = {
    "add float": np.add,
    "subtract float": np.subtract,
    "multiply float": np.multiply,
    "divide float": np.divide,
    "maximum float": np.maximum,
    "maximum number": np.fmax,
    "minimum float": np.minimum,
    "minimum number": np.fmin,
    "floor": np.floor,
    "ceil": np.ceil,
}
_COMPARE: dict[str, Callable[..., Array]] = {
    "oeq": np.equal,
    "une": np.not_equal,
    "ogt": np.greater,
    "oge": np.greater_equal,
    "olt": np.less,
    "ole": np.less_equal,
}
#: How operations of floating-point numbers are computed.
FUNCTIONS: dict[Deed | None, Callable[[Operation, Sequence[Value]], Value | None]] = {
    **dict.fromkeys(_FUNCTIONS, _computed),
    **dict.fromkeys(("to float", "unsigned to float"), _from_integer),
    **dict.fromkeys(("from float", "unsigned from float"), _to_integer),
    "compare float": _compared,
}
