"""Compares two reports by meaning: Report x Report -> Comparison."""

from irlens.diff.report.figure_deltas import figure_deltas, mix_deltas
from irlens.diff.report.findings import finding_deltas
from irlens.diff.report.loops import loop_deltas
from irlens.diff.report.source_lines import align, line_deltas
from irlens.model.comparison import Comparison, Side
from irlens.model.label import labels
from irlens.model.report import Report
from irlens.model.terms import Terms

__all__ = ["compare", "side"]


def compare(
    before: Report,
    after: Report,
    *,
    names: tuple[str, str] | None = None,
    all_lines: bool = False,
) -> Comparison:
    """Return what changed from one report to another.

    Args:
        before: The first side.
        after: The second side.
        names: Labels of the sides; by default, the settings that tell them apart.
        all_lines: Whether both reports hold the same lines of the source, as far as these still
            exist. Otherwise a line that only one side holds may exist on the other.
    """
    first, second = names or labels([before, after])
    not_compared: set[str] = set()
    pairs = align(before, after, all_lines=all_lines)
    figures = figure_deltas(before, after, not_compared)
    loops = loop_deltas(before, after, pairs, not_compared)
    findings = finding_deltas(before, after, pairs, not_compared)
    mix = mix_deltas(before, after, not_compared)
    lines = line_deltas(before, after, pairs)
    mentioned = {str(loop.source) for loop in loops} | {str(line.source) for line in lines}
    return Comparison(
        before=side(before, first or "before"),
        after=side(after, second or "after"),
        different=(
            any(figure.moved for figure in figures)
            or any(loop.presence != "both" or any(d.moved for d in loop.deltas) for loop in loops)
            or bool(findings or mix or lines)
        ),
        figures=figures,
        loops=loops,
        findings=findings,
        mix=mix,
        lines=lines,
        # A line that both sides have goes by its number on the second side.
        code={
            place: text
            for place, text in sorted({**before.code, **after.code}.items())
            if place in mentioned
        },
        not_compared=sorted(not_compared),
        regain=_regain(before, after),
    )


def _regain(before: Report, after: Report) -> list[str]:
    """Return what would bring back occupancy that was lost on the same GPU."""
    first, second = before.occupancy, after.occupancy
    if first is None or second is None or first.max_warps != second.max_warps:
        return []
    if second.theoretical >= first.theoretical:
        return []
    words = Terms(after)
    return [words.step(step, second) for step in second.next_step]


def side(report: Report, label: str) -> Side:
    """Return a report as one side of a comparison."""
    return Side(
        kernel=report.kernel,
        target=report.target,
        triton_version=report.triton_version,
        config=report.config,
        label=label,
        multiprocessor=report.occupancy.multiprocessor if report.occupancy else None,
    )
