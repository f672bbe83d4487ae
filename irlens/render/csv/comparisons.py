"""Comparisons: a line for each figure that moved."""

from collections.abc import Iterator

from irlens.model.comparison import Comparison, Comparisons, Delta, Side
from irlens.render import View
from irlens.render.csv import Field, written

_TITLES = ("kernel", "before", "after", "what", "place", "figure", "unit", "value before",
           "value after", "change", "weight")  # fmt: skip


def render(comparisons: Comparisons, view: View) -> str:
    """Return what moved in each pair, and what has no counterpart."""
    rows = [row for pair in comparisons.pairs for row in _pair(pair)]
    for what, sides in (
        ("added", [*comparisons.added, *comparisons.unmatched_after]),
        ("removed", [*comparisons.removed, *comparisons.unmatched_before]),
    ):
        rows += [_alone(side, what) for side in sides]
    return written(rows, titles=_TITLES)


def _pair(pair: Comparison) -> Iterator[dict[str, Field]]:
    sides = {"kernel": pair.after.kernel, "before": pair.before.label, "after": pair.after.label}
    for delta in pair.figures:
        if delta.moved:
            yield {**sides, "what": "kernel", "place": "", **_figure(delta)}
    for loop in pair.loops:
        place = str(loop.source or "")
        if loop.presence != "both":
            yield {**sides, "what": loop.what, "place": place, "figure": loop.presence}
        for delta in loop.deltas:
            if delta.moved:
                yield {**sides, "what": loop.what, "place": place, **_figure(delta)}
    for found in pair.findings:
        state = "changed" if found.before and found.after else "new" if found.after else "gone"
        finding = found.after or found.before
        if finding is not None:
            place = str(finding.source or "")
            yield {**sides, "what": f"finding {finding.code}", "place": place, "figure": state}


def _figure(delta: Delta) -> dict[str, Field]:
    return {
        "figure": delta.path,
        "unit": delta.unit,
        "value before": delta.before,
        "value after": delta.after,
        "change": delta.change,
        "weight": delta.weight,
    }


def _alone(side: Side, what: str) -> dict[str, Field]:
    return {"kernel": side.kernel, "before": side.label, "what": what}
