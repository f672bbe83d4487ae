"""The common subsequence of two sequences, by patience diff and bounded Myers.

Bram Cohen's patience diff anchors the elements that each side has once and in the same order, and
repeats that between the anchors. Where no anchors are left, Myers' "An O(ND) Difference Algorithm
and Its Variations" (1986) finds the fewest insertions and deletions, as long as they are few:
that is near-linear for any input, where the minimum of all edits is quadratic in the worst case.
The patiencediff library is not used: a few nested anchors exceed the depth to which it recurses,
which ends the process.
"""

from bisect import bisect_left
from collections.abc import Hashable, Iterator, Sequence
from typing import TypeAlias

#: Index of an element of the first sequence, and of its equal in the second.
Pair: TypeAlias = tuple[int, int]
#: Half-open ranges of both sequences.
_Gap: TypeAlias = tuple[int, int, int, int]

#: A gap that needs more insertions and deletions than this stays unmatched.
_MOST_EDITS = 64
#: Maximum nesting of anchors between anchors.
_MOST_ROUNDS = 32


def common(one: Sequence[Hashable], other: Sequence[Hashable]) -> list[Pair]:
    """Return the pairs of equal elements, ascending in both sequences."""
    pairs, bare = anchored(one, other)
    return sorted(pairs + [pair for gap in bare for pair in _fewest_edits(one, other, gap)])


def anchored(one: Sequence[Hashable], other: Sequence[Hashable]) -> tuple[list[Pair], list[_Gap]]:
    """Return the pairs of equal elements around anchors, and the gaps that have none."""
    pairs: list[Pair] = []
    bare: list[_Gap] = []
    gaps: list[_Gap] = [(0, len(one), 0, len(other))]
    for _ in range(_MOST_ROUNDS):
        left: list[_Gap] = []
        for gap in gaps:
            gap = _trim(one, other, gap, pairs)
            anchors = _anchors(one, other, gap)
            pairs += anchors
            if anchors:
                left += gaps_between(gap, anchors)
            else:
                bare.append(gap)
        gaps = left
    return pairs, bare


def gaps_between(gap: _Gap, pairs: Sequence[Pair]) -> Iterator[_Gap]:
    """Yield the gaps between pairs inside of a gap, those that are empty on neither side."""
    at, stop, other_at, other_stop = gap
    for i, j in [*pairs, (stop, other_stop)]:
        if at < i and other_at < j:
            yield at, i, other_at, j
        at, other_at = i + 1, j + 1


def _trim(one: Sequence[Hashable], other: Sequence[Hashable], gap: _Gap, pairs: list[Pair]) -> _Gap:
    """Pair equal elements at both ends of a gap, and return what remains of it."""
    first, stop, other_first, other_stop = gap
    while first < stop and other_first < other_stop and one[first] == other[other_first]:
        pairs.append((first, other_first))
        first, other_first = first + 1, other_first + 1
    while first < stop and other_first < other_stop and one[stop - 1] == other[other_stop - 1]:
        stop, other_stop = stop - 1, other_stop - 1
        pairs.append((stop, other_stop))
    return first, stop, other_first, other_stop


def _anchors(one: Sequence[Hashable], other: Sequence[Hashable], gap: _Gap) -> list[Pair]:
    """Pair the elements that each side has once, as many as are in the same order."""
    first, stop, other_first, other_stop = gap
    where = _once(other, other_first, other_stop)
    shared = [
        (i, where[key])
        for key, i in _once(one, first, stop).items()
        if i >= 0 and where.get(key, -1) >= 0
    ]
    # The longest increasing subsequence: the smallest end for each length, and predecessors.
    ends: list[int] = []
    runs: list[int] = []
    after: list[int] = []
    for index, (_, j) in enumerate(shared):
        length = bisect_left(ends, j)
        after.append(runs[length - 1] if length else -1)
        ends[length : length + 1] = [j]
        runs[length : length + 1] = [index]
    kept: list[Pair] = []
    at = runs[-1] if runs else -1
    while at >= 0:
        kept.append(shared[at])
        at = after[at]
    return kept[::-1]


def _once(keys: Sequence[Hashable], first: int, stop: int) -> dict[Hashable, int]:
    """Return the index of each key, -1 for a key that occurs more than once."""
    where: dict[Hashable, int] = {}
    for index in range(first, stop):
        where[keys[index]] = -1 if keys[index] in where else index
    return where


def _fewest_edits(one: Sequence[Hashable], other: Sequence[Hashable], gap: _Gap) -> list[Pair]:
    """Pair what the fewest insertions and deletions keep; nothing if those are many.

    ``furthest[k]`` is the furthest index of the first sequence reached with the current number of
    edits on diagonal k, on which the second sequence is k elements behind.
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
    """Return where diagonal k is entered: by an insertion from above, or by a deletion."""
    if k == -edits or (k != edits and furthest[k - 1] < furthest[k + 1]):
        return furthest[k + 1]
    return furthest[k - 1] + 1


def _back(rounds: list[dict[int, int]], x: int, y: int) -> Iterator[Pair]:
    """Yield the pairs on the path that led to the end, last first."""
    for edits in range(len(rounds) - 1, -1, -1):
        k = x - y
        start = _start(rounds[edits], k, edits)
        while x > max(start, k, 0):
            x, y = x - 1, y - 1
            yield x, y
        inserted = k == -edits or (k != edits and rounds[edits][k - 1] < rounds[edits][k + 1])
        x, y = (start, start - k - 1) if inserted else (start - 1, start - k)
