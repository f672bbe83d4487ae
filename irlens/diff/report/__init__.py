"""Report x Report -> Comparison: what moved, by what it means."""

from irlens.diff.report.loops import loop_deltas
from irlens.diff.report.parts import figure_deltas, finding_deltas, line_deltas, mix_deltas
from irlens.diff.report.places import Places, align
from irlens.model.comparison import Comparison, Side
from irlens.model.label import labels
from irlens.model.report import Report
from irlens.model.words import Words

__all__ = ["compare", "side"]


def compare(
    before: Report,
    after: Report,
    *,
    names: tuple[str, str] | None = None,
    all_lines: bool = False,
) -> Comparison:
    """Return what moved from one report to another.

    Args:
        before: The first side.
        after: The second side.
        names: What to call them; without, what they were asked for sets them apart.
        all_lines: Whether both sides' code has the same lines of the source, as far as these are
            still there; else a line that only one side has may be one that the other says nothing
            of.
    """
    first, second = names or labels([before, after])
    absent: set[str] = set()
    places: Places = align(before, after, all_lines=all_lines)
    figures = figure_deltas(before, after, absent)
    loops = loop_deltas(before, after, places, absent)
    findings = finding_deltas(before, after, places, absent)
    mix = mix_deltas(before, after, absent)
    lines = line_deltas(before, after, places)
    told = {str(loop.source) for loop in loops} | {str(line.source) for line in lines}
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
        # A place is the second side's where both have it.
        code={
            place: text
            for place, text in sorted({**before.code, **after.code}.items())
            if place in told
        },
        not_compared=sorted(absent),
        regain=_regain(before, after),
    )


def _regain(before: Report, after: Report) -> list[str]:
    """What would bring back occupancy that was lost on the same GPU."""
    first, second = before.occupancy, after.occupancy
    if first is None or second is None or first.max_warps != second.max_warps:
        return []
    if second.theoretical >= first.theoretical:
        return []
    words = Words(after)
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
