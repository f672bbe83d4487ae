"""How a conversion between two layouts moves data: within threads, warps, or through shared memory.

Both layouts are linear maps onto the tensor, so that the conversion is one too: for each register,
lane and warp of the destination, the place of the source that holds the same element. What of it is
the identity needs no move. Triton asks in this order (``cvtReordersRegisters``,
``cvtNeedsWarpShuffle`` and ``cvtNeedsSharedMemory`` in ``lib/Analysis/Utility.cpp``,
``LinearLayout::invertAndCompose`` in ``lib/Tools/LinearLayout.cpp``): data that stay in their
thread are renamed; data that stay in their warp are shuffled, unless more than one bit of the
lane's number comes from a register's, which takes more shuffles than it is worth; all others pass
through scratch in shared memory.
"""

from collections.abc import Iterator
from itertools import chain
from math import prod
from operator import xor

from irlens.isa.mlir import Module, Operation
from irlens.isa.mlir.encoding_maps import Unmapped, linear_map
from irlens.isa.mlir.encodings import Encoding, encoding_of
from irlens.isa.mlir.linear_maps import LinearMap, Span
from irlens.isa.mlir.types import Pointer, Type
from irlens.isa.mlir.values import Value
from irlens.model.conversions import Conversion, Way
from irlens.model.source import user_frame

#: Kinds of bits, in Triton's order: of a register's, a lane's, a warp's, a CTA's number.
_REGISTER, _LANE, _WARP, _BLOCK = range(4)
#: Bits of a lane's number that may come from a register's before shared memory is cheaper.
_MOST_EXCHANGED = 1

#: Bits of an address.
_ADDRESS = 64
_ACROSS_CTAS = "it moves data between the CTAs of a cluster"


def find_conversions(module: Module) -> Iterator[tuple[Operation, Conversion]]:
    """Yield the conversions of a ttgir, without what they cost."""
    read = {_layout(module, each.result_type) for each in module.doing("load tensor memory")}
    around: list[Operation] = []
    for operation in module.doing("relayout", "for", "while"):
        while around and around[-1].end <= operation.index:
            around.pop()
        if operation.does != "relayout":
            around.append(operation)
            continue
        before, after = operation.operand_type, operation.result_type
        through, reason = _way_of(module, before, after)
        user = user_of(module, operation)
        kind = _kind(encoding_of(module, before))
        yield (
            operation,
            Conversion(
                line=operation.span.line,
                source=user_frame(operation.location),
                used_by=user.name if user is not None else "",
                loop=user_frame(around[-1].location) if around else None,
                depth=len(around),
                type="x".join([*map(str, after.shape), str(after.element)]),
                bytes=_bytes(after),
                before=_layout(module, before),
                after=_layout(module, after),
                before_kind=kind,
                is_product=kind == "nvidia_mma" or _layout(module, before) in read,
                after_kind=_kind(encoding_of(module, after)),
                through=through,
                reason=reason,
            ),
        )


def _layout(module: Module, kind: Type) -> str:
    """Return a tensor's layout in full."""
    return module.aliases.get(kind.layout, kind.layout)


def _kind(encoding: Encoding | None) -> str:
    """Return a layout in a few words: "blocked 1×8", "slice 1 of nvidia_mma"."""
    if encoding is None:
        return "unknown"
    match encoding.kind:
        case "blocked":
            sizes = "×".join(map(str, encoding.lists.get("sizePerThread", ())))
            order = encoding.lists.get("order", ())
            along = f" along dimension {order[0]}" if len(order) > 1 else ""
            return f"blocked {sizes}{along}"
        case "dot_op":
            return f"operand {encoding.numbers.get('opIdx')} of {_kind(encoding.parent)}"
        case "slice":
            return f"slice {encoding.numbers.get('dim')} of {_kind(encoding.parent)}"
    return encoding.kind


def user_of(module: Module, conversion: Operation) -> Operation | None:
    """Return the first operation that reads a conversion's result."""
    readers = module.values.readers.get(Value(conversion.index, 0), ())
    return next((module.operations[index] for index, _ in readers), None)


def _bytes(kind: Type) -> int | None:
    bits = _ADDRESS if isinstance(kind.element, Pointer) else kind.element.bits
    return None if bits is None else prod(kind.shape) * max(bits, 8) // 8


def _way_of(module: Module, before: Type, after: Type) -> tuple[Way | None, str]:
    """Return the way of a conversion, or why it is unknown."""
    maps = [linear_map(each.layout, each.shape, module.aliases) for each in (before, after)]
    for each in maps:
        if isinstance(each, Unmapped):
            return None, each.reason
    source, destination = (each for each in maps if isinstance(each, LinearMap))
    found = way(source, destination)
    return found, "" if found is not None else _ACROSS_CTAS


def way(source: LinearMap, destination: LinearMap) -> Way | None:
    """Return how a tensor goes from one layout to another; ``None`` if the two do not match."""
    if _moved(source, destination, _BLOCK) is None:
        return None
    if _moved(source, destination, _REGISTER) is not None:
        return "registers"
    exchanged = _moved(source, destination, _LANE)
    if exchanged is None or exchanged > _MOST_EXCHANGED:
        return "shared memory"
    return "shuffles"


def _moved(source: LinearMap, destination: LinearMap, last: int) -> int | None:
    """Return how many bits of lanes' numbers come from registers' if no kind after one moves.

    Each element of the destination must lie in the source at the same numbers of those kinds.

    Args:
        last: The last kind of bits that may move.

    Returns:
        ``None`` if other kinds have to move.
    """
    held = Span()
    for basis in chain.from_iterable(source.bases[: last + 1]):
        held.add(basis)  # others hold the same elements again
    exchanged = 0
    for kind, (before, after) in enumerate(zip(source.bases, destination.bases, strict=True)):
        for bit, vector in enumerate(after):
            wanted = vector
            if kind > last or before == after:
                if bit >= len(before):
                    return None
                wanted = tuple(map(xor, vector, before[bit]))
            place = held.find(wanted)
            if place is None:
                return None
            chosen = place & (source.registers - 1) != 0
            if kind > last and chosen:  # threads of several warps would take other registers
                return None
            exchanged += kind == _LANE and chosen
    return exchanged
