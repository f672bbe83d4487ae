"""The cause of a figure: the line of Python behind it, the limiting resource."""

from collections.abc import Iterator

from irlens.figures import get
from irlens.model.report import Report
from irlens.model.source import SourceLocation
from irlens.model.terms import Terms


def source(path: str, report: Report) -> SourceLocation | None:
    """Return the line of Python that contributes most to a figure of the whole kernel.

    For registers and spills, the line with the most live registers; for shared memory, the line
    of the largest buffer; for occupancy, the line of the resource that limits it.
    """
    if path.startswith("occupancy."):
        return next(filter(None, (_most_used_at(limit, report) for limit in _limits(report))), None)
    figure = get(path)
    return _most_used_at(figure.consumes, report) if figure and figure.consumes else None


def occupancy_reason(report: Report) -> str:
    """Return what limits occupancy, and the smallest change that would raise it."""
    occupancy, words = report.occupancy, Terms(report)
    if occupancy is None:
        return ""
    if not occupancy.launchable:
        return "; ".join(map(words.refusal, occupancy.refusals))
    limited = f"limited by {' and '.join(map(words.resource, occupancy.limited_by))}"
    for step in occupancy.next_step:
        if occupancy.limited_by == [step.resource]:
            return f"{limited}; {words.step(step, occupancy)}"
    return limited


def _limits(report: Report) -> list[str]:
    """Return the resources that limit occupancy, or that prevent the launch."""
    occupancy = report.occupancy
    if occupancy is None:
        return []
    return [refusal.resource for refusal in occupancy.refusals] or list(occupancy.limited_by)


def _most_used_at(resource: str, report: Report) -> SourceLocation | None:
    """Return the line that uses most of a resource."""
    if resource == "registers":
        return next(_peak_pressure(report), None)
    if resource == "shared_memory" and report.memory is not None:
        live = [one for one in report.memory.buffers if one.source and one.bytes and one.at_peak]
        return max(live, key=lambda one: one.bytes or 0).source if live else None
    return None


def _peak_pressure(report: Report) -> Iterator[SourceLocation]:
    for _, stage in report.pressure.stages():
        if stage.source is not None:
            yield stage.source
