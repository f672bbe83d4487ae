"""Values of all programs of a launch at once.

An array has axis 0 for the programs and one more for each dimension of the tensor; along an axis
that a value does not vary on its extent is 1. An integer is a sum of such arrays, so that
``pid * 1024 + arange`` takes as much memory as its parts.
"""

from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
Axes: TypeAlias = tuple[int, ...]

#: Elements that one array may have.
MOST_ELEMENTS = 1 << 22


class UnknownTrafficError(Exception):
    """Traffic cannot be counted; the message says why."""


class TooLargeError(Exception):
    """An array would be too large: fewer programs at once may do."""


class Unknown(msgspec.Struct, frozen=True):
    """A value that is not known, with the reason."""

    reason: str


class Integer(msgspec.Struct, frozen=True):
    """A sum of arrays of 64-bit integers, at most one for each set of axes."""

    terms: dict[Axes, Array]


class Pointer(msgspec.Struct, frozen=True):
    """A pointer into an argument: its name and the offset in bytes."""

    argument: str
    offset: Integer


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


Value: TypeAlias = Unknown | Integer | Pointer | Mask | Descriptor


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
    """Return one number for all programs, as a tensor of some rank."""
    return integer(np.full((1,) * (rank + 1), number, dtype=np.int64))


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


def wrapped(value: Integer, bits: int) -> Integer:
    """Return an integer as a register of so many bits holds it, with its sign.

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
        return integer(*(function(term) for term in value.terms.values()))
    if isinstance(value, Pointer):
        offset = integer(*(function(term) for term in value.offset.terms.values()))
        return Pointer(value.argument, offset)
    if isinstance(value, Mask):
        return Mask(tuple(_mapped_factor(each, function) for each in value.factors))
    return value


def _mapped_factor(
    factor: Array | Negative, function: Callable[[Array], Array]
) -> Array | Negative:
    if isinstance(factor, Negative):
        terms = factor.difference.terms.values()
        return Negative(integer(*(function(term) for term in terms)))
    return function(factor)


def chosen(condition: Array, left: Value, right: Value) -> Value:
    """Return ``left`` for the programs where a scalar condition holds and ``right`` elsewhere."""
    if left is right:
        return left
    if isinstance(left, Integer) and isinstance(right, Integer):
        return integer(*_chosen_terms(condition, left.terms, right.terms))
    if isinstance(left, Pointer) and isinstance(right, Pointer) and left.argument == right.argument:
        terms = _chosen_terms(condition, left.offset.terms, right.offset.terms)
        return Pointer(left.argument, integer(*terms))
    if isinstance(left, Unknown):
        return left
    return right if isinstance(right, Unknown) else Unknown("it differs between programs")


def _chosen_terms(
    condition: Array, left: dict[Axes, Array], right: dict[Axes, Array]
) -> Iterable[Array]:
    for axes in left.keys() | right.keys():
        one, other = left.get(axes), right.get(axes)
        known = one if one is not None else other
        assert known is not None
        if one is other or (one is not None and other is not None and np.array_equal(one, other)):
            yield known
            continue
        shaped = condition.reshape(-1, *(1,) * (known.ndim - 1))
        check_size(shaped, known)
        yield np.where(shaped, 0 if one is None else one, 0 if other is None else other)
