"""Why the requests of an access touch more sectors than hold its bytes.

Sectors are lost in four ways, one after the other: a run of bytes starts off a boundary; a warp
takes the same sector in several requests; several warps take it; and what the program accesses lies
apart. The cause is where most of the surplus is lost. It is looked for in the addresses of a few
programs, two in the middle and the last one, through the layout that the compiler chose.
"""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec
import numpy as np

from irlens.analyze.global_accesses import Assembly
from irlens.analyze.issue_table import IssueTable
from irlens.analyze.traffic.accesses import Reference
from irlens.analyze.traffic.evaluation import run
from irlens.analyze.traffic.launch import Launch
from irlens.analyze.traffic.values import Array, TooLargeError, UnknownTrafficError
from irlens.analyze.warp_requests import WarpAccess, count, free_bits, instructions
from irlens.artifacts import npy
from irlens.isa.mlir import Module, Operation
from irlens.model.capture import Stage
from irlens.model.config import Config
from irlens.model.traffic import Access, Traffic

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers: TypeAlias = NDArray[np.int64]
    Booleans: TypeAlias = NDArray[np.bool_]

#: Surplus of sectors that is worth a cause, as part of the ideal ones of the access.
WORTHWHILE = 0.1
#: The same, as part of the ideal ones of the launch.
_NOTABLE = 0.05
#: Bytes that a thread can access at once.
_WIDEST = 16
#: Executions of an access by one program that are looked at.
_MOST_EXECUTIONS = 8
#: Elements of a tile that are looked at.
_MOST_ELEMENTS = 1 << 20
#: The part of neighbours that have a usual step.
_MOST = 0.9
#: How often an address occurs in a tile that repeats elements.
_REPEATED = 1.5

#: "misaligned": runs start off boundaries. "narrow": a thread's elements lie side by side, and
#: take several instructions. "warps": several warps access the same elements. "lanes": several
#: lanes of a warp do, in several requests. "ctas": several CTAs of a cluster do. "repeated":
#: elements of the tile have the same address. "short": a request has fewer bytes than a sector.
#: "apart": the elements lie apart.
Kind: TypeAlias = Literal[
    "misaligned", "narrow", "warps", "lanes", "ctas", "repeated", "short", "apart"
]


class SectorCause(msgspec.Struct, frozen=True):
    """Why an access touches too many sectors.

    Attributes:
        ideal: The fewest sectors that would do.
        copies: Warps that access the same elements; 1 where none do.
        lane_copies: Lanes of a warp that access the same element; 1 where none do.
        repeats: How often an address occurs in the tile, on average.
        request_bytes: Bytes that a request accesses, at most, those of several lanes counted once.
        steps: Bytes from one element to the next along each dimension of the tile; ``None`` where
            they vary.
        usual_steps: The same where they vary and most are equal.
        extents: Elements of a warp along each dimension.
        still: The part of neighbours along a dimension that have the same address, at most.
        runs: Elements of the tile that lie side by side before the address jumps, on average, along
            each dimension.
        lanes_along: The dimension that neighbouring threads go along; ``None`` for a scalar.
        vector: Elements of a thread that lie side by side, up to 16 bytes.
        held_bytes: Bytes of a thread that lie side by side.
        starts: Bytes past a multiple of ``vector`` elements at which they start.
        uniform_mask: Whether these elements share a mask value.
        origins: Bytes past a boundary between sectors at which the tiles start, by program and
            execution.
        shifts: Whether most executions of a program start less than a sector from the one before,
            so that no padding aligns both.
    """

    access: Access
    kind: Kind
    ideal: int
    element_bytes: int
    elements: int
    threads: int
    warps: int
    copies: int
    lane_copies: int
    repeats: float
    request_bytes: int
    steps: tuple[int | None, ...]
    usual_steps: tuple[int | None, ...]
    extents: tuple[int, ...]
    still: float
    runs: tuple[float, ...]
    lanes_along: int | None
    vector: int
    held_bytes: int
    starts: frozenset[int]
    uniform_mask: bool
    origins: tuple[tuple[int, ...], ...]
    shifts: bool


class EvaluatedLaunch(msgspec.Struct, frozen=True, kw_only=True):
    """A launch whose traffic is known.

    Attributes:
        module: The ttir, or the ttgir of a kernel that has none.
        contents: Files with what tensors of integers hold, by argument.
        granule: Bytes of the GPU's sector or cache line.
    """

    module: Module
    ttgir: Module
    assembly: Assembly
    config: Config
    contents: Mapping[str, Stage]
    traffic: Traffic
    granule: int


def sector_causes(evaluated: EvaluatedLaunch) -> list[SectorCause]:
    """Return the causes of the accesses of a launch that touch notably too many sectors."""
    module, granule = evaluated.module, evaluated.granule
    grid = evaluated.config.grid
    noticed = list(_noticed(evaluated.traffic.accesses, granule))
    if grid is None or not noticed:
        return []
    lines = {each.line for each in noticed}
    operations = {each.span.line: each for each in module.operations if each.span.line in lines}
    contents = {name: npy.read(stage) for name, stage in evaluated.contents.items()}
    launch = Launch(evaluated.config.args, grid, contents)
    try:
        samples = _samples(module, launch, operations)
    except UnknownTrafficError:
        return []
    issued_as = IssueTable(evaluated.ttgir, evaluated.assembly, granule).of_module(module)
    found = []
    for access in noticed:
        operation = operations.get(access.line)
        tiles = samples.get((access.line, access.argument), [])
        issued = None if operation is None else issued_as(operation)
        if tiles and issued and not isinstance(issued, str):
            found.append(_cause(access, issued[0], tiles, granule))
    return found


def _noticed(accesses: list[Access], granule: int) -> Iterator[Access]:
    """Yield the accesses whose surplus is notable beside all that moves, by the TMA, too."""
    total = sum(each.ideal_sectors or 0 for each in accesses)
    total += sum(each.bytes for each in accesses if each.requests == 0) // granule
    for each in accesses:
        if each.sectors is not None and each.ideal_sectors:
            surplus = each.sectors - each.ideal_sectors
            if surplus > WORTHWHILE * each.ideal_sectors and surplus > _NOTABLE * total:
                yield each


class _Tile(msgspec.Struct, frozen=True):
    """One execution of an access by one program: the address of each element, and the mask."""

    program: int
    offsets: "Integers"
    mask: "Booleans"


class _Visitor:
    """Collects the tiles of some accesses, by line and argument."""

    def __init__(self, operations: dict[int, Operation]) -> None:
        self._indices = {each.index: line for line, each in operations.items()}
        self.tiles: dict[tuple[int, str], list[_Tile]] = {}

    def __call__(self, operation: Operation, access: Reference, programs: Array) -> None:
        """Take some executions of an access."""
        line = self._indices.get(operation.index)
        if line is None or prod(access.shape) > _MOST_ELEMENTS:
            return
        tiles = self.tiles.setdefault((line, access.pointer.argument), [])
        rows = np.arange(min(programs.size, max(0, _MOST_EXECUTIONS - len(tiles))))
        if not rows.size:
            return
        shape = (rows.size, *access.shape)
        mask, offsets = (np.broadcast_to(each, shape) for each in access.elements(rows))
        for number in rows:
            if mask[number].any():
                tiles.append(_Tile(int(programs[number]), offsets[number], mask[number]))


def _samples(
    module: Module, launch: Launch, operations: dict[int, Operation]
) -> dict[tuple[int, str], list[_Tile]]:
    """Return tiles of a few programs of a launch, those in its middle first."""
    last = prod(launch.grid) - 1
    middle = (last + 1) // 2
    wanted = dict.fromkeys((middle, min(middle + 1, last), last))
    tiles: dict[tuple[int, str], list[_Tile]] = {}
    for number in wanted:
        try:
            parts = list(
                run(module, launch, range(number, number + 1), lambda: _Visitor(operations))
            )
        except TooLargeError:
            continue
        for visitor, _ in parts:
            for key, found in visitor.tiles.items():
                tiles.setdefault(key, []).extend(found)
    return tiles


def _cause(access: Access, issued: WarpAccess, tiles: list[_Tile], granule: int) -> SectorCause:
    counts = [_Losses(issued, tile, granule) for tile in tiles]
    worst = max(counts, key=lambda each: each.surplus)  # the first of several equal ones
    layout = issued.layout
    free = free_bits(layout)
    register_bits = [bit for n, bit in enumerate(layout.register) if n not in free[0]]
    lane_bits = [bit for n, bit in enumerate(layout.lane) if n not in free[1]]
    along = next((n for bit in lane_bits for n, step in enumerate(bit) if step), None)
    return SectorCause(
        access=access,
        kind=worst.kind(),
        ideal=access.ideal_sectors or 0,
        element_bytes=issued.element_bytes,
        elements=prod(layout.shape),
        threads=layout.lanes * layout.warps,
        warps=layout.warps,
        copies=worst.copies,
        lane_copies=worst.lane_copies,
        repeats=worst.repeats,
        request_bytes=worst.request_bytes,
        steps=_steps(tiles[0].offsets),
        usual_steps=_steps(tiles[0].offsets, _MOST),
        extents=_extents(layout.shape, [*register_bits, *lane_bits]),
        still=_still(tiles[0].offsets),
        runs=_runs(tiles[0].offsets, issued.element_bytes),
        lanes_along=along,
        vector=worst.vector,
        held_bytes=worst.held * issued.element_bytes,
        starts=frozenset().union(*(each.starts for each in counts)),
        uniform_mask=all(each.uniform_mask for each in counts),
        origins=_origins(tiles, granule),
        shifts=_shifts(tiles, granule),
    )


def _steps(offsets: "Integers", part: float = 1) -> tuple[int | None, ...]:
    """Return the step along each dimension that a part of the neighbours has at least."""
    steps = []
    for axis in range(offsets.ndim):
        moves = np.sort(np.diff(offsets, axis=axis).reshape(-1))
        usual = int(moves[moves.size // 2]) if moves.size else None
        steps.append(usual if moves.size and (moves == usual).mean() >= part else None)
    return tuple(steps)


def _still(offsets: "Integers") -> float:
    moves = (np.diff(offsets, axis=axis) for axis in range(offsets.ndim))
    return max((float((each == 0).mean()) for each in moves if each.size), default=0.0)


def _runs(offsets: "Integers", size: int) -> tuple[float, ...]:
    runs = []
    for axis in range(offsets.ndim):
        moves = np.diff(np.moveaxis(offsets, axis, -1).reshape(-1))
        runs.append(offsets.size / (1 + int((moves != size).sum())))
    return tuple(runs)


def _extents(shape: tuple[int, ...], bases: list[tuple[int, ...]]) -> tuple[int, ...]:
    """Return how many elements along each dimension some bases reach."""
    return tuple(1 << sum(1 for basis in bases if basis[axis]) for axis in range(len(shape)))


def _origins(tiles: list[_Tile], granule: int) -> tuple[tuple[int, ...], ...]:
    programs: dict[int, list[int]] = {}
    for tile in tiles:
        first = int(tile.offsets.reshape(-1)[0]) % granule
        programs.setdefault(tile.program, []).append(first)
    return tuple(map(tuple, programs.values()))


def _shifts(tiles: list[_Tile], granule: int) -> bool:
    pairs = [(a, b) for a, b in pairwise(tiles) if a.program == b.program]
    moves = [int(b.offsets.flat[0] - a.offsets.flat[0]) for a, b in pairs]
    return 2 * sum(0 < abs(each) < granule for each in moves) > len(moves)


class _Losses:
    """Where the sectors of one tile are lost.

    Args:
        granule: Bytes of a sector.
    """

    def __init__(self, issued: WarpAccess, tile: _Tile, granule: int) -> None:
        self._issued = issued
        self._granule = granule
        offsets, mask = tile.offsets.reshape(-1), tile.mask.reshape(-1)
        counted = count(issued, tile.offsets, tile.mask)
        self._sectors = counted.sectors
        self._ideal = counted.ideal_sectors
        # Copies of one element by several lanes take more, wherever their runs start.
        starts_off = counted.runs.starts > 1
        self._aligned = counted.runs.aligned_sectors if starts_off else counted.sectors
        index, active = instructions(issued)
        self._lanes = active & mask[index[..., 0]]
        self._places = offsets[index]
        self._count = index.shape[0] // (issued.layout.warps * issued.layout.blocks)
        accessed = offsets[mask]
        # Without the counts, which nobody needs, it imports numpy.ma to look for masked arrays.
        self.repeats = accessed.size / np.unique(accessed, return_counts=True)[0].size
        first = np.sort(np.where(self._lanes, self._places[..., 0], -1), axis=-1)
        others = (np.diff(first, axis=-1) > 0).sum(axis=-1) + (first[..., 0] >= 0)
        self.request_bytes = int(others.max()) * issued.width
        self._by_thread(mask[index])

    @property
    def surplus(self) -> int:
        """Sectors beyond the ideal ones."""
        return self._sectors - self._ideal

    def _by_thread(self, mask: "Booleans") -> None:
        """Find the elements of each thread that lie side by side, and where they start."""
        size = self._issued.element_bytes
        # Dimensions: warps, lanes, elements of a thread.
        places, held = (
            np.moveaxis(each.reshape(-1, self._count, *each.shape[1:]), 1, 2).reshape(
                -1, each.shape[1], self._count * each.shape[2]
            )
            for each in (self._places, mask)
        )
        self.held, self.vector, self.starts, self.uniform_mask = 1, 1, frozenset[int](), True
        vector = 2
        while vector <= places.shape[-1]:
            groups = places.reshape(-1, places.shape[-1] // vector, vector)
            masks = held.reshape(groups.shape)
            # The halves are known to be contiguous.
            left, right = groups[..., vector // 2 - 1], groups[..., vector // 2]
            both = masks[..., vector // 2 - 1] & masks[..., vector // 2]
            if not both.any() or (right - left != size)[both].mean() > 0.05:
                break
            self.held = vector
            vector *= 2
            if self.held * size > _WIDEST:
                continue
            self.vector = self.held
            starts = groups[..., 0][masks.any(axis=-1)] % (self.held * size)
            self.starts = frozenset(starts.tolist())
            self.uniform_mask = bool((masks.all(axis=-1) == masks.any(axis=-1)).all())

    def kind(self) -> Kind:
        """Return the cause of most of the surplus."""
        half = self.surplus / 2
        if self._sectors - self._aligned >= half:
            return "misaligned"
        wide = self.vector * self._issued.element_bytes // self._issued.width
        repeats = self.repeats >= _REPEATED
        if wide > 1 and not repeats and self._sectors - self._distinct(wide) >= half:
            return "narrow"
        by_warp, by_program = self._distinct(self._count), self._distinct(len(self._lanes))
        by_cta = self._distinct(self._count * self._issued.layout.warps)
        if self.copies > 1 and by_warp - by_cta >= half:
            return "warps"
        if by_cta - by_program >= half:
            return "ctas"
        if repeats and self._sectors - by_program >= half:
            return "repeated"
        if self.lane_copies > 1 and self._sectors - by_warp >= half:
            return "lanes"
        apart = by_program - self._ideal >= half or self.request_bytes >= self._granule
        return "apart" if apart else "short"

    @property
    def copies(self) -> int:
        """Warps that access the same elements; 1 where none do."""
        # One thread alone stores an element, or copies it.
        is_load = self._issued.direction == "load"
        return 1 << len(free_bits(self._issued.layout)[2]) if is_load else 1

    @property
    def lane_copies(self) -> int:
        """Lanes of a warp that access the same element; 1 where none do."""
        is_load = self._issued.direction == "load"
        return 1 << len(free_bits(self._issued.layout)[1]) if is_load else 1

    def _distinct(self, together: int) -> int:
        """Return the sectors that consecutive requests touch, each counted once for all of them."""
        first = self._places[..., 0]
        groups = np.broadcast_to((np.arange(len(first)) // together)[:, None], first.shape)
        begin = first[self._lanes] // self._granule
        end = (first[self._lanes] + self._issued.width - 1) // self._granule
        least = begin.min(initial=0)
        # A number for each group and sector: sorting pairs takes ten times as long.
        base = groups[self._lanes] * (end.max(initial=0) - least + 1) - least
        numbers = np.concatenate((base + begin, base + end))
        return int(np.unique(numbers, return_counts=True)[0].size)
