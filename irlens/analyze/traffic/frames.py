"""Scopes of a kernel's evaluation, each over some of the programs and iterations of its parent."""

from typing import Optional

from irlens.analyze.traffic.values import Array, Unknown, Value, taken


class Frame:
    """The values of a block, for every instance of it: a program, in one iteration of each loop.

    Args:
        size: Number of instances.
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
