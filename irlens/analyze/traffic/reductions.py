"""Reductions over an axis of what is known: the sum of the lengths of earlier sequences."""

from collections.abc import Callable, Sequence

import numpy as np

from irlens.analyze.traffic.values import (
    Array,
    Integer,
    Mask,
    Real,
    UnknownTrafficError,
    Value,
    mapped,
)
from irlens.isa.mlir import Operation

#: Combines the values of two halves of an axis.
Combine = Callable[[list[Value]], Sequence[Value]]


def reduced(
    operation: Operation, operands: Sequence[Value], combine: Combine
) -> list[Value] | None:
    """Return the results of a reduction, which combines the halves of its axis again and again.

    Args:
        combine: Returns the values of the reduction's region for those of its arguments: first all
            operands of one half, then those of the other.

    Returns:
        ``None`` where an operand is not known.

    Raises:
        UnknownTrafficError: Its axis is not one of the operands.
    """
    if not all(isinstance(each, Integer | Mask | Real) for each in operands):
        return None
    shape, number = operation.operand_type.shape, operation.integer("axis")
    if number is None or number not in range(len(shape)):
        raise UnknownTrafficError("its axis is not understood")
    axis, extent = number + 1, shape[number]
    values = list(operands)
    while extent > 1:
        extent, odd = divmod(extent, 2)
        if odd:
            raise UnknownTrafficError("the extent of its axis is no power of two")
        halves = (slice(0, extent), slice(extent, 2 * extent))
        values = list(combine([_part(each, axis, half) for half in halves for each in values]))
    return [mapped(each, lambda array: np.squeeze(array, axis)) for each in values]


def _part(value: Value, axis: int, half: slice) -> Value:
    """Return a half of a value along an axis; of one that does not vary along it, the value."""
    chosen = (*[slice(None)] * axis, half)

    def taken(array: Array) -> Array:
        return array if array.shape[axis] == 1 else np.asarray(array[chosen])

    return mapped(value, taken)
