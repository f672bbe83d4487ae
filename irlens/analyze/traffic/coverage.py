"""Which bytes of an argument are accessed: a union of intervals."""

import numpy as np

from irlens.analyze.traffic.values import Array, UnknownTrafficError

#: Intervals that are held before they are merged.
_PENDING = 1 << 21
#: Intervals that a union may have, 16 bytes each.
_MOST = 1 << 23


class Coverage:
    """A set of bytes, as offsets from an argument's base address."""

    def __init__(self) -> None:
        self._starts: list[Array] = []
        self._ends: list[Array] = []
        self._held = 0
        self._merge_at = _PENDING

    def add(self, starts: Array, length: int) -> None:
        """Add intervals of one length, in bytes."""
        self._append(starts, starts + length)

    def update(self, other: "Coverage") -> None:
        """Add another set."""
        for starts, ends in zip(other._starts, other._ends, strict=True):
            self._append(starts, ends)

    def size(self) -> int:
        """Return how many bytes the set has."""
        self._merge()
        return sum(int((e - s).sum()) for s, e in zip(self._starts, self._ends, strict=True))

    def _append(self, starts: Array, ends: Array) -> None:
        self._starts.append(starts)
        self._ends.append(ends)
        self._held += starts.size
        if self._held > self._merge_at:
            self._merge()
            if self._held > _MOST:
                raise UnknownTrafficError("the accessed bytes form too many intervals")
            self._merge_at = self._held + _PENDING

    def _merge(self) -> None:
        if not self._held:
            return
        starts = np.concatenate(self._starts)
        ends = np.concatenate(self._ends)
        order = np.argsort(starts, kind="stable")
        starts, ends = starts[order], np.maximum.accumulate(ends[order])
        first = np.concatenate(([True], starts[1:] > ends[:-1]))
        last = np.concatenate((first[1:], [True]))
        self._starts, self._ends = [starts[first]], [ends[last]]
        self._held = self._starts[0].size
