"""How operations of ttir access global memory: through pointers, block pointers and descriptors."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from irlens.analyze.traffic.values import (
    Array,
    BlockPointer,
    Descriptor,
    Integer,
    Mask,
    Pointer,
    Unknown,
    UnknownTrafficError,
    Value,
    add,
    check_size,
    constant,
    integer,
    mapped,
    materialize,
    multiply,
    negate,
    negative,
    taken,
    taken_integer,
    truth,
    wrapped,
)
from irlens.isa.mlir import Module, Operation
from irlens.isa.mlir.global_memory import (
    DATA_REGIONS,
    POINTERS,
    ROWS,
    TILES,
    VALUES,
    Operands,
    buffer_values,
    is_pure,
)
from irlens.isa.mlir.operations import Deed
from irlens.isa.mlir.types import Pointer as PointerType
from irlens.isa.mlir.types import TensorDesc, Type

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irlens.analyze.traffic.launch import Numbers

#: Bits of random integers, and a factor that scatters places over all 64 bits (Knuth's).
_RANDOM_BITS, _GOLDEN = 20, 0x9E3779B97F4A7C15

ALL = frozenset({*POINTERS, *TILES, *ROWS})


class Reference(msgspec.Struct, frozen=True):
    """An access to memory, for all instances of its block.

    Attributes:
        shape: The tensor's shape; empty for a scalar.
    """

    pointer: Pointer
    mask: Mask
    shape: tuple[int, ...]
    element_bytes: int

    def corners(self, executions: int) -> Array:
        """Return the address of the first element in each of a number of executions, bytes."""
        total = np.zeros(1, np.int64)
        for term in self.pointer.offset.terms.values():
            total = total + term.reshape(term.shape[0], -1)[:, 0]
        return np.broadcast_to(total, (executions,))

    def elements(self, rows: Array | None = None) -> tuple[Array, Array]:
        """Return which elements are accessed, and their addresses in bytes, of one shape.

        A dimension in which all are equal may have the size 1.

        Args:
            rows: Of which instances; of all if ``None``.

        Raises:
            TooLargeError: They are too many.
        """
        offset, mask = self.pointer.offset, self.mask
        if rows is not None:
            chosen = taken(mask, rows)
            offset, mask = taken_integer(offset, rows), chosen if isinstance(chosen, Mask) else mask
        places, passes = materialize(offset), truth(mask)
        passes = passes.reshape(passes.shape + (1,) * (places.ndim - passes.ndim))
        passes, places = np.broadcast_arrays(passes, places)
        return passes, places


def is_of_one_element(operation: Operation) -> bool:
    """Return whether an access is through a scalar pointer."""
    return isinstance(operation.operand_type, PointerType)


def reference(
    operation: Operation, operands: Sequence[Value], *, unknown_mask: Mask | None = None
) -> Reference | Unknown:
    """Return how an operation accesses memory, or why that is unknown.

    Args:
        unknown_mask: What a mask that is not known is taken for.
    """
    name = operation.name
    if name in POINTERS and not isinstance(operands[POINTERS[name].pointer], BlockPointer):
        return _through_pointers(operation, operands, POINTERS[name], unknown_mask)
    place = operands[0]
    if isinstance(place, Unknown):
        return place
    if isinstance(place, BlockPointer):
        return _block(operation, place)
    if not isinstance(place, Descriptor):
        return Unknown("the address is not understood")
    if name in ROWS:
        found, distance = _rows(operation, place, operands[1:]), ROWS[name]
        after = operands[3:]
    else:
        rank = len(place.shape)
        found, distance = _tile(operation, place, operands[1:]), TILES.get(name)
        after = operands[1 + rank :]
    if distance is None or len(after) <= distance or isinstance(found, Unknown):
        return found
    return _predicated(found, after[distance])


def _predicated(access: Reference, predicate: Value) -> Reference | Unknown:
    """Return an access that is made only where a scalar is true."""
    if isinstance(predicate, Unknown):
        return predicate
    if not isinstance(predicate, Mask):
        return Unknown("the predicate is not understood")
    rank = len(access.shape)
    spread = mapped(predicate, lambda term: term.reshape(-1, *(1,) * rank))
    factors = spread.factors if isinstance(spread, Mask) else ()
    mask = Mask(access.mask.factors + factors)
    return Reference(access.pointer, mask, access.shape, access.element_bytes)


def _through_pointers(
    operation: Operation, operands: Sequence[Value], at: Operands, unknown_mask: Mask | None
) -> Reference | Unknown:
    """Read an access through a tensor of pointers, or a pointer and a tensor of offsets."""
    place = operands[at.pointer]
    if isinstance(place, Unknown):
        return place
    if not isinstance(place, Pointer):
        return Unknown("the address is not understood")
    kind = operation.operand_type
    shape, element = kind.shape, kind.element.pointee
    if at.offsets:
        shape, element = buffer_values(operation)
    size = element.bytes if element is not None else None
    if size is None:
        return Unknown("the type of the pointer is not understood")
    if at.offsets:
        offsets = operands[at.pointer + 1]
        if not isinstance(offsets, Integer):
            return offsets if isinstance(offsets, Unknown) else Unknown("it has no offsets")
        moved = multiply(offsets, constant(size, len(shape)))
        spread = _spread(place.offset, len(shape))
        place = Pointer(place.argument, wrapped(add(spread, moved), 64))
    mask = operands[at.mask] if at.mask is not None and len(operands) > at.mask else Mask(())
    if at.offsets and isinstance(mask, Integer):
        mask = Mask(())  # the stride, which the cache of buffers is swizzled by
    if isinstance(mask, Unknown):
        if unknown_mask is None:
            return mask
        mask = unknown_mask
    if not isinstance(mask, Mask):
        return Unknown("the mask is not understood")
    return Reference(place, mask, shape, size)


def pointer_of(operation: Operation) -> int | None:
    """Return which operand of an access is its pointer; ``None`` for descriptors."""
    at = POINTERS.get(operation.name)
    return None if at is None or at.offsets else at.pointer


def other(operation: Operation, operands: Sequence[Value]) -> Value | None:
    """Return what a load yields for elements that are masked off; ``None`` if it does not say."""
    mask = POINTERS[operation.name].mask if operation.name in VALUES else None
    return operands[mask + 1] if mask is not None and len(operands) > mask + 1 else None


def stand_in(access: Reference, numbers: "Numbers") -> Integer:
    """Return integers that may stand for those that a load yields.

    Tiles at different places differ by one random number, so that they are alike for the caches
    and need not be counted one by one.
    """
    terms = access.pointer.offset.terms.values()
    places = [term // access.element_bytes for term in terms]
    if numbers == "equal":
        return integer(*(np.zeros_like(each) for each in places))
    if numbers == "ascending":
        return integer(*places)
    shift = np.uint64(64 - _RANDOM_BITS)
    mixed = [(each.astype(np.uint64) * np.uint64(_GOLDEN)) >> shift for each in places]
    return integer(*(each.astype(np.int64) for each in mixed))


def inside(pointer: Pointer, size: int | None, element_bytes: int) -> Pointer:
    """Return a pointer whose offsets are taken modulo the size of its tensor, in bytes.

    Each term keeps its granularity: what is a multiple of a row's bytes stays one.
    """
    terms: list[tuple[Array, int]] = []
    for term in pointer.offset.terms.values():
        grain = max(int(np.gcd.reduce(np.abs(term), axis=None)), element_bytes)
        low, high = int(term.min()), int(term.max())
        fits = size is None or (low >= 0 and high < size)
        terms.append((term, 1 if fits else grain))
    parts = sum(grain > 1 for _, grain in terms)
    found = [
        term if grain == 1 else term // grain % max(1, (size or 0) // grain // parts) * grain
        for term, grain in terms
    ]
    return Pointer(pointer.argument, integer(*found))


def loaded(access: Reference, contents: "NDArray[Any] | None", masked: Value | None) -> Value:
    """Return what a load yields, if the contents of its tensor are given.

    Args:
        contents: What its tensor holds; ``None`` if that is not given.
        masked: Its value for elements that are masked off. Without one any value will do, since
            the program must not use it: 0.

    Raises:
        TooLargeError: Fewer instances at once may do.
    """
    name = access.pointer.argument
    if contents is None:
        return Unknown("the traffic depends on data that is loaded here")
    if contents.dtype.kind not in "iu" or contents.dtype.itemsize != access.element_bytes:
        return Unknown(f"it is loaded from {name}, which is given as another type")
    places = materialize(access.pointer.offset) // access.element_bytes
    flat = contents.reshape(-1)
    inside = (places >= 0) & (places < flat.size)
    held = truth(access.mask)
    check_size(places, held)
    if (held & ~inside).any():
        return Unknown(f"it is loaded from outside {name}")
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


def tensormap(operation: Operation, operands: Sequence[Value]) -> Value:
    """Return the descriptor that ``ttng.tensormap_create`` writes.

    It names the innermost dimension first, and strides in bytes of all but that one.
    """
    rank = (len(operands) - 1) // 4
    numbers = [each for each in operands[2 + rank :] if isinstance(each, Integer)]
    kinds, base = operation.operand_types, operands[1]
    element = kinds[1].pointee if len(kinds) > 1 else None
    size = element.bytes if element is not None else None
    if len(numbers) != 3 * rank - 1 or not isinstance(base, Pointer) or not size:
        return Unknown("the tensor's shape is not understood")
    strides = [integer(materialize(each) // size) for each in numbers[rank : 2 * rank - 1]]
    return Descriptor(base, tuple(numbers[:rank][::-1]), (*strides[::-1], constant(1)))


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
MAKERS: dict[Deed | None, Callable[[Operation, Sequence[Value]], Value]] = {
    "make tile": _make_descriptor,
    "make block": _make_block_pointer,
    "advance block": _advance,
}


def _block(operation: Operation, pointer: BlockPointer) -> Reference | Unknown:
    """Read an access through a block pointer, which masks the dimensions it is told to check."""
    axes = frozenset(operation.integers("boundaryCheck"))
    return _tiled(pointer.descriptor, pointer.offsets, operation.operand_type.pointee, axes)


def _tile(
    operation: Operation, descriptor: Descriptor, operands: Sequence[Value]
) -> Reference | Unknown:
    """Read an access through a descriptor; lanes outside its tensor are masked off."""
    kind = operation.operand_type
    indices = operands[: len(descriptor.shape)]
    for each in indices:
        if isinstance(each, Unknown):
            return each
    places = tuple(each for each in indices if isinstance(each, Integer))
    axes = frozenset(range(len(descriptor.shape)))
    return _tiled(descriptor, places, kind.block if isinstance(kind, TensorDesc) else kind, axes)


def _rows(
    operation: Operation, descriptor: Descriptor, operands: Sequence[Value]
) -> Reference | Unknown:
    """Read an access of rows by their numbers, from one column on; rows outside are masked off."""
    for each in operands[:2]:
        if isinstance(each, Unknown):
            return each
    rows, column = operands[:2]
    matrices = (each for each in operation.types if len(each.shape) == 2)
    tile = next((each for each in matrices if each.shape[0] > 1), None)
    size = tile.element.bytes if tile is not None else None
    if tile is None or size is None or len(descriptor.shape) != 2:
        return Unknown("the tile's place is not understood")
    if not isinstance(rows, Integer) or not isinstance(column, Integer):
        return Unknown("the rows that it accesses are not understood")
    along = np.arange(tile.shape[1], dtype=np.int64).reshape(1, 1, -1)
    down = integer(*(term[..., np.newaxis] for term in rows.terms.values()))
    across = add(_spread(column, 2), integer(along))
    offset, mask = _spread(descriptor.base.offset, 2), Mask(())
    for axis, index in enumerate((down, across)):
        stride = _spread(multiply(descriptor.strides[axis], constant(size)), 2)
        offset = wrapped(add(offset, multiply(index, stride)), 64)
        mask = Mask(mask.factors + _inside(index, descriptor.shape[axis]).factors)
    return Reference(Pointer(descriptor.base.argument, offset), mask, tile.shape, size)


def _inside(index: Integer, extent: Integer) -> Mask:
    """Return which indices are those of a dimension of some extent."""
    rank = next(iter(index.terms.values())).ndim - 1
    below = negative(add(index, negate(_spread(extent, rank))))
    above = negative(add(negate(index), constant(-1, rank)))
    return Mask(below.factors + above.factors)


def _tiled(
    descriptor: Descriptor, places: tuple[Integer, ...], kind: Type | None, checked: frozenset[int]
) -> Reference | Unknown:
    shape, size = (kind.shape, kind.element.bytes) if kind is not None else ((), None)
    rank = len(shape)
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
            mask = Mask(mask.factors + _inside(index, descriptor.shape[axis]).factors)
    return Reference(Pointer(descriptor.base.argument, offset), mask, shape, size)


def _spread(value: Integer, rank: int) -> Integer:
    return integer(*(term.reshape(-1, *(1,) * rank) for term in value.terms.values()))


def public_function(module: Module) -> Operation:
    """Return a kernel's function.

    Raises:
        UnknownTrafficError: There is no single one, or the module is not understood.
    """
    if module.kernel is None:
        raise UnknownTrafficError("the ttir has no single kernel, or is not understood")
    return module.kernel


def data_operations(module: Module) -> frozenset[int]:
    """Return the operations that no address, mask, branch, loop or call depends on, by index."""
    makers: defaultdict[str, list[Operation]] = defaultdict(list)
    names: list[str] = []
    found: set[int] = set()
    for operation in module.operations:
        if is_pure(operation.name) or operation.name in DATA_REGIONS:
            found.add(operation.index)
            for name in operation.values:
                makers[name].append(operation)
        else:
            names += _decisive(operation)
    while names:
        for operation in makers.pop(names.pop(), ()):
            found.discard(operation.index)
            names += operation.operands
    return frozenset(found)


def data_arguments(module: Module) -> frozenset[str]:
    """Return the kernel's arguments that no address, mask, branch, loop or call depends on."""
    data = data_operations(module)
    decisive = (each for each in module.operations if each.index not in data)
    used = {name for each in decisive for name in _decisive(each)}
    (block, *_) = public_function(module).regions[0].blocks
    return frozenset(each.name for each in block.arguments if each.name not in used)


def _decisive(operation: Operation) -> Sequence[str]:
    """Return the operands of an operation, without the data that it stores."""
    at = POINTERS.get(operation.name)
    if at is None or operation.name in VALUES:
        return operation.operands
    places = (at.pointer, at.mask, at.pointer + 1 if at.offsets else None)
    return [name for number, name in enumerate(operation.operands) if number in places]
