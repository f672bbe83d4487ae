"""Which of two sets belong together: by kernel, target and config, strictest key first."""

from collections.abc import Callable, Hashable, Sequence
from typing import Protocol, TypeAlias, TypeVar

import msgspec

from irlens.model.config import Config, Target


class Compared(Protocol):
    """What is matched: a report or a capture."""

    @property
    def kernel(self) -> str:
        """The kernel's name."""

    @property
    def target(self) -> Target | None:
        """What it was compiled for, if that is known."""

    @property
    def config(self) -> Config:
        """What it was asked for."""


A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C", bound=Compared)
#: A key, and whether one must be the only one with its key to be matched.
Key: TypeAlias = tuple[Callable[[C], Hashable], bool]


def match_by(
    before: Sequence[C], after: Sequence[C], same: Callable[[C], Hashable]
) -> tuple[list[tuple[C, C]], list[C], list[C]]:
    """Return the pairs, and what is left of each set.

    Args:
        before: The first set.
        after: The second.
        same: What twins among those that were asked for alike have in common.
    """
    left, right = list(before), list(after)
    pairs: list[tuple[C, C]] = []
    keys: tuple[Key[C], ...] = ((same, False), (asked, True), (built, True), (named, True))
    for key, alone in keys:
        pairs += take(left, right, key, key, alone=alone)
    return pairs, left, right


def asked(one: Compared) -> Hashable:
    """By kernel, target and config."""
    # The grid follows from the arguments, and an old report may not know it.
    config = msgspec.structs.replace(one.config, grid=None)
    return *built(one), msgspec.json.encode(config, order="sorted")


def built(one: Compared) -> tuple[Hashable, ...]:
    """By kernel and target."""
    return one.kernel, one.target.arch if one.target else None


def named(one: Compared) -> Hashable:
    """By kernel."""
    return one.kernel


def take(
    left: list[A],
    right: list[B],
    key: Callable[[A], Hashable],
    other_key: Callable[[B], Hashable],
    *,
    alone: bool,
) -> list[tuple[A, B]]:
    """Move those with the same key out of both lists, in pairs.

    Args:
        left: One list.
        right: The other.
        key: What its elements are matched by.
        other_key: The same of the other's.
        alone: Whether an element must be the only one with its key.
    """
    groups: dict[Hashable, tuple[list[A], list[B]]] = {}
    for one in left:
        groups.setdefault(key(one), ([], []))[0].append(one)
    for other in right:
        groups.setdefault(other_key(other), ([], []))[1].append(other)
    pairs: list[tuple[A, B]] = []
    left.clear()
    right.clear()
    for ours, theirs in groups.values():
        certain = not alone or len(ours) == len(theirs) == 1
        matched = min(len(ours), len(theirs)) if certain else 0
        pairs += zip(ours[:matched], theirs[:matched], strict=True)
        left += ours[matched:]
        right += theirs[matched:]
    return pairs
