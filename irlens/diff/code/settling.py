"""Which of several statements that look the same is the one that is gone.

``FMUL``, ``FMUL``, ``FMUL`` against ``FMUL``, ``FMUL``: an alignment by looks can only take one of
them. The values that the statements read tell which it is, and who reads what they make.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import accumulate

from irlens.diff.code.names import Correspondence
from irlens.diff.code.sequences import Pair
from irlens.diff.code.statements import Statement

#: How many values of two statements do not correspond, by the indices of both; -1 if they do not
#: look the same.
_Cost = Callable[[int, int], int]


def settled(
    before: Sequence[Statement],
    after: Sequence[Statement],
    pairs: Sequence[Pair],
    names: Correspondence,
    by_use: Callable[[], Correspondence],
) -> list[Pair]:
    """Return the pairs, those beside a statement without one moved over by one where it fits.

    Args:
        before: Statements of the first side.
        after: Statements of the second.
        pairs: In the order of both.
        names: What they say of values.
        by_use: Returns what those say of values that read them; asked where that is needed.
    """
    readers = cache(by_use)

    def cost(i: int, j: int) -> int:
        if not before[i].looks_like(after[j]):
            return -1
        read = names.differing(before[i], after[j])
        made = readers().differing(before[i], after[j])
        return sum(not one.defines for one, _ in read) + sum(one.defines for one, _ in made)

    def swapped(j: int, i: int) -> int:
        return cost(i, j)

    one_way = dict(pairs)
    for gone in _alone(before, one_way):
        _settle(gone, one_way, cost)
    other_way = {j: i for i, j in one_way.items()}
    for added in _alone(after, other_way):
        _settle(added, other_way, swapped)
    return sorted((i, j) for j, i in other_way.items())


def _alone(side: Sequence[Statement], paired: dict[int, int]) -> Iterator[int]:
    return (i for i, each in enumerate(side) if each.ordered and i not in paired)


def _settle(gone: int, paired: dict[int, int], cost: _Cost) -> None:
    """Let that one of a run of look-alikes be without a counterpart that fits worst."""
    for step in (1, -1):
        if gone not in paired:
            _move(gone, step, list(_run(gone, step, paired, cost)), paired)


def _run(gone: int, step: int, paired: dict[int, int], cost: _Cost) -> Iterator[int]:
    """Yield how much better it gets with each neighbour that hands on its counterpart."""
    at, counterpart = gone, paired.get(gone + step)
    while counterpart is not None and paired.get(at + step) == counterpart:
        moved = cost(at, counterpart)
        kept = cost(at + step, counterpart) if moved >= 0 else -1
        if kept < 0:
            return
        yield kept - moved
        at, counterpart = at + step, counterpart + step


def _move(gone: int, step: int, gains: Sequence[int], paired: dict[int, int]) -> None:
    """Hand on counterparts as far as that gains most."""
    sums = list(accumulate(gains))
    best = max(sums, default=0)
    if best <= 0:
        return
    for _ in range(sums.index(best) + 1):
        paired[gone] = paired.pop(gone + step)
        gone += step
