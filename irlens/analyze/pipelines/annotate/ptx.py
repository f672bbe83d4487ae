"""Pipeline annotations of PTX."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence

from irlens.analyze.pipelines import registers
from irlens.analyze.pipelines.annotate import (
    Annotator,
    Key,
    PtxAnnotations,
    Site,
    number_by_header,
    site_in_loops,
)
from irlens.analyze.pipelines.mbarrier_rings import Ring, RingReading
from irlens.analyze.pipelines.mbarrier_trace import EndedOutside, Issues
from irlens.analyze.pipelines.ptx_loops import FunctionLoops
from irlens.isa.events import Event
from irlens.isa.ptx import Instruction
from irlens.isa.ptx.copies import (
    STREAMS,
    announced_copies,
    barrier_role,
    bulk_barrier,
    is_bulk_load,
    is_tcgen05_mma,
    tcgen05_barrier,
)
from irlens.model.listing import PipelineAnnotation, PipelineRole
from irlens.model.report import Pipeline, PipelineKind


def annotate(loops: FunctionLoops, pipelines: Sequence[Pipeline]) -> list[PipelineAnnotation]:
    """Return the annotations of a PTX function, in ascending order."""
    annotator = _PtxAnnotator(loops)
    annotator.add_streams()
    annotator.add_barriers()
    annotator.add_registers()
    return annotator.finish(number_by_header(pipelines, "ptx"))


def annotate_original(loops: FunctionLoops, pipelines: Sequence[Pipeline]) -> PtxAnnotations:
    """Return the PTX with its annotations, for the stages that take them over."""
    instructions = {each.line: each for each in loops.function.instructions}
    return PtxAnnotations(instructions, annotate(loops, pipelines), loops)


class _PtxAnnotator(Annotator):
    """Annotates one function, by the instructions' offsets in the text."""

    def __init__(self, loops: FunctionLoops) -> None:
        super().__init__()
        self._loops = loops
        self._instructions = loops.function.instructions
        self._starts = [block.start for block in loops.cfg.blocks]
        self._index = {each.start: n for n, each in enumerate(self._instructions)}

    def add_streams(self) -> None:
        """Add the operations that form commit groups."""
        for stream in STREAMS:
            events = self._loops.events(stream.events_of)

            def site_of(event: Event, kind: PipelineKind | None = stream.kind) -> Site:
                if kind is None:
                    return Site(event.line)
                return self._site(self._index[event.at], kind)

            self.add_groups(self._loops.cfg.graph, events, site_of, empty=stream.empty)

    def add_barriers(self) -> None:
        """Add the operations that work through barriers: bulk copies and ``tcgen05``."""
        for index, instruction in enumerate(self._instructions):
            role = barrier_role(instruction)
            if role is not None:
                self._add(index, *role)
        for block in range(len(self._loops.cfg.blocks)):
            for copy, announcement in announced_copies(self._loops.block(block)):
                self.point((copy.start, "copy"), (announcement.start, "commit"))
        for reading in self._rings(is_bulk_load, bulk_barrier):
            self._pair(reading.ended)
        for reading in self._rings(is_tcgen05_mma, tcgen05_barrier):
            self._pair(reading.ended)
        self._pair(EndedOutside(self._loops, (bulk_barrier, tcgen05_barrier)))

    def add_registers(self) -> None:
        """Add the loads that run ahead in registers."""
        for load, use in registers.first_uses(self._loops).items():
            self.join(self._add(load, "copy", "register"), self._add(use, "wait", "register"))

    def _rings(
        self, matters: Callable[[Instruction], bool], issues: Issues
    ) -> Iterator[RingReading]:
        """Yield the readings of the innermost loops with certain instructions."""
        chosen = self._loops.innermost(matters)
        ring = Ring(self._loops, issues) if chosen else None
        for index in chosen:
            if ring is not None and not self._loops.forest.loops[index].irreducible:
                reading = ring.read(index)
                if isinstance(reading, RingReading):
                    yield reading

    def _pair(self, ended: Iterable[tuple[tuple[int, ...], int]]) -> None:
        """Join waits with what they end, in the form of ``RingReading.ended``."""
        for touched, waiting in ended:
            wait: Key = (self._instructions[waiting].start, "wait")
            starts = [self._instructions[index].start for index in touched]
            commits: list[Key] = [(at, "commit") for at in starts if (at, "commit") in self]
            copies: list[Key] = [(at, "copy") for at in starts if (at, "copy") in self]
            for commit in commits:
                self.join(commit, wait)
            for copy in copies:
                for commit in commits:
                    self.point(copy, commit)
                if not commits:
                    self.join(copy, wait)

    def _add(self, index: int, role: PipelineRole, kind: PipelineKind | None) -> Key:
        return self.add(self._instructions[index].start, role, self._site(index, kind))

    def _site(self, index: int, kind: PipelineKind | None) -> Site:
        instruction = self._instructions[index]
        block = bisect_right(self._starts, index) - 1
        return site_in_loops(
            instruction.line,
            instruction.locations,
            kind,
            (self._loops.header(loop).line for loop in self._loops.around(block)),
        )
