"""Where in machine code its pipelines are: copies, commits and waits, and which belong together.

Groups are followed in the machine code itself. Which barrier an instruction means is a matter of
registers' contents; that is known of the PTX, and holds for what was made from it.
"""

from collections.abc import Hashable, Sequence

from irlens.analyze import sass_cfg
from irlens.analyze.graph import find_loops
from irlens.analyze.loops import Loops
from irlens.analyze.pipelines.drafts import Draft, Key, LoopKey, add_groups, by_header, finish
from irlens.analyze.pipelines.originals import Original, take_over
from irlens.analyze.sass_asynchronous import (
    Stream,
    StreamEvent,
    at_barrier,
    made_from,
    stream_events,
)
from irlens.analyze.sass_loops import match_loops
from irlens.analyze.sass_tries import first_tries
from irlens.isa.events import Event
from irlens.isa.sass import Section
from irlens.model.listing import PipelineMark, PipelineRole
from irlens.model.report import Pipeline, PipelineKind

_KINDS: dict[Stream, PipelineKind] = {
    "cp.async": "cp.async",
    "wgmma": "wgmma",
    "tcgen05": "tcgen05",
}


def find_marks(
    section: Section, pipelines: Sequence[Pipeline], original: Original
) -> list[PipelineMark]:
    """Return the lines of a section that copy asynchronously, commit or wait for that.

    Args:
        section: The kernel, traced to the PTX it was made from.
        pipelines: What the report says of the loops in PTX.
        original: That PTX; empty if it is not known.
    """
    finder = _Finder(section, original)
    finder.groups()
    finder.barriers()
    take_over(finder.drafts, finder.originals, original)
    return finish(finder.drafts, by_header(pipelines, "ptx"))


class _Finder:
    """Collects the drafts of one section, by the instruction's offset.

    Attributes:
        drafts: What was found.
        originals: By offset, what instructions of PTX those here were made from.
    """

    def __init__(self, section: Section, original: Original) -> None:
        self.drafts: dict[Key, Draft] = {}
        self._section = section
        self._flow = sass_cfg.build(section)
        # Where control flow is not known, each block is one that nothing leads to.
        self._shift = 1 if self._flow.unknown else 0
        unrelated = ((),) * (len(self._flow.blocks) + 1)
        known = sass_cfg.with_far_jumps(self._flow)
        self._successors = unrelated if self._flow.unknown else known
        self._forest = find_loops(self._successors)
        loops = Loops(section.instructions, self._flow, self._forest)
        self._headers = [
            original.loops.header(loop).line if original.loops and loop is not None else None
            for loop in match_loops(loops, original.loops)
        ]
        self._blocks = {n: b for b, inside in enumerate(self._flow.ranges) for n in inside}
        self.originals = {
            each.offset: found
            for each in section.instructions
            if each.ptx_line is not None
            and (found := original.instructions.get(each.ptx_line))
            and made_from(each, found)
        }
        for first, repeated in first_tries(section, self._flow):
            self.originals.pop(first.offset, None)  # whatever stands before it
            if repeated.offset in self.originals:
                self.originals[first.offset] = self.originals[repeated.offset]

    def groups(self) -> None:
        """Add what forms groups, and follow these."""
        found: dict[Stream, list[StreamEvent]] = {}
        for each in stream_events(self._section, self.originals):
            if each.stream is None:
                self._add(each.index, "wait", None)
            else:
                found.setdefault(each.stream, []).append(each)
        for stream, events in found.items():
            self._follow(stream, events)

    def _follow(self, stream: Stream, found: Sequence[StreamEvent]) -> None:
        kind = _KINDS.get(stream)
        events: dict[int, list[Event]] = {}
        for each in found:
            events.setdefault(self._blocks[each.index] + self._shift, []).append(each.event)
        add_groups(
            self.drafts,
            self._successors,
            events,
            origins={each.event.at: self._origin(each.index, kind) for each in found},
            loops={each.event.at: self._around(each.index, kind) for each in found},
            empty=stream != "stores",
        )

    def barriers(self) -> None:
        """Add what goes by barriers."""
        for index, instruction in enumerate(self._section.instructions):
            found = at_barrier(instruction)
            if found is not None:
                self._add(index, *found)

    def _add(self, index: int, role: PipelineRole, kind: PipelineKind | None) -> None:
        instruction = self._section.instructions[index]
        self.drafts[instruction.offset, role] = Draft(
            instruction.line, self._origin(index, kind), self._around(index, kind)
        )

    def _origin(self, index: int, kind: PipelineKind | None) -> Hashable:
        """Where an instruction comes from, and which mechanism's it is."""
        source = self._section.instructions[index].locations
        return (kind, source) if kind is not None and source else None

    def _around(self, index: int, kind: PipelineKind | None) -> tuple[LoopKey, ...]:
        """The pipelines that an instruction could be part of, the innermost loop's first."""
        found: list[LoopKey] = []
        loop = self._forest.innermost[self._blocks[index] + self._shift]
        while loop is not None and kind is not None:
            if (line := self._headers[loop]) is not None:
                found.append((line, kind))
            loop = self._forest.loops[loop].parent
        return tuple(found)
