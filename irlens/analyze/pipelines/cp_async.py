"""Pipelines of ``cp.async`` groups (PTX ISA, Data Movement: ``cp.async``; sm_80 and newer).

Triton waits, computes, and commits the next copies at the end of the body; hand-written CUDA
often commits the next copies and then waits. Both are read by following groups and waits along
the control flow until the loop's iterations repeat.
"""

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction

from msgspec.structs import replace

from irlens.analyze.pipelines.cp_async_events import events_of, literal
from irlens.analyze.pipelines.describe import IRREDUCIBLE, RequestedStages, blank, of_groups
from irlens.analyze.pipelines.groups import UNBOUNDED, GroupFlow
from irlens.analyze.pipelines.loops import (
    FunctionLoops,
    is_bulk_load,
    is_copy,
    loop_source,
    reads_global,
)
from irlens.analyze.pipelines.repeated import Place, SourceBytes, expected, place_of, share, total
from irlens.analyze.pipelines.steady import Reading, Unreadable, read_loop
from irlens.analyze.pipelines.uses import first_use
from irlens.isa.events import Commit, Copy, Event
from irlens.isa.ptx import Instruction
from irlens.model.report import Pipeline, PipelineKind, Verdict

#: ptxas unrolls such loops by four, say, and issues the loads of four iterations together.
NO_COPIES = (
    "no asynchronous copy in the loop, and no load that is seen to run ahead through registers;"
    " how many are in flight at once is up to ptxas"
)
OUTSIDE_COMMITS = "the loop's copies are committed outside it, so that an iteration is no group"
MBARRIER = "the loop's copies are tracked by an mbarrier and not by commit groups"
PILE_UP = "groups pile up: the loop retires fewer of them than it commits"


def find(
    loops: FunctionLoops,
    *,
    threads_per_cta: int | None,
    requested: RequestedStages,
    of_source: SourceBytes | None = None,
) -> list[Pipeline]:
    """Describe every innermost loop that reads global memory, and how far its copies run ahead.

    Args:
        loops: The kernel.
        threads_per_cta: To turn bytes per thread into bytes per CTA; ``None`` leaves these open.
        requested: Stages asked for, given the source location of a loop, innermost frame first.
        of_source: What the source's loops load.

    Returns:
        One record per loop, in the order of the text. Bytes are those of the copies' size
        operand, as if none were masked off; what threads share counts once where ``of_source``
        tells.
    """
    commits = [_commits(loops, index) for index in range(len(loops.forest.loops))]
    reported = [index for index in _reported(loops, commits) if not _bulk_only(loops, index)]
    outcomes = _outcomes(loops, reported, commits, threads_per_cta, {})
    parts = _parts(loops, outcomes, threads_per_cta, of_source or {})
    if any(part != 1 for part in parts.values()):
        outcomes = _outcomes(loops, reported, commits, threads_per_cta, parts)
    pipelines = []
    for index, outcome in outcomes.items():
        threads = loops.threads(index, threads_per_cta)
        record = _record(loops, index, requested, outcome, threads)
        pipelines.append(
            replace(record, bytes_repeated=_repeated(loops, index, record, threads, parts))
        )
    return sorted(pipelines, key=lambda p: p.line)


def _outcomes(
    loops: FunctionLoops,
    reported: Iterable[int],
    commits: list[bool],
    threads_per_cta: int | None,
    parts: Mapping[Place, Fraction | None],
) -> dict[int, Reading | Unreadable]:
    """Read some loops, given how much of what is copied at a place no other thread copies."""
    successors = loops.cfg.successors
    events = {
        index: tuple(_weighed(loops.block(index), loops.threads_of(index, threads_per_cta), parts))
        for index in range(len(successors))
    }
    flow = GroupFlow(successors, {block: found for block, found in events.items() if found})
    return {index: _outcome(loops, index, flow, commits[index]) for index in reported}


def _parts(
    loops: FunctionLoops,
    outcomes: Mapping[int, Reading | Unreadable],
    threads_per_cta: int | None,
    of_source: SourceBytes,
) -> dict[Place, Fraction | None]:
    """Return how much of what is copied at a place is not also copied by another thread.

    It holds in front of a loop, too, where its first iterations' copies stand. Where loops that
    have a place in common do not agree it is ``None``, not known.
    """
    found: dict[Place, Fraction | None] = {}
    for index, outcome in outcomes.items():
        there = expected(of_source, loop_source(loops.locations(index)))
        threads = loops.threads(index, threads_per_cta)
        if threads is None or isinstance(outcome, Unreadable):
            continue
        here = share(
            [(_place(i), literal(i, 2)) for i in loops.own(index) if is_copy(i)],
            threads=threads,
            copies=outcome.unrolled,
            of_source=there,
            certain=True,
        )
        for place, part in here.parts.items():
            found[place] = part if found.get(place, part) == part else None
    return found


def _repeated(
    loops: FunctionLoops,
    index: int,
    record: Pipeline,
    threads: int | None,
    parts: Mapping[Place, Fraction | None],
) -> int | None:
    """Return the bytes that copies of a loop's iteration bring after others have; if known."""
    body = loops.forest.body(index)
    copies = [i for block in body for i in loops.block(block) if is_copy(i)]
    often, amount = record.copies_per_iteration, record.bytes_per_iteration
    if threads is None or amount is None or often is None:
        return None
    if any(place is None or parts.get(place) is None for place in map(_place, copies)):
        return None
    if record.bytes_per_copy is not None:
        return often * record.bytes_per_copy * threads - amount
    # Of an unrolled loop, or one with branches, these would not be an iteration's.
    per_thread = total(literal(each, 2) for each in copies) if len(copies) == often else None
    return None if per_thread is None else per_thread * threads - amount


def _weighed(
    instructions: tuple[Instruction, ...],
    threads: int | None,
    parts: Mapping[Place, Fraction | None],
) -> Iterator[Event]:
    """Yield the copies, commits and waits; copies count the bytes that they bring to the CTA."""
    places = {instruction.start: _place(instruction) for instruction in instructions}
    for event in events_of(instructions):
        if isinstance(event, Copy) and event.bytes is not None and threads is not None:
            place = places[event.at]
            part = Fraction(1) if place is None else parts.get(place, Fraction(1))
            amount = total([None if part is None else event.bytes * threads * part])
            yield replace(event, amount=UNBOUNDED if amount is None else amount)
        else:
            yield event


def _place(instruction: Instruction) -> Place | None:
    """Where an instruction stands in the kernel's own file."""
    return place_of(loop_source(instruction.locations))


def _commits(loops: FunctionLoops, index: int) -> bool:
    own = (e for block in loops.forest.loops[index].own for e in events_of(loops.block(block)))
    return any(isinstance(event, Commit) for event in own)


def _reported(loops: FunctionLoops, commits: list[bool]) -> Iterator[int]:
    """The innermost loops that commit copies, and the innermost that only read global memory.

    A loop inside a committing one belongs to the iterations of that one, and a loop around a
    reported one (over the tiles of a persistent kernel, say) is not described again.
    """
    below = _any_below(loops, commits)
    pipelines = [commit and not inner for commit, inner in zip(commits, below, strict=True)]
    inside: list[bool] = []
    for loop in loops.forest.loops:
        above = loop.parent
        inside.append(above is not None and (inside[above] or pipelines[above]))
    reads = [
        pipelines[index]
        or (not inside[index] and any(reads_global(loops, i) for i in loops.own(index)))
        for index in range(len(pipelines))
    ]
    read_below = _any_below(loops, reads)
    for index, pipeline in enumerate(pipelines):
        if pipeline or (reads[index] and not read_below[index]):
            yield index


def _any_below(loops: FunctionLoops, flags: list[bool]) -> list[bool]:
    """For each loop, whether the flag of a loop inside it is set."""
    found = [False] * len(flags)
    for index in reversed(range(len(flags))):
        children = loops.forest.loops[index].children
        found[index] = any(flags[child] or found[child] for child in children)
    return found


def _bulk_only(loops: FunctionLoops, index: int) -> bool:
    """Whether a loop reads global memory by bulk copies alone: these are another module's."""
    reads = [i for i in loops.own(index) if reads_global(loops, i)]
    return bool(reads) and all(map(is_bulk_load, reads))


def _outcome(
    loops: FunctionLoops, index: int, flow: GroupFlow, commits: bool
) -> Reading | Unreadable:
    """Read one loop, or say why it has no reading."""
    body = loops.forest.body(index)
    inside = [instruction for block in body for instruction in loops.block(block)]
    if not any(map(is_copy, inside)):
        return Unreadable(NO_COPIES, copies=False)
    if loops.forest.loops[index].irreducible:
        return Unreadable(IRREDUCIBLE)
    if not commits:
        tracked = any(i.modifiers[:2] == ("async", "mbarrier") for i in inside)
        return Unreadable(MBARRIER if tracked else OUTSIDE_COMMITS)
    steady = flow.settle(loops.forest.loops[index], body)
    if steady is None:
        return Unreadable(PILE_UP)
    header = loops.forest.loops[index].header
    return read_loop(steady, lambda wait: first_use(loops, header, body, wait))


def _record(
    loops: FunctionLoops,
    index: int,
    requested: RequestedStages,
    outcome: Reading | Unreadable,
    threads: int | None,
) -> Pipeline:
    stages = requested(loops.locations(index))
    verdict, reason = _verdict(outcome, stages)
    if isinstance(outcome, Unreadable):
        kind: PipelineKind | None = "cp.async" if outcome.copies else None
        return replace(blank(loops, index, kind, stages, reason), verdict=verdict)
    return replace(
        of_groups(blank(loops, index, "cp.async", stages, reason), outcome),
        copies_per_iteration=outcome.copies_per_iteration,
        bytes_per_copy=outcome.bytes_per_copy,
        bytes_per_iteration=None if threads is None else outcome.bytes_per_iteration,
        bytes_in_flight=None if threads is None else outcome.bytes_in_flight,
        verdict=verdict,
    )


def _verdict(outcome: Reading | Unreadable, requested: int | None) -> tuple[Verdict, str]:
    if isinstance(outcome, Unreadable):
        return ("unknown" if outcome.copies else "not pipelined"), outcome.reason
    notes = []
    if outcome.unrolled > 1:
        notes.append(f"unrolled {outcome.unrolled} times; figures are per iteration of the source")
    if outcome.read_ahead:
        notes.append("the wait at the end of an iteration releases what the next one uses")
    if outcome.groups_before_loop is None:
        notes.append("how many groups are committed before the loop depends on the path taken")
    achieved = outcome.prefetch + 1
    verdict: Verdict = "pipelined"
    if achieved == 1:
        verdict = "not pipelined"
        notes.insert(0, "each group is waited for in the iteration that commits it")
    elif requested is not None and achieved < requested:
        verdict = "shallower"
        notes.insert(0, f"{requested} stages were asked for and the groups run {achieved} deep")
    return verdict, "; ".join(notes)
