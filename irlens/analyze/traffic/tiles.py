"""The tiles that one access touches, sorted into shapes: each tile is a shape at a base address.

Many programs and iterations access the same pattern of bytes at different addresses. Counts of
bytes, sectors and lanes are made once for each pattern.
"""

from collections.abc import Iterator
from functools import cached_property
from math import prod

import msgspec
import numpy as np

from irlens.analyze.traffic.accesses import Reference
from irlens.analyze.traffic.values import (
    Array,
    Integer,
    Negative,
    TooLargeError,
    check_size,
    materialize,
)
from irlens.analyze.warp_requests import ascending

#: Elements of the patterns of one access that are held at once.
_MOST_PATTERN_ELEMENTS = 1 << 24
#: Bytes of patterns of one access that are kept for tiles that follow.
_MOST_KEPT = 4 << 20
#: Numbers up to which distinct ones are found by marking them.
_MOST_MARKED = 1 << 20


class Pattern(msgspec.Struct, frozen=True, dict=True):
    """The addresses and the mask of a tile.

    Attributes:
        offsets: Bytes from the tile's base to each element, in row-major order.
        mask: Which elements are accessed; ``None`` for all.
        repeated: Accessed elements along dimensions in which all addresses are equal, but for one
            of each.
    """

    offsets: Array
    mask: Array | None
    repeated: int = 0

    @cached_property
    def accessed(self) -> Array:
        """The offsets of the elements that are accessed, ascending."""
        return ascending(self.offsets if self.mask is None else self.offsets[self.mask])

    def runs(self, size: int) -> tuple[Array, Array]:
        """Return the runs of bytes that elements of a size are: where they start, their lengths."""
        offsets = self.accessed
        breaks = np.flatnonzero(np.diff(offsets) > size) + 1
        starts = offsets[np.concatenate(([0], breaks))]
        ends = offsets[np.concatenate((breaks - 1, [offsets.size - 1]))] + size
        return starts, ends - starts

    @property
    def bytes(self) -> int:
        """The bytes of memory that it occupies, in all."""
        return self.offsets.nbytes * 2 + (self.mask.nbytes if self.mask is not None else 0)

    def equals(self, other: "Pattern") -> bool:
        """Whether another one has the same elements at the same addresses."""
        if self is other:
            return True
        if self.mask is None or other.mask is None:
            return self.mask is other.mask and np.array_equal(self.offsets, other.offsets)
        same = np.array_equal(self.offsets, other.offsets)
        return same and np.array_equal(self.mask, other.mask)


class Tiles(msgspec.Struct, frozen=True):
    """The tiles of an access.

    Attributes:
        bases: Base address of each, bytes from the argument's.
    """

    bases: Array
    kinds: Array
    patterns: tuple[Pattern, ...]
    programs: Array
    elements: int

    def by_pattern(self) -> Iterator[tuple[Pattern, Array, Array]]:
        """Yield each pattern with the bases and the programs of the tiles that have it."""
        for kind, pattern in enumerate(self.patterns):
            if len(self.patterns) == 1:
                yield pattern, self.bases, self.programs
            else:
                chosen = np.flatnonzero(self.kinds == kind)
                yield pattern, self.bases[chosen], self.programs[chosen]

    @property
    def has_many_patterns(self) -> bool:
        """Whether its patterns take too much memory to be kept for others."""
        return sum(each.bytes for each in self.patterns) > _MOST_KEPT

    def like(self, patterns: tuple[Pattern, ...]) -> "Tiles":
        """Return the same tiles with the patterns of others, where these are equal."""
        if not have_equal(self.patterns, patterns):
            return self
        return msgspec.structs.replace(self, patterns=patterns)


def have_equal(some: tuple[Pattern, ...], others: tuple[Pattern, ...]) -> bool:
    """Whether the patterns of tiles equal those of others, in their order."""
    if some is others:
        return True
    return len(some) == len(others) and all(map(Pattern.equals, some, others))


def tiles_of(access: Reference, programs: Array) -> Tiles:
    """Return the tiles of an access by all instances of its block.

    Raises:
        TooLargeError: Fewer instances at once may do.
    """
    size, rank = programs.size, len(access.shape)
    bases, common, varying = _split(access.pointer.offset, size, rank)
    masks = _Masks(access, size)
    columns = list(masks.columns)
    rows = np.zeros((0, 0), np.int64)
    if varying is not None:
        bases = bases + varying.reshape(varying.shape[0], -1)[:, 0]
        rows, column = _distinct_rows(varying - varying[(slice(None), *(slice(0, 1),) * rank)])
        columns.append(column)
    first, kinds = _combined(columns, size)
    elements = prod(access.shape)
    if first.size * elements > _MOST_PATTERN_ELEMENTS:
        raise TooLargeError
    patterns = []
    for instance in first:
        offsets = common
        if varying is not None:
            offsets = offsets + rows[columns[-1][instance]].reshape(varying.shape[1:])
        whole = np.ascontiguousarray(np.broadcast_to(offsets, access.shape))
        mask = masks.of(int(instance))
        patterns.append(Pattern(whole.reshape(-1), mask, _repeated(whole, mask)))
    return Tiles(bases, kinds, tuple(patterns), programs, elements)


def _repeated(offsets: Array, mask: Array | None) -> int:
    """Return how many elements are accessed where another one is along a whole dimension."""
    still = tuple(
        axis
        for axis, extent in enumerate(offsets.shape)
        if extent > 1 and (offsets == offsets.take([0], axis)).all()
    )
    if not still:
        return 0
    accessed = np.ones(offsets.shape, bool) if mask is None else mask.reshape(offsets.shape)
    return int(accessed.sum() - accessed.any(axis=still).sum())


def _split(value: Integer, size: int, rank: int) -> tuple[Array, Array, Array | None]:
    """Split a sum into what depends on the instance, on the element, and on both."""
    bases = np.zeros(size, np.int64)
    common = np.zeros((1,) * rank, np.int64)
    varying: Array | None = None
    for axes, term in value.terms.items():
        if not axes or axes == (0,):
            bases = bases + term.reshape(-1)
        elif 0 not in axes:
            common = common + term[0]
        elif varying is None:
            varying = term
        else:
            check_size(varying, term)
            varying = varying + term
    return bases, common, varying


def _distinct_rows(array: Array) -> tuple[Array, Array]:
    """Return the distinct rows of an array, and which of them each row is."""
    flat = np.ascontiguousarray(array.reshape(array.shape[0], -1))
    whole = flat.view(np.dtype((np.void, flat.dtype.itemsize * flat.shape[1]))).reshape(-1)
    _, first, kinds = np.unique(whole, return_index=True, return_inverse=True)
    return flat[first], kinds.reshape(-1)


def _combined(columns: list[Array], size: int) -> tuple[Array, Array]:
    """Return an instance of each distinct combination of columns, and each instance's number."""
    alike = kinds = np.broadcast_to(np.int64(0), (size,))  # without memory of its own
    for column in columns:
        lowest, highest = int(column.min()), int(column.max())
        if lowest < highest:
            kinds = _ranks(_ranks(kinds) * (highest - lowest + 1) + (column - lowest))
    if kinds is alike:
        return np.zeros(1, np.int64), kinds
    first = np.zeros(int(kinds.max(initial=0)) + 1, np.int64)
    first[kinds[::-1]] = np.arange(size - 1, -1, -1)
    return first, kinds


def _ranks(numbers: Array) -> Array:
    """Return the rank of each number among the distinct ones; numbers are not negative."""
    highest = int(numbers.max(initial=0))
    if highest > _MOST_MARKED:
        return np.unique(numbers, return_inverse=True)[1].reshape(-1)
    marks = np.zeros(highest + 1, dtype=bool)
    marks[numbers] = True
    return (np.cumsum(marks) - 1)[numbers]


class _Masks:
    """The mask of an access, by what its factors depend on.

    Attributes:
        columns: Numbers that an instance's mask is a function of.
    """

    def __init__(self, access: Reference, size: int) -> None:
        self._shape = access.shape
        self._static: list[Array] = []
        #: Limits of a sum over the element's coordinates: an element below its instance's passes.
        self._limits: list[tuple[Array, Array]] = []
        self._rows: list[tuple[Array, Array]] = []
        self.columns: list[Array] = []
        for factor in access.mask.factors:
            if isinstance(factor, Negative):
                self._compare(factor.difference, size)
            elif factor.shape[0] == 1:
                self._static.append(factor[0])
            else:
                rows, column = _distinct_rows(factor)
                self._rows.append((rows.reshape(-1, *factor.shape[1:]), column))
                self.columns.append(column)

    def _compare(self, difference: Integer, size: int) -> None:
        bases, common, varying = _split(difference, size, len(self._shape))
        if varying is not None:
            rows, column = _distinct_rows(materialize(difference) < 0)
            shape = np.broadcast_shapes(*(t.shape[1:] for t in difference.terms.values()))
            self._rows.append((rows.reshape(-1, *shape), column))
        else:
            # An element passes if base + common < 0; bases that exceed all of them are alike.
            column = (-bases).clip(int(common.min()), int(common.max()) + 1)
            self._limits.append((common, column))
        self.columns.append(column)

    def of(self, instance: int) -> Array | None:
        """Return the mask of an instance in row-major order; ``None`` if all elements pass."""
        factors = [
            *self._static,
            *(common < column[instance] for common, column in self._limits),
            *(rows[column[instance]] for rows, column in self._rows),
        ]
        factors = [each for each in factors if not each.all()]
        if not factors:
            return None
        mask = np.ones(self._shape, dtype=bool)
        for each in factors:
            mask &= each
        return mask.reshape(-1)
