"""Which loop of the PTX a loop of machine code was made from.

Its ``for`` stands there: in machine code the line table gives a branch back any line of the body,
and what ptxas peels, unrolls or turns into a loop of its own has no ``for`` at all.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from irlens.analyze.loops import Loops
from irlens.analyze.pipelines.ptx_loops import FunctionLoops
from irlens.isa.ptx.control import BRANCHES
from irlens.isa.sass import Instruction


def match_loops(loops: Loops[Instruction], original: FunctionLoops | None) -> list[int | None]:
    """Return for each loop of a section the index of the loop in the PTX it was made from.

    Args:
        loops: The kernel's, whose instructions are traced to the PTX they were made from.
        original: The kernel in PTX, if it is known.

    Returns:
        ``None`` for a loop that is none there, or may be one of several.
    """
    if original is None:
        return [None] * len(loops.forest.loops)
    ptx = _Ptx(original)
    return [
        ptx.loop([loops.block(latch)[-1] for latch in loop.latches], loops.own(index))
        for index, loop in enumerate(loops.forest.loops)
    ]


class _Ptx:
    """Where in the PTX loops are, by the lines of its instructions."""

    def __init__(self, original: FunctionLoops) -> None:
        self._forest = original.forest
        self._innermost: dict[int, int] = {}
        self._back: dict[int, int] = {}
        for number, loop in enumerate(self._forest.loops):
            for block in loop.own:
                self._innermost |= dict.fromkeys((i.line for i in original.block(block)), number)
            for latch in loop.latches:
                last = original.block(latch)[-1:]
                self._back |= {each.line: number for each in last if each.opcode in BRANCHES}

    def loop(self, back: Sequence[Instruction], own: Iterable[Instruction]) -> int | None:
        """Return the loop that branches back, and instructions of a loop alone, were made from."""
        made = {self._back.get(each.ptx_line or 0) for each in back}
        if len(made) == 1 and None not in made:
            return made.pop()
        # The branch may have been made from another. What is in the loop comes from it, or from
        # those inside of it that are no loops any more; what was moved in comes from around it.
        lines = (each.ptx_line or 0 for each in own)
        counted = Counter(self._innermost[line] for line in lines if line in self._innermost)
        if not counted:
            return None
        most, number = counted.most_common(1)[0]
        inside = all(self._is_inside(each, most) for each in counted)
        return most if inside and 2 * number > counted.total() else None

    def _is_inside(self, loop: int | None, outer: int) -> bool:
        while loop is not None and loop != outer:
            loop = self._forest.loops[loop].parent
        return loop == outer
