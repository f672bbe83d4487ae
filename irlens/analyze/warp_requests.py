"""Warp requests and sectors of one access to global memory.

A thread's elements are accessed in runs of registers, as wide as the machine's instruction; one run
of all lanes of a warp is a request, and the sectors that the lanes touch are fetched or written
once for it. This is what Nsight Compute's ``l1tex__t_requests_pipe_lsu_mem_global_op_ld`` and
``l1tex__t_sectors_pipe_lsu_mem_global_op_ld``, and the same with ``st``, count. A warp whose lanes
are all masked makes no request. A copy to shared memory fetches a sector again for each 128 bytes
that it writes there.

Triton lets every thread load, also those that hold the same element, but only one of them store
(``getFreeVariableMasks`` and ``emitRedundantThreadPredicate`` in the lowering of loads and stores).
"""

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from operator import add
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

import msgspec
from msgspec.structs import astuple

from irlens.analyze.request_runs import Runs, count_runs
from irlens.isa.mlir.linear_maps import LinearMap, Span

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Integers: TypeAlias = NDArray[np.int64]
    Booleans: TypeAlias = NDArray[np.bool_]
    _T = TypeVar("_T", np.int64, np.bool_)

SECTOR = 32  # bytes: NVIDIA's, of every architecture since Maxwell
LINE = 128  # bytes: the L2 takes a request's sectors of one line together
#: Bytes of a bank of the L1, and the lines that it finds in a cycle.
_WORD, _LINES = 4, 4
#: Elements that are evaluated at a time.
_CHUNK = 1 << 21
_MOST_BITS = 22  # of the bytes in the registers of a cluster of 16 SMs
_NOWHERE = -(1 << 62)  # no sector or address of a lane that is masked


class WarpAccess(msgspec.Struct, frozen=True):
    """How a load or store accesses the elements of a tensor.

    Attributes:
        direction: "copy" is an asynchronous copy to shared memory, which counts as a load, but of
            one thread for each element. "update" is an atomic operation.
        width: Bytes that one thread's instruction accesses, a multiple of an element's.
        granule: Bytes of a sector (AMD: of a cache line).
        merged: Which of a thread's instructions the assembler leaves out, by their number, since
            they access the same bytes as earlier ones.

    Raises:
        ValueError: No thread, or no cluster, has registers for the elements.
    """

    layout: LinearMap
    direction: Literal["load", "store", "copy", "update"]
    element_bytes: int
    width: int
    granule: int = SECTOR
    merged: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        if sum(map(len, self.layout.bases)) > _MOST_BITS:
            raise ValueError("its threads hold more elements than a cluster has registers for")
        if self.width % self.element_bytes or self.width < self.element_bytes:
            raise ValueError(f"{self.width} bytes are not elements of {self.element_bytes}")
        if self.elements > self.layout.registers >> len(free_bits(self.layout)[0]):
            raise ValueError(f"no thread holds {self.width} bytes of this tensor")
        if self.elements & self.elements - 1:
            raise ValueError(
                f"a thread's elements are not whole instructions of {self.width} bytes"
            )

    @property
    def elements(self) -> int:
        """Elements of a thread's instruction."""
        return self.width // self.element_bytes

    @property
    def programs_at_a_time(self) -> int:
        """Programs that are evaluated at a time."""
        return max(1, _CHUNK >> sum(map(len, self.layout.bases)))

    @property
    def period(self) -> int:
        """Bytes that tiles may be shifted by at no cost: lines of the L2, and whole granules."""
        return max(LINE, self.granule)


class Requests(msgspec.Struct, frozen=True):
    """What an access costs, over all its programs.

    Attributes:
        requests: Instructions of warps with at least one active lane.
        sectors: Distinct sectors that each of them touches, added up.
        ideal_sectors: The fewest that hold as many bytes as a program accesses, each counted once.
        runs: The runs of bytes that the requests access.
        lines: Distinct lines of the L2 that each of them touches, added up.
        wavefronts: Cycles for which the L1 delivers the data of loads, by their banks and lines; of
            updates the passes in which the L2 takes them.
    """

    requests: int
    sectors: int
    ideal_sectors: int
    runs: Runs = Runs()
    lines: int = 0
    wavefronts: int = 0

    def __add__(self, other: "Requests") -> "Requests":
        return Requests(*map(add, astuple(self), astuple(other)))


def count(access: WarpAccess, offsets: "ArrayLike", mask: "ArrayLike | None" = None) -> Requests:
    """Count the requests of an access from the address of each element.

    Args:
        offsets: Addresses in bytes, relative to a multiple of the granule; the last dimensions are
            the tensor's, those before them the programs'.
        mask: Which elements are accessed, of a shape that broadcasts to the offsets'; all if
            ``None``.
    """
    import numpy as np

    flat = _by_program(access, np.asarray(offsets, np.int64))
    shape = np.shape(offsets)
    masks = None
    if mask is not None:
        masks = _by_program(access, np.broadcast_to(np.asarray(mask, np.bool_), shape))
    return _count(access, flat, masks, np.ones(len(flat), np.int64))


def places_in_lines(bases: "Integers", kinds: "Integers", period: int) -> "Integers":
    """Return how many tiles of each pattern begin at each byte of a period.

    Args:
        bases: Address of each tile, in bytes, relative to a multiple of the granule.
        kinds: Which pattern each has.
        period: Bytes, a power of two: tiles that are that far apart cost the same.
    """
    import numpy as np

    patterns = int(kinds.max(initial=0)) + 1
    places = bases & (period - 1)
    if patterns > 1:
        places = places + kinds * period
    return np.bincount(places, minlength=patterns * period)


def count_patterns(
    access: WarpAccess,
    patterns: "Sequence[tuple[Integers, Booleans | None]]",
    numbers: "Integers",
) -> Requests:
    """Count the requests of tiles that have few different patterns.

    Args:
        patterns: Offsets of the elements, in row-major order, and which of them are accessed; all
            if ``None``.
        numbers: How many tiles have each, by where they begin, see ``places_in_lines``.
    """
    import numpy as np

    period = access.period
    keys = np.flatnonzero(numbers)
    weights = numbers[keys]
    total = Requests(0, 0, 0)
    step = access.programs_at_a_time
    for begin in range(0, keys.size, step):
        some = keys[begin : begin + step]
        chosen = [patterns[kind] for kind in some // period]
        offsets = np.stack([each for each, _ in chosen]) + (some % period)[:, None]
        masks = None
        if any(mask is not None for _, mask in chosen):
            everywhere = np.ones(offsets.shape[1], np.bool_)
            masks = np.stack([everywhere if mask is None else mask for _, mask in chosen])
        total += _count(access, offsets, masks, weights[begin : begin + step])
    return total


def _count(
    access: WarpAccess, offsets: "Integers", masks: "Booleans | None", weights: "Integers"
) -> Requests:
    """Count each program's requests, times its weight."""
    index, active = instructions(access)
    total, of_line = Requests(0, 0, 0), max(1, LINE // access.granule)
    if not len(index):
        return total  # other loads of its place bring all that it loads
    step = access.programs_at_a_time
    for chunk in (slice(start, start + step) for start in range(0, len(offsets), step)):
        mask = None if masks is None else masks[chunk]
        lanes = active[None] if mask is None else active & mask[:, index[..., 0]]
        places = offsets[chunk][:, index]
        of_lanes = _touched_sectors(access, places, lanes)
        numbers = ascending(of_lanes)
        touched = _distinct(numbers)
        fetched = _fetched(access, of_lanes, touched)
        sectors = fetched.sum(axis=-1)
        ideal = _ideal_sectors(access, offsets[chunk], mask)
        weight = weights[chunk]
        requests = lanes.any(axis=-1).sum(axis=-1)
        lines = _distinct(numbers // of_line)
        if access.direction == "update":
            wavefronts = _passes(places[..., 0], lanes)
        else:
            wavefronts = _wavefronts(access, places[..., 0], lanes, lines)
        total += Requests(
            int((requests * weight).sum()),
            int((sectors * weight).sum()),
            int((ideal * weight).sum()),
            _runs(access, places[..., 0], lanes, fetched, ideal, weight),
            int((lines.sum(axis=-1) * weight).sum()),
            int((wavefronts * weight).sum()),
        )
    return total


def _wavefronts(
    access: WarpAccess, first: "Integers", lanes: "Booleans", lines: "Integers"
) -> "Integers":
    """Return the cycles for which the L1 delivers what the requests of each program load.

    As shared memory, it delivers a word of each of 32 banks in a cycle, to as many lanes at a time
    as take 128 bytes, and finds four lines in a cycle: an H200 took 1, 2, 4, 8, 16 and 32 cycles
    for lanes that load 4 bytes 12, 24, 16, 32, 64 and 128 bytes apart, and 8 for 132 bytes
    (``benchmarks/l1_requests.py``).

    Args:
        first: The address of each lane's first element.
        lines: Lines that each request touches.
    """
    import numpy as np

    unit = max(_WORD, access.width)
    together = min(access.layout.lanes, LINE // unit)
    least = (lines > 0) * (access.layout.lanes // together)
    units = (first // unit).reshape(-1, together)
    near = units.max(axis=-1) - units.min(axis=-1) < together  # no two words in one bank
    if (
        access.direction != "load"
        or access.granule != SECTOR
        or (near.all() and (lines <= _LINES * least).all())
    ):
        packed: Integers = least.sum(axis=-1)
        return packed
    active = np.broadcast_to(lanes, first.shape).reshape(-1, together)
    units = ascending(np.where(active, units, _NOWHERE))
    distinct = units > _NOWHERE
    distinct[:, 1:] &= units[:, 1:] != units[:, :-1]
    banks = units % together + np.arange(len(units))[:, None] * together
    taken = np.bincount(banks[distinct], minlength=banks.size).reshape(-1, together).max(axis=-1)
    by_banks = taken.reshape(*lines.shape, -1).sum(axis=-1)
    found: Integers = np.maximum(least, np.maximum(by_banks, -(-lines // _LINES))).sum(axis=-1)
    return found


def _passes(first: "Integers", lanes: "Booleans") -> "Integers":
    """Return the passes in which the L2 takes the updates of each program.

    It takes the lanes of an instruction that update a sector at once, but for those that update one
    address: 2^20 additions of integers take an H100 as long if 16 lanes update each of two
    addresses of a sector, if 4 update each of 8, and if 2 update each of 16 sectors.

    Args:
        first: The address of each lane's first element.
    """
    import numpy as np

    places = ascending(np.where(lanes, first, _NOWHERE)).reshape(-1, first.shape[-1])
    at = np.arange(places.size).reshape(places.shape)
    apart = np.ones(places.shape, np.bool_)
    apart[:, 1:] = places[:, 1:] != places[:, :-1]
    number = at - np.maximum.accumulate(np.where(apart, at, 0), axis=-1)  # of those of its address
    apart[:, 1:] = places[:, 1:] // SECTOR != places[:, :-1] // SECTOR
    starts = np.flatnonzero(apart)
    most = np.maximum.reduceat((number + 1).ravel(), starts) * (places.ravel()[starts] > _NOWHERE)
    of_program = starts // (places.size // len(first))
    found: Integers = np.bincount(of_program, most, len(first)).astype(np.int64)
    return found


def _runs(
    access: WarpAccess,
    first: "Integers",
    lanes: "Booleans",
    touched: "Integers",
    ideal: "Integers",
    weights: "Integers",
) -> Runs:
    """Return the runs of each program's requests, times its weight."""
    import numpy as np

    sectors = touched.sum(axis=-1)
    perfect = sectors == ideal  # no request of theirs could touch fewer
    least = int((sectors * weights)[perfect].sum())
    rest = np.flatnonzero(~perfect)
    grouped = (len(rest), touched.shape[-1], first[0].size // touched.shape[-1])
    return Runs(least, least, int(perfect.any())) + count_runs(
        first[rest].reshape(grouped),
        np.broadcast_to(lanes, first.shape)[rest].reshape(grouped),
        touched[rest],
        weights[rest],
        width=access.width,
        granule=access.granule,
    )


def _by_program(access: WarpAccess, values: "NDArray[_T]") -> "NDArray[_T]":
    """Return one row of elements for each program."""
    shape = access.layout.shape
    if values.shape[values.ndim - len(shape) :] != shape:
        raise ValueError(f"no {shape} tensors in an array of {values.shape}")
    return values.reshape(-1, prod(shape))


@lru_cache(maxsize=64)
def instructions(access: WarpAccess) -> "tuple[Integers, Booleans]":
    """Return the element that each instruction, lane and position accesses, and which lanes do.

    The instructions of all warps and blocks are in one dimension.
    """
    import numpy as np

    layout = access.layout
    bases = [[_flat(layout.shape, basis) for basis in part] for part in layout.bases]
    free = free_bits(layout)
    bases[0] = [basis for bit, basis in enumerate(bases[0]) if bit not in free[0]]
    register, lane, warp, block = map(_reached, bases)
    vectors = register.reshape(-1, access.elements)
    positions = vectors[0]
    if access.merged:
        vectors = np.delete(vectors, sorted(access.merged), axis=0)
    index = np.bitwise_xor.outer(np.bitwise_xor.outer(block, warp).ravel(), vectors[:, 0])
    index = np.bitwise_xor.outer(index.ravel(), lane)
    index = index[:, :, None] ^ positions  # the positions of a vector move its first element
    if access.direction == "load":
        return index, np.ones(index.shape[:2], np.bool_)
    leaders = [_leaders(len(part), bits) for part, bits in zip(bases, free, strict=True)]
    blocks = np.ones_like(leaders[3]) if access.direction == "copy" else leaders[3]
    warps = np.logical_and.outer(blocks, leaders[2]).ravel()
    instructions = np.repeat(warps, len(vectors))
    return index, np.logical_and.outer(instructions, leaders[1])


def _flat(shape: tuple[int, ...], basis: tuple[int, ...]) -> int:
    """Return a basis as a move of the element's index in row-major order."""
    index = 0
    for extent, step in zip(shape, basis, strict=True):
        index = index * extent + step
    return index


def _reached(bases: list[int]) -> "Integers":
    """Return what the numbers from 0 on reach."""
    import numpy as np

    reached = np.zeros(1, np.int64)
    for basis in bases:
        reached = np.concatenate((reached, reached ^ basis))
    return reached


def _leaders(bits: int, free: frozenset[int]) -> "Booleans":
    """Return which of the numbers below 2^bits have no free bit set."""
    import numpy as np

    leads: Booleans = np.arange(1 << bits) & sum(1 << bit for bit in free) == 0
    return leads


def free_bits(layout: LinearMap) -> tuple[frozenset[int], ...]:
    """Return which bits of a register, lane, warp and block lead to elements that others hold.

    A basis is free if it is a combination of those before it, in this order.
    """
    span = Span()
    return tuple(
        frozenset(bit for bit, basis in enumerate(part) if not span.add(basis))
        for part in layout.bases
    )


def _touched_sectors(access: WarpAccess, offsets: "Integers", lanes: "Booleans") -> "Integers":
    """Return the sectors of each request of each program, one as often as lanes touch it.

    Raises:
        ValueError: The elements of an instruction are not side by side.
    """
    import numpy as np

    first, last = offsets[..., 0], offsets[..., -1]
    lanes = np.broadcast_to(lanes, first.shape)
    if (last - first != access.width - access.element_bytes)[lanes].any():
        raise ValueError(f"elements {access.width} bytes wide are not side by side")
    begin = first // access.granule
    end = (last + access.element_bytes - 1) // access.granule
    touched = np.where(lanes, begin, _NOWHERE)
    if (begin != end)[lanes].any():
        both = np.stack((touched, np.where(lanes, end, _NOWHERE)), axis=-1)
        touched = both.reshape(*first.shape[:-1], -1)
    return touched


def _fetched(access: WarpAccess, of_lanes: "Integers", touched: "Integers") -> "Integers":
    """Return how many sectors each group of lanes fetches that moves 128 bytes, or each request.

    Products of int4 weights copy eight rows from one: on an H100 the four groups of eight lanes
    that copy 16 bytes each take 16 sectors, where their addresses are in 4.

    Args:
        of_lanes: The sectors of each request's lanes.
        touched: How many of them are distinct, by request.

    Returns:
        Numbers by program, and by group or request.
    """
    if access.direction != "copy" or access.granule != SECTOR:
        return touched
    bytes_ = access.layout.lanes * access.width
    groups = of_lanes.reshape(
        *of_lanes.shape[:-2], -1, of_lanes.shape[-1] * LINE // max(bytes_, LINE)
    )
    return _distinct(ascending(groups))


def _ideal_sectors(access: WarpAccess, offsets: "Integers", mask: "Booleans | None") -> "Integers":
    import numpy as np

    accessed = offsets if mask is None else np.where(mask, offsets, _NOWHERE)
    number = _distinct(ascending(accessed))
    return -(-number * access.element_bytes // access.granule)


def ascending(values: "Integers") -> "Integers":
    """Sort values along the last dimension, unless they are sorted, as those of most accesses."""
    import numpy as np

    return values if (values[..., 1:] >= values[..., :-1]).all() else np.sort(values, axis=-1)


def _distinct(ordered: "Integers") -> "Integers":
    """Count the distinct values along the last dimension, those for nothing not among them."""
    changes = (ordered[..., 1:] != ordered[..., :-1]).sum(axis=-1)
    distinct: Integers = changes + (ordered[..., 0] > _NOWHERE // LINE)
    return distinct
