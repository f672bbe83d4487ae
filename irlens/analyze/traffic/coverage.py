"""Which bytes of an argument are accessed: a union of intervals, or a map where they are many."""

from collections.abc import Iterator
from math import inf

import numpy as np

from irlens.analyze import work
from irlens.analyze.traffic.values import JOINED_OF_STEP, Array

#: Intervals that are held before they are merged.
PENDING = 1 << 20
#: Intervals that a union may have, 16 bytes each; a set without strides becomes a map beyond.
MOST = 1 << 22
#: Intervals at once from where on columns of a matrix may be fewer (``strided_coverage``).
MANY = 1 << 18
#: Lengths of intervals that merged tiles may have; in all but ragged grids they have one.
_MOST_SIZES = 4
#: Mean length of intervals, and map pages per interval, in grains, up to which a large set becomes
#: a map.
_SHORT, _SPARSE = 4, 16
#: Powers of two: grains of the map that are marked in a step of work.
_MARKED_OF_STEP = 8
#: Grains of a page of the map, a byte each, and how many pages a map may have.
_PAGE = 1 << 16
_MOST_PAGES = 1 << 12


class TooManyIntervalsError(Exception):
    """The accessed bytes are more intervals than a set may have."""

    def __init__(self) -> None:
        super().__init__("the accessed bytes form too many intervals")


class Intervals:
    """Intervals of bytes or grains, of which the latest may overlap the others."""

    def __init__(self) -> None:
        self._pending: list[tuple[Array, Array]] = []
        self._held = 0
        self._merge_at = PENDING

    @property
    def bytes(self) -> int:
        """Bytes of memory that they take."""
        return sum(starts.nbytes + ends.nbytes for starts, ends in self._pending)

    def _merge(self) -> None:
        if len(self._pending) < 2:
            return
        starts = np.concatenate([each for each, _ in self._pending])
        ends = np.concatenate([each for _, each in self._pending])
        self._pending = [joined(starts, ends)]
        self._held = self._pending[0][0].size


class Coverage(Intervals):
    """A set of bytes, as offsets from an argument's base address.

    Args:
        grain: Bytes that the starts and lengths of all intervals are usually multiples of.
        many: Gives up where more intervals are added at once, which may be few columns.
    """

    def __init__(self, grain: int = 1, many: float = inf) -> None:
        super().__init__()
        self.grain = grain
        self._many = many
        self._pages: dict[int, Array] = {}

    def empty(self) -> "Coverage":
        """Return an empty set of the same kind."""
        return Coverage(self.grain, self._many)

    def add(self, bases: Array, starts: Array, lengths: Array) -> None:
        """Add the same intervals at several bases, all ascending, in bytes."""
        for some, length in _merged(bases, starts, lengths):
            columns = int(np.max(length)) // self.grain
            if starts.size > max(columns, self._many / some.size):
                raise TooManyIntervalsError
            self._add(some, starts, length)

    def _add(self, bases: Array, starts: Array, lengths: Array) -> None:
        """Add intervals that have a length each, or as many lengths as there are bases."""
        step = max(1, PENDING // max(1, starts.size))
        if lengths.ndim == 1:
            starts, ends = joined(starts, starts + lengths)
            lengths = np.broadcast_to(ends - starts, (bases.size, starts.size))
        extent = int(starts[-1] - starts[0] + lengths[:, -1].max()) if starts.size > 1 else 0
        is_apart = 0 < extent <= int(np.diff(bases).min(initial=extent))
        for begin in range(0, bases.size, step):
            some = slice(begin, begin + step)
            places = bases[some, None] + starts
            first, last = places.reshape(-1), (places + lengths[some]).reshape(-1)
            self._append(*((first, last) if is_apart else joined(first, last)))

    def update(self, other: Intervals) -> None:
        """Add another set of the same grain."""
        if not isinstance(other, Coverage):
            raise TooManyIntervalsError
        for page, marks in other._pages.items():
            self._page(page)[:] |= marks
        for starts, ends in other._pending:
            self._append(starts, ends)

    def size(self) -> int:
        """Return how many bytes the set has.

        Raises:
            TooManyIntervalsError: They are.
        """
        if self._pages:
            self._map()
            return self.grain * sum(int(marks.sum()) for marks in self._pages.values())
        self._merge()
        return sum(int((ends - starts).sum()) for starts, ends in self._pending)

    def granules(self, size: int) -> int:
        """Return how many aligned granules of a size in bytes the set touches.

        Raises:
            TooManyIntervalsError: They are.
        """
        if self._pages and size % self.grain == 0 and _PAGE * self.grain % size == 0:
            self._map()
            grains = size // self.grain
            return sum(
                int(marks.reshape(-1, grains).any(axis=1).sum()) for marks in self._pages.values()
            )
        if self._pages:
            raise TooManyIntervalsError
        self._merge()
        total = 0
        for starts, ends in self._pending:
            first, last = joined(starts // size, -(-ends // size))
            total += int((last - first).sum())
        return total

    @property
    def bytes(self) -> int:
        """The bytes of memory that it occupies, in all."""
        return super().bytes + _PAGE * len(self._pages)

    def _append(self, starts: Array, ends: Array) -> None:
        self._pending.append((starts, ends))
        self._held += starts.size
        if self._held <= self._merge_at:
            return
        is_dense = bool(self._pages) or self._is_dense()
        if not is_dense:
            self._merge()
        if is_dense or self._held > MOST:
            self._map()
        self._merge_at = self._held + PENDING

    def _is_dense(self) -> bool:
        """Return whether the intervals are short and close, so that a map is small."""
        grains = pages = 0
        for starts, ends in self._pending:
            if ((starts | ends) % self.grain).any():
                return False
            grains += int((ends - starts).sum()) // self.grain
            pages += 1 + int(np.count_nonzero(np.diff(starts // (self.grain * _PAGE))))
        return grains <= _SHORT * self._held and pages * _PAGE < _SPARSE * self._held

    def _map(self) -> None:
        """Move all intervals to the map."""
        for starts, ends in self._pending:
            if ((starts | ends) % self.grain).any():
                raise TooManyIntervalsError
            first, lengths = starts // self.grain, (ends - starts) // self.grain
            step = max(1, PENDING // max(1, int(lengths.max())))
            for begin in range(0, first.size, step):
                some = slice(begin, begin + step)
                self._mark(first[some], lengths[some])
        self._pending, self._held = [], 0

    def _mark(self, first: Array, lengths: Array) -> None:
        grains = first
        if lengths.max() > 1:
            before = np.cumsum(lengths) - lengths
            grains = np.arange(int(lengths.sum())) + np.repeat(first - before, lengths)
        work.spend(grains.size >> _MARKED_OF_STEP)
        pages = grains // _PAGE
        cuts = np.flatnonzero(np.diff(pages)) + 1
        for part in np.split(grains, cuts):
            self._page(int(part[0]) // _PAGE)[part % _PAGE] = True

    def _page(self, number: int) -> Array:
        if number not in self._pages:
            if len(self._pages) >= _MOST_PAGES:
                raise TooManyIntervalsError
            self._pages[number] = np.zeros(_PAGE, dtype=bool)
        return self._pages[number]


def _merged(bases: Array, starts: Array, lengths: Array) -> Iterator[tuple[Array, Array]]:
    """Yield fewer bases with longer intervals, which cover the same bytes together.

    Where all intervals have one length, each touches itself at a base that is this length further.
    So do the rows of tiles that lie side by side, of which a matrix has thousands.
    """
    if lengths.size and (lengths == lengths[0]).all():
        begins, ends = joined(bases, bases + lengths[0])
        spans = ends - begins
        if starts.size < 2 or spans.max() <= np.diff(starts).min():  # they stay apart
            yield begins, spans[:, None]
            return
        # Without the counts, which nobody needs, it imports numpy.ma to look for masked arrays.
        sizes, _ = np.unique(spans, return_counts=True)
        if sizes.size <= _MOST_SIZES:
            for size in sizes:
                yield begins[spans == size], np.full(starts.size, size)
            return
    yield bases, lengths


def joined(starts: Array, ends: Array) -> tuple[Array, Array]:
    """Return intervals in order, those that touch joined."""
    work.spend(starts.size >> JOINED_OF_STEP)
    if (starts[1:] < starts[:-1]).any():
        order = np.argsort(starts, kind="stable")
        starts, ends = starts[order], ends[order]
    ends = np.maximum.accumulate(ends)
    first = np.concatenate(([True], starts[1:] > ends[:-1]))
    last = np.concatenate((first[1:], [True]))
    return starts[first], ends[last]
