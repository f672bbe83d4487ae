"""Counted loops: which instances run, and the values that they carry, in closed form."""

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from irlens.analyze.traffic.accesses import ALL
from irlens.analyze.traffic.frames import Frame
from irlens.analyze.traffic.values import (
    Array,
    BlockPointer,
    Integer,
    Pointer,
    Unknown,
    UnknownTrafficError,
    Value,
    add,
    integer,
    is_zero,
    merged,
    multiply,
    subtract,
    taken,
)
from irlens.isa.mlir import Block, Module, Operation


class NotAffineError(Exception):
    """A loop carries a value that does not change by the same amount in every iteration."""

    def __init__(self, operation: int) -> None:
        super().__init__(operation)
        self.operation = operation


class Counted(msgspec.Struct, frozen=True):
    """An ``scf.for``.

    Attributes:
        low: First value of the induction variable, of each instance or of all.
        initial: The carried values' first values.
    """

    operation: Operation
    low: Array
    step: Array
    trips: Array
    initial: list[Value]
    yields: tuple[str, ...]

    @property
    def block(self) -> Block:
        """The body."""
        return self.operation.regions[0].blocks[0]

    def induction(self, rows: Array, iteration: "Array | int") -> Integer:
        """Return the induction variable of some instances."""
        return integer(_at(self.low, rows) + iteration * _at(self.step, rows))

    def instances(self, running: Array, at_once: int) -> Iterator[tuple[Array, Array]]:
        """Yield the body's instances: positions in ``running``, and iterations."""
        trips = self.trips[running]
        ends = np.cumsum(trips)
        rows = np.arange(trips.size)
        for begin in range(0, int(ends[-1]), at_once):
            end = min(begin + at_once, int(ends[-1]))
            owner = np.repeat(rows, ends.clip(begin, end) - (ends - trips).clip(begin, end))
            yield owner, np.arange(begin, end, dtype=np.int64) - (ends - trips)[owner]


def counted(
    operation: Operation,
    module: Module,
    bounds: Sequence[Array],
    initial: list[Value],
    size: int,
) -> Counted:
    """Return a loop with the iterations of each of ``size`` instances.

    Raises:
        UnknownTrafficError: The loop is not understood.
    """
    low, high, step = bounds
    if (step <= 0).any():
        raise UnknownTrafficError("the step of the loop is not positive")
    trips = np.maximum(0, -((low - high) // step))
    block = operation.regions[0].blocks[0]
    last = module.operations[block.operations[-1]] if block.operations else None
    yields = last.operands if last is not None and last.does == "yield" else ()
    if len(yields) != len(initial) or len(block.arguments) != len(initial) + 1:
        raise UnknownTrafficError("the values that the loop carries are not understood")
    trips = np.broadcast_to(trips, (size,))
    return Counted(operation, low, step, trips, initial, yields)


def needed(module: Module, loop: Operation, wanted: frozenset[str]) -> list[Operation]:
    """Return the operations of a loop's body that some of its values depend on, in order."""
    names, found = set(wanted), []
    for index in reversed(loop.regions[0].blocks[0].operations):
        operation = module.operations[index]
        if not names.isdisjoint(operation.values):
            found.append(operation)
            for each in (operation, *module.body(operation)):
                names.update(each.operands)
    return found[::-1]


def waits(module: Module, loop: Operation) -> bool:
    """Whether a while loop reads the same addresses until other programs have written there.

    Work that programs take by an atomic, too, moves on with what that returns, or stores.
    """
    blocks = [block for region in loop.regions for block in region.blocks]
    changing = {argument.name for block in blocks for argument in block.arguments}
    reads = False
    for each in module.body(loop):
        if each.name in ALL:
            if each.does not in ("load", "atomic") or each.operands[0] in changing:
                return False
            reads = True
        if each.does in ("call", "partition"):
            return False
        if each.name in ALL or not changing.isdisjoint(each.operands):
            changing.update(each.values)
    return reads


class Steps:
    """The values that a loop carries, as their first value and what each iteration adds.

    Args:
        running: The instances that have iterations; all rows here count among these.

    Attributes:
        wanted: What the body yields for values that are known and not carried unchanged.
    """

    def __init__(self, loop: Counted, running: Array) -> None:
        self._loop = loop
        self._running = running
        self._first = [taken(each, running) for each in loop.initial]
        self._names = [each.name for each in loop.block.arguments]
        self._changes: list[Value | None] = [None] * len(self._first)
        self.wanted = frozenset(
            name
            for name, argument, value in zip(loop.yields, self._names[1:], self._first, strict=True)
            if name != argument and not isinstance(value, Unknown)
        )

    def enter(
        self, frame: Frame, owner: Array | None = None, iteration: Array | None = None
    ) -> None:
        """Define the body's arguments.

        Args:
            owner: Row of each of its instances; ``None`` if they are the same.
            iteration: Iteration of each; ``None`` for the first.
        """
        rows = self._running if owner is None else self._running[owner]
        at: Array = np.zeros(1, np.int64) if iteration is None else iteration
        frame.define(self._names[0], self._loop.induction(rows, at))
        for name, first, change in zip(self._names[1:], self._first, self._changes, strict=True):
            value, added = first, change
            if owner is not None:
                value = taken(first, owner)
                added = None if change is None else taken(change, owner)
            if iteration is not None and added is not None:
                value = _moved(value, added, iteration)
            frame.define(name, value)

    def learn(self, yielded: Sequence[Value]) -> None:
        """Take what the first iteration yields.

        Raises:
            NotAffineError: A value is no sum of its first value and a change.
        """
        for n, (name, value) in enumerate(zip(self._loop.yields, yielded, strict=True)):
            if name in self.wanted:
                self._changes[n] = self._difference(value, self._first[n])

    def check(self, yielded: Sequence[Value], frame: Frame, owner: Array) -> None:
        """Check that an evaluation of the body yields what the next iteration was given.

        Raises:
            NotAffineError: It does not.
        """
        for argument, change, value in zip(self._names[1:], self._changes, yielded, strict=True):
            if change is None or isinstance(change, Unknown):
                continue
            added = self._difference(value, frame.read(argument))
            if not _equal(added, taken(change, owner)):
                raise NotAffineError(self._loop.operation.index)

    def results(self, size: int) -> list[Value]:
        """Return the loop's results, of all its instances."""
        loop, running = self._loop, self._running
        rest = np.flatnonzero(loop.trips == 0)
        found: list[Value] = []
        for first, value, change in zip(self._first, loop.initial, self._changes, strict=True):
            if change is None:
                found.append(value)
                continue
            last = _moved(first, change, loop.trips[running])
            found.append(merged(size, [(running, last), (rest, taken(value, rest))]))
        return found

    def _difference(self, value: Value, other: Value) -> Value:
        if isinstance(value, Unknown):
            return value
        if isinstance(value, Integer) and isinstance(other, Integer):
            return subtract(value, other)
        if isinstance(value, Pointer) and isinstance(other, Pointer):
            if value.argument == other.argument:
                return Pointer(value.argument, subtract(value.offset, other.offset))
            raise NotAffineError(self._loop.operation.index)
        if not isinstance(value, BlockPointer) or not isinstance(other, BlockPointer):
            raise NotAffineError(self._loop.operation.index)
        offsets = map(subtract, value.offsets, other.offsets)
        return BlockPointer(value.descriptor, tuple(offsets))


def _moved(value: Value, change: Value, iteration: Array) -> Value:
    """Return a value after some iterations."""
    if isinstance(value, Integer) and isinstance(change, Integer):
        return _sum(value, change, iteration)
    if isinstance(value, Pointer) and isinstance(change, Pointer):
        return Pointer(value.argument, _sum(value.offset, change.offset, iteration))
    if isinstance(value, BlockPointer) and isinstance(change, BlockPointer):
        offsets = zip(value.offsets, change.offsets, strict=True)
        return BlockPointer(
            value.descriptor, tuple(_sum(one, two, iteration) for one, two in offsets)
        )
    return change if isinstance(change, Unknown) else Unknown("the loop changes it")


def _sum(value: Integer, change: Integer, iteration: Array) -> Integer:
    if is_zero(change):
        return value
    rank = next(iter(value.terms.values())).ndim - 1
    return add(value, multiply(change, integer(iteration.reshape(-1, *(1,) * rank))))


def _equal(one: Value, other: Value) -> bool:
    if isinstance(one, Integer) and isinstance(other, Integer):
        return is_zero(subtract(one, other))
    if isinstance(one, Pointer) and isinstance(other, Pointer):
        return _equal(one.offset, other.offset)
    if isinstance(one, BlockPointer) and isinstance(other, BlockPointer):
        return all(map(_equal, one.offsets, other.offsets))
    return False


def _at(values: Array, rows: Array) -> Array:
    return values if values.size == 1 else values[rows]
