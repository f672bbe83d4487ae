"""Binds values to names, and reads conditions and bounds from them."""

from collections.abc import Sequence

import numpy as np

from irlens.analyze.traffic.frames import Frame
from irlens.analyze.traffic.values import (
    Array,
    Integer,
    Mask,
    Unknown,
    UnknownTrafficError,
    Value,
    materialize,
    truth,
)
from irlens.isa.mlir import Block, Operation


def result_names(operation: Operation) -> list[str]:
    """Return the names of an operation's results, one for each value."""
    return [
        name if count == 1 else f"{name}#{number}"
        for name, count in operation.results
        for number in range(count)
    ]


def define(operation: Operation, values: Sequence[Value], frame: Frame) -> None:
    """Give an operation's results their values."""
    names = result_names(operation)
    if len(names) != len(values):
        raise UnknownTrafficError("its results are not understood")
    for name, value in zip(names, values, strict=True):
        frame.define(name, value)


def define_all(operation: Operation, value: Value, frame: Frame) -> None:
    """Give all of an operation's results one value."""
    for name in result_names(operation):
        frame.define(name, value)


def placed(operation: Operation, reason: str) -> UnknownTrafficError:
    """Return an error with the operation's line, unless it has a line already."""
    said = reason.startswith("line ")
    return UnknownTrafficError(reason if said else f"line {operation.span.line}: {reason}")


def bind(block: Block, values: Sequence[Value], frame: Frame) -> None:
    """Give a block's arguments their values.

    Raises:
        UnknownTrafficError: They are not as many.
    """
    if len(block.arguments) != len(values):
        raise UnknownTrafficError("its arguments are not understood")
    for argument, value in zip(block.arguments, values, strict=True):
        frame.define(argument.name, value)


def scalar(value: Value) -> Array:
    """Return a loop's bound for each instance, or for all.

    Raises:
        UnknownTrafficError: It is not known.
    """
    if isinstance(value, Unknown):
        raise UnknownTrafficError(value.reason)
    if not isinstance(value, Integer):
        raise UnknownTrafficError("a bound of the loop is not understood")
    return materialize(value)


def truth_values(value: Value, size: int) -> Array:
    """Return a condition for each of ``size`` instances.

    Raises:
        UnknownTrafficError: It is not known.
    """
    if isinstance(value, Unknown):
        raise UnknownTrafficError(value.reason)
    if not isinstance(value, Mask):
        raise UnknownTrafficError("the condition is not understood")
    return np.broadcast_to(truth(value), (size,))
