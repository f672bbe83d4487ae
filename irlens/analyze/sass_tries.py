"""Waits for a barrier in machine code, which are tries, repeated until one succeeds.

ptxas writes ``SYNCS.PHASECHK`` twice for a loop around ``mbarrier.try_wait``: once where the wait
is, and once more out of the way, in a loop of its own, where threads go whose first try failed.
Both go on at the same place. The line table knows only of the repeated one what it was made from.
"""

from collections.abc import Iterator

from irlens.analyze.graph import predecessors
from irlens.analyze.sass_asynchronous import at_barrier
from irlens.analyze.sass_cfg import SassCfg
from irlens.isa.sass import Instruction, Section


def first_tries(section: Section, flow: SassCfg) -> Iterator[tuple[Instruction, Instruction]]:
    """Yield each first try of a wait with the one that is repeated."""
    tries = _Tries(section, flow)
    for block in range(len(flow.blocks)):
        yield from tries.before(block)


class _Tries:
    """Looks for tries around a section's blocks."""

    def __init__(self, section: Section, flow: SassCfg) -> None:
        self._section = section
        self._flow = flow
        self._predecessors = predecessors(flow.successors)

    def before(self, block: int) -> Iterator[tuple[Instruction, Instruction]]:
        """The first tries of what a block repeats, if it is a loop that does nothing else."""
        following = self._flow.successors[block]
        repeated = self._section.instructions[self._flow.blocks[block].start]
        if block not in following or not _asks(repeated):
            return
        goes_on = {self._past_jump(each) for each in following if each != block}
        for source in self._sources(block):
            first = self._last_try(source)
            aims = {self._past_jump(each) for each in self._flow.successors[source]}
            if first is not None and _barrier(first) == _barrier(repeated) and aims & goes_on:
                yield first, repeated

    def _sources(self, block: int) -> Iterator[int]:
        """Blocks that lead to a loop of one block, some through one that makes its operands."""
        for source in self._predecessors[block]:
            if source == block:
                continue
            if len(self._flow.successors[source]) > 1:
                yield source
            else:
                yield from self._predecessors[source]

    def _last_try(self, block: int) -> Instruction | None:
        found = (self._section.instructions[n] for n in reversed(self._flow.blocks[block].indices))
        return next(filter(_asks, found), None)

    def _past_jump(self, block: int) -> int:
        """The block that one leads to which only jumps; otherwise itself."""
        alone = (
            len(self._flow.blocks[block].indices) == 1 and len(self._flow.successors[block]) == 1
        )
        opcode = self._section.instructions[self._flow.blocks[block].start].opcode
        return self._flow.successors[block][0] if alone and opcode == "BRA" else block


def _asks(instruction: Instruction) -> bool:
    return at_barrier(instruction) == ("wait", None)


def _barrier(instruction: Instruction) -> str:
    return next((each.text for each in instruction.operands if each.kind == "memory"), "")
