"""The configurations near another one: one or two settings changed by one step."""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple, TypeAlias

Changes: TypeAlias = dict[str, int]

_MOST_WARPS = 32
#: A power of two of at least this looks like the size of a block.
_LEAST_BLOCK = 8


def is_block_size(value: object) -> bool:
    """Whether a constexpr's value looks like the size of a block."""
    if not isinstance(value, int) or isinstance(value, bool):
        return False
    return value >= _LEAST_BLOCK and value & (value - 1) == 0


def single_changes(current: Mapping[str, int]) -> list[Changes]:
    """Return every change of one setting; those that compile fast and spill least come first.

    Args:
        current: Warps, stages and the sizes of blocks; these are halved and doubled, stages are
            one fewer or more.
    """
    changes: list[Changes] = []
    for name, value in current.items():
        if name == "num_stages":
            near = [value - 1, value + 1]
        elif name == "num_warps":
            near = [each for each in (value // 2, value * 2) if each <= _MOST_WARPS]
        else:
            near = [value // 2, value * 2]
        changes += [{name: each} for each in near if each >= 1]
    return sorted(changes, key=lambda each: _load(current, each))


def _load(current: Mapping[str, int], changes: Changes) -> float:
    """Return how much more data each thread of a configuration holds: registers and code grow."""
    load = 1.0
    for name, value in changes.items():
        if name == "num_warps":
            load *= current[name] / value
        elif name != "num_stages":
            load *= value / current[name]
    return load


class Tried(NamedTuple):
    """A change of one setting that was tried.

    Attributes:
        changes: The change.
        ratio: Its time over the current one; ``None`` where that is unknown, or the configuration
            does not work.
        crowded: Whether it spills more than the current configuration, or does not fit.
    """

    changes: Changes
    ratio: float | None
    crowded: bool = False


def double_changes(current: Mapping[str, int], tried: Sequence[Tried]) -> list[Changes]:
    """Return every change of two settings, the most promising first.

    What a change of one setting gained is expected of the pair, too. One that left a thread too
    much to hold says nothing of a pair whose other change takes that load away: more warps, or a
    smaller block.

    Args:
        current: The settings that vary.
        tried: Every change of one setting.
    """

    def key(pair: tuple[Tried, ...]) -> tuple[float, bool, float]:
        load = _load(current, {**pair[0].changes, **pair[1].changes})
        relieved = load <= 1 and any(each.crowded for each in pair)
        promise = math.prod(_expected(each, relieved=relieved) for each in pair)
        return promise, not relieved, load

    pairs = [
        pair for pair in combinations(tried, 2) if pair[0].changes.keys() != pair[1].changes.keys()
    ]
    return [{**one.changes, **other.changes} for one, other in sorted(pairs, key=key)]


def _expected(tried: Tried, *, relieved: bool) -> float:
    if tried.crowded and relieved:
        return 1.0
    return math.inf if tried.ratio is None else tried.ratio
