"""The configurations near another one: one or two settings changed by one step."""

import math
from collections.abc import Mapping, Sequence, Set
from itertools import combinations
from typing import NamedTuple, TypeAlias

Changes: TypeAlias = dict[str, int]

_MOST_WARPS = 32
#: A power of two of at least this looks like the size of a block.
_LEAST_BLOCK = 8
#: A change whose spills make a launch take this multiple of the current time is not worth a second.
_HOPELESS = 1.5


def is_block_size(value: object) -> bool:
    """Whether a constexpr's value looks like the size of a block."""
    if not isinstance(value, int) or isinstance(value, bool):
        return False
    return value >= _LEAST_BLOCK and value & (value - 1) == 0


def single_changes(current: Mapping[str, int], sizes: Set[str] = frozenset()) -> list[Changes]:
    """Return every change of one setting; those that compile fast and spill least come first.

    Args:
        current: Warps, stages and the sizes of blocks; these are halved and doubled, stages are
            one fewer or more.
        sizes: Those that look like sizes of the data, whose changes may solve another problem:
            they come last.
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
    return sorted(changes, key=lambda each: (not sizes.isdisjoint(each), _load(current, each)))


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
        ratio: Its time over the current one; ``None`` where that is unknown, or the configuration
            does not work.
        crowded: Whether it spills more than the current configuration, or does not fit.
        leaves: Whether it fits, but solves another problem, as a constexpr that is a size of the
            data does, or has no time to compare.
    """

    changes: Changes
    ratio: float | None
    crowded: bool = False
    leaves: bool = False


def double_changes(current: Mapping[str, int], tried: Sequence[Tried]) -> list[Changes]:
    """Return every change of two settings, the most promising first.

    What a change of one setting gained is expected of the pair, too. One that left a thread too
    much to hold says nothing of a pair whose other change takes that load away: more warps, or a
    smaller block. Without that, a change that does not fit, or whose spills cost much, is left out,
    and so is one that solves another problem.

    Args:
        tried: Every change of one setting.
    """

    def load(pair: tuple[Tried, ...]) -> float:
        return _load(current, {**pair[0].changes, **pair[1].changes})

    def is_relieved(pair: tuple[Tried, ...]) -> bool:
        return load(pair) <= 1 and any(each.crowded for each in pair)

    def key(pair: tuple[Tried, ...]) -> tuple[float, bool, float]:
        relieved = is_relieved(pair)
        promise = math.prod(_expected(each, relieved=relieved) for each in pair)
        return promise, not relieved, load(pair)

    pairs = [
        pair
        for pair in combinations([each for each in tried if not each.leaves], 2)
        if pair[0].changes.keys() != pair[1].changes.keys()
        and (is_relieved(pair) or not any(map(_is_hopeless, pair)))
    ]
    return [{**one.changes, **other.changes} for one, other in sorted(pairs, key=key)]


def _is_hopeless(tried: Tried) -> bool:
    return tried.crowded and (tried.ratio is None or tried.ratio >= _HOPELESS)


def _expected(tried: Tried, *, relieved: bool) -> float:
    if tried.crowded and relieved:
        return 1.0
    return math.inf if tried.ratio is None else tried.ratio
