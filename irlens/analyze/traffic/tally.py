"""Counts what one access moves, tile by tile."""

from math import log2
from typing import NamedTuple

import numpy as np

from irlens.analyze.traffic.coverage import Coverage, TooManyIntervalsError
from irlens.analyze.traffic.strided_coverage import ByteSet
from irlens.analyze.traffic.tiles import Pattern, Tiles, have_equal
from irlens.analyze.traffic.values import Array, distinct
from irlens.analyze.warp_requests import (
    SECTOR,
    Requests,
    WarpAccess,
    count_patterns,
    free_bits,
    places_in_lines,
)
from irlens.gpus.timing import PIECE_BYTES

#: Bases that are gathered before their bytes are joined: as many as programs evaluated at once.
_GATHERED = 1 << 15
#: Distance between the bytes of neighbouring waves in one set; no tensor is as large.
_WAVE_STRIDE = 1 << 42
#: Bytes of a line of the L2, and of a page of memory.
_LINE, _PAGE = 128, 2048


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


class FirstTiles(NamedTuple):
    """What programs access at once.

    Attributes:
        lanes: Elements, as often as they are accessed.
        sectors: Those that hold them.
        apart: How far apart the pieces of memory are, 0..1: 0 where both of each line are touched,
            1 where each is alone in its page. Each time that the distance doubles counts the same.
    """

    lanes: int = 0
    sectors: int = 0
    apart: float = 0.0


class Moved:
    """What one operation accesses, whatever machine it runs on.

    Args:
        tensor_bytes: Bytes of the argument's tensor; ``None`` if unknown.
        coverage: An empty set for the bytes that are accessed.

    Attributes:
        lanes: Elements that are accessed, as often as they are.
        repeated: Those of them along dimensions of a tile in which all addresses are equal.
        masked: Elements that are masked off.
        coverage: The bytes that are accessed.
        leap: The most runs of bytes that a tile has an even step apart, and the step.
        first: What each program accesses at once.
    """

    def __init__(
        self, element_bytes: int, tensor_bytes: int | None = None, coverage: ByteSet | None = None
    ) -> None:
        self.element_bytes = element_bytes
        self.lanes = 0
        self.repeated = 0
        self.masked = 0
        self.coverage: ByteSet = coverage or Coverage(element_bytes)
        self.leap = (1, 0)
        self.first = FirstTiles()
        self.outside = Outside()
        self._tensor_bytes = tensor_bytes

    @property
    def bytes(self) -> int:
        """Bytes that are accessed, of repeated elements once for each tile."""
        return (self.lanes - self.repeated) * self.element_bytes

    def update(self, other: "Moved") -> None:
        """Add what other programs access."""
        self.lanes += other.lanes
        self.repeated += other.repeated
        self.masked += other.masked
        self.coverage.update(other.coverage)
        self.leap = max(self.leap, other.leap)
        if other.outside.lanes:
            self.outside.add(other.outside.lanes, other.outside.program, other.outside.offset)

    def access(self, tiles: Tiles) -> None:
        """Count the tiles of one access.

        Raises:
            TooManyIntervalsError: The distinct bytes are.
        """
        if not self.lanes:
            self.first = _first_tiles(tiles, self.coverage.empty(), self.element_bytes)
        for pattern, bases, programs in tiles.by_pattern():
            self._pattern(pattern, bases, programs, tiles.elements)

    def _pattern(self, pattern: Pattern, bases: Array, programs: Array, elements: int) -> None:
        offsets = pattern.accessed
        self.lanes += offsets.size * bases.size
        self.masked += (elements - offsets.size) * bases.size
        if not offsets.size:
            return
        self.repeated += pattern.repeated * bases.size
        starts, lengths = pattern.runs(self.element_bytes)
        if starts.size > self.leap[0]:
            steps = np.diff(starts)
            if (steps == steps[0]).all():
                self.leap = starts.size, int(steps[0])
        self.coverage.add(distinct(bases), starts, lengths)
        if self._tensor_bytes is not None:
            self._check_bounds(offsets, bases, programs, self._tensor_bytes)

    def _check_bounds(self, offsets: Array, bases: Array, programs: Array, size: int) -> None:
        last = size - self.element_bytes
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


def _first_tiles(tiles: Tiles, accessed: ByteSet, element_bytes: int) -> FirstTiles:
    """Return what programs access at once: each its first tile, others in later iterations perhaps.

    Args:
        accessed: An empty set.
    """
    lanes = 0
    try:
        for pattern, bases, programs in tiles.by_pattern():
            if pattern.accessed.size:
                order = np.argsort(programs, kind="stable")
                first = order[np.flatnonzero(np.diff(programs[order], prepend=-1))]
                accessed.add(distinct(bases[first]), *pattern.runs(element_bytes))
                lanes += pattern.accessed.size * first.size
        sectors, pieces, lines, pages = map(accessed.granules, (SECTOR, PIECE_BYTES, _LINE, _PAGE))
    except TooManyIntervalsError:
        return FirstTiles()
    if not pieces:
        return FirstTiles()
    most = _PAGE // PIECE_BYTES
    apart = (2 * lines / pieces - 1) * max(0.0, log2(most * pages / pieces) / log2(most))
    return FirstTiles(lanes, sectors, apart)


class Machine(NamedTuple):
    """What a tally depends on besides the addresses.

    Attributes:
        wave: Programs of a wave; ``None`` if unknown.
        issue: How warps access the elements, or why that is unknown.
        update: How an atomic operation's do, which have no requests but counters of their own.
    """

    wave: int | None = None
    issue: tuple[WarpAccess, ...] | str | None = None
    update: WarpAccess | None = None


class Tally:
    """How a machine runs an access.

    Attributes:
        machine: The machine.
        waves: The bytes that are accessed, those of each wave apart; ``None`` if it is unknown.
        requests: The requests of warps; ``None`` if unknown.
        updated: Passes in which the L2 takes what warps update; ``None`` if unknown.
        width: Bytes of a thread's instruction; ``None`` if unknown, or if there is none.
        reason: Why the requests are unknown.
    """

    def __init__(self, moved: Moved, machine: Machine) -> None:
        self.moved, self.machine = moved, machine
        wave, issue, update = machine
        self.waves = None if wave is None else moved.coverage.empty()
        self.reason = issue if isinstance(issue, str) else ""
        self.requests = Requests(0, 0, 0) if isinstance(issue, tuple) else None
        self._warps = issue if isinstance(issue, tuple) else ()
        self.updated = 0 if update is not None else None
        self._update = update
        self.width = self._warps[0].width if self._warps else None
        self._wave = wave
        #: Bases by wave, whose bytes are not in ``waves`` yet.
        self._places: list[tuple[Pattern, Array]] = []
        self._held = 0
        #: Tiles whose requests are not counted yet: their patterns, and how many of each begin
        #: where in a line.
        self._uncounted: tuple[tuple[Pattern, ...], Array] | None = None

    def touched(self, sector: int) -> float:
        """Return the sectors that warps access, as often as they do.

        Those of warps that access the same elements at once count once.
        """
        alike = {len(free_bits(each.layout)[2]) for each in self._warps}
        if self.requests is not None and len(alike) == 1:
            return self.requests.sectors / (1 << alike.pop())
        coverage = self.moved.coverage
        return coverage.granules(sector) * self.moved.bytes / max(1, coverage.size())

    @property
    def of_tiles(self) -> float:
        """The sectors that tiles hold, each tile's counted once."""
        lanes, sectors, _ = self.moved.first
        return sectors * self.moved.lanes / lanes if lanes else 0.0

    def update(self, other: "Tally") -> None:
        """Add how other programs, whose accesses ``moved`` has, run."""
        if self.waves is not None and other.waves is not None:
            self.waves.update(other.waves)
        self._places += other._places
        self._held += other._held
        self._join_many()
        self.reason = self.reason or other.reason
        if self.requests is not None:
            self.requests = None if other.requests is None else self.requests + other.requests
        if self.updated is not None:
            self.updated = None if other.updated is None else self.updated + other.updated
        if other._uncounted is not None:
            self._gather(*other._uncounted)

    def issue(self, tiles: Tiles) -> None:
        """Count the waves and the requests of the tiles of one access.

        Raises:
            TooManyIntervalsError: The distinct bytes are.
        """
        if self.waves is not None and self._wave is not None:
            for pattern, bases, programs in tiles.by_pattern():
                if pattern.accessed.size:
                    self._places.append((pattern, _by_wave(bases, programs // self._wave)))
                    self._held += self._places[-1][1].size
            self._join_many()
        warps = self._update or next(iter(self._warps), None)
        if warps is not None:
            period = warps.period
            self._gather(tiles.patterns, places_in_lines(tiles.bases, tiles.kinds, period))
        if tiles.has_many_patterns:
            self.settle()

    def _gather(self, patterns: tuple[Pattern, ...], numbers: Array) -> None:
        """Count tiles later with those of the same patterns."""
        if self._uncounted is not None and have_equal(patterns, self._uncounted[0]):
            numbers = numbers + self._uncounted[1]
        else:
            self._count()
        self._uncounted = patterns, numbers

    def _join_many(self) -> None:
        if self._held > _GATHERED:
            self._join()

    def _join(self) -> None:
        """Add the gathered bases of each pattern to the bytes of the waves."""
        gathered: dict[int, list[tuple[Pattern, Array]]] = {}
        for pattern, places in self._places:
            gathered.setdefault(id(pattern), []).append((pattern, places))
        self._places, self._held = [], 0
        for (pattern, places), *others in gathered.values():
            if others:
                places = distinct(np.concatenate([places, *(each for _, each in others)]))
            if self.waves is not None:
                self.waves.add(places, *pattern.runs(self.moved.element_bytes))

    def settle(self) -> None:
        """Count what is not counted yet.

        Raises:
            TooManyIntervalsError: The distinct bytes are.
        """
        self._join()
        self._count()

    def _count(self) -> None:
        """Count the requests of what is not counted yet."""
        if self._uncounted is None:
            return
        (patterns, numbers), self._uncounted = self._uncounted, None
        pairs = [(each.offsets, each.mask) for each in patterns]
        if self._update is not None and self.updated is not None:
            self.updated += count_patterns(self._update, pairs, numbers).wavefronts
        if self.requests is None:
            return
        try:
            for warps in self._warps:
                self.requests += count_patterns(warps, pairs, numbers)
        except ValueError as error:
            self.requests, self.reason = None, str(error)


def _by_wave(bases: Array, waves: Array) -> Array:
    """Return the distinct bases of each wave, those of different waves apart."""
    first, last, low = int(waves.min()), int(waves.max()), int(bases.min())
    if first == last:
        return distinct(bases) + first * _WAVE_STRIDE
    bits = (int(bases.max()) - low).bit_length()
    places = distinct((bases - low) + ((waves - first) << bits))
    wave = places >> bits
    return np.asarray((places - (wave << bits)) + low + (wave + first) * _WAVE_STRIDE)
