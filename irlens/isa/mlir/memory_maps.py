"""Layouts of shared and tensor memory as linear maps: which element lies where.

As in registers (``linear_maps``) bit i of an offset moves the element by basis i, and the moves are
combined by exclusive or. The rules are those of Triton's ``LinearLayoutConversions.cpp``; padding
is added to the offset that such a map gives.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import chain

import msgspec

from irlens.isa.mlir.encodings import Bases, Encoding, read_encoding
from irlens.isa.mlir.linear_maps import Span, UnmappedError, dimension_order, elements

#: Offsets of a map that are listed at most.
_MOST_BITS = 20
_TENSOR_MEMORY_ROWS = 128


class MemoryMap(msgspec.Struct, frozen=True, dict=True):
    """Where the elements of a buffer lie.

    Attributes:
        bases: Bases by what they number: "offset" (in elements) in shared memory, "row" and
            "column" in tensor memory.
        block: Bases of the CTA's number in its cluster.
        padding: Pairs of an interval of offsets and the elements that follow each.
    """

    shape: tuple[int, ...]
    bases: dict[str, Bases]
    block: Bases = ()
    padding: tuple[tuple[int, int], ...] = ()

    def places(self) -> dict[tuple[int, ...], tuple[int, ...]]:
        """Return the place of each element that the first CTA holds: a number for each of bases."""
        bases = [basis for each in self.bases.values() for basis in each]
        if len(bases) > _MOST_BITS:
            raise UnmappedError("the buffer is too large to list its elements")
        found: dict[tuple[int, ...], tuple[int, ...]] = {}
        for number, element in enumerate(elements(bases, len(self.shape))):
            found.setdefault(element, self._place(number))
        return found

    def place(self, element: Sequence[int]) -> tuple[int, ...]:
        """Return the same for one element, without listing all.

        Raises:
            UnmappedError: The first CTA does not hold it.
        """
        number = self._span.find(element)
        if number is None:
            raise UnmappedError("another CTA holds the element")
        return self._place(number)

    @cached_property
    def _span(self) -> Span:
        """What finds the first number of an element."""
        span = Span()
        for basis in chain.from_iterable(self.bases.values()):
            span.add(basis)
        return span

    def _place(self, number: int) -> tuple[int, ...]:
        place = []
        for bases in self.bases.values():
            place.append(number & ((1 << len(bases)) - 1))
            number >>= len(bases)
        if self.padding:
            offset = place[0]
            place[0] += sum(offset // interval * extra for interval, extra in self.padding)
        return tuple(place)


def memory_map(
    layout: str, shape: Sequence[int], aliases: Mapping[str, str] | None = None
) -> MemoryMap:
    """Return the map of a buffer with a layout of shared or tensor memory.

    Args:
        layout: The encoding as it stands in the type, in full or as an alias.
        shape: The buffer's; powers of two.

    Raises:
        UnmappedError: irlens has no rule for it.
    """
    extents, encoding = tuple(shape), read_encoding(layout, aliases or {})
    if any(extent < 1 or extent & (extent - 1) for extent in extents):
        raise UnmappedError("the buffer's extents are not powers of two")
    if encoding is not None and encoding.kind in _WHOLE:
        return _WHOLE[encoding.kind](encoding, extents)
    rule = _RULES.get(encoding.kind) if encoding is not None else None
    if encoding is None or rule is None:
        text = (aliases or {}).get(layout, layout).strip()
        raise UnmappedError(f"{text or 'no layout'} is not a layout that irlens draws")
    cluster = encoding.bases.get("CGALayout", ())
    offset = rule(encoding, _part(extents, cluster))
    return MemoryMap(extents, {"offset": tuple(offset)}, _scaled(cluster, extents))


def buffer_rank(layout: str) -> int | None:
    """Return how many dimensions a layout of memory has; a type may have several such buffers."""
    encoding = read_encoding(layout, {})
    if encoding is None:
        return None
    if encoding.kind == "tensor_memory_encoding":
        return 2
    if encoding.kind == "nvmma_shared":
        return encoding.numbers.get("rank", 2)
    if offset := encoding.bases.get("offset"):
        return len(offset[0])
    return len(encoding.lists["order"]) if "order" in encoding.lists else None


def _part(shape: tuple[int, ...], cluster: Bases) -> tuple[int, ...]:
    """Return the extents that one CTA of a cluster holds."""
    part = list(shape)
    for basis in cluster:
        if len(basis) != len(shape):
            raise UnmappedError("its CGALayout is not one of the buffer's dimensions")
        for dimension, step in enumerate(basis):
            part[dimension] = max(part[dimension] // (2 if step else 1), 1)
    return tuple(part)


def _scaled(cluster: Bases, shape: tuple[int, ...]) -> Bases:
    part = _part(shape, cluster)
    return tuple(tuple(a * b for a, b in zip(basis, part, strict=True)) for basis in cluster)


def _row_major(shape: Sequence[int], order: Sequence[int]) -> list[tuple[int, ...]]:
    """Return the bases of a buffer whose dimensions follow each other."""
    return [
        _basis(len(shape), {dimension: 1 << bit})
        for dimension in order
        for bit in range(shape[dimension].bit_length() - 1)
    ]


def _basis(rank: int, steps: Mapping[int, int]) -> tuple[int, ...]:
    return tuple(steps.get(dimension, 0) for dimension in range(rank))


def _swizzled(encoding: Encoding, shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    rank, order = len(shape), dimension_order(encoding, len(shape), of="buffer")
    if rank == 1:
        return _row_major(shape, order)
    vector, per_phase, phases = (_positive(encoding, n) for n in ("vec", "perPhase", "maxPhase"))
    columns, rows = order[:2]
    bases = _row_major(shape, [columns])
    for bit in range(shape[rows].bit_length() - 1):
        phase = (1 << bit) // per_phase % phases
        if encoding.kind == "amd_rotating_shared":  # the first phase moves on with every block
            phase ^= (1 << bit) // phases // per_phase % phases
        step = vector * phase % shape[columns]
        bases.append(_basis(rank, {rows: 1 << bit, columns: step}))
    return bases + _row_major(shape, order[2:])


def _nvmma(encoding: Encoding, shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return the bases of TMA's tiles of eight rows (PTX ISA, "Swizzling Modes")."""
    rank, bits = len(shape), _positive(encoding, "elementBitWidth")
    width, transposed = encoding.numbers.get("swizzlingByteWidth", 0), bool(
        encoding.numbers.get("transposed")
    )  # fmt: skip
    if transposed and rank != 2:
        raise UnmappedError("no rule for a transposed buffer of this rank")
    columns = 0 if transposed else rank - 1
    others = [d for d in reversed(range(rank)) if d != columns]
    if not width:
        return _row_major(shape, [columns, *others])
    if width not in (32, 64, 128):
        raise UnmappedError(f"no rule for a swizzle of {width} bytes")
    vector, phases = 128 // bits, width // 16
    per_phase = 8 // phases
    is_padded = bool(encoding.numbers.get("fp4Padded"))
    tile = 8 * width // bits
    bases = []
    for bit in range(tile.bit_length() - 1):
        bases.append(_basis(rank, {columns: _unpadded(1 << bit) if is_padded else 1 << bit}))
    rows = _row_major(shape, others)
    for bit, basis in enumerate(rows[:3]):
        step = vector * ((1 << bit) // per_phase % phases)
        along = {columns: _unpadded(step) if is_padded else step}
        bases.append(tuple(a + b for a, b in zip(basis, _basis(rank, along), strict=True)))
    held = tile // 2 if is_padded else tile
    if shape[columns] < held or len(rows) < 3:
        raise UnmappedError("the buffer is smaller than a tile of the swizzle")
    further = [b for b in _row_major(shape, [columns]) if b[columns] >= held]
    return [*bases, *rows[3:], *further]


def _unpadded(column: int) -> int:
    """Return the column of an offset, of which eight of sixteen are padding."""
    return column // 16 * 8 + column % 8


def _padded(encoding: Encoding, shape: tuple[int, ...]) -> MemoryMap:
    if any(interval < 1 for interval, _ in encoding.padding):
        raise UnmappedError("an interval of its padding is not positive")
    if "offset" in encoding.fields:
        return msgspec.structs.replace(_given(encoding, shape), padding=encoding.padding)
    offsets = _row_major(shape, dimension_order(encoding, len(shape), of="buffer"))
    return MemoryMap(shape, {"offset": tuple(offsets)}, padding=encoding.padding)


def _given(encoding: Encoding, shape: tuple[int, ...]) -> MemoryMap:
    """Return a map that is written out."""
    offset = encoding.bases.get("offset")
    if offset is None or any(len(basis) != len(shape) for basis in offset):
        raise UnmappedError("its offsets are not those of the buffer's dimensions")
    return MemoryMap(shape, {"offset": offset}, encoding.bases.get("block", ()))


def _tensor_memory(encoding: Encoding, shape: tuple[int, ...]) -> MemoryMap:
    """Return the map of tensor memory: 128 rows of 32-bit columns (PTX ISA, "Tensor Memory")."""
    fields = encoding.numbers
    if len(shape) != 2 or fields.get("CTASplitM", 1) * fields.get("CTASplitN", 1) != 1:
        raise UnmappedError("no rule for tensor memory of this rank, or shared by CTAs")
    rows, columns = fields.get("blockM", 0), min(fields.get("blockN", 0), shape[1])
    if rows not in (64, 128) or columns < 1 or shape[0] < rows:
        raise UnmappedError("no rule for blocks of this size")
    down = [(1 << bit, 0) for bit in range(rows.bit_length() - 1)]
    across = [(0, 1 << bit) for bit in range(columns.bit_length() - 1)]
    more = [(1 << bit, 0) for bit in range(rows.bit_length() - 1, shape[0].bit_length() - 1)]
    more += [(0, 1 << bit) for bit in range(columns.bit_length() - 1, shape[1].bit_length() - 1)]
    if rows < _TENSOR_MEMORY_ROWS:  # the second block takes the rows between
        down.insert(4, more.pop(0) if more else (0, 0))
    stride = [(0, 0)] * (max(fields.get("colStride", 1), 1).bit_length() - 1)
    return MemoryMap(shape, {"row": tuple(down), "column": (*stride, *across, *more)})


def _scales(encoding: Encoding, shape: tuple[int, ...]) -> MemoryMap:
    """Return the map of scales in tensor memory: blocks of 32 by 4, for each of four warps.

    Blocks follow each other down the rows first (``tensorMemoryScalesToLinearLayout``).
    """
    if len(shape) != 2 or encoding.bases.get("CGALayout"):
        raise UnmappedError("no rule for scales of this rank, or shared by CTAs")

    def bits(dimension: int, first: int, end: int) -> list[tuple[int, int]]:
        steps = (1 << bit for bit in range(first, max(end, shape[dimension].bit_length() - 1)))
        inside = (step if step < shape[dimension] else 0 for step in steps)
        return [(step, 0) if dimension == 0 else (0, step) for step in inside]

    rows = (*bits(0, 0, 5)[:5], (0, 0), (0, 0))
    across = bits(1, 0, 2)
    return MemoryMap(shape, {"row": rows, "column": (*across[:2], *bits(0, 5, 6), *across[2:])})


_RULES = {
    "swizzled_shared": _swizzled, "amd_rotating_shared": _swizzled, "nvmma_shared": _nvmma,
}  # fmt: skip
#: Layouts whose maps are of a whole buffer.
_WHOLE = {
    "padded_shared": _padded, "shared_linear": _given, "tensor_memory_encoding": _tensor_memory,
    "tensor_memory_scales_encoding": _scales,
}  # fmt: skip


def _positive(encoding: Encoding, name: str) -> int:
    value = encoding.numbers.get(name, 0)
    if value < 1:
        raise UnmappedError(f"its {name} is not positive")
    return value
