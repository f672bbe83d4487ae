"""Counts what one access moves, tile by tile."""

import numpy as np

from irlens.analyze.traffic.coverage import ByteSet, Coverage
from irlens.analyze.traffic.tiles import Pattern, Tiles
from irlens.analyze.traffic.values import Array, distinct
from irlens.analyze.warp_requests import Requests, WarpAccess, ascending, count_patterns, free_bits

#: Distance between the bytes of neighbouring waves in one set; no tensor is as large.
_WAVE_STRIDE = 1 << 42


class Outside:
    """Lanes outside the tensor: how many, and the first program's first."""

    def __init__(self) -> None:
        self.lanes = 0
        self.program = -1
        self.offset = 0

    def add(self, lanes: int, program: int, offset: int) -> None:
        """Add lanes, the first of them by program."""
        self.lanes += lanes
        if self.program < 0 or program < self.program:
            self.program, self.offset = program, offset


class Tally:
    """What one operation accesses.

    Args:
        tensor_bytes: Bytes of the argument's tensor; ``None`` if unknown.
        wave: Programs of a wave; ``None`` if unknown.
        issue: How warps access the elements, or why that is unknown.
        coverage: An empty set for the bytes that are accessed.

    Attributes:
        lanes: Elements that are accessed, as often as they are.
        masked: Elements that are masked off.
        coverage: The bytes that are accessed.
        waves: The same, those of each wave apart; ``None`` if the wave is unknown.
        outside: Lanes outside the tensor.
        requests: The requests of warps; ``None`` if unknown.
        leap: The most runs of bytes that a tile has an even step apart, and the step.
        width: Bytes of a thread's instruction; ``None`` if unknown, or if there is none.
        reason: Why the requests are unknown.
    """

    def __init__(
        self,
        element_bytes: int,
        tensor_bytes: int | None = None,
        wave: int | None = None,
        issue: tuple[WarpAccess, ...] | str | None = None,
        coverage: ByteSet | None = None,
    ) -> None:
        self.lanes = 0
        self.masked = 0
        self.coverage: ByteSet = coverage or Coverage(element_bytes)
        self.waves = None if wave is None else self.coverage.empty()
        self.leap = (1, 0)
        self.outside = Outside()
        self.reason = issue if isinstance(issue, str) else ""
        self.requests = Requests(0, 0, 0) if isinstance(issue, tuple) else None
        self._warps = issue if isinstance(issue, tuple) else ()
        self.width = self._warps[0].width if self._warps else None
        self._size = element_bytes
        self._tensor_bytes = tensor_bytes
        self._wave = wave

    @property
    def bytes(self) -> int:
        """Bytes that are accessed, as often as they are."""
        return self.lanes * self._size

    def touched(self, sector: int) -> float:
        """Return the sectors that warps access, as often as they do.

        Those of warps that access the same elements at once count once.
        """
        alike = {len(free_bits(each.layout)[2]) for each in self._warps}
        if self.requests is not None and len(alike) == 1:
            return self.requests.sectors / (1 << alike.pop())
        return self.coverage.granules(sector) * self.bytes / max(1, self.coverage.size())

    def update(self, other: "Tally") -> None:
        """Add what other programs access."""
        self.lanes += other.lanes
        self.masked += other.masked
        self.coverage.update(other.coverage)
        if self.waves is not None and other.waves is not None:
            self.waves.update(other.waves)
        if other.outside.lanes:
            self.outside.add(other.outside.lanes, other.outside.program, other.outside.offset)
        self.reason = self.reason or other.reason
        if self.requests is not None:
            self.requests = None if other.requests is None else self.requests + other.requests

    def access(self, tiles: Tiles) -> None:
        """Count the tiles of one access.

        Raises:
            TooLargeError: Fewer programs at once may do.
            TooManyIntervalsError: The distinct bytes are.
        """
        for kind, pattern in enumerate(tiles.patterns):
            chosen = np.flatnonzero(tiles.kinds == kind) if len(tiles.patterns) > 1 else None
            bases = tiles.bases if chosen is None else tiles.bases[chosen]
            programs = tiles.programs if chosen is None else tiles.programs[chosen]
            self._pattern(pattern, bases, programs, tiles.elements)
        if self.requests is not None:
            self._count_requests(self.requests, tiles)

    def _count_requests(self, requests: Requests, tiles: Tiles) -> None:
        patterns = [(each.offsets, each.mask) for each in tiles.patterns]
        try:
            for warps in self._warps:
                requests += count_patterns(warps, patterns, tiles.bases, tiles.kinds)
        except ValueError as error:
            self.requests, self.reason = None, str(error)
        else:
            self.requests = requests

    def _pattern(self, pattern: Pattern, bases: Array, programs: Array, elements: int) -> None:
        offsets = ascending(pattern.accessed())
        self.lanes += offsets.size * bases.size
        self.masked += (elements - offsets.size) * bases.size
        if not offsets.size:
            return
        starts, lengths = _runs(offsets, self._size)
        if starts.size > self.leap[0]:
            steps = np.diff(starts)
            if (steps == steps[0]).all():
                self.leap = starts.size, int(steps[0])
        places = bases
        if self.waves is not None and self._wave is not None:
            places = distinct(bases + programs // self._wave * _WAVE_STRIDE)
            self.waves.add(places, starts, lengths)
            half = _WAVE_STRIDE // 2
            places = (places + half) % _WAVE_STRIDE - half
        self.coverage.add(distinct(places), starts, lengths)
        if self._tensor_bytes is not None:
            self._check_bounds(offsets, bases, programs, self._tensor_bytes)

    def _check_bounds(self, offsets: Array, bases: Array, programs: Array, size: int) -> None:
        last = size - self._size
        beyond = (bases + offsets[0] < 0) | (bases + offsets[-1] > last)
        if not beyond.any():
            return
        bases, programs = bases[beyond], programs[beyond]
        below = np.searchsorted(offsets, -bases, side="left")
        inside = np.searchsorted(offsets, last - bases, side="right")
        lanes = below + (offsets.size - inside)
        first = int(np.argmin(programs))
        at = offsets[0] if below[first] else offsets[inside[first]]
        self.outside.add(int(lanes.sum()), int(programs[first]), int(bases[first] + at))


def _runs(offsets: Array, size: int) -> tuple[Array, Array]:
    """Return the runs of bytes that sorted elements are: where they start, and their lengths."""
    breaks = np.flatnonzero(np.diff(offsets) > size) + 1
    starts = offsets[np.concatenate(([0], breaks))]
    ends = offsets[np.concatenate((breaks - 1, [offsets.size - 1]))] + size
    return starts, ends - starts
