"""Scopes of a kernel's evaluation, and how values are bound to names in them.

A scope covers some of the programs and iterations of its parent.
"""

import re
from collections.abc import Sequence
from typing import Optional

import numpy as np

from irlens.analyze.mlir_loops import place_of
from irlens.analyze.traffic.values import (
    Array,
    Integer,
    Mask,
    Unknown,
    UnknownTrafficError,
    Value,
    materialize,
    taken,
    truth,
)
from irlens.isa.mlir import Block, Operation

#: A reason that begins with its place, as ``place_of`` returns it.
_PLACED = re.compile(r"line \d+: |[^\s:]+:\d+: ")


class Frame:
    """The values of a block, for every instance of it: a program, in one iteration of each loop.

    Args:
        parent: The frame around it, whose values it sees; ``None`` for a function.
        owner: The parent's instance of each instance; ``None`` if they are the same.
        programs: Numbers of the programs, for a frame without a parent.
    """

    def __init__(
        self,
        size: int,
        parent: Optional["Frame"] = None,
        owner: Array | None = None,
        programs: Array | None = None,
    ) -> None:
        self.size = size
        self._parent = parent
        self._owner = owner
        self._programs = programs
        self._values: dict[str, Value] = {}

    @property
    def programs(self) -> Array:
        """The number of each instance's program."""
        if self._programs is None:
            assert self._parent is not None
            outer = self._parent.programs
            self._programs = outer if self._owner is None else outer[self._owner]
        return self._programs

    def read(self, name: str) -> Value:
        """Return a value, of an outer frame if need be."""
        value = self._values.get(name)
        if value is None:
            if self._parent is None:
                return Unknown(f"{name} is not known")
            value = self._parent.read(name)
            if self._owner is not None:
                value = taken(value, self._owner)
            self._values[name] = value
        return value

    def define(self, name: str, value: Value) -> None:
        """Give a name a value."""
        self._values[name] = value

    def inner(self, owner: Array | None = None) -> "Frame":
        """Return a frame for some of the instances, each any number of times; for all if none."""
        return Frame(self.size if owner is None else owner.size, self, owner)


def define(operation: Operation, values: Sequence[Value], frame: Frame) -> None:
    """Give an operation's results their values."""
    names = operation.values
    if len(names) != len(values):
        raise UnknownTrafficError("its results are not understood")
    for name, value in zip(names, values, strict=True):
        frame.define(name, value)


def define_all(operation: Operation, value: Value, frame: Frame) -> None:
    """Give all of an operation's results one value."""
    for name in operation.values:
        frame.define(name, value)


def placed(operation: Operation, reason: str) -> UnknownTrafficError:
    """Return an error with the operation's place, unless it has one already."""
    said = _PLACED.match(reason)
    return UnknownTrafficError(reason if said else f"{place_of(operation)}: {reason}")


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
    if isinstance(value, Integer):
        return materialize(value)
    raise _unknown(value, "a bound of the loop is not understood")


def truth_values(value: Value, size: int) -> Array:
    """Return a condition for each of ``size`` instances.

    Raises:
        UnknownTrafficError: It is not known.
    """
    if isinstance(value, Mask):
        return np.broadcast_to(truth(value), (size,))
    raise _unknown(value, "the condition is not understood")


def _unknown(value: Value, reason: str) -> UnknownTrafficError:
    return UnknownTrafficError(value.reason if isinstance(value, Unknown) else reason)
