"""Pipelines of ``cp.async`` groups (PTX ISA, Data Movement: ``cp.async``; sm_80 and newer).

Triton waits, computes, and commits the next copies at the end of the body; hand-written CUDA
often commits the next copies and then waits. Both are read by following groups and waits along
the control flow until the loop's iterations repeat.
"""

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction

from msgspec.structs import replace

from irlens.analyze.outstanding import Counts, GroupFlow
from irlens.analyze.pipelines.distinct_bytes import (
    Place,
    loads_of_loop,
    place_in_kernel,
    share,
    total,
)
from irlens.analyze.pipelines.products import states_after
from irlens.analyze.pipelines.ptx_loops import FunctionLoops
from irlens.analyze.pipelines.steady_state import GroupReading, Unreadable, first_use, read_loop
from irlens.analyze.pipelines.verdicts import IRREDUCIBLE, PtxKernel
from irlens.isa.events import UNBOUNDED, Commit, Copy, Event
from irlens.isa.ptx import Instruction
from irlens.isa.ptx.copies import (
    copy_size,
    cp_async_events,
    is_bulk_load,
    is_cp_async,
    signals_copies,
)
from irlens.model.report import Pipeline, PipelineKind, Verdict
from irlens.model.source import user_frame

#: ptxas unrolls such loops by four, say, and issues the loads of four iterations together.
NO_COPIES = (
    "the loop has no asynchronous copy and no load that visibly runs ahead through registers;"
    " ptxas decides how many loads are in flight"
)
OUTSIDE_COMMITS = "the loop's copies are committed outside of it, so an iteration is not a group"
MBARRIER = "the loop's copies are tracked by an mbarrier and not by commit groups"
PILE_UP = "groups pile up: the loop retires fewer of them than it commits"

#: By place of a copy, the fraction of its bytes that no other thread copies; ``None`` if unknown.
_Parts = Mapping[Place, Fraction | None]


def find(kernel: PtxKernel) -> list[Pipeline]:
    """Describe every innermost loop that reads global memory, and how far its copies run ahead.

    Returns:
        One record per loop, in the order of the text, without a kind where nothing is copied
        asynchronously. Bytes are those of the copies' size operand, as if no copy were masked
        off; bytes that threads share count once where the source's loads tell.
    """
    loops = kernel.loops
    commits = [_commits(loops, index) for index in range(len(loops.forest.loops))]
    reported = [index for index in _reported(loops, commits) if not _bulk_only(loops, index)]
    outcomes = _outcomes(kernel, reported, commits, {})
    parts = _parts(kernel, outcomes)
    if any(part != 1 for part in parts.values()):
        outcomes = _outcomes(kernel, reported, commits, parts)
    pipelines = []
    for index, outcome in outcomes.items():
        threads = loops.threads(index, kernel.threads_per_cta)
        record = _describe(kernel, index, outcome, threads)
        pipelines.append(
            replace(record, bytes_repeated=_repeated(loops, index, record, threads, parts))
        )
    return sorted(pipelines, key=lambda p: p.line)


def _outcomes(
    kernel: PtxKernel, reported: Iterable[int], commits: list[bool], parts: _Parts
) -> dict[int, GroupReading | Unreadable]:
    """Read some loops, given the fraction of each place's bytes that no other thread copies."""
    loops = kernel.loops
    events = {}
    for block in range(len(loops.cfg.successors)):
        threads = loops.threads_of(block, kernel.threads_per_cta)
        some = tuple(_weighed_events(loops.block(block), threads, parts))
        if some:
            events[block] = some
    flow = GroupFlow(loops.cfg.graph, events, Counts())
    return {index: _outcome(loops, index, flow, commits[index]) for index in reported}


def _parts(kernel: PtxKernel, outcomes: Mapping[int, GroupReading | Unreadable]) -> _Parts:
    """Return the fraction of each place's bytes that no other thread copies.

    It also holds before a loop, where the first iterations' copies stand. ``None`` where loops
    with a place in common disagree.
    """
    loops = kernel.loops
    parts: dict[Place, Fraction | None] = {}
    for index, outcome in outcomes.items():
        there = loads_of_loop(kernel.of_source, user_frame(loops.locations(index)))
        threads = loops.threads(index, kernel.threads_per_cta)
        if threads is None or isinstance(outcome, Unreadable):
            continue
        here = share(
            [(place_in_kernel(i), copy_size(i)) for i in loops.own(index) if is_cp_async(i)],
            threads=threads,
            copies=outcome.unrolled,
            of_source=there,
            certain=True,
        )
        for place, part in here.parts.items():
            parts[place] = part if parts.get(place, part) == part else None
    return parts


def _repeated(
    loops: FunctionLoops, index: int, record: Pipeline, threads: int | None, parts: _Parts
) -> int | None:
    """Return the bytes per iteration that several threads copy, beyond the first; if known."""
    body = loops.forest.body(index)
    copies = [i for block in body for i in loops.block(block) if is_cp_async(i)]
    often, amount = record.copies_per_iteration, record.bytes_per_iteration
    if threads is None or amount is None or often is None:
        return None
    if any(place is None or parts.get(place) is None for place in map(place_in_kernel, copies)):
        return None
    if record.bytes_per_copy is not None:
        return often * record.bytes_per_copy * threads - amount
    # In an unrolled loop, or one with branches, the sum over all copies is not one iteration's.
    per_thread = total(map(copy_size, copies)) if len(copies) == often else None
    return None if per_thread is None else per_thread * threads - amount


def _weighed_events(
    instructions: tuple[Instruction, ...], threads: int | None, parts: _Parts
) -> Iterator[Event]:
    """Yield copies, commits and waits; copies count the distinct bytes they bring to the CTA."""
    places = {each.start: place_in_kernel(each) for each in instructions if is_cp_async(each)}
    for event in cp_async_events(instructions):
        if isinstance(event, Copy) and event.bytes is not None and threads is not None:
            place = places[event.at]
            part = Fraction(1) if place is None else parts.get(place, Fraction(1))
            amount = total([None if part is None else event.bytes * threads * part])
            yield replace(event, amount=UNBOUNDED if amount is None else amount)
        else:
            yield event


def _commits(loops: FunctionLoops, index: int) -> bool:
    own = (e for n in loops.forest.loops[index].own for e in cp_async_events(loops.block(n)))
    return any(isinstance(event, Commit) for event in own)


def _reported(loops: FunctionLoops, commits: list[bool]) -> Iterator[int]:
    """Yield the innermost loops that commit copies, or else only read global memory.

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
        pipelines[index] or (not inside[index] and any(map(loops.reads_global, loops.own(index))))
        for index in range(len(pipelines))
    ]
    read_below = _any_below(loops, reads)
    for index, pipeline in enumerate(pipelines):
        if pipeline or (reads[index] and not read_below[index]):
            yield index


def _any_below(loops: FunctionLoops, flags: list[bool]) -> list[bool]:
    """Return for each loop whether the flag of a loop inside it is set."""
    below, within = [False] * len(flags), flags.copy()
    for index in reversed(range(len(flags))):
        below[index] = any(map(within.__getitem__, loops.forest.loops[index].children))
        within[index] |= below[index]
    return below


def _bulk_only(loops: FunctionLoops, index: int) -> bool:
    """Whether a loop reads global memory by bulk copies alone, which ``tma`` describes."""
    reads = list(filter(loops.reads_global, loops.own(index)))
    return bool(reads) and all(map(is_bulk_load, reads))


def _outcome(
    loops: FunctionLoops, index: int, flow: GroupFlow[Counts], commits: bool
) -> GroupReading | Unreadable:
    """Read one loop, or say why it has no reading."""
    body = loops.forest.body(index)
    inside = [instruction for block in body for instruction in loops.block(block)]
    if not any(map(is_cp_async, inside)):
        return Unreadable(NO_COPIES, copies=False)
    if loops.forest.loops[index].irreducible:
        return Unreadable(IRREDUCIBLE)
    if not commits:
        tracked = any(map(signals_copies, inside))
        return Unreadable(MBARRIER if tracked else OUTSIDE_COMMITS)
    steady = flow.settle(loops.forest.loops[index], body)
    if steady is None:
        return Unreadable(PILE_UP)
    header = loops.forest.loops[index].header
    return read_loop(
        steady,
        lambda wait: first_use(loops, header, body, wait),
        states_after(loops, flow, steady),
    )


def _describe(
    kernel: PtxKernel, index: int, outcome: GroupReading | Unreadable, threads: int | None
) -> Pipeline:
    if isinstance(outcome, Unreadable):
        kind: PipelineKind | None = "cp.async" if outcome.copies else None
        verdict: Verdict = "unknown" if outcome.copies else "not pipelined"
        return replace(kernel.blank(index, kind, outcome.reason), verdict=verdict)
    record = kernel.blank(index, "cp.async")
    verdict, reason = _verdict(outcome, record.requested_stages)
    filled = replace(
        outcome.filled(record),
        groups_during_compute=outcome.during_compute,
        copies_per_iteration=outcome.copies_per_iteration,
        bytes_per_copy=outcome.bytes_per_copy,
        bytes_per_iteration=None if threads is None else outcome.bytes_per_iteration,
        bytes_in_flight=None if threads is None else outcome.bytes_in_flight,
        verdict=verdict,
        reason=reason,
    )
    return kernel.products.overlap(filled, index, outcome.after)


def _verdict(reading: GroupReading, requested: int | None) -> tuple[Verdict, str]:
    notes = []
    if reading.unrolled > 1:
        notes.append(f"unrolled {reading.unrolled} times; figures are per iteration of the source")
    if reading.read_ahead:
        notes.append("the wait at the end of an iteration releases the data that the next one uses")
    if reading.groups_before_loop is None:
        notes.append("how many groups are committed before the loop depends on the path taken")
    achieved = reading.prefetch + 1
    verdict: Verdict = "pipelined"
    if achieved == 1:
        verdict = "not pipelined"
        notes.insert(0, "each iteration waits for the group that it commits")
    elif requested is not None and achieved < requested:
        verdict = "shallower"
        notes.insert(0, f"{requested} stages requested, the groups run {achieved} deep")
    return verdict, "; ".join(notes)
