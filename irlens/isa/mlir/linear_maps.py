"""Layouts as linear maps: which element of a tensor each register of each thread holds.

Every distributed encoding of ttgir is linear over GF(2) (Zhou et al., "Linear Layouts",
arXiv:2505.23819): bit i of the number of a register, lane, warp or block moves the element by
basis i, and the moves of several bits are combined by exclusive or. The rules of each encoding are
those of Triton's ``LinearLayoutConversions.cpp``. A tile is a sequence of factors, each of which
spreads further bits along one dimension; a tensor larger than the CTA tile takes more registers,
and in one that is smaller several threads hold the same element.
"""

from collections.abc import Iterable, Mapping, Sequence
from operator import xor

import msgspec

from irlens.isa.mlir.encodings import Bases, Encoding

#: Bits of register, lane, warp and block numbers together, of a thread that could exist.
_MOST_BITS = 40
_KINDS = ("register", "lane", "warp", "block")
_COORDINATE_BITS = 32


class LinearMap(msgspec.Struct, frozen=True):
    """Where the elements of a tensor lie; one basis for each bit of a number, by dimension.

    Attributes:
        register: Of the index of an element among those of its thread.
        lane: Of the lane's number.
        warp: Of the warp's number in the CTA.
        block: Of the CTA's number in its cluster.
    """

    shape: tuple[int, ...]
    register: Bases
    lane: Bases
    warp: Bases
    block: Bases

    @property
    def registers(self) -> int:
        """Elements that a thread holds, repeated ones included."""
        return 1 << len(self.register)

    @property
    def lanes(self) -> int:
        """Lanes of a warp."""
        return 1 << len(self.lane)

    @property
    def warps(self) -> int:
        """Warps of a CTA."""
        return 1 << len(self.warp)

    @property
    def blocks(self) -> int:
        """CTAs of a cluster."""
        return 1 << len(self.block)

    def element(self, register: int, lane: int, warp: int = 0, block: int = 0) -> tuple[int, ...]:
        """Return the coordinates of the element in a register of a thread."""
        coordinates = [0] * len(self.shape)
        pairs = zip((register, lane, warp, block), self.bases, strict=True)
        for number, bases in pairs:
            for bit, basis in enumerate(bases):
                if number >> bit & 1:
                    coordinates = [a ^ b for a, b in zip(coordinates, basis, strict=True)]
        return tuple(coordinates)

    @property
    def bases(self) -> tuple[Bases, Bases, Bases, Bases]:
        """The bases of registers, lanes, warps and blocks."""
        return self.register, self.lane, self.warp, self.block


class Span:
    """The elements that combinations of some bases lead to (Gauss's elimination)."""

    def __init__(self) -> None:
        #: Combinations with distinct highest bits, by these, each with the numbers of its bases.
        self._pivots: dict[int, tuple[int, int]] = {}
        self._count = 0

    def add(self, basis: Sequence[int]) -> bool:
        """Add a basis; return whether those before it do not add up to it.

        One that they do add up to is part of no combination.
        """
        rest, combined = self._reduced(basis)
        if rest:
            self._pivots[rest.bit_length()] = rest, combined ^ 1 << self._count
        self._count += 1
        return rest != 0

    def find(self, element: Sequence[int]) -> int | None:
        """Return the bases that add up to an element, as bits; ``None`` if none do."""
        rest, combined = self._reduced(element)
        return None if rest else combined

    def _reduced(self, element: Sequence[int]) -> tuple[int, int]:
        rest = sum(each << _COORDINATE_BITS * n for n, each in enumerate(element))
        combined = 0
        while pivot := self._pivots.get(rest.bit_length()):
            rest, combined = rest ^ pivot[0], combined ^ pivot[1]
        return rest, combined


def elements(bases: Iterable[tuple[int, ...]], rank: int) -> list[tuple[int, ...]]:
    """Return the coordinates that each number leads to, whose bits select from bases."""
    found = [(0,) * rank]
    for basis in bases:
        found += [tuple(map(xor, one, basis)) for one in found]
    return found


class UnmappedError(Exception):
    """A layout whose map is not known; the message says why not."""


def dimension_order(
    encoding: Encoding, rank: int, name: str = "order", of: str = "tensor"
) -> tuple[int, ...]:
    """Return an order of dimensions that a layout has, fastest first.

    Raises:
        UnmappedError: It is not one of as many dimensions.
    """
    order = encoding.lists.get(name, ())
    if sorted(order) != list(range(rank)):
        raise UnmappedError(f"its {name} is not one of the {of}'s dimensions")
    return order


class Tile:
    """A map that grows by factors, each appended to those before it.

    Args:
        order: The dimensions from the fastest to the slowest; a tensor that is larger than the
            tile takes further registers in this order.
        dropped: The kind of bits that go when it shrinks, where they would repeat an element.
    """

    def __init__(self, order: Iterable[int], *, dropped: str = "") -> None:
        self.order = tuple(order)
        self._dropped = dropped
        self.sizes = [1] * len(self.order)
        self.bases: dict[str, list[tuple[int, ...]]] = {kind: [] for kind in _KINDS}

    def spread(self, kind: str, dimension: int, size: int) -> None:
        """Deal ``size`` neighbours along a dimension; nothing for sizes 0 and 1."""
        for bit in range(_log2(size) if size else 0):
            self._append(kind, dimension, self.sizes[dimension] << bit)
        self.sizes[dimension] *= size or 1

    def repeat(self, kind: str, size: int) -> None:
        """Let ``size`` numbers hold the same elements."""
        for _ in range(_log2(size)):
            self._append(kind, 0, 0)

    def spread_all(
        self,
        kind: str,
        sizes: tuple[int, ...],
        order: Iterable[int] | None = None,
        broadcast: int | None = None,
    ) -> None:
        """Deal along every dimension in an order (the tile's), repeating along ``broadcast``."""
        for dimension in self.order if order is None else order:
            if dimension == broadcast:
                self.repeat(kind, sizes[dimension])
            else:
                self.spread(kind, dimension, sizes[dimension])

    def append(self, factor: Mapping[str, Bases]) -> None:
        """Append a factor that is given by its bases."""
        scale = tuple(self.sizes)
        vectors = [basis for bases in factor.values() for basis in bases]
        for kind, bases in factor.items():
            for basis in bases:
                scaled = tuple(a * b for a, b in zip(basis, scale, strict=True))
                self.bases[kind].append(scaled)
        for dimension in range(len(scale)):
            self.sizes[dimension] *= _extent(vectors, dimension)

    def fit(self, shape: tuple[int, ...]) -> None:
        """Grow or shrink to the extents of a shape, by dimension."""
        for dimension in self.order:
            self.spread("register", dimension, shape[dimension] // self.sizes[dimension])
        for dimension in self.order:
            self.shrink(dimension, shape[dimension])

    def shrink(self, dimension: int, extent: int) -> None:
        """Zero the largest steps along a dimension until it has the extent."""
        steps = [
            (basis[dimension], kind, index)
            for kind, bases in self.bases.items()
            for index, basis in enumerate(bases)
            if basis[dimension]
        ]
        dropped = []
        for _, kind, index in sorted(steps, key=lambda step: -step[0]):
            if self.sizes[dimension] <= extent:
                break
            basis = list(self.bases[kind][index])
            basis[dimension] = 0
            self.bases[kind][index] = tuple(basis)
            self.sizes[dimension] //= 2
            if kind == self._dropped:
                dropped.append(index)
        for index in sorted(dropped, reverse=True):
            del self.bases[self._dropped][index]

    def _append(self, kind: str, dimension: int, step: int) -> None:
        if sum(map(len, self.bases.values())) > _MOST_BITS:
            raise UnmappedError("more threads or registers than there can be")
        basis = [0] * len(self.sizes)
        basis[dimension] = step
        self.bases[kind].append(tuple(basis))

    def finished(self, shape: tuple[int, ...], cluster: Bases) -> LinearMap:
        """Return the map of a tensor that a cluster of such CTAs shares."""
        blocks = Tile(self.order)
        blocks.append({"block": cluster})
        for dimension in self.order:
            blocks.shrink(dimension, shape[dimension])
        part = tuple(max(1, a // b) for a, b in zip(shape, blocks.sizes, strict=True))
        self.fit(part)
        self.append({"block": tuple(blocks.bases["block"])})
        return self.mapped(shape)

    def mapped(self, shape: tuple[int, ...]) -> LinearMap:
        """Return the map as it is."""
        register, lane, warp, block = (tuple(self.bases[kind]) for kind in _KINDS)
        return LinearMap(shape, register, lane, warp, block)


def _log2(size: int) -> int:
    if size < 1 or size & (size - 1):
        raise UnmappedError(f"{size} is not a power of two")
    return size.bit_length() - 1


def _extent(vectors: list[tuple[int, ...]], dimension: int) -> int:
    """Return the least power of two that no coordinate reaches."""
    return 1 << max((vector[dimension] for vector in vectors), default=0).bit_length()
