"""The configurations near another one: one setting changed by steps, or two of them."""

import math
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import combinations
from typing import NamedTuple, TypeAlias

from irlens.model.estimate import RESOLUTION

Changes: TypeAlias = dict[str, int]

_MOST_WARPS = 32
#: A power of two of at least this looks like the size of a block.
_LEAST_BLOCK = 8
#: A change whose spills make a launch take this multiple of the current time is not worth a second.
_HOPELESS = 1.5
#: Steps in a row that gain nothing, and are looked past: 1 unless it is said here. Stages cost
#: shared memory alone, and loads that need each other's values share them: one in three counts.
_PATIENCE = {"num_stages": 2}
#: Times that differ by less than this share show the same digits.
_SAME = 0.001


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
    changes = [
        {name: after}
        for name, value in current.items()
        for up in (False, True)
        if (after := _step(name, value, up=up)) is not None
    ]
    return sorted(changes, key=lambda each: (not sizes.isdisjoint(each), _load(current, each)))


def _step(name: str, value: int, *, up: bool) -> int | None:
    """Return the next value of a setting in one direction; ``None`` beyond the last."""
    if name == "num_stages":
        after = value + 1 if up else value - 1
    else:
        after = value * 2 if up else value // 2
    return after if after >= 1 and not (name == "num_warps" and after > _MOST_WARPS) else None


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
    """A change of one setting, by any number of steps, that was tried.

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

    @property
    def time(self) -> float:
        """The ratio; infinite where it is unknown."""
        return math.inf if self.ratio is None else self.ratio


def next_changes(
    current: Mapping[str, int], tried: Sequence[Tried], worst: float = 0.0
) -> list[Changes]:
    """Return what to try after changes of one setting, the most promising first.

    That is every pair of changes of two settings, and the next step in each direction that may
    still gain. What a change of one setting gained is expected of the pair, too. One that left a
    thread too much to hold says nothing of a pair whose other change takes that load away: more
    warps, or a smaller block. Without that, a change that does not fit, or whose spills cost much,
    is left out, and so is one that solves another problem.

    Args:
        tried: Every change of one setting so far; those of one direction in order.
        worst: The time over the current one up to which a step may be no slower in truth, as far
            as the estimate can tell: the next one is tried all the same.
    """
    directions: dict[tuple[str, bool], list[Tried]] = {}
    for each in tried:
        ((name, value),) = each.changes.items()
        directions.setdefault((name, value > current[name]), []).append(each)
    fastest = [min(steps, key=lambda each: round(each.time, 3)) for steps in directions.values()]
    keyed = [*_pairs(current, fastest)]
    for (name, up), steps in directions.items():
        last = steps[-1]
        after = _step(name, last.changes[name], up=up)
        if after is not None and _may_gain(steps, worst, _PATIENCE.get(name, 1)):
            changes = {name: after}
            keyed.append(((min(1.0, last.time), True, _load(current, changes)), changes))
    return [changes for _, changes in sorted(keyed, key=lambda each: each[0])]


def is_needless(current: Mapping[str, int], tried: Tried, others: Sequence[Tried]) -> bool:
    """Whether a change of one setting gains nothing over a nearer one: 7 stages over 5."""

    def steps(changes: Changes) -> float:
        ((name, value),) = changes.items()
        return math.log(value / current[name])

    if len(tried.changes) > 1 or not tried.changes.keys() <= current.keys():
        return False
    alike = [each for each in others if each.changes.keys() == tried.changes.keys()]
    here = steps(tried.changes)
    return any(
        each.time <= tried.time * (1 + _SAME) and 0 < steps(each.changes) / here < 1
        for each in alike
    )


def _may_gain(steps: Sequence[Tried], worst: float, patience: int) -> bool:
    """Whether another step may be faster than those in its direction, and than none."""
    best, idle = 1.0, 0
    for each in steps:
        idle += 1
        if each.time < best * (1 - RESOLUTION):
            best, idle = each.time, 0
    return steps[-1].time <= worst and not steps[-1].crowded and idle <= patience


def _pairs(
    current: Mapping[str, int], tried: Sequence[Tried]
) -> Iterator[tuple[tuple[float, bool, float], Changes]]:
    """Yield pairs of changes of two settings, each with what it is ordered by."""
    for pair in combinations([each for each in tried if not each.leaves], 2):
        one, other = pair
        if one.changes.keys() == other.changes.keys():
            continue
        changes = {**one.changes, **other.changes}
        load = _load(current, changes)
        relieved = load <= 1 and (one.crowded or other.crowded)
        if relieved or not any(map(_is_hopeless, pair)):
            promise = math.prod(1.0 if each.crowded and relieved else each.time for each in pair)
            yield (promise, not relieved, load), changes


def _is_hopeless(tried: Tried) -> bool:
    return tried.crowded and tried.time >= _HOPELESS
