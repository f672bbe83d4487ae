"""The verdict on each load of an AMDGPU loop, and that on the loop by its worst load.

A load that is waited for with nothing computed since its issue costs every iteration all of
memory's latency, whatever the loop's other loads do: it decides. A load whose data is used in the
iteration that issues it, after other computation, hides some of the latency without running
ahead, and decides only where no load runs ahead.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec

from irlens.analyze.pipelines.amdgcn_trace import Ahead, LoopTrace
from irlens.analyze.pipelines.verdicts import judge
from irlens.isa.amdgcn.memory import Transfer
from irlens.model.report import Pipeline, PipelineLoad
from irlens.model.source import SourceLocation, user_frame
from irlens.model.terms import describe_loads

IN_PLACE = "each iteration waits for the loads that it issues, and uses them"
WAITED_FOR = (
    "nothing is computed between a load and the wait for it, though its data is used in a later"
    " iteration"
)
CHAINED = "a load's address depends on what it loaded in the iteration before"
COPIES_DIFFER = (
    "the loop is unrolled, and its copies run ahead by different distances, of which the least"
    " counts"
)
SHIFTED = (
    "the loop is unrolled, and the computation of one iteration comes after the loads of the next"
)
NOT_FOLLOWED = "the first use of the loaded data was not found"

#: How far each load of a loop runs ahead, by its position; ``None`` if unknown.
Distances = Mapping[int, Ahead | None]


def with_depth(
    record: Pipeline,
    trace: LoopTrace,
    reads: Mapping[int, Transfer],
    ahead: Distances,
    copies: int,
) -> Pipeline:
    """Fill in how far a loop's loads run ahead, the verdict on each and that on the loop.

    Args:
        copies: Source iterations per iteration of the loop.
    """
    record = msgspec.structs.replace(
        record, loads=_by_place(trace, reads, ahead, record.requested_stages)
    )
    known = {n: each for n, each in ahead.items() if each is not None}
    exposed = {n for n, each in known.items() if not each.flight}
    running = {n for n, each in known.items() if each.prefetch}
    if not running and record.kind == "register":
        record = msgspec.structs.replace(record, kind=None)
    differ = False
    if not exposed:
        if len(known) < len(ahead) or any(each.prefetch is None for each in known.values()):
            return msgspec.structs.replace(record, reason=NOT_FOLLOWED)
        if trace.is_shifted:  # distances in source iterations say little there
            return msgspec.structs.replace(record, reason=SHIFTED)
        differ = not _copies_agree([each.prefetch or 0 for each in known.values()], copies)
        if differ:
            known = _least(trace, known)
            running = {n for n, each in known.items() if each.prefetch}
    deciding = [known[n] for n in exposed or running or known]
    prefetch = min(each.prefetch or 0 for each in deciding)
    verdict, reason = judge(prefetch, record.requested_stages, _serial(known.values()))
    if differ:
        reason = COPIES_DIFFER
    elif exposed and running:
        reason = ""  # the notes say which loads
    kept = _kept(deciding, prefetch)
    notes = [
        *([reason] if reason else []),
        *(_notes(deciding, prefetch) if prefetch else ()),
        *(_unlike(record.loads, len(running), len(ahead), copies) if running else ()),
    ]
    if copies > 1:
        notes.append(f"unrolled {copies} times; figures are per iteration of the source")
    return msgspec.structs.replace(
        record,
        achieved_stages=prefetch + 1,
        prefetch_iterations=prefetch,
        kept_iterations=kept or None,
        verdict=verdict,
        reason="; ".join(notes),
    )


def fold(records: Sequence[Pipeline]) -> list[Pipeline]:
    """Return the records of a loop, those of loads that stay in place merged into the first other.

    Beside copies to LDS that run ahead, say, the loop loads scales to registers, which decide like
    the other loads. The figures remain those of the loads that run ahead.
    """
    leading = next((r for r in records if any(each.iterations_ahead for each in r.loads)), None)
    idle = [each for each in records if each.kind is None and each.loads]
    if leading is None or leading.verdict == "unknown" or not idle:
        return list(records)
    others = [load for each in idle for load in each.loads]
    notes = [leading.reason, *_others(others)]
    merged = msgspec.structs.replace(
        leading,
        loads=(*leading.loads, *others),
        reason="; ".join(each for each in notes if each),
    )
    if any(load.is_exposed for load in others):
        merged = msgspec.structs.replace(
            merged,
            achieved_stages=1,
            prefetch_iterations=0,
            kept_iterations=None,
            verdict="not pipelined",
        )
    return [merged if each is leading else each for each in records if each not in idle]


def _by_place(
    trace: LoopTrace, reads: Mapping[int, Transfer], ahead: Distances, requested: int | None
) -> tuple[PipelineLoad, ...]:
    """Return the loads one place after the other, apart where they run ahead differently."""
    alike: dict[tuple[SourceLocation | None, int | None, int | None, bool | None], list[int]] = {}
    for position, read in reads.items():
        distance = ahead[position]
        iterations = None if distance is None else distance.prefetch
        works = None if distance is None else bool(distance.flight)
        source = user_frame(trace.body[position].locations)
        alike.setdefault((source, read.bytes, iterations, works), []).append(position)
    return tuple(
        PipelineLoad(
            line=trace.body[positions[0]].line,
            wait_line=trace.wait_line(positions[0]),
            source=source,
            instructions=len(positions),
            bytes_per_lane=width,
            iterations_ahead=iterations,
            computes_before_wait=works,
            verdict="unknown" if iterations is None else judge(iterations, requested, "")[0],
        )
        for (source, width, iterations, works), positions in alike.items()
    )


def _least(trace: LoopTrace, known: Mapping[int, Ahead]) -> dict[int, Ahead]:
    """Return for each load the distance of that of its copies which runs ahead least."""
    by_origin: dict[tuple[str, tuple[SourceLocation, ...]], Ahead] = {}
    for position, each in known.items():
        other = by_origin.setdefault(trace.origin(position), each)
        if (each.prefetch or 0) < (other.prefetch or 0):
            by_origin[trace.origin(position)] = each
    return {position: by_origin[trace.origin(position)] for position in known}


def _copies_agree(prefetches: Sequence[int], copies: int) -> bool:
    """Whether the loads of all copies of an unrolled loop's body run equally far ahead."""
    size, rest = divmod(len(prefetches), copies)
    parts = [sorted(prefetches[n * size :][:size]) for n in range(copies)]
    return not rest and all(part == parts[0] for part in parts)


def _serial(ahead: Collection[Ahead]) -> str:
    """Return why no load runs ahead."""
    if any(each.chained for each in ahead):
        return CHAINED
    if all(each.least == 0 for each in ahead):
        return IN_PLACE
    return WAITED_FOR


def _notes(ahead: Collection[Ahead], prefetch: int) -> Iterator[str]:
    """Yield how the loads that decide run ahead."""
    if all(each.wait == 0 for each in ahead):
        steps = min(each.steps for each in ahead)
        yield f"the wait is in the iteration that issues the loads, {steps} instructions later"
    if kept := _kept(ahead, prefetch):
        used = prefetch + kept
        yield f"the data is then kept until it is used, {used} iterations after its load"


def _kept(ahead: Collection[Ahead], prefetch: int) -> int:
    """Return for how many iterations the loop keeps loaded data after it has arrived.

    Only the loads with the shortest prefetch distance count: others may need that long.
    """
    nearest = [each.least for each in ahead if each.prefetch == prefetch]
    return max(nearest) - prefetch if prefetch else 0


def _unlike(
    loads: Collection[PipelineLoad], running: int, total: int, copies: int
) -> Iterator[str]:
    """Yield how many of the loads run ahead, and what becomes of the others."""
    if running == total:
        return
    if not running % copies and not total % copies:
        running, total = running // copies, total // copies
    yield f"{running} of the loop's {total} loads run ahead"
    yield from _others(loads)


def _others(loads: Collection[PipelineLoad]) -> Iterator[str]:
    """Yield what becomes of the loads that do not run ahead."""
    behind = [each for each in loads if each.computes_before_wait and each.iterations_ahead == 0]
    if exposed := [each for each in loads if each.is_exposed]:
        yield f"the loop waits at once for {describe_loads(exposed)}"
    if behind:
        yield f"{describe_loads(behind)} is used in the iteration that loads it"
