"""The configurations near another one: one or two settings changed by one step."""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TypeAlias

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
    """Return every change of one setting.

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
    return changes


def double_changes(times: Sequence[tuple[Changes, float | None]]) -> list[Changes]:
    """Return every change of two settings, the most promising first.

    Args:
        times: Changes of one setting with their times; ``None`` where that is unknown, or the
            configuration does not work: its pairs come last.
    """

    def promise(pair: tuple[tuple[Changes, float | None], ...]) -> float:
        return math.prod(math.inf if time is None else time for _, time in pair)

    pairs = [pair for pair in combinations(times, 2) if pair[0][0].keys() != pair[1][0].keys()]
    return [{**first, **second} for (first, _), (second, _) in sorted(pairs, key=promise)]
