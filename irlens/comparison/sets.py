"""Many reports: two sets matched by kernel, target and config, or several against the first."""

from collections.abc import Callable, Hashable, Iterable, Sequence

import msgspec

from irlens.comparison import compare, side
from irlens.model.comparison import COMPARISON_SCHEMA, WEIGHTS, Comparison, Comparisons, Side
from irlens.model.label import labels
from irlens.model.report import Report


def against_first(reports: Sequence[Report]) -> Comparisons:
    """Return what moved from the first report to each of the others, in their order."""
    names = labels(reports)
    first, *others = zip(reports, names, strict=True)
    pairs = [compare(first[0], report, names=(first[1], name)) for report, name in others]
    return Comparisons(
        schema=COMPARISON_SCHEMA,
        different=any(pair.different for pair in pairs),
        against_first=len(pairs) > 1,
        pairs=pairs,
    )


def match(before: Sequence[Report], after: Sequence[Report]) -> Comparisons:
    """Return what moved between two sets of reports, those that moved most first.

    Reports are matched by kernel, target and config. A kernel whose config changed is matched
    all the same where it is the only one left of its name (and target) on both sides.
    """
    if len(before) == len(after) == 1:
        return against_first([before[0], after[0]])
    left, right = list(before), list(after)
    pairs: list[tuple[Report, Report]] = []
    for key, alone in _KEYS:
        pairs += _take(left, right, key, alone=alone)
    found = sorted((compare(*pair) for pair in pairs), key=_order)
    ours, theirs = {one.kernel for one in before}, {one.kernel for one in after}
    return Comparisons(
        schema=COMPARISON_SCHEMA,
        different=bool(left or right) or any(pair.different for pair in found),
        against_first=False,
        pairs=found,
        removed=_sides(one for one in left if one.kernel not in theirs),
        added=_sides(one for one in right if one.kernel not in ours),
        unmatched_before=_sides(one for one in left if one.kernel in theirs),
        unmatched_after=_sides(one for one in right if one.kernel in ours),
    )


def _same(report: Report) -> Hashable:
    """Everything but sizes and hashes: twins among captures that were asked for alike."""
    return msgspec.json.encode(
        msgspec.structs.replace(report, stages={}, sources={}, unknown={}), order="sorted"
    )


def _asked(report: Report) -> Hashable:
    # The grid follows from the arguments, and an old report may not know it.
    config = msgspec.structs.replace(report.config, grid=None)
    return report.kernel, _arch(report), msgspec.json.encode(config, order="sorted")


def _built(report: Report) -> Hashable:
    return report.kernel, _arch(report)


def _named(report: Report) -> Hashable:
    return report.kernel


def _arch(report: Report) -> str | None:
    return report.target.arch if report.target else None


#: Strictest first; whether a report must be the only one with its key.
_KEYS: tuple[tuple[Callable[[Report], Hashable], bool], ...] = (
    (_same, False),
    (_asked, True),
    (_built, True),
    (_named, True),
)


def _take(
    left: list[Report], right: list[Report], key: Callable[[Report], Hashable], *, alone: bool
) -> list[tuple[Report, Report]]:
    """Move the reports with the same key out of both lists, in pairs."""
    groups: dict[Hashable, tuple[list[Report], list[Report]]] = {}
    for index, reports in enumerate((left, right)):
        for report in reports:
            groups.setdefault(key(report), ([], []))[index].append(report)
    pairs: list[tuple[Report, Report]] = []
    left.clear()
    right.clear()
    for ours, theirs in groups.values():
        certain = not alone or len(ours) == len(theirs) == 1
        matched = min(len(ours), len(theirs)) if certain else 0
        pairs += zip(ours[:matched], theirs[:matched], strict=True)
        left += ours[matched:]
        right += theirs[matched:]
    return pairs


def _order(pair: Comparison) -> tuple[object, ...]:
    """By the weight of what moved, then by name."""
    moved = [each for each in pair.figures if each.moved]
    moved += [each for loop in pair.loops for each in loop.deltas if each.moved]
    weight = min((WEIGHTS.index(each.weight) for each in moved), default=len(WEIGHTS))
    return not pair.different, weight, -len(moved), pair.before.kernel, pair.before.label


def _sides(reports: Iterable[Report]) -> list[Side]:
    kernels: dict[str, list[Report]] = {}
    for report in reports:
        kernels.setdefault(report.kernel, []).append(report)
    found = [
        side(report, label)
        for same in kernels.values()
        for report, label in zip(same, labels(same), strict=True)
    ]
    return sorted(found, key=lambda one: (one.kernel, one.label))
