"""How operations of ttir access global memory: through pointers, block pointers and descriptors."""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from irlens.analyze.traffic.arithmetic import element_bytes, element_of
from irlens.analyze.traffic.launch import pointee
from irlens.analyze.traffic.values import (
    Array,
    BlockPointer,
    Descriptor,
    Integer,
    Mask,
    Pointer,
    Unknown,
    Value,
    add,
    check_size,
    constant,
    integer,
    materialize,
    multiply,
    negate,
    negative,
    truth,
    wrapped,
)
from irlens.isa.mlir import Operation

if TYPE_CHECKING:
    from numpy.typing import NDArray

LOADS = frozenset({"tt.load", "tt.descriptor_load"})
STORES = frozenset({"tt.store", "tt.descriptor_store"})
ATOMICS = frozenset({"tt.atomic_rmw", "tt.atomic_cas", "tt.descriptor_reduce"})
#: Accesses of rows whose numbers are data.
_GATHERS = frozenset({"tt.descriptor_gather", "tt.descriptor_scatter"})
ALL = LOADS | STORES | ATOMICS | _GATHERS
#: Position of the mask among the operands.
_MASKS = {"tt.load": 1, "tt.store": 2, "tt.atomic_rmw": 2}
_NUMBER = re.compile(r"-?\d+")


class Reference(msgspec.Struct, frozen=True):
    """An access to memory, for all instances of its block.

    Attributes:
        pointer: Address of each element.
        mask: Elements that are accessed.
        shape: The tensor's shape; empty for a scalar.
        element_bytes: Bytes of an element.
    """

    pointer: Pointer
    mask: Mask
    shape: tuple[int, ...]
    element_bytes: int

    def corners(self, executions: int) -> Array:
        """Return the address of the first element in each of so many executions, bytes."""
        total = np.zeros(1, np.int64)
        for term in self.pointer.offset.terms.values():
            total = total + term.reshape(term.shape[0], -1)[:, 0]
        return np.broadcast_to(total, (executions,))


def reference(operation: Operation, operands: Sequence[Value]) -> Reference | Unknown:
    """Return how an operation accesses memory, or why that is unknown."""
    if operation.name in _GATHERS:
        return Unknown("the rows that it accesses are data")
    place = operands[0]
    if isinstance(place, Unknown):
        return place
    if isinstance(place, BlockPointer):
        return _block(operation, place)
    if isinstance(place, Descriptor):
        return _tile(operation, place, operands[1:])
    if not isinstance(place, Pointer):
        return Unknown("the address is not understood")
    shape, element = element_of(operation.operand_types[0])
    size = element_bytes(pointee(element)) if element.startswith("!tt.ptr<") else None
    if size is None:
        return Unknown("the type of the pointer is not understood")
    at = _MASKS.get(operation.name)
    mask = operands[at] if at is not None and len(operands) > at else Mask(())
    if isinstance(mask, Unknown):
        return mask
    if not isinstance(mask, Mask):
        return Unknown("the mask is not understood")
    return Reference(place, mask, shape, size)


def other(operation: Operation, operands: Sequence[Value]) -> Value | None:
    """Return what a load yields for elements that are masked off; ``None`` if it does not say."""
    return operands[2] if operation.name == "tt.load" and len(operands) > 2 else None


def loaded(access: Reference, contents: "NDArray[Any] | None", masked: Value | None) -> Value:
    """Return what a load yields, if the contents of its tensor are given.

    Args:
        access: How it accesses memory.
        contents: What its tensor holds; ``None`` if that is not given.
        masked: Its value for elements that are masked off. Without one any value will do, since
            the program must not use it: 0.

    Raises:
        TooLargeError: Fewer instances at once may do.
    """
    if contents is None:
        return Unknown("it depends on data that is loaded")
    if contents.dtype.kind not in "iu" or contents.dtype.itemsize != access.element_bytes:
        return Unknown(
            f"it is loaded from {access.pointer.argument}, which is given as another type"
        )
    places = materialize(access.pointer.offset) // access.element_bytes
    flat = contents.reshape(-1)
    inside = (places >= 0) & (places < flat.size)
    held = truth(access.mask)
    check_size(places, held)
    if (held & ~inside).any():
        return Unknown(f"it is loaded from outside {access.pointer.argument}")
    values = flat[np.where(inside, places, 0)].astype(np.int64)
    if isinstance(masked, Unknown) and not held.all():
        return masked
    elsewhere = materialize(masked) if isinstance(masked, Integer) else np.zeros(1, np.int64)
    check_size(values, elsewhere, held)
    return integer(np.where(held, values, elsewhere))


def _make_descriptor(operation: Operation, operands: Sequence[Value]) -> Value:
    return _described(operands[0], operands[1:], (len(operands) - 1) // 2)


def _described(base: Value, rest: Sequence[Value], rank: int) -> Value:
    for each in (base, *rest):
        if isinstance(each, Unknown):
            return each
    numbers = [each for each in rest if isinstance(each, Integer)]
    if not isinstance(base, Pointer) or len(numbers) != len(rest) or len(rest) < 2 * rank:
        return Unknown("the tensor's shape is not understood")
    return Descriptor(base, tuple(numbers[:rank]), tuple(numbers[rank : 2 * rank]))


def _make_block_pointer(operation: Operation, operands: Sequence[Value]) -> Value:
    rank = (len(operands) - 1) // 3
    descriptor = _described(operands[0], operands[1:], rank)
    offsets = tuple(each for each in operands[1 + 2 * rank :] if isinstance(each, Integer))
    if not isinstance(descriptor, Descriptor):
        return descriptor
    return BlockPointer(descriptor, offsets)


def _advance(operation: Operation, operands: Sequence[Value]) -> Value:
    pointer, *steps = operands
    for each in operands:
        if isinstance(each, Unknown):
            return each
    numbers = [each for each in steps if isinstance(each, Integer)]
    if not isinstance(pointer, BlockPointer) or len(numbers) != len(pointer.offsets):
        return Unknown("the block pointer is not understood")
    moved = (wrapped(add(a, b), 32) for a, b in zip(pointer.offsets, numbers, strict=True))
    return BlockPointer(pointer.descriptor, tuple(moved))


#: Operations that describe a tensor of which tiles are accessed.
MAKERS: dict[str, Callable[[Operation, Sequence[Value]], Value]] = {
    "tt.make_tensor_descriptor": _make_descriptor,
    "tt.make_tensor_ptr": _make_block_pointer,
    "tt.advance": _advance,
}


def _block(operation: Operation, pointer: BlockPointer) -> Reference | Unknown:
    """Read an access through a block pointer, which masks the dimensions it is told to check."""
    kind = operation.operand_types[0].removeprefix("!tt.ptr<").removesuffix(">")
    checked = operation.attributes.get("boundaryCheck", "").partition(":")[2]
    axes = frozenset(map(int, _NUMBER.findall(checked)))
    return _tiled(pointer.descriptor, pointer.offsets, kind, axes)


def _tile(
    operation: Operation, descriptor: Descriptor, operands: Sequence[Value]
) -> Reference | Unknown:
    """Read an access through a descriptor; lanes outside its tensor are masked off."""
    kind = operation.operand_types[0].removeprefix("!tt.tensordesc<").removesuffix(">")
    kind = kind if kind.startswith("tensor<") else f"tensor<{kind}>"
    indices = operands[: len(descriptor.shape)]
    for each in indices:
        if isinstance(each, Unknown):
            return each
    places = tuple(each for each in indices if isinstance(each, Integer))
    return _tiled(descriptor, places, kind, frozenset(range(len(descriptor.shape))))


def _tiled(
    descriptor: Descriptor, places: tuple[Integer, ...], kind: str, checked: frozenset[int]
) -> Reference | Unknown:
    shape, element = element_of(kind)
    size, rank = element_bytes(element), len(shape)
    if size is None or len(places) != rank or len(descriptor.shape) != rank:
        return Unknown("the tile's place is not understood")
    offset = _spread(descriptor.base.offset, rank)
    mask = Mask(())
    for axis, place in enumerate(places):
        along = np.arange(shape[axis], dtype=np.int64)
        along = along.reshape((1,) * (axis + 1) + (-1,) + (1,) * (rank - axis - 1))
        index = add(_spread(place, rank), integer(along))
        stride = _spread(multiply(descriptor.strides[axis], constant(size)), rank)
        offset = wrapped(add(offset, multiply(index, stride)), 64)
        if axis in checked:
            extent = _spread(descriptor.shape[axis], rank)
            inside = negative(add(index, negate(extent)))
            above = negative(add(negate(index), constant(-1, rank)))
            mask = Mask(mask.factors + inside.factors + above.factors)
    return Reference(Pointer(descriptor.base.argument, offset), mask, shape, size)


def _spread(value: Integer, rank: int) -> Integer:
    return integer(*(term.reshape(-1, *(1,) * rank) for term in value.terms.values()))
