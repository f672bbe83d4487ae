"""Which bytes of an argument are accessed, where accesses leap over memory in even steps.

Elements that are a stride apart are many intervals, one for each. Counted row by row of a matrix
whose rows are as long as the stride, they are one interval of a column: columns are what this set
holds. Elements of other accesses to the same argument are intervals of columns, too, if more.
"""

from collections.abc import Mapping
from math import gcd, inf
from typing import TypeAlias

import numpy as np

from irlens.analyze.traffic.coverage import (
    MOST,
    PENDING,
    Coverage,
    Intervals,
    TooManyIntervalsError,
    joined,
)
from irlens.analyze.traffic.values import Array

#: Rows are numbered within this many, counted from the middle.
_REACH = 1 << 61
#: Sets of columns that rows may consist of, where granules are counted by rows.
_MOST_PATTERNS = 1 << 12


class Strides:
    """The strides of arguments whose accesses leap over memory, as far as they are found.

    Args:
        known: Bytes between elements, by argument, where accessed bytes are too many intervals
            otherwise.
        many: See ``Coverage``.
    """

    def __init__(self, known: Mapping[str, int] | None = None, many: float = inf) -> None:
        self._known = known or {}
        self._many = many
        self._leaps: dict[str, tuple[int, int]] = {}

    def coverage(self, argument: str, grain: int) -> "ByteSet":
        """Return an empty set for what is accessed of an argument, in grains of some bytes."""
        stride = self._known.get(argument)
        if stride is None or stride % grain:
            return Coverage(grain, self._many)
        return StridedCoverage(grain, stride)

    @property
    def known(self) -> tuple[tuple[str, int] | float, ...]:
        """What the sets depend on."""
        return (self._many, *sorted(self._known.items()))

    def note(self, argument: str, leap: tuple[int, int]) -> None:
        """Note how many runs of bytes a tile of an argument has, and the step between them."""
        self._leaps[argument] = max(self._leaps.get(argument, (1, 0)), leap)

    def found(self) -> "Strides":
        """Return the strides that the noted tiles have."""
        return Strides({name: step for name, (runs, step) in self._leaps.items() if runs > 1})


class StridedCoverage(Intervals):
    """A set of bytes, as offsets from an argument's base address.

    Args:
        grain: Bytes that the starts and lengths of all intervals are multiples of.
        stride: Bytes between elements, a multiple of the grain.
    """

    def __init__(self, grain: int, stride: int) -> None:
        super().__init__()
        self.grain = grain
        self.stride = stride
        self._columns = stride // grain
        #: Distance between columns in ``_pending``.
        self._rows = _REACH // self._columns

    def empty(self) -> "StridedCoverage":
        """Return an empty set of the same kind."""
        return StridedCoverage(self.grain, self.stride)

    def add(self, bases: Array, starts: Array, lengths: Array) -> None:
        """Add the same intervals at several bases, all ascending, in bytes.

        Raises:
            TooManyIntervalsError: They do not consist of grains, or are too many.
        """
        if any((each % self.grain).any() for each in (bases, starts, lengths)):
            raise TooManyIntervalsError
        places, rows = self._intervals(starts // self.grain, lengths // self.grain)
        step = max(1, PENDING // max(1, places.size))
        for begin in range(0, bases.size, step):
            grains = (bases[begin : begin + step, None] // self.grain + places).reshape(-1)
            row, column = np.divmod(grains, self._columns)
            if max(-int(row.min()), int(row.max() + rows.max())) >= self._rows // 2:
                raise TooManyIntervalsError
            first = column * self._rows + row
            last = first + np.broadcast_to(rows, (grains.size // places.size, rows.size)).reshape(
                -1
            )
            self._append(*joined(first, last))

    def update(self, other: Intervals) -> None:
        """Add another set of the same grain and stride."""
        if not isinstance(other, StridedCoverage) or (
            (other.grain, other.stride) != (self.grain, self.stride)
        ):
            raise TooManyIntervalsError
        for starts, ends in other._pending:
            self._append(starts, ends)

    def size(self) -> int:
        """Return how many bytes the set has."""
        self._merge()
        return self.grain * sum(int((ends - starts).sum()) for starts, ends in self._pending)

    def granules(self, size: int) -> int:
        """Return how many aligned granules of a size in bytes the set touches.

        Raises:
            TooManyIntervalsError: Neither the stride is a multiple of a granule, nor the granule
                of the stride, and there are too many different rows.
        """
        self._merge()
        if not self._pending:
            return 0
        ((starts, ends),) = self._pending
        column = (starts + self._rows // 2) // self._rows
        first, last = starts - column * self._rows, ends - column * self._rows
        if self.stride % size == 0 and size % self.grain == 0:
            group = column // (size // self.grain) * self._rows
        elif size % self.stride == 0:
            group = np.zeros_like(column)
            first, last = first // (size // self.stride), -(-last // (size // self.stride))
        else:
            return self._of_rows(column, first, last, size)
        begun, ended = joined(group + first, group + last)
        return int((ended - begun).sum())

    def _of_rows(self, column: Array, first: Array, last: Array, size: int) -> int:
        """Return how many granules are touched, counted by rows in which the same columns are.

        Rows repeat where they lie in granules: the whole periods of a range of rows are counted
        once, and the rows before and after them one by one.
        """
        cuts = np.unique(np.concatenate((first, last)))
        if cuts.size * self._columns > PENDING:
            raise TooManyIntervalsError
        changes = np.zeros((cuts.size, self._columns), np.int64)
        np.add.at(changes, (np.searchsorted(cuts, first), column), 1)
        np.add.at(changes, (np.searchsorted(cuts, last), column), -1)
        patterns, kinds = np.unique(changes.cumsum(axis=0)[:-1] > 0, axis=0, return_inverse=True)
        if len(patterns) > _MOST_PATTERNS or size < self.grain:
            raise TooManyIntervalsError
        kinds, period, total = kinds.reshape(-1), size // gcd(size, self.stride), 0
        apart = []
        for kind, pattern in enumerate(patterns):
            columns = np.flatnonzero(pattern)
            begins, ends = cuts[:-1][kinds == kind], cuts[1:][kinds == kind]
            whole, after = -(-begins // period), ends // period
            times = np.maximum(after - whole, 0)
            total += int(times.sum()) * self._touched(np.arange(period), columns, size).size
            before = begins[:, None] + np.arange(2 * period)
            rows = np.hstack((before, (after * period)[:, None] + np.arange(period)))
            inside = (begins[:, None] <= rows) & (rows < ends[:, None])
            counted = (whole * period)[:, None] <= rows
            counted &= rows < (after * period)[:, None]
            apart.append(self._touched(rows[inside & ~counted], columns, size))
        return total + int(np.unique(np.concatenate(apart)).size)

    def _touched(self, rows: Array, columns: Array, size: int) -> Array:
        """Return the granules that columns of rows touch."""
        if rows.size * columns.size > MOST:
            raise TooManyIntervalsError
        first = rows[:, None] * self.stride + columns * self.grain
        return np.unique(np.concatenate((first // size, (first + self.grain - 1) // size)))

    def _intervals(self, starts: Array, lengths: Array) -> tuple[Array, Array]:
        """Return the columns' intervals that runs of grains are: their first grains, their rows."""
        steps = np.diff(starts)
        alike = (lengths == lengths[0]).all() and (steps == self._columns).all()
        if starts.size > 1 and alike and lengths[0] <= self._columns:
            return starts[0] + np.arange(lengths[0]), np.full(lengths[0], starts.size)
        heads = np.minimum(lengths, self._columns)
        if int(heads.sum()) > PENDING:
            raise TooManyIntervalsError
        within = np.arange(int(heads.sum())) - np.repeat(np.cumsum(heads) - heads, heads)
        rest = np.repeat(lengths, heads) - within
        return np.repeat(starts, heads) + within, -(-rest // self._columns)

    def _append(self, starts: Array, ends: Array) -> None:
        self._pending.append((starts, ends))
        self._held += starts.size
        if self._held > self._merge_at:
            self._merge()
            if self._held > MOST:
                raise TooManyIntervalsError
            self._merge_at = self._held + PENDING


ByteSet: TypeAlias = Coverage | StridedCoverage
