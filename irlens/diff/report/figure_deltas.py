"""Figures on both sides, read by the rows of the registry."""

from collections.abc import Iterable, Sequence

import msgspec

from irlens.diff.report.left_out import LeftOut
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
    figures: Iterable[Figure],
    before: msgspec.Struct | None,
    after: msgspec.Struct | None,
    left_out: LeftOut,
) -> list[Delta]:
    """Return the figures of two records that changed or are always shown, most important first.

    A figure that only one of two records has is no change: it does not apply to the other, or is
    unknown there. ``None`` is a record that only one side has.
    """
    changed = []
    for figure in figures:
        first, second = _read(figure, before), _read(figure, after)
        lacks, is_unknown = False, False
        if before is not None and after is not None and (first is None) != (second is None):
            lacks = True
            is_unknown = left_out.add_figure(figure, before, after, lacks_before=first is None)
        is_kept = figure.always_shown or (figure.gates and lacks)
        is_known = (first, second) != (None, None)
        if (first != second and not is_unknown) or (is_kept and is_known):
            weight = "little" if lacks and not is_kept else figure.importance
            changed.append(delta(figure.field, first, second, figure.unit, weight or "little"))
    return most_important_first(changed)


def _read(figure: Figure, record: msgspec.Struct | None) -> Value:
    """Return a figure of a record; ``None`` where it is unknown, or there is no record."""
    value = figure.read(record) if record is not None else None
    return None if value == "unknown" else value


def figure_deltas(before: Report, after: Report, left_out: LeftOut) -> list[Delta]:
    """Return the figures that changed or are always shown, most important first.

    Add the optional parts and the figures that only one side has to ``left_out``.
    """
    parts = {part: (_has(before, part), _has(after, part)) for part in OPTIONAL_PARTS}
    for part, (ours, theirs) in parts.items():
        if ours != theirs:
            left_out.add(part, lacks_before=not ours)
    rows = [one for one in compared("report") if one not in NAMED_LISTS]
    kernel = [one for one in rows if not one.needs]
    optional = [one for one in rows if one.needs and all(parts[one.needs])]
    named: list[Delta] = []
    for figure in NAMED_LISTS:
        if (figure.path in before.unknown) != (figure.path in after.unknown):
            left_out.add(figure.path, lacks_before=figure.path in before.unknown)
        else:
            named += _element_deltas(figure, before, after, left_out)
    return most_important_first(
        [
            *deltas(kernel, before, after, left_out),
            *named,
            *deltas(optional, before, after, left_out),
        ]
    )


def most_important_first(changes: Sequence[Delta]) -> list[Delta]:
    """Sort by importance, then changed ones first, then in the order given."""
    return sorted(changes, key=lambda each: (WEIGHTS.index(each.weight), not each.moved))


def _has(report: Report, part: str) -> bool:
    value: object = report
    for name in part.split("."):
        value = getattr(value, name)
    return value is not None


def _element_deltas(names: Figure, before: Report, after: Report, left_out: LeftOut) -> list[Delta]:
    """Return what changed in a list, by paths such as ``warp_groups.partition0.registers``."""
    ours = {one.name: one for one in getattr(before, names.path)}
    theirs = {one.name: one for one in getattr(after, names.path)}
    changed = deltas([names], before, after, left_out)
    # "default", then "partition0" to "partition10".
    for name in sorted(ours.keys() | theirs.keys(), key=lambda name: (len(name), name)):
        changed += [
            msgspec.structs.replace(each, path=f"{names.path}.{name}.{each.path}")
            for each in deltas(elements(names.path), ours.get(name), theirs.get(name), left_out)
        ]
    return changed


def mix_deltas(before: Report, after: Report, left_out: LeftOut) -> list[MixDelta]:
    """Return the stages whose instructions changed.

    Add the stages that only one side has to ``left_out``.
    """
    ours = {mix.stage: mix for mix in before.mix}
    theirs = {mix.stage: mix for mix in after.mix}
    for stage in ours.keys() ^ theirs.keys():
        left_out.add(f"mix.{stage}", lacks_before=stage not in ours)
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
