"""Where in the text a kernel's pipelines are: copies, commits and waits, and which belong together.

The verdicts of the other modules are about loops; these are the instructions behind them, those
before and after the loops included.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

import msgspec

from irlens.analyze.cfg import Cfg
from irlens.analyze.graph import Successors
from irlens.analyze.pipelines import cp_async, registers, tcgen05, tma, wgmma
from irlens.analyze.pipelines.barriers import Issues, Ring, RingReading, awaited, expects_bytes
from irlens.analyze.pipelines.describe import innermost
from irlens.analyze.pipelines.groups import Commit, Copy, Event, Wait
from irlens.analyze.pipelines.loops import FunctionLoops, analyze_loops, is_bulk_load
from irlens.analyze.pipelines.retiring import follow
from irlens.model.listing import PipelineMark, PipelineRole
from irlens.model.report import Pipeline, PipelineKind
from irlens.parse.ptx import Function, Instruction

#: What a loop's pipeline is found by: the loop (the line of its header, say), and the mechanism.
LoopKey: TypeAlias = tuple[Hashable, PipelineKind]


#: What a draft is found by: anything that orders the instructions, and the role.
Key: TypeAlias = tuple[int, PipelineRole]


class Draft(msgspec.Struct):
    """A mark in the making.

    Attributes:
        line: 1-based line of the stage.
        origin: Where in the source it comes from; what a compiler peels off a loop keeps it.
        loops: The pipelines that it could belong to by its place, the innermost loop's first.
        partners: Keys of other drafts.
    """

    line: int
    origin: Hashable = None
    loops: tuple[LoopKey, ...] = ()
    partners: set[Key] = msgspec.field(default_factory=set)


def find_marks(function: Function, cfg: Cfg, pipelines: Sequence[Pipeline]) -> list[PipelineMark]:
    """Return the lines of a PTX function that are part of a pipeline, in ascending order.

    Args:
        function: The kernel.
        cfg: Its control flow.
        pipelines: What the report says of its loops.
    """
    finder = _Finder(analyze_loops(function, cfg))
    finder.groups("cp.async", cp_async.events_of)
    finder.groups("wgmma", wgmma.events_of)
    finder.barriers()
    finder.registers()
    return finish(finder.drafts, by_header(pipelines, "ptx"))


def by_header(pipelines: Sequence[Pipeline], stage: str) -> dict[LoopKey, int]:
    """Number the pipelines of a stage by their loop's header and their mechanism."""
    return {
        (each.line, each.kind): number
        for number, each in enumerate(pipelines)
        if each.stage == stage and each.kind is not None
    }


def by_source(pipelines: Sequence[Pipeline]) -> dict[LoopKey, int]:
    """Number the pipelines by their ``for`` and mechanism, where that tells one from the others.

    It is for stages that the pipelines were not read from: their loops have other lines.
    """
    keys = [(str(each.source), each.kind) for each in pipelines]
    often = Counter(keys)
    return {
        (source, kind): number
        for number, (source, kind) in enumerate(keys)
        if kind is not None and often[source, kind] == 1
    }


def finish(drafts: Mapping[Key, Draft], numbers: Mapping[LoopKey, int]) -> list[PipelineMark]:
    """Turn drafts into marks: settle which pipeline each belongs to.

    What stands in no loop with a pipeline (a prologue, the last wait) belongs to that of its
    partners, if they agree, or else to that of what comes from the same place in the source.
    """
    own = {
        key: next((numbers[loop] for loop in draft.loops if loop in numbers), None)
        for key, draft in drafts.items()
    }
    settled = _spread(_like_origin(_spread(own, drafts), drafts), drafts)
    lines: dict[tuple[int, PipelineRole], set[int]] = {}
    chosen: dict[tuple[int, PipelineRole], int | None] = {}
    for key, draft in sorted(drafts.items(), key=lambda item: item[0]):
        place = (draft.line, key[1])  # several instructions of one line become one mark
        partners = {drafts[partner].line for partner in draft.partners}
        lines.setdefault(place, set()).update(partners)
        chosen.setdefault(place, settled[key])
    return [
        PipelineMark(
            line=line,
            role=role,
            pipeline=chosen[line, role],
            partners=tuple(sorted(lines[line, role])),
        )
        for line, role in sorted(lines)
    ]


def _spread(own: Mapping[Key, int | None], drafts: Mapping[Key, Draft]) -> dict[Key, int | None]:
    """Give drafts without a pipeline that of their partners, and of theirs, if it is but one."""
    near = {key: set(draft.partners) for key, draft in drafts.items()}
    for key, draft in drafts.items():
        for partner in draft.partners:
            near[partner].add(key)
    found = {key: set() if number is None else {number} for key, number in own.items()}
    waiting = [key for key, number in own.items() if number is not None]
    while waiting:
        key = waiting.pop()
        for other in near[key]:
            if own[other] is None and not found[key] <= found[other]:
                found[other] |= found[key]
                waiting.append(other)
    return {key: next(iter(each)) if len(each) == 1 else None for key, each in found.items()}


def _like_origin(
    settled: Mapping[Key, int | None], drafts: Mapping[Key, Draft]
) -> dict[Key, int | None]:
    """Give drafts without a pipeline that of those with their role and origin, if it is but one."""
    known: dict[tuple[PipelineRole, Hashable], set[int]] = {}
    for key, number in settled.items():
        if number is not None and drafts[key].origin is not None:
            known.setdefault((key[1], drafts[key].origin), set()).add(number)
    found = dict(settled)
    for key, number in settled.items():
        like = known.get((key[1], drafts[key].origin), set())
        if number is None and len(like) == 1:
            found[key] = next(iter(like))
    return found


def join(drafts: Mapping[Key, Draft], one: Key, other: Key) -> None:
    """Make two drafts partners of each other."""
    drafts[one].partners.add(other)
    drafts[other].partners.add(one)


def add_groups(
    drafts: dict[Key, Draft],
    successors: Successors,
    events: Mapping[int, Sequence[Event]],
    *,
    origins: Mapping[int, Hashable],
    loops: Mapping[int, tuple[LoopKey, ...]],
) -> None:
    """Add the copies, commits and waits of a function whose groups can be followed.

    Args:
        drafts: What is added to; keys are the events' offsets.
        successors: For each block those that can follow it.
        events: The events of each block that has any.
        origins: Where in the source the instruction at an offset comes from.
        loops: The pipelines around it, as ``Draft.loops``.
    """
    for found in events.values():
        for event in found:
            role = _role(event)
            if role is not None:
                drafts[event.at, role] = Draft(
                    event.line, origins.get(event.at), loops.get(event.at, ())
                )
    followed = follow(successors, events)
    for copy, end in followed.closed:
        if (end, "commit") in drafts:
            drafts[copy, "copy"].partners.add((end, "commit"))
        else:  # wait_all: no commit of its own
            join(drafts, (copy, "copy"), (end, "wait"))
    for commit, wait in followed.retired:
        join(drafts, (commit, "commit"), (wait, "wait"))


def _role(event: Event) -> PipelineRole | None:
    match event:
        case Copy():
            return "copy"
        case Commit(implicit=implicit):
            return None if implicit else "commit"
        case Wait():
            return "wait"


class _Finder:
    """Collects the drafts of one function, by the instruction's offset in the text."""

    def __init__(self, loops: FunctionLoops) -> None:
        self.drafts: dict[Key, Draft] = {}
        self._loops = loops
        self._starts = [block.start for block in loops.cfg.blocks]
        self._origins = {i.start: i.locations or None for i in loops.function.instructions}

    def groups(
        self, kind: PipelineKind, events_of: Callable[[tuple[Instruction, ...]], Iterable[Event]]
    ) -> None:
        """Add what collects copies into groups."""
        loops = self._loops
        events = {
            block: found
            for block in range(len(loops.cfg.blocks))
            if (found := tuple(events_of(loops.block(block))))
        }
        keys = {block: self._keys(block, kind) for block in events}
        add_groups(
            self.drafts,
            loops.cfg.successors,
            events,
            origins=self._origins,
            loops={each.at: keys[block] for block, found in events.items() for each in found},
        )

    def barriers(self) -> None:
        """Add what goes by barriers: bulk copies, and the tensor core of sm_100."""
        # A tcgen05.commit takes up all products before it; what waits for it asks the barrier.
        self.groups("tcgen05", _products)
        for index, instruction in enumerate(self._loops.function.instructions):
            if is_bulk_load(instruction):
                self._add(index, "copy", "tma")
            elif expects_bytes(instruction):
                self._add(index, "commit", "tma")
            elif awaited(instruction):
                self._add(index, "wait", None)
        for reading in self._rings(is_bulk_load, tma.barrier_of):
            self._add_ring(reading)
        for reading in self._rings(tcgen05.multiplies, tcgen05.barrier_of):
            self._add_ring(reading)

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

    def _add_ring(self, reading: RingReading) -> None:
        instructions = self._loops.function.instructions
        for touched, waiting in reading.ended:
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
            loops = self._keys(block, kind) if kind is not None else ()
            self.drafts[key] = Draft(instruction.line, self._origins[instruction.start], loops)
        return key

    def _keys(self, block: int, kind: PipelineKind) -> tuple[LoopKey, ...]:
        """The pipelines of a kind that a block could be part of, the innermost loop's first."""
        found = []
        loop = self._loops.forest.innermost[block]
        while loop is not None:
            found.append((self._loops.header(loop).line, kind))
            loop = self._loops.forest.loops[loop].parent
        return tuple(found)


def _products(instructions: tuple[Instruction, ...]) -> Iterator[Event]:
    """The products of tcgen05 and the commits that take them up.

    One thread issues both. A commit that runs under the predicate of the products before it takes
    them up for certain.
    """
    issuer: str | None = None
    for instruction in instructions:
        if tcgen05.multiplies(instruction):
            issuer = instruction.predicate
            yield Copy(instruction.line, None, at=instruction.start)
        elif tcgen05.barrier_of(instruction) is not None:
            certain = instruction.predicate in (None, issuer)
            yield Commit(instruction.line, certain, at=instruction.start)
