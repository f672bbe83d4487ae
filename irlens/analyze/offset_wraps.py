"""Offsets that wrap: integers of 32 bits that exceed their range on the way to an address.

The program that leaves its tensor is evaluated again with every narrow integer in 64 bits. If it
then stays inside, the operation that first exceeds the range of its own type is the cause.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from irlens.analyze import work
from irlens.analyze.address_slice import computed_from
from irlens.analyze.traffic.accesses import Reference, public_function
from irlens.analyze.traffic.evaluation import Attempts, Evaluation, Visitor
from irlens.analyze.traffic.frames import Frame
from irlens.analyze.traffic.launch import Launch
from irlens.analyze.traffic.loops import Counted
from irlens.analyze.traffic.values import (
    Array,
    Integer,
    UnknownTrafficError,
    Value,
    materialize,
)
from irlens.isa.mlir import Module, Operation
from irlens.isa.mlir.operations import Deed
from irlens.isa.mlir.types import Scalar, Shaped, Type
from irlens.model.traffic import OutOfBounds

_NARROW = frozenset(map(Scalar, ("i8", "i16", "i32")))
#: Operations whose result may exceed the range of their type.
_WRAPPING: dict[Deed | None, str] = {
    "multiply": "multiplication",
    "add": "addition",
    "subtract": "subtraction",
    "shift left": "shift",
    "truncate": "conversion",
}
#: Operations that hand an argument's value on.
_COPIES = frozenset({"spread", "insert", "stretch", "reshape", "extend", "extend unsigned"})

#: Instances of a loop's body up to which all are evaluated.
_MOST_INSTANCES = 1 << 20
#: Iterations at either end of a longer loop that are evaluated.
_ITERATIONS = 8

#: The same for one program whose values are looked at one by one.
_MOST_WATCHED = 1 << 12


class Wrap(msgspec.Struct, frozen=True):
    """An integer that exceeds its type.

    Attributes:
        word: What it does: "multiplication".
        value: The value of the largest magnitude that one program should have computed.
        factors: Arguments of the kernel among its operands.
    """

    operation: Operation
    word: str
    value: int
    bits: int
    factors: tuple[str, ...]


def find_wrap(
    module: Module,
    arguments: Mapping[str, Any],
    grid: tuple[int, int, int],
    line: int,
    outside: OutOfBounds,
) -> Wrap | None:
    """Return what wraps on the way to an access outside of its tensor.

    Returns:
        ``None`` if nothing wraps, if the program leaves the tensor in 64 bits too, or if that is
        not known.
    """
    access = next((each for each in module.operations if each.span.line == line), None)
    if access is None:
        return None
    suspects = _suspects(module, access)
    if not suspects:
        return None
    x, y, z = outside.program
    number = x + grid[0] * (y + grid[1] * z)
    launch, size = Launch(arguments, grid), outside.tensor_bytes
    try:
        leaves, values = _evaluated(widened(module), launch, number, access, suspects, size)
    except UnknownTrafficError:
        return None
    return None if leaves is not False else _first_wrap(module, values, suspects)


def overflow_before(module: Module, launch: Launch, number: int, access: Operation) -> Wrap | None:
    """Return the first operation before an access that exceeds its type in a program, if any."""
    suspects = _suspects(module, access)
    try:
        _, values = _evaluated(widened(module), launch, number, access, suspects, 0)
    except UnknownTrafficError:
        return None
    return _first_wrap(module, values, suspects)


def widened(module: Module) -> Module:
    """Return a module with integers of 64 bits in place of narrower ones."""
    return msgspec.structs.replace(module, operations=tuple(map(_widened, module.operations)))


def _first_wrap(
    module: Module, values: Mapping[int, int], suspects: Mapping[int, int]
) -> Wrap | None:
    if not values:
        return None
    operation = module.operations[min(values)]
    return Wrap(
        operation,
        _WRAPPING[operation.does],
        values[operation.index],
        suspects[operation.index],
        _factors(module, operation),
    )


def _suspects(module: Module, access: Operation) -> dict[int, int]:
    """Return the operations that may wrap on the way to an access, with the width of each."""
    return narrow_results(computed_from(module, access))


def narrow_results(operations: Iterable[Operation]) -> dict[int, int]:
    """Return which operations may exceed a type of less than 64 bits, with its width."""
    wrapping = (each for each in operations if each.does in _WRAPPING)
    return {each.index: bits for each in wrapping if 0 < (bits := _bits(each) or 0) < 64}


def _bits(operation: Operation) -> int | None:
    return operation.result_type.element.bits


def _widened(operation: Operation) -> Operation:
    """Return an operation with integers of 64 bits in place of narrower ones."""
    return msgspec.structs.replace(
        operation,
        operand_types=tuple(map(_wide, operation.operand_types)),
        result_types=tuple(map(_wide, operation.result_types)),
    )


def _wide(kind: Type) -> Type:
    if isinstance(kind, Shaped):
        return msgspec.structs.replace(kind, element=_wide(kind.element))
    return Scalar("i64") if kind in _NARROW else kind


class Partial(Evaluation):
    """Evaluates the first and the last iterations of long loops, where sums are largest.

    Attributes:
        left: Instances of loops' bodies until only these are evaluated.
        is_cut: Whether some were left out.
        is_beside_cut: Whether iterations beside those that are left out are evaluated.
    """

    left = _MOST_INSTANCES
    is_cut = is_beside_cut = False

    def instances(self, loop: Counted, running: Array) -> Iterator[tuple[Array, Array]]:
        """Yield all instances, or those at either end."""
        trips = loop.trips[running]
        ends = np.minimum(trips, 2 * _ITERATIONS)
        all_of_them = int(trips.sum()) <= max(self.left, 0)
        self.left -= int((trips if all_of_them else ends).sum())
        if all_of_them or int(trips.max()) <= 2 * _ITERATIONS:
            yield from super().instances(loop, running)
            return
        self.is_cut = True
        owners = np.arange(running.size, dtype=np.int64)
        for at in range(_ITERATIONS):
            owner = owners[trips > at]
            self.is_beside_cut = at == _ITERATIONS - 1
            yield owner, np.full(owner.size, at, dtype=np.int64)
        for at in range(_ITERATIONS, 0, -1):
            owner = owners[trips - at >= _ITERATIONS]
            self.is_beside_cut = at == _ITERATIONS
            yield owner, trips[owner] - at
        self.is_beside_cut = False


class _Watching(Partial):
    """Notes what some operations compute."""

    def __init__(
        self,
        module: Module,
        launch: Launch,
        number: int,
        visit: Visitor,
        how: Attempts,
        watched: Mapping[int, int],
    ) -> None:
        super().__init__(module, launch, range(number, number + 1), visit, how)
        self._watched = watched
        self.values: dict[int, int] = {}

    def operations(self, operations: Sequence[Operation], frame: Frame) -> list[Value]:
        """Run operations of one block, and note those that exceed the range of their type."""
        operands = super().operations(operations, frame)
        for operation in operations:
            if operation.index in self._watched:
                given = [frame.read(name) for name in operation.operands]
                self._note(operation, frame.read(operation.results[0][0]), given)
        return operands

    def _note(self, operation: Operation, value: Value, operands: Sequence[Value]) -> None:
        """Note the values that exceed a type where no operand does, except for conversions."""
        if not isinstance(value, Integer):
            return
        computed = materialize(value)
        limit = 1 << (self._watched[operation.index] - 1)
        exceeds = (computed < -limit) | (computed >= limit)
        if operation.does != "truncate" and exceeds.any():
            for each in (materialize(each) for each in operands if isinstance(each, Integer)):
                exceeds = exceeds & (each >= -limit) & (each < limit)
        if exceeds.any():
            found = np.broadcast_to(computed, exceeds.shape)[exceeds]
            largest = int(found[np.argmax(np.abs(found))])
            before = self.values.get(operation.index, 0)
            self.values[operation.index] = max(before, largest, key=abs)


class _Bounds:
    """Whether one access leaves its tensor; ``None`` if it is not executed."""

    def __init__(self, index: int, tensor_bytes: int) -> None:
        self._index = index
        self._bytes = tensor_bytes
        self.leaves: bool | None = None

    def __call__(self, operation: Operation, access: Reference, programs: Array) -> None:
        """Check an access."""
        if operation.index != self._index:
            return
        mask, places = access.elements()
        beyond = mask & ((places < 0) | (places > self._bytes - access.element_bytes))
        self.leaves = bool(self.leaves) or bool(np.any(beyond))


@work.budget()
def _evaluated(
    module: Module,
    launch: Launch,
    number: int,
    access: Operation,
    suspects: Mapping[int, int],
    tensor_bytes: int,
) -> tuple[bool | None, dict[int, int]]:
    """Return whether a program's access leaves its tensor, and the values that exceed a type.

    Raises:
        UnknownTrafficError: The program cannot be evaluated, or a tensor is too large.
    """
    attempts = Attempts(at_once=1 << 17)

    def evaluated() -> tuple[bool | None, dict[int, int]]:
        bounds = _Bounds(access.index, tensor_bytes)
        evaluation = _Watching(module, launch, number, bounds, attempts, suspects)
        evaluation.left = _MOST_WATCHED
        evaluation.run(public_function(module))
        return bounds.leaves, evaluation.values

    return attempts.until_done(evaluated)


def _factors(module: Module, operation: Operation) -> tuple[str, ...]:
    """Return the kernel's arguments among the operands of an operation."""
    arguments = {each.name for each in public_function(module).parameters}
    sources = {
        each.results[0][0]: each.operands[0]
        for each in module.operations
        if each.does in _COPIES and each.results and each.operands
    }
    found = []
    for name in operation.operands:
        while name in sources:
            name = sources[name]
        if name in arguments:
            found.append(name.removeprefix("%"))
    return tuple(found)
