"""Compares many reports: set against set, or several against the first."""

from collections.abc import Collection, Hashable, Iterator, Sequence
from math import log

import msgspec

from irlens import diff
from irlens.diff.report import compare, side
from irlens.model.comparison import COMPARISON_SCHEMA, WEIGHTS, Comparison, Comparisons, Side
from irlens.model.label import labels, labels_among
from irlens.model.report import Report


def against_first(reports: Sequence[Report]) -> Comparisons:
    """Compare the first report of each group with each of the others, in their order."""
    groups = diff.first_sides(reports)
    pairs = [pair for group in groups for pair in _with_first(group)]
    return Comparisons(
        schema=COMPARISON_SCHEMA,
        different=any(pair.different for pair in pairs),
        against_first=len(pairs) > len(groups),
        pairs=pairs,
    )


def _with_first(reports: Sequence[Report]) -> Iterator[Comparison]:
    first, *others = zip(reports, labels(reports), strict=True)
    for report, name in others:
        yield compare(first[0], report, names=(first[1], name))


def by_other_settings(reports: Sequence[Report], names: Collection[str]) -> Comparisons | None:
    """Compare the values of some settings with the first, everything else being equal.

    Returns:
        The largest changes first; ``None`` where ``diff.by_other_settings`` has no groups.
    """
    groups = diff.by_other_settings(reports, names)
    if groups is None:
        return None
    settings = labels_among([group[0] for group in groups], diff.kernel_and_target)
    compared = [
        msgspec.structs.replace(pair, setting=diff.without(setting, names))
        for group, setting in zip(groups, settings, strict=True)
        for pair in _with_first(group)
    ]
    return Comparisons(
        schema=COMPARISON_SCHEMA,
        different=any(pair.different for pair in compared),
        against_first=False,
        pairs=sorted(compared, key=_largest_change_first),
    )


def across(sets: Sequence[Sequence[Report]]) -> Comparisons:
    """Compare the first set of reports with each of the others."""
    if all(len(reports) == 1 for reports in sets):
        return against_first([reports[0] for reports in sets])
    return diff.concatenate([match(sets[0], other) for other in sets[1:]])


def match(
    before: Sequence[Report],
    after: Sequence[Report],
    equal: Sequence[Side] = (),
    *,
    names: tuple[str, str] | None = None,
) -> Comparisons:
    """Compare two sets of reports, paired as ``diff.match`` does, largest change first.

    Args:
        equal: What both sets hold besides, of which no figures are wanted.
    """
    if len(before) == len(after) == 1 and names is None and not equal:
        return against_first([before[0], after[0]])
    pairs, left, right = diff.match(before, after, _content)
    settings = labels_among([*(one for one, _ in pairs), *equal], diff.kernel_and_target)
    compared = [compare(*pair, names=names) for pair in pairs]
    compared += [_unchanged(one, names or ("before", "after")) for one in equal]
    named = zip(compared, settings, strict=True)
    compared = [msgspec.structs.replace(pair, setting=setting) for pair, setting in named]
    compared.sort(key=_largest_change_first)
    shared = {one.kernel for one in equal}
    kernels_before = shared | {one.kernel for one in before}
    kernels_after = shared | {one.kernel for one in after}
    return Comparisons(
        schema=COMPARISON_SCHEMA,
        different=bool(left or right) or any(pair.different for pair in compared),
        against_first=False,
        pairs=compared,
        removed=_sides([one for one in left if one.kernel not in kernels_after]),
        added=_sides([one for one in right if one.kernel not in kernels_before]),
        unmatched_before=_sides([one for one in left if one.kernel in kernels_after]),
        unmatched_after=_sides([one for one in right if one.kernel in kernels_before]),
    )


def _unchanged(one: Side, names: tuple[str, str]) -> Comparison:
    """Return the comparison of what both sets hold."""
    before, after = (msgspec.structs.replace(one, label=name) for name in names)
    return Comparison(
        before=before, after=after, different=False, figures=[], loops=[], findings=[], mix=[],
        lines=[], code={}, not_compared=[],
    )  # fmt: skip


def _content(report: Report) -> Hashable:
    """Return what reports for comparisons have, but sizes and hashes, to pair equal captures."""
    replace, occupancy, time = msgspec.structs.replace, report.occupancy, report.time
    kept = replace(
        report,
        occupancy=None if occupancy is None else replace(occupancy, curves=[]),
        time=None if time is None else replace(time, steps=[]),
        conversions=[], shared_accesses=[], stages={}, sources={}, unknown={},
    )  # fmt: skip
    return msgspec.json.encode(kept, order="sorted")


def _largest_change_first(pair: Comparison) -> tuple[object, ...]:
    """Sort key: what launches or has errors, then by time, then by the weight of what changed."""
    moved = [each for each in pair.figures if each.moved]
    moved += [each for loop in pair.loops for each in loop.deltas if each.moved]
    weight = min((WEIGHTS.index(each.weight) for each in moved), default=len(WEIGHTS))
    time = pair.time_ratio
    return (
        not pair.different,
        pair.verdict.by not in ("launch", "errors"),
        -abs(log(time.ratio)) if time is not None and not time.noise else 0.0,
        weight,
        -len(moved),
        pair.before.kernel,
        pair.before.label,
    )


def _sides(reports: Sequence[Report]) -> list[Side]:
    sides = map(side, reports, labels_among(reports, diff.kernel_name))
    return sorted(sides, key=lambda one: (one.kernel, one.label))
