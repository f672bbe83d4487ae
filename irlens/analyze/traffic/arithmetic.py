"""The operations of ttir that compute integers, pointers and masks from others."""

import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from irlens.analyze.mlir_loops import place_of
from irlens.analyze.traffic import reals
from irlens.analyze.traffic.values import (
    MOST_ELEMENTS,
    Array,
    Choice,
    Integer,
    Mask,
    Pointer,
    TooLargeError,
    Unknown,
    Value,
    add,
    bounds,
    check_size,
    constant,
    integer,
    known,
    likened,
    mapped,
    materialize,
    merged,
    multiply,
    negate,
    negative,
    row_bounds,
    separated,
    subtract,
    taken,
    truth,
    wrapped,
)
from irlens.isa.mlir import Operation
from irlens.isa.mlir.operations import Deed
from irlens.isa.mlir.types import Scalar

_NUMBER = re.compile(r"-?\d+")
_Function: TypeAlias = Callable[[Operation, Sequence[Value]], Value | None]


def compute(operation: Operation, operands: Sequence[Value]) -> Value | None:
    """Return the result of an operation without side effects.

    Returns:
        ``None`` if the operation is not one that integers are computed with.
    """
    does = operation.does
    if does == "constant":
        return _constant(operation)
    if does == "range":
        start, end = _number(operation, "start"), _number(operation, "end")
        if end - start > MOST_ELEMENTS:
            raise TooLargeError
        return integer(np.arange(start, end, dtype=np.int64).reshape(1, -1))
    if does in reals.FUNCTIONS:
        return reals.FUNCTIONS[does](operation, operands)
    function = _FUNCTIONS.get(does)
    if function is None:
        return None
    if does == "select" and isinstance(operands[0], Mask):
        real = reals.chosen(operands[0], *operands[1:])
        if real is not None:
            return real
    if does in _SHAPES and isinstance(operands[0], reals.Literal):
        return operands[0]  # one number, whatever the shape
    of_addresses = _OF_ADDRESSES.get(does)
    if of_addresses is not None and (found := of_addresses(operation, operands)) is not None:
        return found
    unknown = next((each for each in operands if isinstance(each, Unknown)), None)
    if unknown is None:
        return function(operation, operands)
    standing = [known(each) for each in operands]
    if any(isinstance(each, Unknown) for each in standing):
        return Unknown(unknown.reason)
    result = compute(operation, standing)
    return None if result is None else likened(unknown.reason, result)


class Address(Unknown, frozen=True, kw_only=True):
    """The address of an element of a tensor: unknown, but never null, and so far from others."""

    pointer: Pointer | Choice


def _number(operation: Operation, name: str) -> int:
    number = operation.integer(name)
    if number is None:
        raise ValueError(f"{operation.name} has no {name}")
    return number


def _constant(operation: Operation) -> Value | None:
    kind, text = operation.operand_type, operation.literal
    if text in ("true", "false"):
        return Mask((np.full((1,) * (len(kind.shape) + 1), text == "true"),))
    if _NUMBER.fullmatch(text) and isinstance(kind.element, Scalar) and kind.element.is_integer:
        return constant(int(text), len(kind.shape))
    return reals.literal(operation)


def _bits(operation: Operation) -> int:
    return operation.result_type.element.bits or 64


def _integers(operands: Sequence[Value]) -> list[Integer] | None:
    found = [each for each in operands if isinstance(each, Integer)]
    return found if len(found) == len(operands) else None


def _of_integers(function: Callable[[Operation, Integer, Integer], Value | None]) -> _Function:
    """Return a function of operands that are two integers; of one bit, masks, it is logic."""

    def computed(operation: Operation, operands: Sequence[Value]) -> Value | None:
        masks = [each for each in operands if isinstance(each, Mask)]
        if len(masks) == len(operands):
            return _logic(operation, masks)
        numbers = _integers(operands)
        return None if numbers is None else function(operation, *numbers)

    return computed


@_of_integers
def _sum(operation: Operation, left: Integer, right: Integer) -> Value | None:
    if operation.does == "multiply":
        result = multiply(left, right)
    else:
        result = add(left, right if operation.does == "add" else negate(right))
    return wrapped(result, _bits(operation))


def _divide(left: Array, right: Array) -> Array:
    """Divide towards zero; a division by zero, which no program may execute, gives anything."""
    right = np.where(right == 0, 1, right)
    if left.min() >= 0 and right.min() > 0:
        # By one number rather than an array of it, NumPy divides several times as fast.
        return np.asarray(left // (right if right.size > 1 else right.item()))
    quotient = np.abs(left) // np.abs(right)
    return np.asarray(np.where((left < 0) != (right < 0), -quotient, quotient))


def _remainder(left: Array, right: Array) -> Array:
    return np.asarray(left - _divide(left, right) * right)


_ELEMENTWISE: dict[Deed | None, Callable[[Array, Array], Array]] = {
    "divide": _divide,
    "remainder": _remainder,
    "minimum": np.minimum,
    "maximum": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "shift right": np.right_shift,
}
_SHIFTS = ("shift right", "shift right unsigned")
#: The same as the signed ones while neither operand is negative.
_UNSIGNED: dict[Deed | None, Deed] = {
    "divide unsigned": "divide",
    "remainder unsigned": "remainder",
    "minimum unsigned": "minimum",
    "maximum unsigned": "maximum",
    "shift right unsigned": "shift right",
}


@_of_integers
def _elementwise(operation: Operation, one: Integer, other: Integer) -> Value | None:
    if (same := _divided_alike(operation, one, other)) is not None:
        return same
    left, right = materialize(one), materialize(other)
    check_size(left, right)
    if operation.does in _UNSIGNED and (left.min() < 0 or right.min() < 0):
        return None
    if operation.does in _SHIFTS and not _is_within(other, operation):
        return None
    function = _ELEMENTWISE[_UNSIGNED.get(operation.does, operation.does)]
    return wrapped(separated(function(left, right)), _bits(operation))


def _absolute(operation: Operation, operands: Sequence[Value]) -> Value | None:
    (number,) = operands
    if not isinstance(number, Integer):
        return None
    return wrapped(separated(np.abs(materialize(number))), _bits(operation))


@_of_integers
def _shift_left(operation: Operation, number: Integer, count: Integer) -> Value | None:
    """Return a product with a power of two."""
    if not _is_within(count, operation):
        return None
    power = np.left_shift(np.int64(1), materialize(count))
    return wrapped(multiply(number, integer(power)), _bits(operation))


def _is_within(count: Integer, operation: Operation) -> bool:
    """Whether a shift is by less than the bits of its type; otherwise its result is poison."""
    low, high = bounds(count)
    return low >= 0 and high < min(_bits(operation), 62)


def _divided_alike(operation: Operation, left: Integer, right: Integer) -> Integer | None:
    """Return a quotient or a remainder if all elements of an instance have the same quotient."""
    does = _UNSIGNED.get(operation.does, operation.does)
    (least, most), (low, _) = bounds(right), bounds(left)
    if does not in ("divide", "remainder") or least != most or least < 1 or low < 0:
        return None
    lows, highs = (each // least for each in row_bounds(left))
    if not np.array_equal(lows, highs):
        return None
    rank = next(iter(left.terms.values())).ndim
    quotient = integer(lows.reshape(-1, *(1,) * (rank - 1)))
    if does == "remainder":
        quotient = subtract(left, multiply(quotient, constant(least, rank - 1)))
    return wrapped(quotient, _bits(operation))


#: Operations on integers of one bit but for ``and``, with the predicates of comparisons.
_LOGIC: dict[str | None, Callable[[Array, Array], Array]] = {
    "or": np.logical_or,
    **dict.fromkeys(("xor", "add", "subtract", "ne"), np.logical_xor),
    "eq": np.equal,
}


def _logic(operation: Operation, masks: Sequence[Mask]) -> Value | None:
    left, right = masks
    if operation.does in ("and", "multiply"):
        return Mask(left.factors + right.factors)
    does = operation.words[0] if operation.does == "compare" else operation.does
    if does not in _LOGIC:
        return None
    one, other = truth(left), truth(right)
    check_size(one, other)
    return Mask((np.asarray(_LOGIC[does](one, other)),))


def _compared_with_null(operation: Operation, operands: Sequence[Value]) -> Mask | None:
    """Return the result of ``if pointer:`` and the like; ``None`` if it is another comparison."""
    left, right = operands
    null = right if isinstance(left, Address) else left if isinstance(right, Address) else None
    if not isinstance(null, Integer) or bounds(null) != (0, 0):
        return None
    result = {"eq": False, "ne": True}.get(operation.words[0])
    shape = (1,) * (len(operation.operand_type.shape) + 1)
    return None if result is None else Mask((np.full(shape, result),))


@_of_integers
def _compare(operation: Operation, low: Integer, high: Integer) -> Value | None:
    predicate = operation.words[0]
    if predicate[0] == "u":
        if any(int(term.min()) < 0 for each in (low, high) for term in each.terms.values()):
            return None
        predicate = "s" + predicate[1:]
    if predicate in ("eq", "ne"):
        apart = materialize(wrapped(add(low, negate(high)), 64))
        return Mask(((apart == 0) == (predicate == "eq"),))
    if predicate in ("sgt", "sge"):
        low, high = high, low
    difference = add(low, negate(high))
    if predicate in ("sge", "sle"):
        rank = next(iter(difference.terms.values())).ndim - 1
        difference = add(difference, constant(-1, rank))
    return negative(wrapped(difference, 64))


def _select(_operation: Operation, operands: Sequence[Value]) -> Value | None:
    condition, left, right = operands
    if not isinstance(condition, Mask):
        return None
    chosen = truth(condition)
    if isinstance(left, Mask) and isinstance(right, Mask):
        return Mask((_where(chosen, truth(left), truth(right)),))
    numbers = _integers((left, right))
    if numbers is None:
        return _chosen_pointer(chosen, left, right)
    return integer(_where(chosen, *map(materialize, numbers)))


def _where(chosen: Array, one: Array, other: Array) -> Array:
    rank = max(one.ndim, other.ndim, chosen.ndim)
    arrays = [each.reshape(each.shape + (1,) * (rank - each.ndim)) for each in (chosen, one, other)]
    check_size(*arrays)
    return np.where(*arrays)


def _chosen_pointer(held: Array, left: Value, right: Value) -> Value | None:
    """Return pointers that a condition chooses; into several arguments, of whole instances."""
    both = [each for each in (left, right) if isinstance(each, Pointer)]
    is_of_elements = held.size > held.shape[0]
    if is_of_elements and len(both) == 2 and both[0].argument == both[1].argument:
        places = _where(held, *(materialize(each.offset) for each in both))
        return Pointer(both[0].argument, integer(places))
    if is_of_elements or not isinstance(left, Pointer | Choice):
        return None
    if held.size == 1:
        return left if held.item() else right
    held = held.reshape(-1)
    rows = np.flatnonzero(held), np.flatnonzero(~held)
    return merged(
        held.size, [(at, taken(each, at)) for at, each in zip(rows, (left, right), strict=True)]
    )


def _widen(operation: Operation, operands: Sequence[Value]) -> Value | None:
    (value,) = operands
    if isinstance(value, Mask):
        numbers = truth(value).astype(np.int64)
        return integer(-numbers if operation.does == "extend" else numbers)
    if not isinstance(value, Integer):
        return None
    if operation.does == "extend unsigned" and any(int(t.min()) < 0 for t in value.terms.values()):
        return None
    return value


def _narrow(operation: Operation, operands: Sequence[Value]) -> Value | None:
    (value,) = operands
    bits = _bits(operation)
    return wrapped(value, bits) if isinstance(value, Integer) and bits > 1 else None


def _splat(operation: Operation, operands: Sequence[Value]) -> Value | None:
    rank = len(operation.result_type.shape)
    return mapped(operands[0], lambda term: term.reshape(-1, *(1,) * rank))


def _expand(operation: Operation, operands: Sequence[Value]) -> Value | None:
    axis = _number(operation, "axis") + 1
    return mapped(operands[0], lambda term: np.expand_dims(term, axis))


def _transpose(operation: Operation, operands: Sequence[Value]) -> Value | None:
    order = operation.integers("order")
    return mapped(operands[0], lambda term: np.transpose(term, (0, *(n + 1 for n in order))))


def _reshape(operation: Operation, operands: Sequence[Value]) -> Value | None:
    old, new = operation.operand_type.shape, operation.result_type.shape
    kept = [axis for axis, extent in enumerate(old) if extent > 1]
    if [old[axis] for axis in kept] == [extent for extent in new if extent > 1]:

        def moved(term: Array) -> Array:
            extents = iter([term.shape[axis + 1] for axis in kept])
            return term.reshape(-1, *(1 if extent == 1 else next(extents) for extent in new))

        return mapped(operands[0], moved)
    (value,) = operands
    if isinstance(value, Mask):
        return Mask((_reshaped(truth(value), old, new),))
    if isinstance(value, Integer):
        return separated(_reshaped(materialize(value), old, new))
    if isinstance(value, Pointer):
        offset = separated(_reshaped(materialize(value.offset), old, new))
        return Pointer(value.argument, offset)
    return None


def _reshaped(array: Array, old: tuple[int, ...], new: tuple[int, ...]) -> Array:
    size = array.shape[0]
    check_size(np.broadcast_to(np.zeros(1), (size, *old)))
    return np.broadcast_to(array, (size, *old)).reshape(size, *new)


def _same(_operation: Operation, operands: Sequence[Value]) -> Value | None:
    return operands[0]


def _cast(_operation: Operation, operands: Sequence[Value]) -> Value | None:
    """Return a pointer whose elements have another type; its offset is in bytes."""
    return operands[0] if isinstance(operands[0], Pointer | Choice) else None


def _address(operation: Operation, operands: Sequence[Value]) -> Value | None:
    if not isinstance(operands[0], Pointer | Choice):
        return None
    reason = f"{place_of(operation)}: {operation.name} is not evaluated"
    return Address(reason, pointer=operands[0])


def _apart(_operation: Operation, operands: Sequence[Value]) -> Value | None:
    """Return the distance of two addresses in one tensor; ``None`` of others."""
    one, other = (each.pointer if isinstance(each, Address) else None for each in operands)
    if not isinstance(one, Pointer) or not isinstance(other, Pointer):
        return None
    return subtract(one.offset, other.offset) if one.argument == other.argument else None


def _offset(operation: Operation, operands: Sequence[Value]) -> Value | None:
    pointer, number = operands
    if isinstance(pointer, Choice):
        found = [_offset(operation, (each, number)) for each in pointer.pointers]
        pointers = tuple(each for each in found if isinstance(each, Pointer))
        return Choice(pointer.which, pointers) if len(pointers) == len(found) else None
    if not isinstance(pointer, Pointer) or not isinstance(number, Integer):
        return None
    element = operation.operand_type.element.pointee
    if element is None or element.bytes is None:
        return None
    rank = next(iter(number.terms.values())).ndim - 1
    moved = add(pointer.offset, multiply(number, constant(element.bytes, rank)))
    return Pointer(pointer.argument, wrapped(moved, 64))


#: What arranges elements anew.
_SHAPES = frozenset({"spread", "insert", "reshape", "transpose", "stretch", "relayout"})
_FUNCTIONS: dict[Deed | None, _Function] = {
    **dict.fromkeys(("add", "subtract", "multiply"), _sum),
    **dict.fromkeys((*_ELEMENTWISE, *_UNSIGNED), _elementwise),
    **dict.fromkeys(("extend", "extend unsigned", "to index"), _widen),
    "absolute": _absolute,
    "shift left": _shift_left,
    "truncate": _narrow,
    "compare": _compare,
    "select": _select,
    "offset": _offset,
    "spread": _splat,
    "insert": _expand,
    "reshape": _reshape,
    "transpose": _transpose,
    "stretch": _same,
    "relayout": _same,
    "recast": _cast,
    "to address": _address,
}
#: What two addresses are computed to, where that is known although they are not.
_OF_ADDRESSES: dict[Deed | None, _Function] = {"compare": _compared_with_null, "subtract": _apart}
