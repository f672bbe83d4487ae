"""Several values: their groups, the one that all are, and their sum where none is unknown."""

from collections.abc import Iterable
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")
N = TypeVar("N", int, float)


def grouped(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """Group values by key; keys and values keep the order of the pairs."""
    groups: dict[K, list[V]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def only(values: Iterable[V | None]) -> V | None:
    """Return the value that all of some are; ``None`` where they differ, or there are none."""
    different = set(values)
    return different.pop() if len(different) == 1 else None


def all_known(values: Iterable[V | None]) -> list[V] | None:
    """Return values as a list; ``None`` if one of them is unknown."""
    known = []
    for value in values:
        if value is None:
            return None
        known.append(value)
    return known


def total(amounts: Iterable[N | None]) -> N | None:
    """Return the sum of amounts; ``None`` if one of them is unknown."""
    known = all_known(amounts)
    return None if known is None else sum(known)
