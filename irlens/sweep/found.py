"""What became of one configuration: from its report, or from what went wrong."""

from collections.abc import Iterable

import msgspec

from irlens.model.errors import IrlensError
from irlens.model.report import Finding, LimitName, Pipeline, Report
from irlens.model.sweep import Depth, Figures, Outcome
from irlens.rules import cannot_launch

#: Pipelines of the tensor cores: what they wait for is no load.
_COMPUTE = frozenset({"wgmma", "tcgen05"})


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker finds out; see ``irlens.model.sweep.Trial`` for the fields."""

    outcome: Outcome
    reason: str = ""
    hint: str = ""
    figures: Figures | None = None
    limited_by: list[LimitName] = []
    pipelines: list[Depth] = []
    findings: list[Finding] = []


def from_error(error: IrlensError) -> Found:
    """Return what to say of a configuration that cannot be compiled or read."""
    return Found(outcome="failed", reason=error.message, hint=error.hint or "")


def from_report(report: Report) -> Found:
    """Return what a sweep tells of a report."""
    occupancy = report.occupancy
    refused = [each for each in report.findings if each.code == cannot_launch.CODE]
    outcome: Outcome = "unknown"
    reason = report.unknown.get("occupancy", "")
    if occupancy is not None:
        outcome = "fits" if occupancy.launchable else "does not fit"
        reason = "; ".join(finding.message for finding in refused)
    return Found(
        outcome=outcome,
        reason=reason,
        hint=refused[0].hint if refused else "",
        figures=_figures(report),
        limited_by=occupancy.limited_by if occupancy is not None and occupancy.launchable else [],
        pipelines=[_depth(pipeline) for pipeline in report.pipelines],
        findings=report.findings,
    )


def _figures(report: Report) -> Figures:
    resources, occupancy = report.resources, report.occupancy
    copying = [each for each in report.pipelines if each.kind not in _COMPUTE]
    achieved, at_most, requested = _shallowest(copying)
    pressure = report.pressure.ptx or report.pressure.amdgcn
    return Figures(
        occupancy=occupancy.theoretical if occupancy is not None else None,
        blocks_per_sm=occupancy.blocks_per_sm if occupancy is not None else None,
        registers=resources.registers,
        local_bytes=resources.local_bytes,
        shared_bytes=_sum([resources.shared_dynamic_bytes, resources.shared_static_bytes]),
        stages_achieved=achieved,
        stages_at_most=at_most,
        stages_requested=requested,
        bytes_in_flight_per_sm=_least(each.bytes_in_flight_per_sm for each in copying),
        live_registers=pressure.peak if pressure is not None else None,
        instructions=_sum([mix.total for mix in report.mix]) if report.mix else None,
        code_bytes=resources.code_bytes,
    )


def _depth(pipeline: Pipeline) -> Depth:
    return Depth(
        place=str(pipeline.source or pipeline.loop),
        kind=pipeline.kind,
        requested=pipeline.requested_stages,
        achieved=pipeline.achieved_stages,
        verdict=pipeline.verdict,
    )


def _shallowest(pipelines: list[Pipeline]) -> tuple[int | None, int | None, int | None]:
    """Return the stages achieved, at most, and requested of the loop that achieves the fewest.

    A loop that is not pipelined is in one stage. Nothing is known where there is no loop, or one
    of which nothing is known. Where of one no more is known than how many there can be, it is so
    of the fewest, too.
    """
    depths, certain = [], True
    for each in pipelines:
        achieved = 1 if each.verdict == "not pipelined" else each.achieved_stages
        known = each.stages_at_most if achieved is None else achieved
        if known is None:
            return None, None, None
        certain = certain and achieved is not None
        depths.append((known, each.requested_stages))
    fewest, requested = min(depths, key=lambda depth: depth[0], default=(None, None))
    return (fewest, None, requested) if certain else (None, fewest, requested)


def _sum(values: Iterable[int | None]) -> int | None:
    known = list(values)
    return None if None in known else sum(value or 0 for value in known)


def _least(values: Iterable[int | None]) -> int | None:
    known = list(values)
    return None if None in known else min((value or 0 for value in known), default=None)
