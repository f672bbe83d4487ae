"""What two sequences have in common, in the order of both.

First Bram Cohen's patience diff: what both have once and in the same order is held, and again
between what is held. Between what no such anchor is left in, Myers' "An O(ND) Difference Algorithm
and Its Variations" (1986) finds the fewest insertions and deletions, as long as they are few:
that is near-linear for any input, where the least of all edits is quadratic in the worst case.
The patiencediff library is not used: a few nested anchors exceed the depth it recurses to, and
end the process.
"""

from bisect import bisect_left
from collections.abc import Hashable, Iterator, Sequence
from typing import TypeAlias

#: Index of an element of the first sequence, and of the same one in the second.
Pair: TypeAlias = tuple[int, int]
#: Half-open ranges of both.
_Gap: TypeAlias = tuple[int, int, int, int]

#: Insertions and deletions in one gap beyond which it is left alone.
_MOST_EDITS = 64
#: How often anchors are looked for between anchors.
_MOST_ROUNDS = 32


def common(
    one: Sequence[Hashable], other: Sequence[Hashable], *, everywhere: bool = True
) -> list[Pair]:
    """Return the pairs of elements that are the same.

    Args:
        one: The first sequence.
        other: The second.
        everywhere: Also where there are no anchors. Of words that is every comma.
    """
    found: list[Pair] = []
    gaps: list[_Gap] = [(0, len(one), 0, len(other))]
    for _ in range(_MOST_ROUNDS):
        left: list[_Gap] = []
        for gap in gaps:
            gap = _trimmed(one, other, gap, found)
            anchors = _anchors(one, other, gap)
            found += anchors
            if anchors:
                left += between(gap, anchors)
            elif everywhere:
                found += _fewest_edits(one, other, gap)
        gaps = left
    return sorted(found)


def between(gap: _Gap, pairs: Sequence[Pair]) -> Iterator[_Gap]:
    """Yield what lies between pairs in a gap, where neither side of that is empty."""
    at, stop, other_at, other_stop = gap
    for i, j in [*pairs, (stop, other_stop)]:
        if at < i and other_at < j:
            yield at, i, other_at, j
        at, other_at = i + 1, j + 1


def _trimmed(
    one: Sequence[Hashable], other: Sequence[Hashable], gap: _Gap, found: list[Pair]
) -> _Gap:
    """Pair what is the same at both ends."""
    first, stop, other_first, other_stop = gap
    while first < stop and other_first < other_stop and one[first] == other[other_first]:
        found.append((first, other_first))
        first, other_first = first + 1, other_first + 1
    while first < stop and other_first < other_stop and one[stop - 1] == other[other_stop - 1]:
        stop, other_stop = stop - 1, other_stop - 1
        found.append((stop, other_stop))
    return first, stop, other_first, other_stop


def _anchors(one: Sequence[Hashable], other: Sequence[Hashable], gap: _Gap) -> list[Pair]:
    """Pair what each side has once, as many as stand in the same order."""
    first, stop, other_first, other_stop = gap
    where = _once(other, other_first, other_stop)
    shared = [
        (i, where[key])
        for key, i in _once(one, first, stop).items()
        if i >= 0 and where.get(key, -1) >= 0
    ]
    # The longest ascending run: the smallest end of a run of each length, and what came before.
    ends: list[int] = []
    runs: list[int] = []
    behind: list[int] = []
    for index, (_, j) in enumerate(shared):
        length = bisect_left(ends, j)
        behind.append(runs[length - 1] if length else -1)
        ends[length : length + 1] = [j]
        runs[length : length + 1] = [index]
    kept: list[Pair] = []
    at = runs[-1] if runs else -1
    while at >= 0:
        kept.append(shared[at])
        at = behind[at]
    return kept[::-1]


def _once(keys: Sequence[Hashable], first: int, stop: int) -> dict[Hashable, int]:
    """Where each key stands; -1 of those that stand there more than once."""
    where: dict[Hashable, int] = {}
    for index in range(first, stop):
        where[keys[index]] = -1 if keys[index] in where else index
    return where


def _fewest_edits(one: Sequence[Hashable], other: Sequence[Hashable], gap: _Gap) -> list[Pair]:
    """Pair what the fewest insertions and deletions leave; nothing if those are many.

    ``furthest[k]`` is how far one comes in the first sequence on diagonal k, on which the second
    is k elements behind, with so many edits.
    """
    first, stop, other_first, other_stop = gap
    size, other_size = stop - first, other_stop - other_first
    if abs(size - other_size) > _MOST_EDITS or not size or not other_size:
        return []
    furthest = {1: 0}
    rounds: list[dict[int, int]] = []
    for edits in range(min(size + other_size, _MOST_EDITS) + 1):
        rounds.append(furthest.copy())
        for k in range(-edits, edits + 1, 2):
            x = _start(furthest, k, edits)
            while (
                x < size
                and 0 <= x - k < other_size
                and one[first + x] == other[other_first + x - k]
            ):
                x += 1
            furthest[k] = x
            if x >= size and x - k >= other_size:
                return [(first + i, other_first + j) for i, j in _back(rounds, size, other_size)]
    return []


def _start(furthest: dict[int, int], k: int, edits: int) -> int:
    """Where diagonal k is entered: by an insertion from above, or by a deletion."""
    if k == -edits or (k != edits and furthest[k - 1] < furthest[k + 1]):
        return furthest[k + 1]
    return furthest[k - 1] + 1


def _back(rounds: list[dict[int, int]], x: int, y: int) -> Iterator[Pair]:
    """Go back the way that led to the end, and yield what is the same on it."""
    for edits in range(len(rounds) - 1, -1, -1):
        k = x - y
        start = _start(rounds[edits], k, edits)
        while x > max(start, k, 0):
            x, y = x - 1, y - 1
            yield x, y
        inserted = k == -edits or (k != edits and rounds[edits][k - 1] < rounds[edits][k + 1])
        x, y = (start, start - k - 1) if inserted else (start - 1, start - k)
