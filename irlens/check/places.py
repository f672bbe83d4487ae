"""Where in the Python to look for the cause of a figure, and what else is known of it."""

from collections.abc import Iterator

from irlens.model.report import Report
from irlens.model.source import SourceLocation
from irlens.model.words import Words

_OF_REGISTERS = frozenset({
    "registers", "local_bytes", "stack_bytes", "vgprs", "agprs", "vgpr_spills",
})  # fmt: skip
_OF_SHARED_MEMORY = frozenset({"shared_dynamic_bytes", "shared_static_bytes", "lds_bytes"})


def source(path: str, report: Report) -> SourceLocation | None:
    """Return the line of Python that a figure of the whole kernel comes from most.

    For registers and what spills that is the line with most of them live, for shared memory the
    line of the largest buffer, for occupancy that of whatever limits it.
    """
    part, _, name = path.partition(".")
    if part == "occupancy":
        return next(filter(None, (_used(limit, report) for limit in _limits(report))), None)
    if part == "pressure" or name in _OF_REGISTERS:
        return _used("registers", report)
    if part == "memory" or name in _OF_SHARED_MEMORY:
        return _used("shared_memory", report)
    return None


def occupancy_reason(report: Report) -> str:
    """Return what limits occupancy, and how little less of it would raise it."""
    occupancy, words = report.occupancy, Words(report)
    if occupancy is None:
        return ""
    if not occupancy.launchable:
        return "; ".join(map(words.refusal, occupancy.refusals))
    limited = f"limited by {' and '.join(map(words.resource, occupancy.limited_by))}"
    for step in occupancy.next_step:
        if occupancy.limited_by == [step.resource]:
            return f"{limited}; {words.step(step, occupancy)}"
    return limited


def why_unknown(path: str, report: Report) -> str:
    """Return the report's reason for not having a figure; empty if it gives none."""
    names = path.split(".")
    prefixes = (".".join(names[:end]) for end in range(len(names), 0, -1))
    return next((report.unknown[one] for one in prefixes if one in report.unknown), "")


def _limits(report: Report) -> list[str]:
    """What limits occupancy, or forbids the launch."""
    occupancy = report.occupancy
    if occupancy is None:
        return []
    return [refusal.resource for refusal in occupancy.refusals] or list(occupancy.limited_by)


def _used(resource: str, report: Report) -> SourceLocation | None:
    """Return the line where most of a resource is used."""
    if resource == "registers":
        return next(_pressed(report), None)
    if resource == "shared_memory" and report.memory is not None:
        placed = [one for one in report.memory.buffers if one.source and one.bytes and one.at_peak]
        return max(placed, key=lambda one: one.bytes or 0).source if placed else None
    return None


def _pressed(report: Report) -> Iterator[SourceLocation]:
    for stage in (report.pressure.sass, report.pressure.ptx, report.pressure.amdgcn):
        if stage is not None and stage.source is not None:
            yield stage.source
