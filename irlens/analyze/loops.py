"""The loops of a function in machine-level code, for every dialect."""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Generic

import msgspec

from irlens.analyze import cfg
from irlens.analyze.cfg import Block, Cfg
from irlens.analyze.graph import LoopForest, reverse_postorder
from irlens.isa.dialect import Function, I_co
from irlens.isa.events import Event
from irlens.model.source import SourceLocation


class LoopCopy(msgspec.Struct, frozen=True):
    """The position of a loop among those at its location: the one with an index, of a number."""

    index: int = 0
    of: int = 1


#: A loop whose location no other loop has.
ONLY = LoopCopy()


class Loops(msgspec.Struct, Generic[I_co], frozen=True, dict=True):
    """A function's instructions, control flow and loops.

    Attributes:
        forest: Its loops; a loop is named by its index in ``forest.loops``.
    """

    instructions: tuple[I_co, ...]
    cfg: Cfg
    forest: LoopForest

    def block(self, index: int) -> tuple[I_co, ...]:
        """Instructions of a block."""
        block = self.cfg.blocks[index]
        return self.instructions[block.start : block.stop]

    def events(
        self, events_of: Callable[[tuple[I_co, ...]], Iterable[Event]]
    ) -> dict[int, tuple[Event, ...]]:
        """Return the events of each block that has any."""
        found = {n: tuple(events_of(self.block(n))) for n in range(len(self.cfg.blocks))}
        return {block: some for block, some in found.items() if some}

    def header(self, loop: int) -> Block:
        """The block that a loop is entered through."""
        return self.cfg.blocks[self.forest.loops[loop].header]

    def body(self, loop: int) -> Iterator[I_co]:
        """Instructions of a loop, those of its inner loops included."""
        for block in self.forest.body(loop):
            yield from self.block(block)

    @cached_property
    def lines(self) -> list[tuple[int, int]]:
        """The first and the last line of each loop, those of its inner loops included."""
        found: list[tuple[int, int]] = [(0, 0)] * len(self.forest.loops)
        for index in reversed(range(len(found))):  # inner loops come later
            header = self.header(index).line
            own = [line for each in self.own(index) for line in (each.line, each.end_line)]
            inner = [line for each in self.forest.loops[index].children for line in found[each]]
            found[index] = min(header, *own, *inner), max(header, *own, *inner)
        return found

    def own(self, loop: int) -> Iterator[I_co]:
        """Instructions of a loop, without those of its inner loops."""
        for block in self.forest.loops[loop].own:
            yield from self.block(block)

    def innermost(self, matters: Callable[[I_co], bool]) -> list[int]:
        """Return the innermost loops with an instruction of interest of their own.

        A loop around such a loop (over the tiles of a persistent kernel, say) is left out,
        whatever it does itself.
        """
        loops = self.forest.loops
        found = [n for n, each in enumerate(self.instructions) if matters(each)] if loops else []
        starts = [block.start for block in self.cfg.blocks] if found else []
        around = {self.forest.innermost[bisect_right(starts, n) - 1] for n in found}
        own = {index for index in around if index is not None}
        outer = set[int]()
        for index in own:
            above = loops[index].parent
            while above is not None and above not in outer:
                outer.add(above)
                above = loops[above].parent
        return sorted(own - outer)

    def around(self, block: int) -> Iterator[int]:
        """Yield the loops around a block, innermost first."""
        loop = self.forest.innermost[block]
        while loop is not None:
            yield loop
            loop = self.forest.loops[loop].parent

    def copy(self, loop: int) -> LoopCopy:
        """Return which of the loops at its location a loop is, in the order they run in.

        Unrolling leaves the remaining iterations to a second loop at the same location.
        """
        return self._copies.get(loop, ONLY)

    @cached_property
    def _copies(self) -> dict[int, LoopCopy]:
        """The loops that are not alone at their location."""
        alike: defaultdict[tuple[SourceLocation, ...], list[int]] = defaultdict(list)
        for loop in self._outermost_at_location():
            alike[self.locations(loop)].append(loop)
        order = {b: n for n, b in enumerate(reverse_postorder(self.cfg.successors))}
        copies: dict[int, LoopCopy] = {}
        for loops in alike.values():
            loops.sort(key=lambda n: order.get(self.forest.loops[n].header, len(order)))
            if len(loops) > 1:
                copies |= {loop: LoopCopy(n, len(loops)) for n, loop in enumerate(loops)}
        return copies

    def _outermost_at_location(self) -> Iterator[int]:
        """Yield the loops with a location that no loop around them has: inside, one polls, say."""
        around: Counter[tuple[SourceLocation, ...]] = Counter()
        pending = [(n, True) for n, loop in enumerate(self.forest.loops) if loop.parent is None]
        while pending:
            loop, enters = pending.pop()
            place = self.locations(loop)
            if not enters:
                around[place] -= 1
                continue
            if place and not around[place]:
                yield loop
            around[place] += 1
            pending.append((loop, False))
            pending += [(child, True) for child in self.forest.loops[loop].children]

    def locations(self, loop: int) -> tuple[SourceLocation, ...]:
        """Return the location of the branch back, which is that of the ``for``.

        Innermost frame first; empty if it is not known.
        """
        return self._locations[loop]

    def alike(self, loop: int) -> Sequence[int]:
        """Return the loops at the location of a loop, itself among them."""
        return self._alike[self.locations(loop)]

    @cached_property
    def _locations(self) -> list[tuple[SourceLocation, ...]]:
        locations: list[tuple[SourceLocation, ...]] = []
        for loop in self.forest.loops:
            branches = (branch for latch in loop.latches for branch in self.block(latch)[-1:])
            locations.append(next((each.locations for each in branches if each.locations), ()))
        return locations

    @cached_property
    def _alike(self) -> dict[tuple[SourceLocation, ...], list[int]]:
        alike: defaultdict[tuple[SourceLocation, ...], list[int]] = defaultdict(list)
        for loop, place in enumerate(self._locations):
            alike[place].append(loop)
        return alike


def find(function: Function[I_co], flow: Cfg | None = None) -> Loops[I_co]:
    """Find the loops of a function.

    Raises:
        ArtifactError: A branch to a label that does not exist.
    """
    flow = cfg.build(function) if flow is None else flow
    return Loops(function.instructions, flow, flow.forest)
