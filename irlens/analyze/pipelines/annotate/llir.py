"""Pipeline annotations of LLVM IR.

For NVIDIA they are calls that stand for instructions of PTX, and groups are followed as there.
Which barrier a wait polls is followed in the PTX alone. LLVM usually keeps such calls in order:
where both texts have the same ones of the same source lines, the pairs of the PTX hold here.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from irlens.analyze.loops import Loops
from irlens.analyze.pipelines.annotate import (
    Annotator,
    PtxAnnotations,
    Site,
    number_by_source,
    site_in_loops,
)
from irlens.isa import ptx
from irlens.isa.events import Event
from irlens.isa.llir import parser as llir
from irlens.isa.llir.calls import AmdCounter, PtxCalls, amd_event, leaves_lds
from irlens.isa.ptx.copies import STREAMS, announced_copies, barrier_role, uses_barrier
from irlens.model.listing import PipelineAnnotation
from irlens.model.report import Pipeline, PipelineKind
from irlens.model.source import SourceLocation, user_frame

#: Upper bound of the PTX instructions per call; keys combine the line and the index among them.
_MOST_PER_CALL = 1 << 16


def annotate(
    loops: Loops[llir.Instruction],
    lines: Sequence[str],
    pipelines: Sequence[Pipeline],
    original: Callable[[], PtxAnnotations],
) -> list[PipelineAnnotation]:
    """Return the annotations of a function, in ascending order.

    Args:
        pipelines: The report's; a loop here is the one with the same ``for``.
    """
    annotator = _LlirAnnotator(loops, lines)
    annotator.add_nvidia()
    annotator.add_amd()
    if annotator.signals:
        in_ptx = original()
        annotator.take_over(in_ptx, _counterparts(annotator.signals, in_ptx))
    return annotator.finish(number_by_source(pipelines))


class _LlirAnnotator(Annotator):
    """Annotates one function, by the line of a call and the index of an instruction in it.

    Attributes:
        signals: The PTX instructions that use barriers, in the order of the text.
    """

    def __init__(self, loops: Loops[llir.Instruction], lines: Sequence[str]) -> None:
        super().__init__()
        self.signals: list[ptx.Instruction] = []
        self._loops = loops
        self._lines = lines
        self._places: dict[
            int, tuple[int, tuple[SourceLocation, ...]]
        ] = {}  # block and origin of each key

    def add_nvidia(self) -> None:
        """Add the calls that stand for PTX."""
        calls = PtxCalls()
        blocks = [tuple(self._read(calls, block)) for block in range(len(self._loops.cfg.blocks))]
        for stream in STREAMS:
            events = {n: tuple(stream.events_of(some)) for n, some in enumerate(blocks) if some}

            def site_of(event: Event, kind: PipelineKind | None = stream.kind) -> Site:
                return self._site(event.line, event.at, kind)

            self.add_groups(self._loops.cfg.graph, events, site_of, empty=stream.empty)
        for instructions in blocks:
            self.signals += filter(uses_barrier, instructions)
            for each in instructions:
                role = barrier_role(each)
                if role is not None:
                    self.add(each.start, role[0], self._site(each.line, each.start, role[1]))
            for copy, announcement in announced_copies(instructions):
                self.point((copy.start, "copy"), (announcement.start, "commit"))

    def add_amd(self) -> None:
        """Add the calls of AMD intrinsics."""
        counters: dict[AmdCounter, dict[int, list[Event]]] = {}
        for block in range(len(self._loops.cfg.blocks)):
            for call in self._calls(block):
                text, at = self._lines[call.line - 1], call.line * _MOST_PER_CALL
                counted = amd_event(text, call.line, at)
                if counted is not None:
                    counter, event = counted
                    counters.setdefault(counter, {}).setdefault(block, []).append(event)
                    self._places[at] = block, call.locations

        def site_of(event: Event) -> Site:
            # The report describes no pipeline of copies out of LDS.
            outward = leaves_lds(self._lines[event.line - 1])
            return self._site(event.line, event.at, None if outward else "direct-to-lds")

        for events in counters.values():
            self.add_groups(self._loops.cfg.graph, events, site_of)

    def _calls(self, block: int) -> Iterator[llir.Instruction]:
        return (each for each in self._loops.block(block) if each.is_call)

    def _read(self, calls: PtxCalls, block: int) -> Iterator[ptx.Instruction]:
        """Yield the instructions of PTX that a block's calls stand for."""
        for call in self._calls(block):
            for number, each in enumerate(calls.read(self._lines[call.line - 1])):
                at = call.line * _MOST_PER_CALL + number
                self._places[at] = block, call.locations
                yield replace(each, line=call.line, start=at, locations=call.locations)

    def _site(self, line: int, at: int, kind: PipelineKind | None) -> Site:
        block, origin = self._places[at]
        return site_in_loops(
            line,
            origin if kind is not None else (),
            kind,
            (str(user_frame(self._loops.locations(loop))) for loop in self._loops.around(block)),
        )


def _counterparts(
    signals: Sequence[ptx.Instruction], original: PtxAnnotations
) -> Mapping[int, ptx.Instruction]:
    """Pair what uses barriers here with what does in the PTX; empty if the two differ."""
    there = [each for _, each in sorted(original.instructions.items()) if uses_barrier(each)]
    if [*map(_identity, signals)] != [*map(_identity, there)]:
        return {}
    return {one.start: other for one, other in zip(signals, there, strict=True)}


def _identity(instruction: ptx.Instruction) -> Hashable:
    """Return the role of an instruction at a barrier, and its lines in the source."""
    lines = tuple((frame.file, frame.line) for frame in instruction.locations)
    return barrier_role(instruction), lines
