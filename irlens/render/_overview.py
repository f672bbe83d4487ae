"""Several reports at a glance: the cells of a row each."""

from collections.abc import Sequence

from irlens.model.label import labels
from irlens.model.report import Report
from irlens.model.text import count, percent
from irlens.model.words import depth_in_short

TITLES = ("registers", "local B", "shared B", "occupancy", "stages")


def label_or_kernel(reports: Sequence[Report]) -> list[str]:
    """Return what sets each report apart, or its kernel's name if nothing does."""
    named = zip(labels(reports), reports, strict=True)
    return [label or report.kernel for label, report in named]


def figures(report: Report) -> tuple[str, ...]:
    """Return the cells under ``TITLES``."""
    resources, occupancy = report.resources, report.occupancy
    stages = [
        depth_in_short(each.achieved_stages, each.stages_at_most, str(each.requested_stages or "?"))
        for each in report.pipelines
    ]
    if occupancy is None:
        fits = "unknown"
    else:
        fits = percent(occupancy.theoretical) if occupancy.launchable else "cannot launch"
    return (
        _or_unknown(resources.registers),
        _or_unknown(resources.local_bytes),
        _or_unknown(resources.shared_dynamic_bytes),
        fits,
        " ".join(filter(None, stages)) or "–",
    )


def _or_unknown(value: int | None) -> str:
    return "unknown" if value is None else count(value)
