"""How long CTAs of unequal length keep a GPU busy, over what equal ones of their mean would.

An SM takes the next CTA of the grid when one ends. Where work grows along an axis, as below a
diagonal, the last long ones run while most SMs have none left.
"""

import heapq
from collections.abc import Sequence
from itertools import pairwise
from math import ceil, prod
from statistics import mean, median

#: CTAs for each that the GPU holds at once from where on the last ones do not matter.
_MOST_ROUNDS = 16
#: Largest spread of durations, over their mean, that counts as none.
_EVEN = 0.05
#: CTAs on an SM up to which the end of one is taken not to speed up the others.
_APART = 2
#: Part of the variance of durations that an axis has to explain.
_EXPLAINED = 0.9


def imbalance(
    grid: tuple[int, int, int],
    programs: Sequence[Sequence[int]],
    durations: Sequence[float],
    sms: int,
    resident: int,
) -> float:
    """Return the time of a launch's CTAs over that of equal ones with the same mean, at least 1."""
    ctas = prod(grid)
    slots = sms * min(resident, ceil(ctas / sms))
    if len(programs) < 2 or len(programs) != len(durations) or ctas > _MOST_ROUNDS * slots:
        return 1.0
    if max(durations) - min(durations) <= _EVEN * mean(durations):
        return 1.0
    lengths = _lengths(grid, programs, durations)
    if lengths is None:  # as of sequences of any length in a batch
        if slots > _APART * sms:
            return 1.0
        lengths = [durations[number % len(durations)] for number in range(ctas)]
    equal = ceil(ctas / sms) * sms / slots * mean(lengths)
    return max(1.0, _makespan(lengths, slots) / equal)


def _lengths(
    grid: tuple[int, int, int], programs: Sequence[Sequence[int]], durations: Sequence[float]
) -> list[float] | None:
    """Return how long each CTA takes, in the order of their launch; ``None`` if unknown."""
    if len(programs) == prod(grid):
        of = dict(zip(map(tuple, programs), durations, strict=True))
        return [of[program] for program in sorted(of, key=lambda each: each[::-1])]
    for axis, size in enumerate(grid):
        by_place: dict[int, list[float]] = {}
        for program, duration in zip(programs, durations, strict=True):
            by_place.setdefault(program[axis], []).append(duration)
        known = sorted((place, median(found)) for place, found in by_place.items())
        if size < 2 or len(known) < 2 or not _explains(known, by_place, durations):
            continue
        along = [min(known, key=lambda each: abs(each[0] - at))[1] for at in range(size)]
        before = prod(grid[:axis])
        return [along[number // before % size] for number in range(prod(grid))]
    return None


def _explains(
    known: Sequence[tuple[int, float]],
    by_place: dict[int, list[float]],
    durations: Sequence[float],
) -> bool:
    """Return whether durations follow from a place: alike at one, and of neighbours similar."""
    middle = mean(durations)
    spread = sum((each - middle) ** 2 for each in durations)
    within = sum((each - at) ** 2 for place, at in known for each in by_place[place])
    values = [each for _, each in known]
    steps = sum((b - a) ** 2 for a, b in pairwise(values)) / 2
    return max(within, steps) <= (1 - _EXPLAINED) * spread


def _makespan(lengths: Sequence[float], slots: int) -> float:
    """Return when the last of some CTAs ends, each taking the first slot that is free."""
    ends = list(lengths[:slots])
    heapq.heapify(ends)
    for each in lengths[slots:]:
        heapq.heapreplace(ends, ends[0] + each)
    return max(ends)
