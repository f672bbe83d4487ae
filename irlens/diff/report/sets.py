"""Many reports: two sets matched by kernel, target and config, or several against the first."""

from collections.abc import Hashable, Iterable, Sequence

import msgspec

from irlens.diff.matching import concatenate, kernel_and_target, kernel_name
from irlens.diff.matching import match as match_by
from irlens.diff.report import compare, side
from irlens.model.comparison import COMPARISON_SCHEMA, WEIGHTS, Comparison, Comparisons, Side
from irlens.model.label import labels, labels_among
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


def across(sets: Sequence[Sequence[Report]]) -> Comparisons:
    """Return what moved from the first set of reports to each of the others.

    Args:
        sets: Of the same kernels and configs, made by different compilers.
    """
    if all(len(reports) == 1 for reports in sets):
        return against_first([reports[0] for reports in sets])
    return concatenate([match(sets[0], other) for other in sets[1:]])


def match(before: Sequence[Report], after: Sequence[Report]) -> Comparisons:
    """Return what moved between two sets of reports, those that moved most first.

    Reports are matched by kernel, target and config. A kernel whose config changed is matched
    all the same where it is the only one left of its name (and target) on both sides.
    """
    if len(before) == len(after) == 1:
        return against_first([before[0], after[0]])
    pairs, left, right = match_by(before, after, _same)
    settings = labels_among([one for one, _ in pairs], kernel_and_target)
    found = sorted(
        (
            msgspec.structs.replace(compare(*pair), setting=setting)
            for pair, setting in zip(pairs, settings, strict=True)
        ),
        key=_order,
    )
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


def _order(pair: Comparison) -> tuple[object, ...]:
    """By the weight of what moved, then by name."""
    moved = [each for each in pair.figures if each.moved]
    moved += [each for loop in pair.loops for each in loop.deltas if each.moved]
    weight = min((WEIGHTS.index(each.weight) for each in moved), default=len(WEIGHTS))
    return not pair.different, weight, -len(moved), pair.before.kernel, pair.before.label


def _sides(reports: Iterable[Report]) -> list[Side]:
    told = list(reports)
    found = map(side, told, labels_among(told, kernel_name))
    return sorted(found, key=lambda one: (one.kernel, one.label))
