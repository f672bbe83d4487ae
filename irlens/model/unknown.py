"""Values of which some may be unknown: ``None``."""

from collections.abc import Iterable
from typing import TypeVar

V = TypeVar("V")
N = TypeVar("N", int, float)


def all_known(values: Iterable[V | None]) -> list[V] | None:
    """Return values; ``None`` where one of them is unknown."""
    known = []
    for value in values:
        if value is None:
            return None
        known.append(value)
    return known


def total(amounts: Iterable[N | None]) -> N | None:
    """Add amounts up; ``None`` where one of them is unknown."""
    known = all_known(amounts)
    return None if known is None else sum(known)
