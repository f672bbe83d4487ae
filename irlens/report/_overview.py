"""Several reports at a glance: one row each."""

from collections.abc import Sequence

from irlens.model.label import labels
from irlens.model.report import Report
from irlens.report._page import Cell, Page, Style, prose
from irlens.report._units import count, percent

TITLES = ("registers", "local B", "shared B", "occupancy", "stages")


def add_overview(page: Page, reports: Sequence[Report]) -> None:
    """Add one row per report: the figures one compares first, and what sets it apart."""
    rows: list[tuple[str, ...]] = [TITLES, *(figures(report) for report in reports)]
    names = ["", *label_or_kernel(reports)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(TITLES))]
    page.headline([Cell(reports[0].kernel if _one_kernel(reports) else "kernels", "bold")])
    for number, (row, label) in enumerate(zip(rows, names, strict=True)):
        cells = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        style: Style = "plain" if number else "dim"
        page.row(Cell("  ".join(cells), style), prose(label))


def label_or_kernel(reports: Sequence[Report]) -> list[str]:
    """Return what sets each report apart, or its kernel's name if nothing does."""
    named = zip(labels(reports), reports, strict=True)
    return [label or report.kernel for label, report in named]


def _one_kernel(reports: Sequence[Report]) -> bool:
    return len({report.kernel for report in reports}) == 1


def figures(report: Report) -> tuple[str, ...]:
    """Return the cells under ``TITLES``."""
    resources, occupancy = report.resources, report.occupancy
    stages = [
        f"{pipeline.achieved_stages}/{pipeline.requested_stages or '?'}"
        for pipeline in report.pipelines
        if pipeline.achieved_stages is not None
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
        " ".join(stages) or "–",
    )


def _or_unknown(value: int | None) -> str:
    return "unknown" if value is None else count(value)
