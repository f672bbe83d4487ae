"""The mbarriers that a PTX function touches, iteration by iteration.

The trace assumes that every guard is true and every loop continues: that is the steady state of a
pipeline, after it is filled and before it drains. Only integers that are the same for all threads
and launches are evaluated.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

import msgspec

from irlens.analyze import work
from irlens.analyze.graph import reverse_postorder
from irlens.analyze.pipelines.ptx_loops import FunctionLoops, depended_on
from irlens.analyze.solver import may_pass
from irlens.isa.ptx import Instruction, Operand, effects
from irlens.isa.ptx.copies import awaited_barrier
from irlens.isa.ptx.evaluation import Evaluator, Values
from irlens.isa.ptx.registers import access

#: More than compilers write; the work may grow with the product of waits and blocks.
_MOST_WORK = 1 << 22

#: Returns the operand with the barrier's address of an instruction that issues work, else ``None``.
Issues: TypeAlias = Callable[[Instruction], Operand | None]


class Touch(msgspec.Struct, frozen=True):
    """An instruction that works on a barrier.

    Attributes:
        at: Index into ``Function.instructions``.
        address: A number that identifies the barrier; ``None`` if unknown.
    """

    at: int
    address: int | None


class Tracer:
    """Traces a function.

    Attributes:
        touches: Those of each block, as if every loop ran once.

    Args:
        touching: For each instruction that touches a barrier, the operand with its address.
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
        self._before = loops.cfg.graph.predecessors
        self._written = self._writes(slice_)
        self._first: dict[int, Values] = {}
        self.touches: dict[int, list[Touch]] = {}
        for block in order:
            self._first[block], self.touches[block] = self._run(
                block, self._entry(block, self._first, self._position)
            )

    def before(self, loop: int) -> list[Touch] | None:
        """Return the touches from the function's start until the loop is first entered.

        Returns:
            ``None`` where another loop on the way touches barriers: its trip count is unknown.
        """
        header = self._loops.forest.loops[loop].header
        inside = set(self._loops.around(header))
        body = self._loops.forest.body(loop)
        earlier, pending = set[int](), [header]
        while pending:
            block = pending.pop()
            for source in self._before[block]:
                ahead = self._position.get(source, -1)
                if 0 <= ahead < self._position[block] and not (source in earlier or source in body):
                    if self.touches[source] and not self._runs_once(source, inside):
                        return None
                    earlier.add(source)
                    pending.append(source)
        touches = []
        for block in sorted(earlier, key=self._position.__getitem__):
            touches += self.touches[block]
        return touches

    def happens_once(self, block: int) -> bool:
        """Whether a block is in no loop, except for one that only polls a barrier."""
        around = list(self._loops.around(block))
        return not around or (len(around) == 1 and self._spins(block))

    def iterations(self, loop: int, count: int) -> Iterator[list[Touch]]:
        """Yield the touches of each of the first iterations of a reducible loop."""
        header = self._loops.forest.loops[loop].header
        body = self._loops.forest.body(loop)
        order = {block: self._position[block] for block in body}
        values = self._entry(header, self._first, self._position)
        for _ in range(count):
            after: dict[int, Values] = {}
            touches: list[Touch] = []
            for block in sorted(body, key=order.__getitem__):
                work.spend(1 + len(self._steps[block]) + len(values))
                entry = values if block == header else self._entry(block, after, order)
                after[block], here = self._run(block, entry)
                touches += here
            yield touches
            latches = self._loops.forest.loops[loop].latches
            values = _common([self._leave(latch, header, after[latch]) for latch in latches])

    def instructions(self, loop: int) -> Iterator[int]:
        """Yield the instructions of a loop in the order of the trace."""
        for block in sorted(self._loops.forest.body(loop), key=self._position.__getitem__):
            extent = self._loops.cfg.blocks[block]
            yield from range(extent.start, extent.stop)

    def optional(self, loop: int) -> frozenset[int]:
        """Return the instructions on barriers that an iteration of a loop can pass by."""
        forest, successors = self._loops.forest, self._loops.cfg.successors
        body = forest.body(loop)
        touching = (block for block in body if self.touches.get(block))
        optional = [b for b in touching if may_pass(successors, forest.loops[loop], body, b)]
        return frozenset(touch.at for block in optional for touch in self.touches[block])

    def _runs_once(self, block: int, inside: set[int]) -> bool:
        """Whether a block runs once each time the given loops do; polling counts as once."""
        return inside.issuperset(self._loops.around(block)) or self._spins(block)

    def repeats(self, loop: int) -> bool:
        """Whether an inner loop touches barriers, beyond polling one."""
        return any(
            self.touches.get(block) and not self._spins(block)
            for block in self._loops.forest.body(loop)
            if self._loops.forest.innermost[block] != loop
        )

    def _spins(self, block: int) -> bool:
        """Whether a block's innermost loop only polls a barrier."""
        loop = self._loops.forest.innermost[block]
        if loop is None:
            return False
        inside = (i for inner in self._loops.forest.body(loop) for i in self._loops.block(inner))
        return effects.only_polls(inside)

    def _writes(self, slice_: frozenset[int]) -> list[set[str]]:
        """Return the registers of interest that each loop writes."""
        written: list[set[str]] = [set() for _ in self._loops.forest.loops]
        for number, block in enumerate(self._loops.cfg.blocks):
            loop = self._loops.forest.innermost[number]
            if loop is not None:
                for index in range(block.start, block.stop):
                    if index in slice_:
                        accessed = access(self._loops.function.instructions[index])
                        written[loop].update(accessed.writes if accessed else ())
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

    def _entry(self, block: int, after: Mapping[int, Values], order: Mapping[int, int]) -> Values:
        """Return the values known at the start of a block when it is first reached."""
        # An irreducible loop is entered from outside of it, too.
        sources = [s for s in self._before[block] if s in order and order[s] < order[block]]
        return _common([self._leave(source, block, after[source]) for source in sources])

    def _leave(self, source: int, target: int, values: Values) -> Values:
        """Return the values known after an edge: loops it leaves ran any number of times."""
        staying = set(self._loops.around(target))
        left = [loop for loop in self._loops.around(source) if loop not in staying]
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


class EndedOutside:
    """Iterates over what each wait outside of loops ends, in the form of ``RingReading.ended``.

    Searches backwards from each wait for the instructions that began its phase. Triton issues the
    first products and copies of a kernel before its loop, and waits for some of them there, too.
    What a wait after a loop ends depends on the trip count, and is left out.

    Args:
        issues: Every predicate that finds work issued on barriers.
    """

    def __init__(self, loops: FunctionLoops, issues: Sequence[Issues]) -> None:
        instructions = loops.function.instructions
        touching: dict[int, Operand] = {}
        for index, each in enumerate(instructions):
            for barrier_of in (awaited_barrier, *issues):
                operand = barrier_of(each)
                if operand is not None:
                    touching[index] = operand
        self._waits = {
            index for index in touching if awaited_barrier(instructions[index]) is not None
        }
        tracer = Tracer(loops, touching)
        self._touches = tracer.touches
        self._before = loops.cfg.graph.predecessors
        self._once = {block for block in self._touches if tracer.happens_once(block)}

    def __iter__(self) -> Iterator[tuple[tuple[int, ...], int]]:
        if len(self._waits) * len(self._touches) > _MOST_WORK:
            return
        for block in sorted(self._once):
            touches = self._touches[block]
            for number, touch in enumerate(touches):
                if touch.at in self._waits and touch.address is not None:
                    begun = self._begun(block, touches[:number], touch.address)
                    if begun:
                        yield tuple(sorted(begun)), touch.at

    def _begun(self, block: int, ahead: Sequence[Touch], address: int) -> set[int] | None:
        """Return the instructions that began a barrier's current phase, before a wait.

        ``None`` if unknown: something on the way touches an unknown barrier, or does so more than
        once.
        """
        begun: set[int] = set()
        seen: set[int] = set()
        pending = [(block, ahead)]
        while pending:
            at, touches = pending.pop()
            if touches and at not in self._once:
                return None
            for touch in reversed(touches):
                if touch.address is None:
                    return None
                if touch.address == address:
                    if touch.at in self._waits:
                        break
                    begun.add(touch.at)
            else:
                fresh = set(self._before[at]) - seen
                seen |= fresh
                pending += [(each, self._touches.get(each, [])) for each in fresh]
        return begun
