"""Which barriers a loop touches, iteration by iteration.

The program is followed as if every guard were true and every loop ran on: what a pipeline does in
its steady state, once it is filled and before it drains. Only integers that are the same for all
threads and launches are computed.
"""

from collections.abc import Iterator, Mapping

import msgspec

from irlens.analyze.graph import predecessors, reverse_postorder
from irlens.analyze.pipelines.constants import Evaluator, Values, depended_on
from irlens.analyze.pipelines.loops import FunctionLoops
from irlens.isa.ptx import Operand
from irlens.isa.ptx.registers import access

#: Opcodes that a loop which only waits has no use for.
_WORK = frozenset(
    (
        "atom",
        "bar",
        "barrier",
        "call",
        "cp",
        "ld",
        "ldmatrix",
        "mma",
        "red",
        "st",
        "tcgen05",
        "wgmma",
    )
)


class Touch(msgspec.Struct, frozen=True):
    """An instruction that does something to a barrier.

    Attributes:
        at: Index into ``Function.instructions``.
        address: Which barrier, as a number that stands for it; ``None`` where that is not known.
    """

    at: int
    address: int | None


class Tracer:
    """Follows a function.

    Args:
        loops: The function.
        touching: Per instruction that touches a barrier, the operand that is its address.
    """

    def __init__(self, loops: FunctionLoops, touching: Mapping[int, Operand]) -> None:
        self._loops = loops
        self._touching = touching
        self._evaluator = Evaluator(loops.function)
        slice_ = depended_on(loops.function, touching.values())
        count = len(loops.cfg.blocks)
        self._steps: list[list[int]] = [[] for _ in range(count)]
        for number, extent in enumerate(loops.cfg.blocks):
            inside = range(extent.start, extent.stop)
            self._steps[number] = [i for i in inside if i in slice_ or i in touching]
        order = reverse_postorder(loops.cfg.successors)
        self._position = {block: index for index, block in enumerate(order)}
        self._before = predecessors(loops.cfg.successors)
        self._written = self._writes(slice_)
        self._first: dict[int, Values] = {}
        self._touches: dict[int, list[Touch]] = {}
        for block in order:
            self._first[block], self._touches[block] = self._run(
                block, self._entry(block, self._first, self._position)
            )

    def before(self, loop: int) -> list[Touch] | None:
        """What happens from the function's start until the loop is entered for the first time.

        Returns:
            ``None`` where another loop on the way touches barriers: how often is not known.
        """
        header = self._loops.forest.loops[loop].header
        inside = set(self._around(header))
        body = self._loops.forest.body(loop)
        found, waiting = set[int](), [header]
        while waiting:
            block = waiting.pop()
            for source in self._before[block]:
                ahead = self._position.get(source, -1)
                if 0 <= ahead < self._position[block] and not (source in found or source in body):
                    if self._touches[source] and not self._runs_once(source, inside):
                        return None
                    found.add(source)
                    waiting.append(source)
        touches = []
        for block in sorted(found, key=self._position.__getitem__):
            touches += self._touches[block]
        return touches

    def everywhere(self) -> Iterator[Touch]:
        """What happens in the whole function, as if every loop ran once."""
        for _, touches in self.by_block():
            yield from touches

    def by_block(self) -> Iterator[tuple[int, list[Touch]]]:
        """The same, block by block."""
        yield from sorted(self._touches.items())

    def happens_once(self, block: int) -> bool:
        """Whether a block is in no loop but, perhaps, one that does nothing but ask a barrier."""
        around = list(self._around(block))
        return not around or (len(around) == 1 and self._spins(block))

    def iterations(self, loop: int, count: int) -> Iterator[list[Touch]]:
        """What happens in each of the first iterations of a reducible loop."""
        header = self._loops.forest.loops[loop].header
        body = self._loops.forest.body(loop)
        order = {block: self._position[block] for block in body}
        values = self._entry(header, self._first, self._position)
        for _ in range(count):
            behind: dict[int, Values] = {}
            touches: list[Touch] = []
            for block in sorted(body, key=order.__getitem__):
                entry = values if block == header else self._entry(block, behind, order)
                behind[block], here = self._run(block, entry)
                touches += here
            yield touches
            latches = self._loops.forest.loops[loop].latches
            values = _common([self._leave(latch, header, behind[latch]) for latch in latches])

    def _runs_once(self, block: int, inside: set[int]) -> bool:
        """Whether a block runs once, as far as barriers see, each time the given loops do."""
        return inside.issuperset(self._around(block)) or self._spins(block)

    def repeats(self, loop: int) -> bool:
        """Whether a loop inside touches barriers, more than only waiting for one."""
        return any(
            self._touches.get(block) and not self._spins(block)
            for block in self._loops.forest.body(loop)
            if self._loops.forest.innermost[block] != loop
        )

    def _spins(self, block: int) -> bool:
        """Whether a block's innermost loop does nothing but ask a barrier."""
        loop = self._loops.forest.innermost[block]
        return loop is not None and not any(
            instruction.opcode in _WORK or instruction.modifiers[:1] in (("init",), ("arrive",))
            for inner in self._loops.forest.body(loop)
            for instruction in self._loops.block(inner)
        )

    def _around(self, block: int) -> Iterator[int]:
        """The loops around a block, innermost first."""
        loop = self._loops.forest.innermost[block]
        while loop is not None:
            yield loop
            loop = self._loops.forest.loops[loop].parent

    def _writes(self, slice_: frozenset[int]) -> list[set[str]]:
        """Registers of interest that each loop writes."""
        written: list[set[str]] = [set() for _ in self._loops.forest.loops]
        for number, block in enumerate(self._loops.cfg.blocks):
            loop = self._loops.forest.innermost[number]
            if loop is not None:
                for index in range(block.start, block.stop):
                    if index in slice_:
                        found = access(self._loops.function.instructions[index])
                        written[loop].update(found.writes if found else ())
        for loop in reversed(range(len(written))):
            parent = self._loops.forest.loops[loop].parent
            if parent is not None:
                written[parent] |= written[loop]
        return written

    def _run(self, block: int, values: Values) -> tuple[Values, list[Touch]]:
        touches = []
        for index in self._steps[block]:
            operand = self._touching.get(index)
            if operand is not None:
                touches.append(Touch(index, self._evaluator.address(operand, values)))
            self._evaluator.execute(self._loops.function.instructions[index], values)
        return values, touches

    def _entry(self, block: int, behind: Mapping[int, Values], order: Mapping[int, int]) -> Values:
        """What is known at the start of a block that is reached for the first time."""
        sources = [s for s in self._before[block] if order.get(s, len(order)) < order[block]]
        return _common([self._leave(source, block, behind[source]) for source in sources])

    def _leave(self, source: int, target: int, values: Values) -> Values:
        """What is known behind an edge: loops that it leaves have run any number of times."""
        staying = set(self._around(target))
        left = [loop for loop in self._around(source) if loop not in staying]
        forgotten = self._written[left[-1]] if left else ()
        return {name: value for name, value in values.items() if name not in forgotten}


def _common(known: list[Values]) -> Values:
    if not known:
        return {}
    first, *others = known
    return {
        name: value
        for name, value in first.items()
        if all(other.get(name) == value for other in others)
    }
