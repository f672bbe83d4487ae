"""Functions of several blocks, as early returns make them."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from irlens.analyze.solver import reach
from irlens.analyze.traffic.frames import Frame, placed
from irlens.analyze.traffic.values import Array, UnknownTrafficError, Value, merged, taken
from irlens.isa.mlir import Block, Module, Operation

#: Runs a block and returns the operands of its last operation.
RunBlock: TypeAlias = Callable[[Block, Frame], list[Value]]
#: Returns a condition for a number of instances, given what may be assumed if it depends on data.
Decide: TypeAlias = Callable[[Value, int, bool], Array]


class Branches:
    """Runs a function of several blocks whose branches make no loop."""

    def __init__(
        self,
        run_block: RunBlock,
        module: Module,
        blocks: Sequence[Block],
        frame: Frame,
        decide: Decide,
    ) -> None:
        self._run_block = run_block
        self._module = module
        self._blocks = blocks
        self._frame = frame
        self._decide = decide
        self._numbers = {block.label: number for number, block in enumerate(blocks)}
        self._arriving: list[list[tuple[Array, list[Value]]]] = [[] for _ in blocks]
        self._returned: list[tuple[Array, list[Value]]] = []

    def run(self) -> list[Value]:
        """Run all blocks, each after those that lead to it, and return what the function returns.

        Raises:
            UnknownTrafficError: Branches make a loop, or what they do is not known.
        """
        defined: dict[str, tuple[Array, Value]] = {}
        everyone = np.arange(self._frame.size)
        for number in self._order():
            block = self._blocks[number]
            arriving = self._arriving[number] if number else [(everyone, [])]
            rows = np.sort(np.concatenate([each for each, _ in arriving] or [everyone[:0]]))
            if not rows.size:
                continue
            body = _Seeing(self._frame, rows, defined)
            for n, argument in enumerate(block.arguments if number else ()):
                parts = [(np.searchsorted(rows, at), values[n]) for at, values in arriving]
                body.define(argument.name, merged(rows.size, parts))
            self._run_block(block, body)
            last = self._module.operations[block.operations[-1]]
            self._leave(last, body, rows)
            names = [each.name for each in block.arguments] if number else []
            for index in block.operations:
                names += self._module.operations[index].values
            defined.update({name: (rows, body.read(name)) for name in names})
        count = len(self._returned[0][1]) if self._returned else 0
        return [
            merged(self._frame.size, [(rows, values[n]) for rows, values in self._returned])
            for n in range(count)
        ]

    def _order(self) -> list[int]:
        """Return the blocks that are reached, each after all that lead to it.

        MLIR may write a block before one that leads to it: several early returns are one block.
        """
        order: list[int] = []
        done, open_ = set[int](), set[int]()
        stack = [(0, False)]
        while stack:
            number, leaving = stack.pop()
            if leaving:
                open_.discard(number)
                done.add(number)
                order.append(number)
            elif number in open_:
                raise placed(self._last(number), "a loop of branches is not understood")
            elif number not in done:
                open_.add(number)
                stack.append((number, True))
                stack += [(target, False) for target in self._targets(self._last(number))]
        return order[::-1]

    def _last(self, number: int) -> Operation:
        return self._module.operations[self._blocks[number].operations[-1]]

    def _targets(self, last: Operation) -> list[int]:
        words = (self._numbers.get(word) for word in last.words if word.startswith("^"))
        return [each for each in words if each is not None]

    def _leave(self, last: Operation, body: Frame, rows: Array) -> None:
        """Send a block's instances to the blocks that its last operation names."""
        values = [body.read(name) for name in last.operands]
        if last.does == "return":
            self._returned.append((rows, values))
            return
        targets = self._targets(last)
        if last.does == "jump" and len(targets) == 1:
            self._send(targets[0], rows, values)
            return
        if last.does != "branch" or len(targets) != 2:
            raise placed(last, f"{last.name} is not understood")
        try:
            held = self._decide(values[0], rows.size, self._is_longer(*targets))
        except UnknownTrafficError as error:
            raise placed(last, str(error)) from None
        passed = values[1:]
        for target, chosen in zip(targets, (held, ~held), strict=True):
            count = len(self._blocks[target].arguments) if target else 0
            given, passed = passed[:count], passed[count:]
            at = np.flatnonzero(chosen)
            self._send(target, rows[at], [taken(each, at) for each in given])

    def _is_longer(self, one: int, other: int) -> bool:
        """Return whether more operations are reached from one block than from another."""

        def length(start: int) -> int:
            reached = reach([start], lambda number: self._targets(self._last(number)))
            operations = (i for n in reached for i in self._blocks[n].operations)
            return sum(self._module.operations[i].end - i for i in operations)

        return length(one) >= length(other)

    def _send(self, target: int, rows: Array, values: list[Value]) -> None:
        if rows.size:
            self._arriving[target].append((rows, values))


class _Seeing(Frame):
    """A block's frame that sees what the blocks before it defined."""

    def __init__(
        self, parent: Frame, rows: Array, defined: Mapping[str, tuple[Array, Value]]
    ) -> None:
        super().__init__(rows.size, parent, rows)
        self._rows = rows
        self._defined = defined

    def read(self, name: str) -> Value:
        """Return a value of this block, of one before it, or of the function's arguments."""
        if name not in self._values and name in self._defined:
            rows, value = self._defined[name]
            self.define(name, taken(value, np.searchsorted(rows, self._rows)))
        return super().read(name)
