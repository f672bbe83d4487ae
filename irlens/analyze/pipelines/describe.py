"""The parts of a ``Pipeline`` record that are the same for every mechanism."""

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from irlens.analyze.pipelines.barriers import RingReading
from irlens.analyze.pipelines.loops import FunctionLoops, loop_source
from irlens.analyze.pipelines.steady import Reading
from irlens.isa.ptx import Instruction
from irlens.model.report import Pipeline, PipelineKind, Verdict
from irlens.model.source import SourceLocation

IRREDUCIBLE = "control enters the loop at more than one place"

#: Stages asked for, given the source location of a loop, innermost frame first.
RequestedStages: TypeAlias = Callable[[tuple[SourceLocation, ...]], int | None]


def innermost(loops: FunctionLoops, matters: Callable[[Instruction], bool]) -> list[int]:
    """Return the innermost loops whose own instructions matter.

    A loop around such a one (over the tiles of a persistent kernel, say) is not named again,
    whatever it does itself.
    """
    below = [False] * len(loops.forest.loops)
    found = []
    for index in reversed(range(len(below))):
        inside = any(below[child] for child in loops.forest.loops[index].children)
        below[index] = inside or any(map(matters, loops.own(index)))
        if below[index] and not inside:
            found.append(index)
    return found[::-1]


def blank(
    loops: FunctionLoops, index: int, kind: PipelineKind | None, requested: int | None, reason: str
) -> Pipeline:
    """Return the record of a loop of PTX of which no more than its mechanism is known."""
    group = loops.warp_group(loops.forest.loops[index].header)
    record = unread(
        stage="ptx",
        loop=loops.name(index),
        line=loops.header(index).line,
        source=loop_source(loops.locations(index)),
        kind=kind,
        requested=requested,
        reason=reason,
    )
    return record if group is None else msgspec.structs.replace(record, warp_group=group.name)


def unread(
    *,
    stage: str,
    loop: str,
    line: int,
    source: SourceLocation | None,
    kind: PipelineKind | None,
    requested: int | None,
    reason: str,
) -> Pipeline:
    """Return the record of a loop of which no more is known than this."""
    return Pipeline(
        stage=stage,
        loop=loop,
        line=line,
        source=source,
        kind=kind,
        requested_stages=requested,
        achieved_stages=None,
        prefetch_iterations=None,
        groups_before_loop=None,
        groups_per_iteration=None,
        outstanding_at_wait=None,
        outstanding_after_wait=None,
        groups_during_compute=None,
        copies_per_iteration=None,
        bytes_per_copy=None,
        bytes_per_iteration=None,
        bytes_in_flight=None,
        verdict="unknown",
        reason=reason,
    )


def of_groups(record: Pipeline, reading: Reading) -> Pipeline:
    """Fill in what was read of a loop's commit groups, all but bytes and verdict."""
    return msgspec.structs.replace(
        record,
        achieved_stages=reading.prefetch + 1,
        prefetch_iterations=reading.prefetch,
        groups_before_loop=reading.groups_before_loop,
        groups_per_iteration=reading.groups_per_iteration,
        outstanding_at_wait=reading.outstanding_at_wait,
        outstanding_after_wait=reading.outstanding_after_wait,
        groups_during_compute=reading.during_compute,
    )


def of_ring(record: Pipeline, ring: RingReading, serial: str) -> Pipeline:
    """Fill in what was read of a ring of barriers.

    Args:
        record: The blank record.
        ring: The reading.
        serial: What to say where nothing overlaps.
    """
    verdict, reason = judge(ring.prefetch, record.requested_stages, serial)
    reasons = [reason] if reason else []
    if ring.groups_before_loop is None:
        reasons.append("how much is issued before the loop depends on another loop")
    return msgspec.structs.replace(
        record,
        achieved_stages=ring.prefetch + 1,
        prefetch_iterations=ring.prefetch,
        groups_before_loop=ring.groups_before_loop,
        groups_per_iteration=ring.groups_per_iteration,
        outstanding_at_wait=ring.outstanding_at_wait,
        outstanding_after_wait=ring.outstanding_after_wait,
        groups_during_compute=ring.outstanding_after_wait,
        verdict=verdict,
        reason="; ".join(reasons),
    )


def judge(prefetch: int, requested: int | None, serial: str) -> tuple[Verdict, str]:
    """Return the verdict on a prefetch distance, and the reason for it.

    Args:
        prefetch: In iterations.
        requested: Stages asked for.
        serial: The reason where the distance is none.
    """
    achieved = prefetch + 1
    if achieved == 1:
        return "not pipelined", serial
    if requested is not None and achieved < requested:
        return "shallower", f"{requested} stages were asked for and {achieved} are achieved"
    return "pipelined", ""
