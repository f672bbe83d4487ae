"""Where in the text a kernel's pipelines are: copies, commits and waits, and which belong together.

The verdicts of the other modules are about loops; these are the instructions behind them, those
before and after the loops included.
"""

from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

from irlens.analyze.cfg import Cfg
from irlens.analyze.pipelines import registers, tcgen05, tma
from irlens.analyze.pipelines.barriers import Issues, Ring, RingReading
from irlens.analyze.pipelines.describe import innermost
from irlens.analyze.pipelines.drafts import Draft, Key, LoopKey, add_groups, by_header, finish, join
from irlens.analyze.pipelines.loops import FunctionLoops, analyze_loops, is_bulk_load
from irlens.analyze.pipelines.straight import ended_outside
from irlens.analyze.pipelines.streams import STREAMS, Stream, announced, at_barrier
from irlens.isa.ptx import Function, Instruction
from irlens.model.listing import PipelineMark, PipelineRole
from irlens.model.report import Pipeline, PipelineKind


def find_marks(function: Function, cfg: Cfg, pipelines: Sequence[Pipeline]) -> list[PipelineMark]:
    """Return the lines of a PTX function that are part of a pipeline, in ascending order.

    Args:
        function: The kernel.
        cfg: Its control flow.
        pipelines: What the report says of its loops.
    """
    finder = _Finder(analyze_loops(function, cfg))
    for stream in STREAMS:
        finder.groups(stream)
    finder.barriers()
    finder.registers()
    return finish(finder.drafts, by_header(pipelines, "ptx"))


class _Finder:
    """Collects the drafts of one function, by the instruction's offset in the text."""

    def __init__(self, loops: FunctionLoops) -> None:
        self.drafts: dict[Key, Draft] = {}
        self._loops = loops
        self._starts = [block.start for block in loops.cfg.blocks]
        self._origins = {i.start: i.locations or None for i in loops.function.instructions}

    def groups(self, stream: Stream) -> None:
        """Add what collects copies into groups."""
        loops = self._loops
        events = {
            block: found
            for block in range(len(loops.cfg.blocks))
            if (found := tuple(stream.events_of(loops.block(block))))
        }
        keys = {block: self._keys(block, stream.kind) for block in events}
        homes = {each.at: block for block, found in events.items() for each in found}
        origins = {at: self._origin(at, stream.kind) for at in homes}
        add_groups(
            self.drafts,
            loops.cfg.successors,
            events,
            origins=origins if stream.kind is not None else {},
            loops={at: keys[block] for at, block in homes.items()},
            empty=stream.empty,
        )

    def barriers(self) -> None:
        """Add what goes by barriers: bulk copies, and the tensor core of sm_100."""
        for index, instruction in enumerate(self._loops.function.instructions):
            found = at_barrier(instruction)
            if found is not None:
                self._add(index, *found)
        for block in range(len(self._loops.cfg.blocks)):
            for copy, announcement in announced(self._loops.block(block)):
                self.drafts[copy.start, "copy"].partners.add((announcement.start, "commit"))
        for reading in self._rings(is_bulk_load, tma.barrier_of):
            self._add_ended(reading.ended)
        for reading in self._rings(tcgen05.multiplies, tcgen05.barrier_of):
            self._add_ended(reading.ended)
        self._add_ended(ended_outside(self._loops, (tma.barrier_of, tcgen05.barrier_of)))

    def registers(self) -> None:
        """Add the loads that run ahead in registers."""
        for load, use in registers.first_uses(self._loops).items():
            one, other = self._add(load, "copy", "register"), self._add(use, "wait", "register")
            join(self.drafts, one, other)

    def _rings(
        self, matters: Callable[[Instruction], bool], issues: Issues
    ) -> Iterator[RingReading]:
        """The innermost loops with certain instructions whose barriers can be followed."""
        chosen = innermost(self._loops, matters)
        ring = Ring(self._loops, issues) if chosen else None
        for index in chosen:
            if ring is not None and not self._loops.forest.loops[index].irreducible:
                reading = ring.read(index)
                if isinstance(reading, RingReading):
                    yield reading

    def _add_ended(self, ended: Iterable[tuple[tuple[int, ...], int]]) -> None:
        """Join waits with what they end, as ``RingReading.ended`` has it."""
        instructions = self._loops.function.instructions
        for touched, waiting in ended:
            wait: Key = (instructions[waiting].start, "wait")
            starts = [instructions[index].start for index in touched]
            commits: list[Key] = [(at, "commit") for at in starts if (at, "commit") in self.drafts]
            copies: list[Key] = [(at, "copy") for at in starts if (at, "copy") in self.drafts]
            for commit in commits:
                join(self.drafts, commit, wait)
            for copy in copies:
                if commits:
                    self.drafts[copy].partners.update(commits)
                else:
                    join(self.drafts, copy, wait)

    def _add(self, index: int, role: PipelineRole, kind: PipelineKind | None) -> Key:
        instruction = self._loops.function.instructions[index]
        key: Key = (instruction.start, role)
        if key not in self.drafts:
            block = bisect_right(self._starts, index) - 1
            loops = self._keys(block, kind)
            origin = self._origin(instruction.start, kind)
            self.drafts[key] = Draft(instruction.line, origin, loops)
        return key

    def _origin(self, at: int, kind: PipelineKind | None) -> Hashable:
        """Where an instruction comes from: lines of the source have several mechanisms' waits."""
        return (kind, self._origins[at]) if self._origins[at] is not None else None

    def _keys(self, block: int, kind: PipelineKind | None) -> tuple[LoopKey, ...]:
        """The pipelines of a kind that a block could be part of, the innermost loop's first."""
        if kind is None:
            return ()
        found = []
        loop = self._loops.forest.innermost[block]
        while loop is not None:
            found.append((self._loops.header(loop).line, kind))
            loop = self._loops.forest.loops[loop].parent
        return tuple(found)
