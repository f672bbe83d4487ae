"""Figures on both sides, read by the rows of the registry."""

from collections.abc import Iterable, Sequence

import msgspec

from irlens.figures import Figure, compared, elements, subtract
from irlens.model.comparison import WEIGHTS, Delta, MixDelta, Unit, Value, Weight
from irlens.model.report import InstructionMix, Report

#: Parts of a report that exist only where their stage was read, or the kernel was launched.
OPTIONAL_PARTS = tuple(dict.fromkeys(one.needs for one in compared("report") if one.needs))
#: Lists whose records have names, by which they are compared: warp groups.
NAMED_LISTS = tuple(one for one in compared("report") if elements(one.path))


def delta(
    path: str, before: Value, after: Value, unit: Unit = "count", weight: Weight = "little"
) -> Delta:
    """Return one figure on both sides."""
    return Delta(
        path=path,
        unit=unit,
        before=before,
        after=after,
        change=subtract(before, after),
        weight=weight,
    )


def deltas(
    figures: Iterable[Figure], before: msgspec.Struct | None, after: msgspec.Struct | None
) -> list[Delta]:
    """Return the figures of two records that changed or are always shown, most important first.

    A figure that only one of two records has matters little: it does not apply to the other, or
    is unknown there. ``None`` is a record that only one side has.
    """
    changed = []
    for figure in figures:
        first = figure.read(before) if before is not None else None
        second = figure.read(after) if after is not None else None
        if first != second or (figure.always_shown and first is not None):
            comparable = None not in (first, second) or None in (before, after)
            certain = figure.always_shown or comparable
            weight = (figure.importance if certain else None) or "little"
            changed.append(delta(figure.field, first, second, figure.unit, weight))
    return most_important_first(changed)


def figure_deltas(before: Report, after: Report, not_compared: set[str]) -> list[Delta]:
    """Return the figures that changed or are always shown, most important first.

    Add the optional parts that only one side has to ``not_compared``.
    """
    parts = {part: (_has(before, part), _has(after, part)) for part in OPTIONAL_PARTS}
    not_compared.update(part for part, (ours, theirs) in parts.items() if ours != theirs)
    rows = [one for one in compared("report") if one not in NAMED_LISTS]
    kernel = [one for one in rows if not one.needs]
    optional = [one for one in rows if one.needs and all(parts[one.needs])]
    named: list[Delta] = []
    for figure in NAMED_LISTS:
        if (figure.path in before.unknown) != (figure.path in after.unknown):
            not_compared.add(figure.path)
        else:
            named += _element_deltas(figure, before, after)
    return most_important_first(
        [*deltas(kernel, before, after), *named, *deltas(optional, before, after)]
    )


def most_important_first(changes: Sequence[Delta]) -> list[Delta]:
    """Sort by importance, then changed ones first, then in the order given."""
    return sorted(changes, key=lambda each: (WEIGHTS.index(each.weight), not each.moved))


def _has(report: Report, part: str) -> bool:
    value: object = report
    for name in part.split("."):
        value = getattr(value, name)
    return value is not None


def _element_deltas(names: Figure, before: Report, after: Report) -> list[Delta]:
    """Return what changed in a list, by paths such as ``warp_groups.partition0.registers``."""
    ours = {one.name: one for one in getattr(before, names.path)}
    theirs = {one.name: one for one in getattr(after, names.path)}
    changed = deltas([names], before, after)
    # "default", then "partition0" to "partition10".
    for name in sorted(ours.keys() | theirs.keys(), key=lambda name: (len(name), name)):
        changed += [
            msgspec.structs.replace(each, path=f"{names.path}.{name}.{each.path}")
            for each in deltas(elements(names.path), ours.get(name), theirs.get(name))
        ]
    return changed


def mix_deltas(before: Report, after: Report, not_compared: set[str]) -> list[MixDelta]:
    """Return the stages whose instructions changed.

    Add the stages that only one side has to ``not_compared``.
    """
    ours = {mix.stage: mix for mix in before.mix}
    theirs = {mix.stage: mix for mix in after.mix}
    not_compared.update(f"mix.{stage}" for stage in ours.keys() ^ theirs.keys())
    changed = []
    for stage in sorted(ours.keys() & theirs.keys()):
        total = delta("total", ours[stage].total, theirs[stage].total)
        classes = _class_deltas(ours[stage], theirs[stage])
        if classes or total.moved:
            changed.append(MixDelta(stage=stage, total=total, classes=classes))
    return changed


def _class_deltas(before: InstructionMix, after: InstructionMix) -> list[Delta]:
    changed = []
    for prefix, ours, theirs in (
        ("classes", before.classes, after.classes),
        ("unknown", before.unknown, after.unknown),
    ):
        for name in sorted(ours.keys() | theirs.keys()):
            each = delta(f"{prefix}.{name}", ours.get(name, 0), theirs.get(name, 0))
            changed += [each] if each.moved else []
    return sorted(changed, key=lambda each: -abs(each.change or 0))
