"""The layout of a value of ttgir, drawn: who holds each element, and the layout in a sentence."""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from math import prod
from typing import TypeAlias

from msgspec.structs import replace

from irlens import gpus
from irlens.isa.mlir import Module, Operation
from irlens.isa.mlir.encoding_maps import Unmapped, linear_map
from irlens.isa.mlir.linear_maps import LinearMap, UnmappedError, elements
from irlens.isa.mlir.memory_maps import MemoryMap, buffer_rank, memory_map
from irlens.isa.mlir.operations import LOADS
from irlens.isa.mlir.types import MemDesc, Scalar, Tensor, Type
from irlens.model.errors import IrlensError, UnknownNameError
from irlens.model.layout import LAYOUT_SCHEMA, LayoutCell, LayoutDrawing, Owner
from irlens.model.source import user_frame
from irlens.model.text import count, plural

#: Rows, and cells of a row, that are drawn at most.
_MOST_ROWS, _MOST_CELLS = 32, 8
#: Elements of a tensor whose owners are listed.
_MOST_ELEMENTS = 1 << 20
#: Bytes of a word, of which a bank of shared memory serves one at a time.
_WORD = 4
#: Bytes of padding that a buffer may have; no GPU's shared memory holds more.
_MOST_PADDING = 1 << 20

_LOCATION = re.compile(r" loc\(.*")

_Element: TypeAlias = tuple[int, ...]
_Owners: TypeAlias = Mapping[_Element, Owner]


def draw_layout(module: Module, value: str, kernel: str, line: int | None = None) -> LayoutDrawing:
    """Return the layout of a value.

    Args:
        value: Its name, "%row" or "row".
        line: A line that names it: functions may have values of the same name. By default the
            first of the name.

    Raises:
        UnknownNameError: There is no such value with a layout.
        IrlensError: irlens cannot draw its layout.
    """
    name = f"%{value.removeprefix('%')}"
    found = _values(module, line)
    if name not in found:
        raise UnknownNameError("value with a layout", name, found)
    operation, kind = found[name]
    layout = module.aliases.get(kind.layout, kind.layout)
    shape = tuple(kind.shape)
    buffers, part = 1, shape
    if "shared" in layout.partition("<")[0] or "memory" in layout.partition("<")[0]:
        whole = kind.whole if isinstance(kind, MemDesc) else shape
        rank = min(buffer_rank(layout) or len(shape), len(shape))
        buffers, shape = prod(shape[: len(shape) - rank]), shape[len(shape) - rank :]
        part, shape = shape, whole[len(whole) - rank :] or shape
    if prod(shape) > _MOST_ELEMENTS:
        raise IrlensError(f"{name} has {count(prod(shape))} elements: too many to draw")
    mapped = linear_map(layout, shape, module.aliases)
    if isinstance(mapped, LinearMap):
        if reason := _why_not_of(module, mapped):
            raise IrlensError(f"the layout of {name} cannot be drawn: {reason}")
        if (held := mapped.warps * mapped.lanes * mapped.registers) > _MOST_ELEMENTS:
            raise IrlensError(f"a CTA holds {count(held)} elements of {name}: too many to draw")
        is_amd = bool(module.target) and not module.target.isdecimal()
        drawn = _of_registers(mapped, "wave" if is_amd else "warp")
    else:
        if kind.element.bits is None:
            raise IrlensError(f"the layout of {name} cannot be drawn: {kind.element} has no size")
        drawn = _of_memory(name, mapped, layout, shape, kind.element.bits, _banks(module))
    memory, bases, padding, owners, sentence, groups = drawn
    if reason := _why_not_covered(owners, shape, bases.get("block", ())):
        raise IrlensError(f"the layout of {name} cannot be drawn: {reason}")
    if part != shape:
        sizes = [" × ".join(map(str, each)) for each in (part, shape)]
        sentence = f"a part, {sizes[0]}, of a buffer of {sizes[1]}, which is drawn: {sentence}"
    if buffers > 1:
        sentence = f"{buffers} buffers one after the other, each of {sentence}"
    vector = _vector(owners, shape)
    cells, rows, columns = _cells(owners, shape, vector)
    text = module.text[operation.start : operation.stop].partition("\n")[0]
    text = _LOCATION.sub("", text)
    return LayoutDrawing(
        schema=LAYOUT_SCHEMA,
        kernel=kernel,
        value=name,
        operation=text.strip(),
        source=user_frame(operation.location),
        type=str(kind),
        layout=layout,
        memory=memory,
        sentence=sentence,
        shape=shape,
        bases=bases,
        padding=padding,
        vector=vector,
        cells=cells,
        rows=rows,
        columns=columns,
        groups=groups,
    )


def namesakes(module: Module, value: str) -> dict[str, str]:
    """Return the values that MLIR numbers after one of their name: "64x64xf16" by "%a_30".

    Only the first of each type.

    Args:
        value: Its name: "a", of which MLIR calls later values "%a_1" or "%a_30".
    """
    name = f"%{value.removeprefix('%')}"
    later = re.compile(rf"{re.escape(name)}_\d+")
    found = _values(module, None)
    first = {
        str(kind): each for each, (_, kind) in reversed(found.items()) if later.fullmatch(each)
    }
    if name in found:
        first.pop(str(found[name][1]), None)
    shapes = {each: found[each][1] for each in found if each in first.values()}
    return {
        each: "x".join([*map(str, kind.shape), str(kind.element)]) for each, kind in shapes.items()
    }


def _values(module: Module, line: int | None) -> dict[str, tuple[Operation, Type]]:
    """Return the values with a layout, with what defines them.

    Of a name the first, or the last that is defined up to a line: values are defined before they
    are used, and functions of the same names do not overlap.
    """
    found: dict[str, tuple[Operation, Type]] = {}
    for operation in module.operations:
        if line is not None and operation.span.line > line:
            break
        types = operation.result_types or _implied(operation)
        names = [name for name, number in operation.results if number == 1]
        if len(names) == len(operation.results) and len(types) in (1, len(names)):
            for at, name in enumerate(names):
                kind = types[at if len(types) > 1 else 0]
                if kind.layout and kind.shape and (line is not None or name not in found):
                    found[name] = operation, kind
        for region in operation.regions:
            for block in region.blocks:
                for argument in block.arguments:
                    kind_of, name = argument.type, argument.name
                    is_new = line is not None or name not in found
                    if kind_of is not None and kind_of.layout and kind_of.shape and is_new:
                        found[name] = operation, kind_of
    return found


def _implied(operation: Operation) -> tuple[Type, ...]:
    """Return the type of a result that is not printed: its operands', of other elements maybe.

    A load has those that its pointers point to, a comparison truth values; pointers with an offset
    are pointers.
    """
    kinds = operation.operand_types[:1] if operation.does == "offset" else ()
    kinds = kinds or operation.operand_types[-1:]

    def element(kind: Tensor) -> Type:
        if operation.does in ("compare", "compare float"):
            return Scalar("i1")
        pointee = kind.element.pointee if operation.name in LOADS else None
        return kind.element if pointee is None else pointee

    return tuple(
        replace(kind, element=element(kind)) if isinstance(kind, Tensor) else kind for kind in kinds
    )


def _banks(module: Module) -> int | None:
    """Return the banks of the target's shared memory; ``None`` where that is unknown."""
    try:
        return gpus.by_arch(module.target).arch.shared_banks
    except UnknownNameError:
        return None


def _why_not_of(module: Module, mapped: LinearMap) -> str:
    """Return why a layout is not one of a module's lanes and warps; empty if it is."""
    numbers = {"ttg.threads-per-warp": ("lane", mapped.lanes)}
    if not any(module.doing("partition")):  # its partitions have warps of their own
        numbers["ttg.num-warps"] = ("warp", mapped.warps)
    for attribute, (what, number) in numbers.items():
        wanted = module.integer(attribute) if attribute in module.attributes else None
        if wanted is not None and wanted != number:
            return f"it is of {plural(number, what)}, the module has {count(wanted)}"
    return ""


def _why_not_covered(owners: _Owners, shape: tuple[int, ...], block: tuple[_Element, ...]) -> str:
    """Return why a layout does not place each element of a CTA's part; empty if it does."""
    outside = (e for e in owners if any(a >= b for a, b in zip(e, shape, strict=True)))
    if (element := next(outside, None)) is not None:
        return f"its bases lead to element {list(element)}, outside of its shape"
    wanted = prod(shape) >> sum(map(any, block))
    if len(owners) < wanted:
        return f"its bases place {count(len(owners))} of {count(wanted)} elements"
    return ""


_Drawn: TypeAlias = tuple[
    str, dict[str, tuple[_Element, ...]], tuple[tuple[int, int], ...], _Owners, str, int
]


def _of_registers(mapped: LinearMap, word: str) -> _Drawn:
    owners: dict[_Element, Owner] = {}
    held: dict[_Element, int] = {}
    places = product(range(mapped.warps), range(mapped.lanes), range(mapped.registers))
    bases = (*mapped.register, *mapped.lane, *mapped.warp)
    for element, (warp, lane, register) in zip(
        elements(bases, len(mapped.shape)), places, strict=True
    ):
        owners.setdefault(element, Owner(warp=warp, lane=lane, register=register))
        held[element] = held.get(element, 0) + 1
    copies = max(held.values(), default=1)
    named = dict(zip(("register", "lane", "warp", "block"), mapped.bases, strict=True))
    sentence = _sentence(mapped, copies, word)
    return "registers", named, (), owners, sentence, mapped.warps


def _sentence(mapped: LinearMap, copies: int, warp: str) -> str:
    """Return who holds what: "each thread holds 8 elements, 4 side by side; ..."."""
    fastest = len(mapped.shape) - 1
    parts = [f"each thread holds {plural(mapped.registers, 'element')}"]
    runs = [(_run(mapped.register, d), d) for d in reversed(range(len(mapped.shape)))]
    beside, along = max(runs, key=lambda each: each[0])
    if beside > 1:
        where = "" if len(mapped.shape) == 1 else f" along dimension {along}"
        parts[0] += f", {beside} of them side by side{where}"
    for who, bases, number in (
        (f"lanes of a {warp}", mapped.lane, mapped.lanes),
        (f"{warp}s", mapped.warp, mapped.warps),
    ):
        spread = [
            f"{1 << sum(bool(basis[d]) for basis in bases)} along dimension {d}"
            for d in range(fastest + 1)
            if any(basis[d] for basis in bases)
        ]
        same = 1 << sum(not any(basis) for basis in bases)
        words = f"the {number} {who} are " + (" and ".join(spread) or "all the same")
        if same > 1 and spread:
            words += f", {same} of each the same"
        if number > 1:
            parts.append(words)
    if copies > 1:
        parts.append(f"{copies} places hold each element")
    return "; ".join(parts)


def _run(bases: Sequence[_Element], dimension: int) -> int:
    """Return how many neighbours along a dimension the first numbers are."""
    steps = {
        basis[dimension]
        for basis in bases
        if basis[dimension] and not any(basis[:dimension] + basis[dimension + 1 :])
    }
    length = 1
    while length in steps:
        length *= 2
    return length


def _of_memory(
    name: str,
    unmapped: Unmapped,
    layout: str,
    shape: tuple[int, ...],
    bits: int,
    banks: int | None,
) -> _Drawn:
    try:
        mapped = memory_map(layout, shape)
        places = mapped.places()
    except UnmappedError as error:
        reason = unmapped.reason if "shared" not in layout and "memory" not in layout else error
        raise IrlensError(f"the layout of {name} cannot be drawn: {reason}") from None
    bases = {**mapped.bases, **({"block": mapped.block} if mapped.block else {})}
    if "row" in mapped.bases:
        held = {element: Owner(row=row, column=column) for element, (row, column) in places.items()}
        sentence = (
            f"{1 << len(mapped.bases['row'])} rows of tensor memory, and"
            f" {1 << len(mapped.bases['column'])} columns of an element's width"
        )
        if layout.startswith("#ttng.tensor_memory_scales"):
            sentence += "; the rows of each of the four warps hold all of the scales"
        return "tensor memory", bases, (), held, sentence, 1 << len(mapped.bases["row"])
    offsets = {element: offset * bits // 8 for element, (offset,) in places.items()}
    owners = {
        element: Owner(offset=offset, bank=offset // _WORD % banks if banks else None)
        for element, offset in offsets.items()
    }
    size = max(offsets.values()) + max(bits // 8, 1)
    if mapped.padding and size > prod(shape) * bits // 8 + _MOST_PADDING:
        raise IrlensError(
            f"the layout of {name} cannot be drawn: with its padding it takes {count(size)} B,"
            " more than any GPU's shared memory"
        )
    sentence = f"{count(size)} B{_order_in_words(mapped)}"
    return "shared memory", bases, mapped.padding, owners, sentence, banks or 1


def _order_in_words(mapped: MemoryMap) -> str:
    """Return how elements follow each other: rows, swizzled or padded."""
    offset = mapped.bases["offset"]
    fastest = next((d for basis in offset for d, step in enumerate(basis) if step), 0)
    words = f", dimension {fastest} contiguous" if len(mapped.shape) > 1 else ""
    crossed = [basis for basis in offset if sum(map(bool, basis)) > 1]
    if crossed:
        least, most = (of(basis[fastest] for basis in crossed) for of in (min, max))
        steps = str(least) if least == most else f"{least} to {most}"
        words += f"; swizzled: the row is XORed into the offset, in steps of {steps} elements"
    for interval, extra in mapped.padding:
        words += f"; {extra} elements of padding after every {interval}"
    return words


def _vector(owners: _Owners, shape: tuple[int, ...]) -> int:
    """Return how many neighbours along the last dimension always lie side by side."""
    length = 1
    while length * 2 <= shape[-1] and all(
        _follows(owners, element, length) for element in owners if element[-1] % (length * 2) == 0
    ):
        length *= 2
    return length


def _follows(owners: _Owners, element: _Element, distance: int) -> bool:
    other = owners.get((*element[:-1], element[-1] + distance))
    one = owners[element]
    if other is None:
        return False
    if one.register is not None and other.register is not None:
        return (one.warp, one.lane) == (other.warp, other.lane)
    if one.column is not None and other.column is not None:
        return one.row == other.row and other.column - one.column == distance
    if one.offset is None or other.offset is None:
        return False
    return one.offset // _WORD == other.offset // _WORD


def _cells(
    owners: _Owners, shape: tuple[int, ...], vector: int
) -> tuple[list[list[LayoutCell]], int, int]:
    """Return the cells that are drawn, and how many rows and cells of a row there are."""
    if len(shape) == 1:
        per_row = min(shape[0] // vector, _MOST_CELLS)
        rows, columns = shape[0] // (vector * per_row), per_row
        at: Callable[[int, int], _Element] = lambda r, c: ((r * per_row + c) * vector,)  # noqa: E731
    else:
        outer = (0,) * (len(shape) - 2)
        rows, columns = shape[-2], shape[-1] // vector
        at = lambda r, c: (*outer, r, c * vector)  # noqa: E731
    cells = [
        [
            LayoutCell(element=at(row, column), owner=owners.get(at(row, column)))
            for column in range(min(columns, _MOST_CELLS))
        ]
        for row in range(min(rows, _MOST_ROWS))
    ]
    return cells, rows, columns
