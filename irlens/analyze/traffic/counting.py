"""Counts what one access moves, over many programs at once."""

from math import prod

import numpy as np

from irlens.analyze.traffic.coverage import Coverage
from irlens.analyze.traffic.values import (
    MOST_ELEMENTS,
    Array,
    Integer,
    Mask,
    TooLargeError,
    axes_of,
    check_size,
    materialize,
)


class Tally:
    """The bytes that one operation accesses, and its lanes that are masked off."""

    def __init__(self) -> None:
        self.bytes = 0
        self.masked = 0
        self.coverage = Coverage()

    def update(self, other: "Tally") -> None:
        """Add what other programs access."""
        self.bytes += other.bytes
        self.masked += other.masked
        self.coverage.update(other.coverage)

    def access(
        self, offset: Integer, mask: Mask, shape: tuple[int, ...], active: Array, size: int
    ) -> None:
        """Count one execution.

        Args:
            offset: Offsets from the argument's base, bytes.
            mask: Lanes that access memory.
            shape: The tensor's shape; empty for a scalar.
            active: For each program whether it executes the access.
            size: Bytes of an element.

        Raises:
            TooLargeError: Fewer programs at once may do.
            UnknownTrafficError: The distinct bytes are too many intervals.
        """
        lanes = _Lanes(mask, shape, active)
        whole = int(lanes.whole.sum())
        used = whole * prod(int(each.sum()) for each in lanes.along)
        if whole and used:
            self._whole(offset, lanes, size)
        partial = np.flatnonzero(lanes.partial)
        step = max(1, MOST_ELEMENTS // max(1, prod(shape)))
        for begin in range(0, partial.size, step):
            used += self._partial(offset, lanes, partial[begin : begin + step], size)
        self.bytes += used * size
        self.masked += int(active.sum()) * prod(shape) - used

    def _partial(self, offset: Integer, lanes: "_Lanes", programs: Array, size: int) -> int:
        accessed = lanes.of(programs)
        places = sum(_rows(term, programs) for term in offset.terms.values())
        chosen = np.broadcast_to(places, accessed.shape)[accessed]
        self.coverage.add(np.unique(chosen), size)
        return int(accessed.sum())

    def _whole(self, offset: Integer, lanes: "_Lanes", size: int) -> None:
        """Add the bytes of programs whose mask factors into one mask for each dimension."""
        rank = len(lanes.along)
        joined = {
            axis for axes in offset.terms if len(axes) > 1 or 0 in axes for axis in axes if axis
        }
        base = np.zeros((1,) * (rank + 1), dtype=np.int64)
        separate = [np.zeros(1, dtype=np.int64) for _ in range(rank)]
        programs = np.flatnonzero(lanes.whole)
        for axes, term in offset.terms.items():
            if len(axes) == 1 and axes[0] and axes[0] not in joined:
                separate[axes[0] - 1] = np.unique(term.reshape(-1)[lanes.along[axes[0] - 1]])
                continue
            rows = _rows(term, programs)
            check_size(base, rows)
            base = base + rows
        for axis in joined:
            base = np.compress(lanes.along[axis - 1], base, axis=axis)
        starts, length = np.unique(base), size
        for places in sorted(separate, key=lambda each: _stride(each)):
            if places.size > 1 and bool((np.diff(places) == length).all()):
                starts, length = starts + places[0], length * places.size
                continue
            if starts.size * places.size > MOST_ELEMENTS * 2:
                raise TooLargeError
            starts = np.unique(np.add.outer(starts, places))
        self.coverage.add(starts, length)


def _stride(places: Array) -> int:
    return int(places[1] - places[0]) if places.size > 1 else 0


def _rows(array: Array, programs: Array) -> Array:
    return array if array.shape[0] == 1 else array[programs]


class _Lanes:
    """A mask, split by what it depends on.

    Attributes:
        along: For each dimension the lanes that masks of this dimension alone let through.
        whole: Programs whose lanes are the product of ``along``.
        partial: Programs whose other masks hold for some of their lanes.
    """

    def __init__(self, mask: Mask, shape: tuple[int, ...], active: Array) -> None:
        self.along = [np.ones(extent, dtype=bool) for extent in shape]
        self._mixed: list[Array | Integer] = []
        possible, certain = active, np.ones(active.shape, dtype=bool)
        for factor in mask.factors:
            inner: Array | Integer
            if isinstance(factor, np.ndarray):
                axes = axes_of(factor)
                if len(axes) == 1 and axes[0]:
                    self.along[axes[0] - 1] = self.along[axes[0] - 1] & factor.reshape(-1)
                    continue
                rest = tuple(range(1, factor.ndim))
                some, every, inner = factor.any(axis=rest), factor.all(axis=rest), factor
            else:
                inner = factor.difference
                some, every = _extreme(inner, "min") < 0, _extreme(inner, "max") < 0
            possible = possible & some
            certain = certain & every
            self._mixed.append(inner)
        self.whole = possible & certain
        self.partial = possible & ~certain

    def of(self, programs: Array) -> Array:
        """Return the lanes of some programs that access memory."""
        rank = len(self.along)
        lanes = np.ones((programs.size, *(each.size for each in self.along)), dtype=bool)
        for axis, each in enumerate(self.along):
            lanes &= each.reshape((1,) * (axis + 1) + (-1,) + (1,) * (rank - axis - 1))
        for factor in self._mixed:
            if isinstance(factor, np.ndarray):
                lanes &= _rows(factor, programs)
            else:
                terms = {axes: _rows(term, programs) for axes, term in factor.terms.items()}
                lanes &= materialize(Integer(terms)) < 0
        return lanes


def _extreme(value: Integer, which: str) -> Array:
    """Return for each program a bound of the elements of its sum."""
    total = np.zeros(1, dtype=np.int64)
    for term in value.terms.values():
        rest = tuple(range(1, term.ndim))
        total = total + (term.min(axis=rest) if which == "min" else term.max(axis=rest))
    return total
