"""Waits for barriers outside of loops: which work they are for.

Triton issues the first products and copies of a kernel before its loop, and waits for some of them
there, too. What a wait behind a loop is for depends on how often that ran, and is not told.
"""

from collections.abc import Iterator, Sequence

from irlens.analyze.graph import predecessors
from irlens.analyze.pipelines.barriers import Issues, awaited
from irlens.analyze.pipelines.loops import FunctionLoops
from irlens.analyze.pipelines.trace import Touch, Tracer
from irlens.isa.ptx import Operand

#: More than compilers write; the work may grow with the product of waits and blocks.
_MOST_WORK = 1 << 22


def ended_outside(
    loops: FunctionLoops, issues: Sequence[Issues]
) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yield what waits outside of loops end, as ``RingReading.ended`` has it.

    Args:
        loops: The function.
        issues: Everything that issues work on barriers.
    """
    yield from _Search(loops, issues)


class _Search:
    """Goes back from each wait to what began the phase that it ends."""

    def __init__(self, loops: FunctionLoops, issues: Sequence[Issues]) -> None:
        instructions = loops.function.instructions
        touching: dict[int, Operand] = {}
        for index, each in enumerate(instructions):
            for barrier_of in (awaited, *issues):
                operand = barrier_of(each)
                if operand is not None:
                    touching[index] = operand
        self._waits = {index for index in touching if awaited(instructions[index]) is not None}
        tracer = Tracer(loops, touching)
        self._touches = dict(tracer.by_block())
        self._before = predecessors(loops.cfg.successors)
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
        """Return what is under way on a barrier behind some touches of a block.

        ``None`` where it is not known: something on the way may touch this barrier or another, or
        does so more than once.
        """
        found: set[int] = set()
        seen: set[int] = set()
        waiting = [(block, ahead)]
        while waiting:
            at, touches = waiting.pop()
            if touches and at not in self._once:
                return None
            for touch in reversed(touches):
                if touch.address is None:
                    return None
                if touch.address == address:
                    if touch.at in self._waits:
                        break
                    found.add(touch.at)
            else:
                fresh = set(self._before[at]) - seen
                seen |= fresh
                waiting += [(each, self._touches.get(each, [])) for each in fresh]
        return found
