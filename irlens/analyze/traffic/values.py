"""Values of many instances of a block at once: programs, and the iterations of its loops.

An array has axis 0 for the instances and one more for each dimension of the tensor; along an axis
that a value does not vary on its extent is 1. An integer is a sum of such arrays, so that
``pid * 1024 + arange`` takes as much memory as its parts.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import Any, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from irlens.analyze import work

Array: TypeAlias = npt.NDArray[Any]
Axes: TypeAlias = tuple[int, ...]

#: Elements that one array may have.
MOST_ELEMENTS = 1 << 22
#: Powers of two: comparisons that sort numbers, and intervals that are joined, in a step of work.
_COMPARED_OF_STEP, JOINED_OF_STEP = 11, 7
#: The same of elements that are computed.
ELEMENTS_OF_STEP = 10
#: Places for each number up to which distinct ones are marked, and not sorted.
_MARKED_OF_EACH = 32


class UnknownTrafficError(Exception):
    """Traffic cannot be counted; the message says why."""


class TooLargeError(Exception):
    """An array would be too large: fewer programs at once may do."""


class Unknown(msgspec.Struct, frozen=True):
    """A value that is not known, with the reason.

    Attributes:
        like: A value that may stand for it in an address, for an estimate; ``None`` if none may.
    """

    reason: str
    like: "Value | None" = None


def known(value: "Value") -> "Value":
    """Return what stands for a value that is not known, if there is such a value."""
    return value.like if isinstance(value, Unknown) and value.like is not None else value


def likened(reason: str, value: "Value") -> "Unknown":
    """Return an unknown value for which another stands, if that is known itself."""
    return value if isinstance(value, Unknown) else Unknown(reason, value)


class Integer(msgspec.Struct, frozen=True):
    """A sum of arrays of 64-bit integers, at most one for each set of axes."""

    terms: dict[Axes, Array]


class Real(msgspec.Struct, frozen=True):
    """Floating-point numbers that follow from integers."""

    array: Array


class Pointer(msgspec.Struct, frozen=True):
    """A pointer into an argument: its name and the offset in bytes."""

    argument: str
    offset: Integer


class Choice(msgspec.Struct, frozen=True):
    """One of several pointers in each instance of a block.

    Attributes:
        which: Index of each instance's pointer, or of all.
    """

    which: Array
    pointers: tuple[Pointer, ...]

    def groups(self, size: int) -> Iterator[tuple[Array, Pointer]]:
        """Yield the instances that each pointer is for, and what it is in them."""
        which = np.broadcast_to(self.which, (size,))
        for number, pointer in enumerate(self.pointers):
            rows = np.flatnonzero(which == number)
            if rows.size:
                yield rows, Pointer(pointer.argument, taken_integer(pointer.offset, rows))


class Negative(msgspec.Struct, frozen=True):
    """The comparison ``difference < 0``, which is not computed for every element."""

    difference: Integer


class Mask(msgspec.Struct, frozen=True):
    """A conjunction of truth values; none is "true"."""

    factors: tuple[Array | Negative, ...]


class Descriptor(msgspec.Struct, frozen=True):
    """A tensor descriptor: base, and extents and strides (in elements) by dimension."""

    base: Pointer
    shape: tuple[Integer, ...]
    strides: tuple[Integer, ...]


class BlockPointer(msgspec.Struct, frozen=True):
    """A block pointer: a descriptor, and the tile's place by dimension, in elements."""

    descriptor: Descriptor
    offsets: tuple[Integer, ...]


Value: TypeAlias = Unknown | Integer | Real | Pointer | Choice | Mask | Descriptor | BlockPointer


def axes_of(array: Array) -> Axes:
    """Return the axes that an array varies along."""
    return tuple(axis for axis, extent in enumerate(array.shape) if extent > 1)


def integer(*arrays: Array) -> Integer:
    """Return the sum of arrays of one rank."""
    terms: dict[Axes, Array] = {}
    for array in arrays:
        axes = axes_of(array)
        terms[axes] = terms[axes] + array if axes in terms else array
    return Integer(terms)


def constant(number: int, rank: int = 0) -> Integer:
    """Return one number for all programs, as a tensor of some rank.

    Raises:
        UnknownTrafficError: It has more than 64 bits.
    """
    if not -(1 << 63) <= number < 1 << 63:
        raise UnknownTrafficError("a number has more than 64 bits")
    return integer(np.full((1,) * (rank + 1), number, dtype=np.int64))


def distinct(numbers: Array) -> Array:
    """Return the distinct numbers of a one-dimensional array, ascending."""
    falls = int(np.count_nonzero(numbers[1:] <= numbers[:-1]))
    if not falls:
        return numbers
    work.spend(numbers.size * falls.bit_length() >> _COMPARED_OF_STEP)
    low = numbers.min()
    places = numbers - low
    bits = int(np.bitwise_or.reduce(places))
    shift = max(0, (bits & -bits).bit_length() - 1)  # all are multiples of a power of two
    if 0 <= bits >> shift < _MARKED_OF_EACH * numbers.size:
        marks = np.zeros((bits >> shift) + 1, np.bool_)
        marks[places >> shift] = True
        return np.asarray((np.flatnonzero(marks) << shift) + low)
    ordered = np.sort(numbers, kind="stable")  # which merges the runs that tiles' places have
    return np.asarray(ordered[np.concatenate(([True], ordered[1:] > ordered[:-1]))])


def separated(array: Array) -> Integer:
    """Return an array as a sum of arrays that vary along fewer axes, where it is one."""
    axes = axes_of(array)
    for alone in (axes, axes[:1]) if len(axes) > 2 else (axes,):
        parts = [_slice(array, {axis}) for axis in alone]
        if len(alone) < len(axes):
            parts.append(_slice(array, set(axes) - set(alone)))
        if len(parts) < 2:
            break
        parts = [parts[0], *(each - each.reshape(-1)[0] for each in parts[1:])]
        if np.array_equal(reduce(np.add, parts), array):
            return integer(*parts)
    return integer(array)


def _slice(array: Array, axes: set[int]) -> Array:
    """Return an array as it is along some axes, and its first element along the others."""
    kept = tuple(slice(None) if n in axes else slice(0, 1) for n in range(array.ndim))
    return np.asarray(array[kept])


def is_zero(value: Integer) -> bool:
    """Return whether all elements are zero; a sum of terms that cancel may be missed."""
    return not any(term.any() for term in value.terms.values())


def elements(value: "Value") -> int:
    """Return how many elements the arrays of a value have."""
    match value:
        case Integer():
            return sum(term.size for term in value.terms.values())
        case Real() | Choice():
            return value.array.size if isinstance(value, Real) else value.which.size
        case Pointer():
            return elements(value.offset)
        case Mask():
            return sum(
                each.size if isinstance(each, np.ndarray) else elements(each.difference)
                for each in value.factors
            )
    return 0


def materialize(value: Integer) -> Array:
    """Return an integer as one array.

    Raises:
        TooLargeError: It would have too many elements.
    """
    return reduce(_add, value.terms.values())


def _add(left: Array, right: Array) -> Array:
    check_size(left, right)
    return np.asarray(left + right)


def check_size(*arrays: Array) -> None:
    """Check that arrays can be broadcast together.

    Raises:
        TooLargeError: The result would have too many elements.
    """
    size = 1
    for extent in np.broadcast_shapes(*(array.shape for array in arrays)):
        size *= extent
    if size > MOST_ELEMENTS:
        raise TooLargeError


def bounds(value: Integer) -> tuple[int, int]:
    """Return a lower and an upper bound of an integer's elements."""
    terms = value.terms.values()
    return sum(int(each.min()) for each in terms), sum(int(each.max()) for each in terms)


def row_bounds(value: Integer) -> tuple[Array, Array]:
    """Return bounds of an integer's elements in each instance; one of each if all have the same."""
    terms = [each.reshape(each.shape[0], -1) for each in value.terms.values()]
    return reduce(np.add, (t.min(1) for t in terms)), reduce(np.add, (t.max(1) for t in terms))


def wrapped(value: Integer, bits: int) -> Integer:
    """Return an integer as a register of a number of bits holds it, with its sign.

    Raises:
        UnknownTrafficError: It is too large to compute with.
    """
    low, high = bounds(value)
    half = 1 << (bits - 1)
    if -half <= low and high < half and bits < 64:
        return value
    if bits >= 64:
        if low < -(1 << 62) or high >= 1 << 62:
            raise UnknownTrafficError("a 64-bit integer may overflow")
        return value
    return integer(((materialize(value) + half) & (2 * half - 1)) - half)


def add(left: Integer, right: Integer) -> Integer:
    """Return a sum."""
    return integer(*left.terms.values(), *right.terms.values())


def subtract(left: Integer, right: Integer) -> Integer:
    """Return a difference, without the terms that cancel."""
    terms = add(left, negate(right)).terms
    kept = {axes: term for axes, term in terms.items() if term.any()}
    rank = next(iter(terms.values())).ndim - 1
    return Integer(kept) if kept else constant(0, rank)


def negate(value: Integer) -> Integer:
    """Return the negative."""
    return Integer({axes: -term for axes, term in value.terms.items()})


def multiply(left: Integer, right: Integer) -> Integer:
    """Return a product, term by term.

    Raises:
        TooLargeError: A product of two terms would have too many elements.
        UnknownTrafficError: A product may overflow 64 bits.
    """
    products = []
    for one in left.terms.values():
        for other in right.terms.values():
            check_size(one, other)
            if _magnitude(one) * _magnitude(other) >= 1 << 62:
                raise UnknownTrafficError("a 64-bit integer may overflow")
            products.append(one * other)
    return integer(*products)


def _magnitude(array: Array) -> int:
    return max(abs(int(array.min())), abs(int(array.max())))


def negative(difference: Integer) -> Mask:
    """Return the comparison with zero, computed now where only one axis matters."""
    if len({axis for axes in difference.terms for axis in axes}) > 1:
        return Mask((Negative(difference),))
    return Mask((materialize(difference) < 0,))


def truth_of(value: bool) -> Mask:
    """Return one truth value for all instances."""
    return Mask((np.full(1, value),))


def truth(mask: Mask) -> Array:
    """Return a mask as one array.

    Raises:
        TooLargeError: It would have too many elements.
    """
    arrays = [
        each if isinstance(each, np.ndarray) else materialize(each.difference) < 0
        for each in mask.factors
    ]
    if not arrays:
        return np.ones(1, dtype=bool)
    check_size(*arrays)
    return np.asarray(reduce(np.logical_and, arrays))


def mapped(value: Value, function: Callable[[Array], Array]) -> Value:
    """Return a value with its axes rearranged by a function."""
    if isinstance(value, Integer):
        return _mapped_integer(value, function)
    if isinstance(value, Real):
        return Real(function(value.array))
    if isinstance(value, Pointer):
        return Pointer(value.argument, _mapped_integer(value.offset, function))
    if isinstance(value, Choice):
        moved = [_mapped_integer(each.offset, function) for each in value.pointers]
        arguments = [each.argument for each in value.pointers]
        return Choice(value.which, tuple(map(Pointer, arguments, moved)))
    if isinstance(value, Mask):
        return Mask(tuple(_mapped_factor(each, function) for each in value.factors))
    if isinstance(value, Descriptor):
        return _mapped_descriptor(value, function)
    if isinstance(value, Unknown) and value.like is not None:
        return Unknown(value.reason, mapped(value.like, function))
    if isinstance(value, BlockPointer):
        offsets = tuple(_mapped_integer(each, function) for each in value.offsets)
        return BlockPointer(_mapped_descriptor(value.descriptor, function), offsets)
    return value


def _mapped_descriptor(value: Descriptor, function: Callable[[Array], Array]) -> Descriptor:
    return Descriptor(
        Pointer(value.base.argument, _mapped_integer(value.base.offset, function)),
        tuple(_mapped_integer(each, function) for each in value.shape),
        tuple(_mapped_integer(each, function) for each in value.strides),
    )


def _mapped_integer(value: Integer, function: Callable[[Array], Array]) -> Integer:
    return integer(*(function(term) for term in value.terms.values()))


def _mapped_factor(
    factor: Array | Negative, function: Callable[[Array], Array]
) -> Array | Negative:
    if isinstance(factor, Negative):
        return Negative(_mapped_integer(factor.difference, function))
    return function(factor)


def taken(value: Value, rows: Array) -> Value:
    """Return a value for some instances, by their rows; a row may be taken several times."""
    chosen = mapped(value, lambda term: term if term.shape[0] == 1 else term[rows])
    if not isinstance(chosen, Choice) or chosen.which.size == 1:
        return chosen
    return Choice(chosen.which[rows], chosen.pointers)


def taken_integer(value: Integer, rows: Array) -> Integer:
    """Return an integer for some instances, by their rows."""
    return _mapped_integer(value, lambda term: term if term.shape[0] == 1 else term[rows])


def merged(size: int, parts: Sequence[tuple[Array, Value]]) -> Value:
    """Return the value that has for each part's instances the part's value.

    Args:
        parts: Rows and the values of these instances; together they are all instances.

    Raises:
        TooLargeError: The result would have too many elements.
    """
    parts = [(rows, value) for rows, value in parts if rows.size]
    if len(parts) == 1:
        return parts[0][1]
    for _, value in parts:
        if isinstance(value, Unknown):
            standing = [(at, known(each)) for at, each in parts]
            if any(isinstance(each, Unknown) for _, each in standing):
                return Unknown(value.reason)
            return likened(value.reason, merged(size, standing))
    rows = [each for each, _ in parts]
    integers = [value for _, value in parts if isinstance(value, Integer)]
    if len(integers) == len(parts):
        return _merged_integers(size, rows, integers)
    pointers = [(at, each) for at, each in parts if isinstance(each, Pointer | Choice)]
    if len(pointers) == len(parts):
        return _merged_pointers(size, pointers)
    masks = [truth(value) for _, value in parts if isinstance(value, Mask)]
    if len(masks) == len(parts):
        return Mask((_scattered(size, rows, masks, np.dtype(bool)),))
    return Unknown("it differs between programs")


def _merged_pointers(size: int, parts: Sequence[tuple[Array, Pointer | Choice]]) -> Value:
    groups: dict[str, list[tuple[Array, Integer]]] = {}
    for rows, value in parts:
        every = np.arange(rows.size)
        within = value.groups(rows.size) if isinstance(value, Choice) else [(every, value)]
        for at, pointer in within:
            groups.setdefault(pointer.argument, []).append((rows[at], pointer.offset))
    which = np.zeros(size, np.int64)
    pointers = []
    for number, (argument, found) in enumerate(groups.items()):
        places = [rows for rows, _ in found]
        which[np.concatenate(places)] = number
        offset = _merged_integers(size, places, [each for _, each in found])
        pointers.append(Pointer(argument, offset))
    return pointers[0] if len(pointers) == 1 else Choice(which, tuple(pointers))


def _merged_integers(size: int, rows: list[Array], parts: list[Integer]) -> Integer:
    found = []
    for axes in {axes: None for each in parts for axes in each.terms}:
        terms = [each.terms.get(axes) for each in parts]
        known = next(each for each in terms if each is not None)
        if known.shape[0] == 1 and all(each is known for each in terms):
            found.append(known)
            continue
        filled = [np.zeros((1,) * known.ndim, np.int64) if t is None else t for t in terms]
        found.append(_scattered(size, rows, filled, np.dtype(np.int64)))
    return integer(*found)


def _scattered(
    size: int, rows: list[Array], parts: list[Array], kind: "np.dtype[np.generic]"
) -> Array:
    extents = np.broadcast_shapes(*(each.shape[1:] for each in parts))
    if size * math.prod(extents) > MOST_ELEMENTS:
        raise TooLargeError
    result = np.zeros((size, *extents), kind)
    for where, part in zip(rows, parts, strict=True):
        result[where] = part
    return result
