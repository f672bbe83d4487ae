"""Figures: which there are, what they count in, how much they matter, and how they differ."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from irlens.model.comparison import WEIGHTS, Delta, Unit, Value, Weight


class Figure(NamedTuple):
    """A field of a record that is compared.

    Attributes:
        path: The field, dotted from the record.
        unit: What it counts in.
        weight: How much a change matters.
        always: Whether to tell it even where it did not move.
    """

    path: str
    unit: Unit
    weight: Weight
    always: bool = False


def read(record: msgspec.Struct, path: str) -> Value:
    """Return a field's value; of a list its items as words."""
    found: object = record
    for name in path.split("."):
        found = None if found is None else getattr(found, name)
    if isinstance(found, list | tuple):
        return ", ".join(map(str, found))
    if found is None or isinstance(found, bool | int | float | str):
        return found
    raise TypeError(f"{path} is no figure")


def delta(figure: Figure, before: Value, after: Value) -> Delta:
    """Return one figure on both sides."""
    change = None
    if not isinstance(before, bool | str | None) and not isinstance(after, bool | str | None):
        change = after - before
    return Delta(
        path=figure.path,
        unit=figure.unit,
        before=before,
        after=after,
        change=change,
        weight=figure.weight,
    )


def deltas(
    figures: Iterable[Figure], before: msgspec.Struct | None, after: msgspec.Struct | None
) -> list[Delta]:
    """Return the figures of two records that moved or are always told, weightiest first."""
    found = []
    for figure in figures:
        first = read(before, figure.path) if before is not None else None
        second = read(after, figure.path) if after is not None else None
        if first != second or (figure.always and first is not None):
            # Does not apply on one side, or is not known there: nothing that moved much.
            certain = figure.always or None not in (first, second) or None in (before, after)
            weighed = figure if certain else figure._replace(weight="little")
            found.append(delta(weighed, first, second))
    return weightiest_first(found)


def weightiest_first(found: Sequence[Delta]) -> list[Delta]:
    """Sort by weight, then what moved, then in the order given."""
    return sorted(found, key=lambda each: (WEIGHTS.index(each.weight), not each.moved))
