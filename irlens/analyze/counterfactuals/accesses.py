"""Changes against accesses that are narrow, uncoalesced, misaligned or repeated."""

import re
from collections.abc import Iterable, Iterator, Sequence
from math import prod

from msgspec.structs import replace

from irlens import gpus
from irlens.analyze.address_slice import argument_roles, computed_from
from irlens.analyze.addresses import Access, Addresses, divisors, loaded_scalars
from irlens.analyze.counterfactuals.change import (
    SPECIALIZING,
    Change,
    Symptom,
    enough_warps,
    fewer_warps,
    known_multiples,
    larger_tile,
    lines_at,
    lines_of,
    more_warps,
    place_of,
    relieving,
    stages_of,
)
from irlens.analyze.counterfactuals.products import summed_dimension
from irlens.analyze.mlir_loops import user_line
from irlens.isa.mlir import Module, Operation, access_edits, edits, parse
from irlens.isa.mlir.global_memory import loaded_type
from irlens.isa.mlir.operations import SPECIALIZED, Deed
from irlens.isa.mlir.types import Pointer, Tensor
from irlens.model.config import ConstexprValue
from irlens.model.source import SourceLocation

#: Operations that findings about accesses are about.
ACCESSES: tuple[Deed, ...] = ("load", "load tile", "store", "store tile")
#: Bytes of a row that no access splits: a cache line.
_LINE = 128
#: Bytes that a thread moves at a time at most.
_WIDEST = 16
_MOST_THREADS = 1024
#: Elements that stay together, and rows after which a swizzle repeats.
_SWIZZLES = ((4, 8), (4, 16), (2, 16), (1, 32))
_STRETCHES = ("stretch", "insert")
_UNKNOWN_ALONG = "the compiler does not know that the addresses are contiguous along dimension {}"
_DIVISIONS = ("divide", "divide unsigned")


def of_narrow(symptom: Symptom) -> Iterator[Change]:
    """Yield what lets a thread move all that it holds side by side: alignment that is known."""
    blame, module = symptom.blame, symptom.module
    if blame.kind == "alignment":
        named = [each for each in edits.not_divisible(module) if each in blame.arguments]
        loaded = [
            each
            for name, each in loaded_scalars(module).items()
            if name.removeprefix("%") in blame.arguments
        ]
        if loaded:
            other = parse(edits.with_divisible(module, named), stage=module.stage)
            words = " and ".join([*named, f"what is loaded at {lines_of(loaded)}"])
            text = edits.with_divisible_results(other, loaded)
            yield Change(f"{words} known to be multiples of 16", ttir=text)
        elif named:
            yield Change(known_multiples(named), ttir=edits.with_divisible(module, named))
        return
    if blame.kind == "transposed":
        yield from of_conflict(symptom)
        return
    access = symptom.operation(*ACCESSES)
    if access is None or blame.suffices is None:
        return
    # Copies of an access in an unrolled loop are one for the finding, and have addresses each.
    copies = [each for each in module.doing(*ACCESSES) if each.location == access.location]
    pairs = [producers(module, each) for each in copies]
    addresses, masks = (
        {each.index: each for each in of if each} for of in zip(*pairs, strict=True)
    )
    aligned = side_by_side(symptom, addresses.values(), blame.suffices)
    same = equal(symptom, masks.values(), blame.suffices)
    if blame.kind == "mask":
        mask_words = f"the mask known to be equal for {blame.suffices} neighbours"
        yield Change(mask_words, ttir=edits.with_hints(module, same))
        return
    words = f"the addresses known to be contiguous and aligned by {blame.suffices}"
    yield Change(words, ttir=edits.with_hints(module, aligned))
    if same:
        text = edits.with_hints(module, [*aligned, *same])
        yield Change(f"{words}, and the mask equal for as many", ttir=text)
    if blame.kind == "shift" and len(copies) == 1:
        # AMD's compiler adds a constant to the base, and no hint covers it.
        told = parse(edits.with_hints(module, same), stage=module.stage)
        words = f", and the mask equal for {blame.suffices} neighbours" if same else ""
        for each, number, value in _constant_operands(module, access, "add", "subtract", "offset"):
            if value % blame.suffices:
                text = edits.with_operand(told, told.operations[each.index], number, 0)
                yield Change(f"0 in place of {value:,}{place_of(each)}{words}", ttir=text)


def producers(module: Module, access: Operation) -> tuple[Operation | None, Operation | None]:
    """Return the operations that compute the address and the mask of an access."""
    operands = module.values.operands[access.index]
    found = [module.operations[each.operation] if each else None for each in operands]
    masks = found[1:] if access.does == "load" else found[2:]
    return (found[0] if found else None), (masks[0] if masks else None)


def side_by_side(
    symptom: Symptom, addresses: Iterable[Operation], elements: int, dimension: int = -1
) -> list[tuple[Operation, str]]:
    """Return the hints that neighbours are contiguous and aligned, where addresses are computed.

    AMD's compiler makes pointers a base and offsets, and keeps the hints of the offsets alone.
    """
    module, hints = symptom.module, dict[int, tuple[Operation, str]]()
    for address in addresses:
        hints[address.index] = address, edits.contiguity(address, elements, dimension)
        if not symptom.is_amd or address.does != "offset":
            continue
        every = range(max(1, len(address.result_type.shape)))
        made, dimensions = _unstretched(module, address, 1, every)
        if made is None or every[dimension] not in dimensions:
            continue
        along = dimensions.index(every[dimension])
        if made.result_type.shape[along:][:1] != (1,):
            hints[made.index] = made, edits.contiguity(made, elements, along, elements)
    return list(hints.values())


def equal(
    symptom: Symptom, masks: Iterable[Operation], elements: int
) -> list[tuple[Operation, str]]:
    """Return the hints that neighbours share a mask value, for AMD also before it is stretched."""
    masks = list(masks)
    stretched = (each for each in masks if symptom.is_amd and each.does in _STRETCHES)
    made = [_unstretched(symptom.module, each)[0] for each in stretched]
    every = {each.index: each for each in (*masks, *filter(None, made))}
    return [(each, edits.constancy(each, elements)) for each in every.values()]


def _unstretched(
    module: Module, operation: Operation, number: int = 0, dimensions: Sequence[int] = ()
) -> tuple[Operation | None, Sequence[int]]:
    """Return what computes an operand, before it is stretched to the shape of others.

    Args:
        dimensions: Of the tile that the operand has; those that it has before are returned, too.
    """
    value = module.values.operands[operation.index][number]
    made = module.operations[value.operation] if value and value.region is None else None
    if made is not None and made.does in _STRETCHES:
        inserted = made.integer("axis") if made.does == "insert" else None
        rest = [each for place, each in enumerate(dimensions) if place != inserted]
        return _unstretched(module, made, dimensions=rest)
    return (made if made is not None and made.operands else None), dimensions


def of_uncoalesced(symptom: Symptom) -> Iterator[Change]:
    """Yield what brings the elements of a warp together, by what takes them apart."""
    blame, module = symptom.blame, symptom.module
    access = symptom.operation(*ACCESSES)
    if access is None:
        return
    match blame.kind:
        case "untold":
            for name in blame.arguments:
                yield Change(f"{name} known to be 1", ttir=edits.with_constant(module, name, 1))
            if not blame.arguments and blame.dimension is not None:
                beside = _elements_of(_WIDEST, access)
                yield from _known_along(symptom, access, blame.dimension, beside)
        case "values":
            yield from _known_values(symptom)
        case "held" if module.stage != "ttir":
            yield from _shorter(symptom, _elements_of(_WIDEST, access))
        case "held":
            yield from _as_few_beside(symptom, access)
            yield from more_warps(symptom)
        case "rows":
            enough, all_accesses = _elements_of(_LINE, access), Addresses(module).accesses
            its = [each for each in all_accesses(divisors(module)) if each.line == access.span.line]
            yield from larger_tile(
                symptom, access, enough, blamed=_contiguous(its[0]) if its else None
            )
        case "short":
            yield from fewer_warps(symptom)
        case "indirect":
            yield from _in_order(module, access)
        case "broadcast":
            return
        case _:
            yield from _side_by_side(symptom, access)
            yield from _along_each(symptom, access)


def _known_values(symptom: Symptom) -> Iterator[Change]:
    """Yield the values of the arguments to blame as constants."""
    module, named = symptom.module, []
    for name in symptom.blame.arguments:
        value = symptom.config.args.get(name)
        if isinstance(value, int):
            module = parse(edits.with_constant(module, name, value), stage=module.stage)
            named.append(f"{name}={value}")
    if named:
        yield Change(f"{' and '.join(named)} known to the compiler", ttir=module.text)


def _along_each(symptom: Symptom, access: Operation) -> Iterator[Change]:
    """Yield addresses that lie side by side in pairs, along each dimension of the tile."""
    dimensions = len(access.types[0].shape) if symptom.blame.kind == "apart" else 0
    for dimension in range(dimensions):
        for each in _known_along(symptom, access, dimension, 2):
            yield replace(each, cause=_UNKNOWN_ALONG.format(dimension))


def _known_along(
    symptom: Symptom, access: Operation, dimension: int, beside: int
) -> Iterator[Change]:
    """Yield addresses that the compiler knows to be contiguous along a dimension of the tile."""
    address = producers(symptom.module, access)[0]
    if address is not None:
        hints = side_by_side(symptom, [address], beside, dimension)
        words = f"the addresses known to be contiguous along dimension {dimension}"
        yield Change(words, ttir=edits.with_hints(symptom.module, hints))


def _contiguous(access: Access) -> int | None:
    """Return the dimension of an access's tile that is contiguous in memory, from the end."""
    axes = access.pointer.axes
    return next(
        (
            number - len(axes)
            for number, axis in enumerate(axes)
            if axis.symbol is None and axis.step == access.element_bytes
        ),
        None,
    )


def _elements_of(size: int, access: Operation) -> int:
    """Return how many elements fill a number of bytes."""
    bits = _bits_of(access)
    return size * 8 // bits if bits else size


def _bits_of(access: Operation) -> int | None:
    """Return the size of an element that an access moves; ``None`` if unknown."""
    kinds = (each.element if isinstance(each, Tensor) else each for each in access.types)
    element = next(kinds, None)
    target = element.pointee if isinstance(element, Pointer) else element
    return getattr(target, "bits", None)


def _as_few_beside(symptom: Symptom, access: Operation) -> Iterator[Change]:
    """Yield the tile's other accesses, each held to as many elements as this one moves at a time.

    The compiler gives a thread as many consecutive elements as the widest access of the same shape
    that computes with this one takes (``Coalesce.cpp``).
    """
    module, few = symptom.module, max(1, _elements_of(_WIDEST, access))
    operations = {each.span.line: each for each in module.doing(*ACCESSES)}
    hints, sources = [], list[SourceLocation | None]()
    for each in Addresses(module).accesses(divisors(module)):
        other = operations.get(each.line)
        address = producers(module, other)[0] if other is not None else None
        dimension = _contiguous(each)
        if address is None or dimension is None or each.line == access.span.line:
            continue
        if each.width(_MOST_THREADS, masked=False) > few * each.element_bytes:
            hints.append((address, edits.contiguity(address, few, dimension)))
            sources.append(each.source)
    if hints:
        at_lines = lines_at(sources)
        yield Change(
            f"no more than {few} neighbours known to be contiguous at {at_lines}",
            ttir=edits.with_hints(module, hints),
            cause=f"the accesses at {at_lines} move more elements at a time, and the compiler gives"
            " each thread as many of every tile that it computes with theirs",
        )


def _in_order(module: Module, access: Operation) -> Iterator[Change]:
    """Yield consecutive indices in place of those that are loaded."""
    loads = [each for each in computed_from(module, access, 1) if each.does == "load"]
    indices = [each for each in loads if edits.can_be_counted(each)]
    if indices:
        at = sorted({line.line for each in indices if (line := user_line(each)) is not None})
        text = edits.with_counted(module, indices)
        lines = ", ".join(map(str, at))
        yield Change(f"consecutive indices in place of those loaded at line {lines}", ttir=text)


def _side_by_side(symptom: Symptom, access: Operation) -> Iterator[Change]:
    """Yield a step of 1 in place of one that takes neighbours apart: an argument or a constant."""
    module, (apart, axis) = symptom.module, _apart(symptom, access)
    roles = argument_roles(module, access)
    for name in [each for each, parts in roles.items() if "stride" in parts]:
        value = symptom.config.args.get(name)
        if value not in (None, 1) and (apart is None or _divides(value, apart)):
            address = computed_from(module, access, 1)
            text = edits.with_argument_as(module, address, name, 1)
            yield Change(f"1 in place of {name} in its address", ttir=text)
    yield from _ascending(module, access)
    for operation, number, value in _constant_operands(module, access, "multiply"):
        if not _differs_along(operation, access, axis):
            continue  # it moves the whole tile, as the first row of a program does
        if value > 1 and (apart is None or _divides(value, apart)):
            text = edits.with_operand(module, operation, number, 1)
            yield Change(
                f"a step of 1 element in place of {value:,}{place_of(operation)}", ttir=text
            )


def _differs_along(operation: Operation, access: Operation, axis: int | None) -> bool:
    """Whether a number of an address may differ from one neighbour of the tile to the next."""
    shape = access.types[0].shape
    kind = operation.result_type
    if not shape or not isinstance(kind, Tensor):
        return not shape
    return axis is None or len(kind.shape) != len(shape) or kind.shape[axis] > 1


def _ascending(module: Module, access: Operation) -> Iterator[Change]:
    """Yield the kernel with ascending addresses, which begin at 0 instead of at a constant."""
    found = Addresses(module).accesses(divisors(module))
    axes = [axis for each in found if each.line == access.span.line for axis in each.pointer.axes]
    if all(axis.step is None or axis.step >= 0 for axis in axes):
        return
    constant = {
        each.index for each, n, _ in _constant_operands(module, access, "subtract") if not n
    }
    for each in computed_from(module, access, 1):
        if each.does == "subtract":
            text = edits.with_word(module, [each], "subi", "addi")
            if each.index in constant:
                text = edits.with_operand(parse(text, stage=module.stage), each, 0, 0)
            words = f"ascending addresses in place of descending ones{place_of(each)}"
            yield Change(words, ttir=text)


def _apart(symptom: Symptom, access: Operation) -> tuple[int | None, int | None]:
    """Return the elements from a neighbour in an access's tile to the next, and their dimension.

    ``None`` if unknown. Only what divides it takes them apart: the distance of rows does not.
    """
    all_accesses = Addresses(symptom.module).accesses(divisors(symptom.module))
    found = next((each for each in all_accesses if each.line == access.span.line), None)
    steps = []
    axes = zip(found.pointer.axes, found.pointer.shape, strict=True) if found else ()
    for number, (axis, extent) in enumerate(axes):
        name = (axis.symbol or "").removeprefix("%")
        factor = symptom.config.args.get(name) if name else 1
        if axis.step is None or not isinstance(factor, int):
            return None, None
        if extent > 1 and axis.step * factor:
            steps.append((abs(axis.step * factor), number))
    if not found or not steps:
        return None, None
    least, dimension = min(steps)
    return least // found.element_bytes or None, dimension


def _divides(value: ConstexprValue | None, apart: int) -> bool:
    return isinstance(value, int) and value != 0 and apart % value == 0


def _constant_operands(
    module: Module, access: Operation, *deeds: str
) -> Iterator[tuple[Operation, int, int]]:
    """Yield the operations of an address with a constant operand, its number and its value."""
    values = module.values
    for each in computed_from(module, access, 1):
        if each.does not in deeds:
            continue
        for number, source in enumerate(values.operands[each.index]):
            if source is None or source.region is not None:
                continue
            value = edits.integer_of(module.operations[source.operation])
            if value is not None:
                yield each, number, value


def of_misaligned(symptom: Symptom) -> Iterator[Change]:
    """Yield what starts the runs at a boundary: strides and shifts that are multiples."""
    blame, module = symptom.blame, symptom.module
    access, step = symptom.operation(*ACCESSES), blame.suffices
    if access is None or not step:
        return
    role = "stride" if blame.kind == "rows" else "shift"
    for name, parts in argument_roles(module, access).items():
        value = symptom.config.args.get(name)
        if role in parts and isinstance(value, int) and value % step:
            padded = -(-value // step) * step
            yield Change(f"{name}={padded} in place of {value}", {name: str(padded)})
    deeds = ("multiply",) if role == "stride" else ("add", "subtract", "offset")
    for operation, number, value in _constant_operands(module, access, *deeds):
        if value % step:
            aligned = -(-value // step) * step if role == "stride" else 0
            text = edits.with_operand(module, operation, number, aligned)
            yield Change(f"{aligned:,} in place of {value:,}{place_of(operation)}", ttir=text)


def of_repeated(symptom: Symptom) -> Iterator[Change]:
    """Yield as many warps as have elements of their own, or addresses that all differ."""
    kind, access = symptom.blame.kind, symptom.operation(*ACCESSES)
    if kind == "ctas":
        yield Change("num_ctas=1", {"num_ctas": "1"})
    elif kind == "warps":
        yield from enough_warps(symptom)
    elif kind == "lanes" and access is not None:
        yield from larger_tile(symptom, access, _MOST_THREADS, blamed=-1)
        yield from fewer_warps(symptom)
        yield from _one_warp(symptom, access)
    elif kind == "repeated" and access is not None:
        for operation, number, value in _constant_operands(symptom.module, access, *_DIVISIONS):
            text = edits.with_operand(symptom.module, operation, number, 1)
            yield Change(f"1 in place of the divisor {value:,}{place_of(operation)}", ttir=text)
        if (along := symptom.blame.dimension) is not None:
            text = access_edits.with_moving_address(symptom.module, access, along)
            yield Change(f"an address that moves along dimension {along}, too", ttir=text)


def _one_warp(symptom: Symptom, access: Operation) -> Iterator[Change]:
    """Yield a tile of one element for each thread of a single warp, where that is larger."""
    lanes = gpus.by_arch(symptom.target).arch.warp_size if symptom.target else 0
    tile = next((each for each in access.types if isinstance(each, Tensor)), None)
    for name, value in symptom.config.constexprs.items():
        if not isinstance(value, int) or isinstance(value, bool) or value >= lanes:
            continue
        if tile is not None and tile.shape[-1] == value:
            settings = {name: str(lanes), "num_warps": "1"}
            yield relieving(Change(f"{name}={lanes}, num_warps=1", settings))


def of_fence(symptom: Symptom) -> Iterator[Change]:
    """Yield a relaxed atomic, which needs no fence."""
    module, atomic = symptom.module, symptom.operation("atomic")
    if atomic is not None:
        copies = [each for each in module.doing("atomic") if each.location == atomic.location]
        text = edits.with_word(module, copies, "acq_rel", "relaxed")
        yield Change('sem="relaxed" for the atomic', ttir=text)


def of_branched(symptom: Symptom) -> Iterator[Change]:
    """Yield tensors that are known to have less than 2 GB."""
    if names := symptom.blame.arguments:
        words = f"{' and '.join(names)} known to have less than 2 GB"
        yield Change(words, ttir=edits.with_range(symptom.module, names))


def of_scattered(symptom: Symptom) -> Iterator[Change]:
    """Yield consecutive indices for an atomic in place of those that are loaded."""
    atomic = symptom.operation("atomic")
    if atomic is not None:
        yield from _in_order(symptom.module, atomic)


def of_conflict(symptom: Symptom) -> Iterator[Change]:
    """Yield the loop without pipelining: a pipeline's buffer keeps the order of the load.

    In Gluon the kernel's own layouts are changed. An operand that the tensor core takes with K
    contiguous is transposed with or without a pipeline, also where it is computed from what a loop
    loads. Warps that are specialized hand tiles over in buffers that are not swizzled.
    """
    yield from _in_gluon(symptom)
    module = symptom.module
    if module.stage != "ttir":
        return
    access = symptom.operation(*ACCESSES, "reshape", "transpose", "multiply matrices")
    is_vector = symptom.finding.code == "IRL303" and symptom.blame.suffices is not None
    if is_vector:
        yield from _as_few_beside(symptom, access) if access is not None else ()
        yield from more_warps(symptom)
    if symptom.blame.kind == "writes" and access is not None:
        loads = [access] if access.does == "load" else computed_from(module, access)
        for each in loads:
            if each.does == "load" and each.parent == access.parent:
                yield from along_k(symptom, each)
    loop = symptom.enclosing(access, "for")
    if loop is not None and loop.flag(SPECIALIZED):
        text = edits.without_flag(module, loop, SPECIALIZED)
        yield Change(
            "without warp_specialize=True on the loop",
            ttir=text,
            cause="warps that are specialized hand the tile over in a buffer without a swizzle",
            without=SPECIALIZING,
        )
    if loop is not None:
        words = ", which needs no buffer"
        change = stages_of(module, loop, 1, words)
        yield relieving(change) if is_vector else change


def along_k(symptom: Symptom, load: Operation | None) -> Iterator[Change]:
    """Yield an operand that lies in memory in the order in which the tensor core takes it."""
    module = symptom.module
    address = producers(module, load)[0] if load is not None else None
    tile = loaded_type(load) if load is not None else None
    if load is None or address is None or not isinstance(tile, Tensor) or len(tile.shape) != 2:
        return
    dimension = summed_dimension(module, load)
    hint = edits.contiguity(address, tile.shape[dimension], dimension)
    yield Change(
        "the addresses known to be contiguous along K",
        ttir=edits.with_hints(module, [(address, hint)]),
        at=user_line(load),
    )


def _in_gluon(symptom: Symptom) -> Iterator[Change]:
    """Yield other layouts for each constexpr that is one: more swizzled, or of shorter runs.

    A swizzle moves what lies in different rows: one dimension has none.
    """
    if symptom.blame.suffices:
        yield from _shorter(symptom, symptom.blame.suffices)
        return
    for name, value in symptom.config.constexprs.items():
        if not str(value).startswith("SwizzledSharedLayout("):
            continue
        for vector, phases in _SWIZZLES:
            other = str(value)
            for parameter, number in (("vec", vector), ("per_phase", 1), ("max_phase", phases)):
                other = re.sub(rf"\b{parameter}=\d+", f"{parameter}={number}", other)
            words = f"vec={vector}, per_phase=1, max_phase={phases}"
            yield Change(f"{name} swizzled with {words}", {name: other})


def _shorter(symptom: Symptom, held: int) -> Iterator[Change]:
    """Yield each layout of a vector with no more consecutive elements of a thread than ``held``."""
    per_thread = r"(?<=size_per_thread=\[)\d+(?=\])"
    for name, value in symptom.config.constexprs.items():
        longer = re.search(per_thread, str(value))
        if longer and int(longer[0]) > held:
            other = re.sub(per_thread, str(held), str(value))
            yield Change(f"{name} with size_per_thread=[{held}]", {name: other})


def of_outside(symptom: Symptom) -> Iterator[Change]:
    """Yield a mask that leaves out what lies outside of the tensor."""
    access = symptom.operation("load", "store")
    if access is None or symptom.blame.kind:
        return
    for name in symptom.blame.arguments:
        tensor = str(symptom.config.args.get(name))
        # A view with gaps has elements beyond its number of them.
        whole, bits = re.fullmatch(r"\w+\[([\d, ]+)\]", tensor), _bits_of(access)
        if whole is not None and bits:
            elements = prod(map(int, whole[1].split(",")))
            text = access_edits.with_bound(symptom.module, access, name, elements * bits // 8)
            yield Change(f"a mask of the {elements:,} elements that it has", ttir=text)
