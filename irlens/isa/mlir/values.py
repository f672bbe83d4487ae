"""Definitions and uses of SSA values: which operation or block defines each operand.

SSA names are not unique in a function: MLIR lets regions side by side use the same ones (two loops
in a row both have ``%arg6``, and two partitions of a ``ttg.warp_specialize`` both ``%acc_30``), so
names are resolved where they are read.
"""

from collections.abc import Sequence
from functools import cached_property

import msgspec

from irlens.isa.mlir.tree import Operation


class Value(msgspec.Struct, frozen=True, gc=False):
    """One SSA value.

    Attributes:
        operation: Index of the operation that has it as a result, or that owns the block.
        number: Index among the results, or among the block's arguments.
        region: Number of the region whose block has it as an argument; ``None`` for a result.
    """

    operation: int
    number: int
    region: int | None = None


class Values:
    """Resolves the operands of a module in one walk.

    Attributes:
        operands: For each operation its operands' values, ``None`` where a name is not defined.
    """

    def __init__(self, operations: Sequence[Operation]) -> None:
        self.operands: list[tuple[Value | None, ...]] = []
        self._defined: dict[str, Value] = {}
        # For each enclosing region its end, and the outer meanings of the names it redefines. The
        # last frame is never left.
        shadowed: list[tuple[int, list[tuple[str, Value | None]]]] = [(len(operations) + 1, [])]
        beginning: dict[int, tuple[Operation, int, int]] = {}
        for operation in operations:
            while shadowed[-1][0] <= operation.index:
                self._restore(shadowed.pop()[1])
            if operation.index in beginning:
                owner, region, end = beginning.pop(operation.index)
                shadowed.append((end, []))
                self._define_arguments(owner, region, shadowed[-1][1])
            self.operands.append(tuple(map(self._lookup, operation.operands)))
            self._define_results(operation, shadowed[-1][1])
            if operation.regions:
                beginning.update(_regions(operation))

    def initial(self, operation: Operation, name: str) -> Value | None:
        """Return the value of an operand by its name, as in ``iter_args(%x = %name)``."""
        if name not in operation.operands:
            return None
        return self.operands[operation.index][operation.operands.index(name)]

    @cached_property
    def readers(self) -> dict[Value, list[tuple[int, int]]]:
        """The readers of each value, in order: indices of operation and operand."""
        readers: dict[Value, list[tuple[int, int]]] = {}
        for index, operands in enumerate(self.operands):
            for position, value in enumerate(operands):
                if value is not None:
                    readers.setdefault(value, []).append((index, position))
        return readers

    def _lookup(self, name: str) -> Value | None:
        if "#" not in name:
            return self._defined.get(name)
        base, _, number = name.partition("#")
        value = self._defined.get(base)
        return Value(value.operation, int(number)) if value and number else value

    def _define(self, name: str, value: Value, shadowed: list[tuple[str, Value | None]]) -> None:
        shadowed.append((name, self._defined.get(name)))
        self._defined[name] = value

    def _define_results(
        self, operation: Operation, shadowed: list[tuple[str, Value | None]]
    ) -> None:
        number = 0
        for name, count in operation.results:
            self._define(name, Value(operation.index, number), shadowed)
            number += count

    def _define_arguments(
        self, operation: Operation, region: int, shadowed: list[tuple[str, Value | None]]
    ) -> None:
        blocks = operation.regions[region].blocks
        arguments = [argument for block in blocks for argument in block.arguments]
        for number, argument in enumerate(arguments):
            self._define(argument.name, Value(operation.index, number, region), shadowed)

    def _restore(self, shadowed: list[tuple[str, Value | None]]) -> None:
        for name, value in reversed(shadowed):
            if value is None:
                del self._defined[name]
            else:
                self._defined[name] = value


def _regions(operation: Operation) -> dict[int, tuple[Operation, int, int]]:
    """Return an operation's regions by their first operation: owner, number and end."""
    regions: dict[int, tuple[Operation, int, int]] = {}
    end = operation.end
    for number in reversed(range(len(operation.regions))):
        held = [index for block in operation.regions[number].blocks for index in block.operations]
        if held:  # an empty region reads nothing
            regions[held[0]] = (operation, number, end)
            end = held[0]
    return regions
