"""Pipeline annotations of machine code.

Groups are followed in the machine code itself. Which barrier an instruction means depends on the
contents of registers; that is known of the PTX, and holds for what was made from it.
"""

from collections.abc import Iterator, Sequence

from irlens.analyze.graph import FlowGraph, find_loops
from irlens.analyze.loops import Loops
from irlens.analyze.pipelines.annotate import (
    Annotator,
    PtxAnnotations,
    Site,
    number_by_header,
    site_in_loops,
)
from irlens.analyze.sass_cfg import SassCfg
from irlens.analyze.sass_origin import match_loops
from irlens.isa.events import Event
from irlens.isa.sass import Instruction, Section, copies
from irlens.isa.sass.control_flow import effect
from irlens.model.listing import PipelineAnnotation
from irlens.model.report import Pipeline, PipelineKind


def annotate(
    section: Section, flow: SassCfg, pipelines: Sequence[Pipeline], original: PtxAnnotations
) -> list[PipelineAnnotation]:
    """Return the annotations of a section, in ascending order.

    Args:
        section: The kernel, traced to the PTX it was made from.
        original: That PTX; empty if unknown.
    """
    annotator = _SassAnnotator(section, flow, original)
    annotator.add_streams()
    for index, instruction in enumerate(section.instructions):
        role = copies.barrier_role(instruction)
        if role is not None:
            annotator.add(instruction.offset, role[0], annotator.site(index, role[1]))
    annotator.take_over(original, annotator.originals)
    return annotator.finish(number_by_header(pipelines, "ptx"))


class _SassAnnotator(Annotator):
    """Annotates one section, by the instructions' offsets.

    Attributes:
        originals: By offset, the instructions of PTX that those here were made from.
    """

    def __init__(self, section: Section, flow: SassCfg, original: PtxAnnotations) -> None:
        super().__init__()
        self._section = section
        self._flow = flow
        # Where control flow is unknown, nothing leads to any block.
        self._shift = 1 if self._flow.unknown else 0
        unrelated = ((),) * (len(self._flow.blocks) + 1)
        successors = unrelated if self._flow.unknown else self._flow.successors
        entries = (0,) if self._flow.unknown else self._flow.entries
        self._graph = FlowGraph(successors)
        forest = find_loops(successors, entries)
        self._loops = Loops(section.instructions, self._flow, forest)
        self._headers = [
            original.loops.header(loop).line if original.loops and loop is not None else None
            for loop in match_loops(self._loops, original.loops)
        ]
        self._blocks = {n: b for b, inside in enumerate(self._flow.ranges) for n in inside}
        self.originals = {
            each.offset: instruction
            for each in section.instructions
            if each.ptx_line is not None
            and (instruction := original.instructions.get(each.ptx_line))
            and copies.made_from(each, instruction)
        }
        for first, repeated in _first_tries(section, self._flow):
            self.originals.pop(first.offset, None)  # the line of whatever precedes it
            if repeated.offset in self.originals:
                self.originals[first.offset] = self.originals[repeated.offset]

    def add_streams(self) -> None:
        """Add the operations that form commit groups."""
        streams: dict[copies.Stream, list[copies.StreamEvent]] = {}
        for each in copies.stream_events(self._section, self.originals):
            if each.stream is None:
                self.add(each.event.at, "wait", self.site(each.index, None))
            else:
                streams.setdefault(each.stream, []).append(each)
        for stream, placed in streams.items():
            kind = copies.STREAM_KINDS.get(stream)
            events: dict[int, list[Event]] = {}
            for each in placed:
                events.setdefault(self._blocks[each.index] + self._shift, []).append(each.event)
            sites = {each.event.at: self.site(each.index, kind) for each in placed}

            def site_of(event: Event, sites: dict[int, Site] = sites) -> Site:
                return sites[event.at]

            self.add_groups(self._graph, events, site_of, empty=stream != "stores")

    def site(self, index: int, kind: PipelineKind | None) -> Site:
        """Return the site of an instruction."""
        instruction = self._section.instructions[index]
        block = self._blocks[index] + self._shift
        return site_in_loops(
            instruction.line,
            instruction.locations if kind is not None else (),
            kind,
            (self._headers[loop] for loop in self._loops.around(block)),
        )


def _first_tries(section: Section, flow: SassCfg) -> Iterator[tuple[Instruction, Instruction]]:
    """Yield the first try of each wait for a barrier, with the try that is repeated.

    ptxas writes ``SYNCS.PHASECHK`` twice for a loop around ``mbarrier.try_wait``: once where the
    wait is, and once out of the way, in a loop of its own, for threads whose first try failed.
    Both continue at the same place. The line table knows only the origin of the repeated one.
    """
    before = flow.graph.predecessors
    for block, following in enumerate(flow.successors):
        repeated = section.instructions[flow.blocks[block].start]
        if block not in following or not copies.polls_barrier(repeated):
            continue
        targets = {_past_jump(section, flow, each) for each in following if each != block}
        for source in _sources(flow, before, block):
            last = (section.instructions[n] for n in reversed(flow.blocks[source].indices))
            first = next(filter(copies.polls_barrier, last), None)
            aims = {_past_jump(section, flow, each) for each in flow.successors[source]}
            if first is not None and _barrier(first) == _barrier(repeated) and aims & targets:
                yield first, repeated


def _sources(flow: SassCfg, before: Sequence[Sequence[int]], block: int) -> Iterator[int]:
    """Yield blocks that lead to a loop of one block, some through one that sets up operands."""
    for source in before[block]:
        if source == block:
            continue
        if len(flow.successors[source]) > 1:
            yield source
        else:
            yield from before[source]


def _past_jump(section: Section, flow: SassCfg, block: int) -> int:
    """Return the target of a block that only jumps; otherwise the block itself."""
    alone = len(flow.blocks[block].indices) == 1 and len(flow.successors[block]) == 1
    jumps = effect(section.instructions[flow.blocks[block].start]) == "branches"
    return flow.successors[block][0] if alone and jumps else block


def _barrier(instruction: Instruction) -> str:
    return next((each.text for each in instruction.operands if each.kind == "memory"), "")
