"""Where in machine code its pipelines are: copies, commits and waits, and which belong together.

Groups are followed in the machine code itself. Which barrier an instruction means is a matter of
registers' contents; that is known of the PTX, and holds for what was made from it.
"""

from collections.abc import Hashable, Mapping, Sequence

import msgspec

from irlens.analyze import sass_flow
from irlens.analyze.graph import find_loops
from irlens.analyze.pipelines import streams, tcgen05
from irlens.analyze.pipelines.drafts import Draft, Key, LoopKey, add_groups, by_source, finish
from irlens.analyze.pipelines.groups import Event
from irlens.analyze.pipelines.loops import loop_source
from irlens.analyze.sass_asynchronous import (
    Stream,
    StreamEvent,
    at_barrier,
    made_from,
    stream_events,
)
from irlens.analyze.sass_tries import first_tries
from irlens.model.listing import PipelineMark, PipelineRole
from irlens.model.report import Pipeline, PipelineKind
from irlens.parse import ptx
from irlens.parse.sass import Section

_KINDS: dict[Stream, PipelineKind] = {
    "cp.async": "cp.async",
    "wgmma": "wgmma",
    "tcgen05": "tcgen05",
}


class Original(msgspec.Struct, frozen=True):
    """The PTX that machine code was made from.

    Attributes:
        instructions: By line.
        marks: Its marks.
    """

    instructions: Mapping[int, ptx.Instruction]
    marks: Sequence[PipelineMark]


def find_marks(
    section: Section, pipelines: Sequence[Pipeline], original: Original
) -> list[PipelineMark]:
    """Return the lines of a section that copy asynchronously, commit or wait for that.

    Args:
        section: The kernel, traced to the PTX it was made from.
        pipelines: What the report says of the loops in PTX; a loop here is the one with the same
            ``for``.
        original: That PTX; empty if it is not known.
    """
    finder = _Finder(section, original)
    finder.groups()
    finder.barriers()
    finder.follow_original()
    return finish(finder.drafts, by_source(pipelines))


class _Finder:
    """Collects the drafts of one section, by the instruction's offset."""

    def __init__(self, section: Section, original: Original) -> None:
        self.drafts: dict[Key, Draft] = {}
        self._section = section
        self._marks = {(mark.line, mark.role): mark for mark in original.marks}
        self._flow = sass_flow.build(section)
        # Where control flow is not known, each block is one that nothing leads to.
        self._shift = 1 if self._flow.unknown else 0
        unrelated = ((),) * (len(self._flow.blocks) + 1)
        known = sass_flow.with_far_jumps(self._flow)
        self._successors = unrelated if self._flow.unknown else known
        self._forest = find_loops(self._successors)
        self._blocks = {n: b for b, inside in enumerate(self._flow.blocks) for n in inside}
        self._originals = {
            each.offset: found
            for each in section.instructions
            if each.ptx_line is not None
            and (found := original.instructions.get(each.ptx_line))
            and made_from(each, found)
        }
        for first, repeated in first_tries(section, self._flow):
            self._originals.pop(first.offset, None)  # whatever stands before it
            if repeated.offset in self._originals:
                self._originals[first.offset] = self._originals[repeated.offset]

    def groups(self) -> None:
        """Add what forms groups, and follow these."""
        found: dict[Stream, list[StreamEvent]] = {}
        for each in stream_events(self._section, self._originals):
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

    def follow_original(self) -> None:
        """Take over what is known of the PTX: barriers, and the pipelines of the report."""
        made: dict[tuple[int, PipelineRole], list[Key]] = {}
        for at, role in self.drafts:
            original = self._originals.get(at)
            if original is not None and (original.line, role) in self._marks:
                made.setdefault((original.line, role), []).append((at, role))
        for place, keys in made.items():
            mark = self._marks[place]
            partners = [
                partner
                for line in mark.partners
                for role in _LEADS_TO[mark.role]
                for partner in made.get((line, role), ())
            ]
            for key in keys:
                self.drafts[key].pipeline = mark.pipeline
                if _goes_by_barrier(self._originals[key[0]]):
                    self.drafts[key].partners.update(partners)

    def _add(self, index: int, role: PipelineRole, kind: PipelineKind | None) -> None:
        instruction = self._section.instructions[index]
        self.drafts[instruction.offset, role] = Draft(
            instruction.line, self._origin(index, kind), self._around(index, kind)
        )

    def _origin(self, index: int, kind: PipelineKind | None) -> Hashable:
        """Where an instruction comes from, and which mechanism's it is."""
        source = self._section.instructions[index].source
        return (kind, source) if kind is not None and source else None

    def _around(self, index: int, kind: PipelineKind | None) -> tuple[LoopKey, ...]:
        """The pipelines that an instruction could be part of, the innermost loop's first."""
        found: list[LoopKey] = []
        loop = self._forest.innermost[self._blocks[index] + self._shift]
        while loop is not None and kind is not None:
            latch = self._flow.blocks[self._forest.loops[loop].latches[0]]
            back = self._section.instructions[latch[-1]]
            found.append((str(loop_source(back.source)), kind))
            loop = self._forest.loops[loop].parent
        return tuple(found)


def _goes_by_barrier(original: ptx.Instruction) -> bool:
    """Whether an instruction signals a barrier, or asks one."""
    return streams.at_barrier(original) is not None or tcgen05.barrier_of(original) is not None


#: What the marks of a role lead to.
_LEADS_TO: dict[PipelineRole, tuple[PipelineRole, ...]] = {
    "copy": ("commit", "wait"),
    "commit": ("wait",),
    "wait": ("commit", "copy"),
}
