"""Groups of values, and what they have in common."""

from collections.abc import Iterable
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


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
