"""Where in LLVM IR its pipelines are: copies, commits and waits, and which belong together.

For NVIDIA they are calls that stand for instructions of PTX, and groups are followed as there.
Which barrier a wait asks is followed in the PTX alone. LLVM keeps such calls in order as a rule:
where the two have the same ones of the same lines, what belongs together there does so here.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from irlens.analyze.loops import Loops
from irlens.analyze.pipelines.drafts import Draft, Key, LoopKey, add_groups, by_source, finish
from irlens.analyze.pipelines.loops import loop_source
from irlens.analyze.pipelines.originals import Original, goes_by_barrier, take_over
from irlens.analyze.pipelines.streams import STREAMS, announced, at_barrier
from irlens.isa import ptx
from irlens.isa.events import Event
from irlens.isa.llir import amdgcn as llir_amdgcn
from irlens.isa.llir import parser as llir
from irlens.isa.llir.ptx import Calls
from irlens.model.listing import PipelineMark
from irlens.model.report import Pipeline, PipelineKind

#: Instructions of PTX that one call can stand for; keys are of the line and the one among them.
_MOST_PER_CALL = 1 << 16


def find_marks(
    loops: Loops[llir.Instruction],
    lines: Sequence[str],
    pipelines: Sequence[Pipeline],
    original: Callable[[], Original],
) -> list[PipelineMark]:
    """Return the lines of a function that copy asynchronously, commit or wait for that.

    Args:
        loops: The function.
        lines: The module's text, line by line.
        pipelines: What the report says of the loops in machine-level IR; a loop here is the one
            with the same ``for``.
        original: Answers with the PTX, if barriers make it necessary.
    """
    finder = _Finder(loops, lines)
    finder.nvidia()
    finder.amd()
    if finder.signals:
        found = original()
        take_over(finder.drafts, _paired(finder.signals, found), found)
    return finish(finder.drafts, by_source(pipelines))


class _Finder:
    """Collects the drafts of one function, by the line of a call and its place in the call.

    Attributes:
        drafts: What was found.
        signals: What goes by barriers, in the order of the text.
    """

    def __init__(self, loops: Loops[llir.Instruction], lines: Sequence[str]) -> None:
        self.drafts: dict[Key, Draft] = {}
        self._loops = loops
        self._lines = lines
        self.signals: list[ptx.Instruction] = []
        self._origins: dict[int, Hashable] = {}

    def nvidia(self) -> None:
        """Add what stands for PTX."""
        calls = Calls()
        blocks = [tuple(self._read(calls, block)) for block in range(len(self._loops.cfg.blocks))]
        for stream in STREAMS:
            events = {n: tuple(stream.events_of(found)) for n, found in enumerate(blocks) if found}
            self._groups(events, stream.kind, empty=stream.empty)
        for block, found in enumerate(blocks):
            self._barriers(block, found)

    def amd(self) -> None:
        """Add what AMD's intrinsics do."""
        found: dict[llir_amdgcn.Counter, dict[int, list[Event]]] = {}
        for block in range(len(self._loops.cfg.blocks)):
            for call in self._calls(block):
                text, at = self._lines[call.line - 1], call.line * _MOST_PER_CALL
                told = llir_amdgcn.event(text, call.line, at)
                if told is not None:
                    found.setdefault(told[0], {}).setdefault(block, []).append(told[1])
                    self._origins[at] = call.locations or None
        for events in found.values():
            self._groups(events, "direct-to-lds")

    def _calls(self, block: int) -> Iterator[llir.Instruction]:
        return (each for each in self._loops.block(block) if each.opcode == "call")

    def _read(self, calls: Calls, block: int) -> Iterator[ptx.Instruction]:
        """The instructions of PTX that a block's calls stand for."""
        for call in self._calls(block):
            for number, each in enumerate(calls.read(self._lines[call.line - 1])):
                at = call.line * _MOST_PER_CALL + number
                self._origins[at] = call.locations or None
                yield replace(each, line=call.line, start=at, locations=call.locations)

    def _groups(
        self,
        events: Mapping[int, Sequence[Event]],
        kind: PipelineKind | None,
        *,
        empty: bool = True,
    ) -> None:
        homes = {each: block for block, found in events.items() for each in found}
        kinds = {each.at: kind if self._belongs(each) else None for each in homes}
        add_groups(
            self.drafts,
            self._loops.cfg.successors,
            events,
            origins={at: self._origin(at, own) for at, own in kinds.items()},
            loops={each.at: self._around(block, kinds[each.at]) for each, block in homes.items()},
            empty=empty,
        )

    def _belongs(self, event: Event) -> bool:
        """Whether a pipeline of the report can be made of it: not of copies out of LDS."""
        return not llir_amdgcn.leaves_lds(self._lines[event.line - 1])

    def _barriers(self, block: int, instructions: Sequence[ptx.Instruction]) -> None:
        """Add what goes by barriers in a block."""
        self.signals += filter(goes_by_barrier, instructions)
        for each in instructions:
            found = at_barrier(each)
            if found is not None:
                role, kind = found
                self.drafts[each.start, role] = Draft(
                    each.line, self._origin(each.start, kind), self._around(block, kind)
                )
        for copy, announcement in announced(instructions):
            self.drafts[copy.start, "copy"].partners.add((announcement.start, "commit"))

    def _origin(self, at: int, kind: PipelineKind | None) -> Hashable:
        """Where a call comes from, and which mechanism's it is."""
        known = kind is not None and self._origins[at] is not None
        return (kind, self._origins[at]) if known else None

    def _around(self, block: int, kind: PipelineKind | None) -> tuple[LoopKey, ...]:
        """The pipelines that a block could be part of, the innermost loop's first."""
        found: list[LoopKey] = []
        loop = self._loops.forest.innermost[block]
        while loop is not None and kind is not None:
            found.append((str(loop_source(self._loops.locations(loop))), kind))
            loop = self._loops.forest.loops[loop].parent
        return tuple(found)


def _paired(signals: Sequence[ptx.Instruction], original: Original) -> dict[int, ptx.Instruction]:
    """What signals and asks barriers here with what does so in the PTX; none if they differ."""
    there = [
        instruction
        for _, instruction in sorted(original.instructions.items())
        if goes_by_barrier(instruction)
    ]
    if [*map(_place, signals)] != [*map(_place, there)]:
        return {}
    return {one.start: other for one, other in zip(signals, there, strict=True)}


def _place(instruction: ptx.Instruction) -> Hashable:
    """What an instruction does at a barrier, and its lines in the source."""
    lines = tuple((frame.file, frame.line) for frame in instruction.locations)
    return at_barrier(instruction), lines
