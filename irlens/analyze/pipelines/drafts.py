"""Marks in the making: what belongs together, and which of the report's pipelines it is.

Every stage finds its instructions in its own way; from there on all do the same.
"""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import TypeAlias

import msgspec

from irlens.analyze.graph import Successors
from irlens.analyze.pipelines.retiring import follow
from irlens.isa.events import Commit, Copy, Event, Wait
from irlens.model.listing import PipelineMark, PipelineRole
from irlens.model.report import Pipeline, PipelineKind

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
        pipeline: Which of the report's it is, where that is known without its place.
    """

    line: int
    origin: Hashable = None
    loops: tuple[LoopKey, ...] = ()
    partners: set[Key] = msgspec.field(default_factory=set)
    pipeline: int | None = None


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
    own = {key: _known(draft, numbers) for key, draft in drafts.items()}
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


def _known(draft: Draft, numbers: Mapping[LoopKey, int]) -> int | None:
    if draft.pipeline is not None:
        return draft.pipeline
    return next((numbers[loop] for loop in draft.loops if loop in numbers), None)


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
    empty: bool = True,
) -> None:
    """Add the copies, commits and waits of a function whose groups can be followed.

    Args:
        drafts: What is added to; keys are the events' offsets.
        successors: For each block those that can follow it.
        events: The events of each block that has any.
        origins: Where in the source the instruction at an offset comes from.
        loops: The pipelines around it, as ``Draft.loops``.
        empty: Whether a commit that takes up no copy is something to wait for all the same.
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
    filled = {end for _, end in followed.closed}
    for group, wait in followed.retired:
        if (group, "copy") in drafts:
            join(drafts, (group, "copy"), (wait, "wait"))
        elif empty or group in filled:
            join(drafts, (group, "commit"), (wait, "wait"))


def _role(event: Event) -> PipelineRole | None:
    match event:
        case Copy() | Commit(copies=True):
            return "copy"
        case Commit(implicit=implicit):
            return None if implicit else "commit"
        case Wait():
            return "wait"
