"""Widths of a thread's accesses to global memory, by their place in the source."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, TypeAlias

from irlens.analyze import cfg
from irlens.isa import dialect
from irlens.isa.ptx import Address, Function, Instruction, effects
from irlens.isa.ptx.copies import copy_size, is_cp_async
from irlens.model.source import SourceLocation

if TYPE_CHECKING:
    from irlens.isa import amdgcn

Direction: TypeAlias = Literal["load", "store"]
Place: TypeAlias = tuple[Direction, tuple[SourceLocation, ...]]

#: A kernel in the stage that has its accesses: PTX, or AMD's assembly.
Assembly: TypeAlias = "Function | amdgcn.Function"

#: Where a load reads: its address, its predicate, and whether that is negated.
_Source: TypeAlias = tuple[Address, str | None, bool]
_BITS = {
    f"{kind}{bits}": bits
    for bits in (8, 16, 32, 64, 128)
    for kind in ("b", "u", "s", "f")
} | {"bf16": 16, "f16x2": 32, "bf16x2": 32}  # fmt: skip


def access_widths(function: Assembly) -> dict[Place, frozenset[int]]:
    """Return the bytes that one thread's instructions load or store at each place.

    Asynchronous copies to shared memory are loads of their cp-size. Instructions without debug
    information, bulk copies and AMD's scalar loads are left out, as are places with an instruction
    of unknown width.
    """
    return {
        place: frozenset(each for each in widths if isinstance(each, int))
        for place, widths in instruction_widths(function).items()
        if all(isinstance(each, int) for each in widths)
    }


def instruction_widths(function: Assembly) -> dict[Place, list[int | str]]:
    """Return the bytes of each instruction, in the order of the text.

    Where these are unknown, the instruction's name stands for them.
    """
    by_place: defaultdict[Place, list[int | str]] = defaultdict(list)
    for place, _, width in _placed(function):
        by_place[place].append(width)
    return dict(by_place)


def _placed(function: Assembly) -> Iterator[tuple[Place, dialect.Instruction, int | str]]:
    """Yield each access with debug information, in the order of the text: its place and width."""
    expansion = function.expansion
    # The ttgir has the lines of a called function alone, and each of its accesses once.
    once = dict(expansion.written()) if expansion is not None else None
    for index, (direction, width) in _accesses(function):
        instruction = function.instructions[index] if once is None else once.get(index)
        if instruction is not None and instruction.locations:
            yield (direction, instruction.locations), instruction, width


def scalar_loads(function: Assembly) -> frozenset[tuple[SourceLocation, ...]]:
    """Return the places where AMD's scalar loads stand, which bring a value once for a wave."""
    if isinstance(function, Function):
        return frozenset()
    from irlens.isa.amdgcn.memory import is_scalar_load

    return frozenset(each.locations for each in function.instructions if is_scalar_load(each))


def loses_lines(function: Assembly, direction: Direction) -> bool:
    """Whether accesses have no place, as LLVM leaves those that it makes of several."""
    return any(
        each == direction and not function.instructions[index].locations
        for index, (each, _) in _accesses(function)
    )


def uncounted(function: Assembly) -> list[str]:
    """Return the instructions of accesses whose width is not known, each name once."""
    if isinstance(function, Function):
        accesses = (i for i in function.instructions if effects.direction(i) is not None)
        names = [i.name for i in accesses if "global" in i.modifiers and access_bytes(i) is None]
    else:
        from irlens.isa.amdgcn.memory import has_unknown_width

        unknown = filter(has_unknown_width, function.instructions)
        names = [instruction.operations[0].mnemonic for instruction in unknown]
    return list(dict.fromkeys(names))


def atomic_widths(function: Assembly) -> dict[tuple[SourceLocation, ...], int]:
    """Return the bytes of the narrowest atomic instruction at each place of a PTX function."""
    widths: dict[tuple[SourceLocation, ...], int] = {}
    for each in function.instructions if isinstance(function, Function) else ():
        if effects.updates_global(each) and each.locations:
            width = access_bytes(each)
            if width is not None:
                widths[each.locations] = min(width, widths.get(each.locations, width))
    return widths


def merged_loads(function: Assembly) -> dict[Place, frozenset[int]]:
    """Return which loads at each place ptxas leaves out, by their number in the text.

    Those are loads from the very address of an earlier one at the same place: LLVM found that the
    elements of a thread share it, as where it is divided by more than they are. Under a predicate
    it is the load directly before: of loads under two predicates in turn ptxas keeps all.
    """
    merged: dict[Place, frozenset[int]] = {}
    if not isinstance(function, Function):
        return merged
    seen: defaultdict[Place, list[_Source | None]] = defaultdict(list)
    for place, instruction, _ in _placed(function):
        if place[0] == "load" and isinstance(instruction, Instruction):
            seen[place].append(_source(instruction))
    for place, addresses in seen.items():
        first = {each: n for n, each in reversed([*enumerate(addresses)])}
        again = frozenset(
            n
            for n, each in enumerate(addresses)
            if each and first[each] < n and (each[1] is None or addresses[n - 1] == each)
        )
        if again:
            merged[place] = again
    return merged


def _source(instruction: Instruction) -> _Source | None:
    """Return where a load reads and under which predicate; ``None`` for a copy."""
    if is_cp_async(instruction):
        return None
    address = next((each for each in instruction.operands if isinstance(each, Address)), None)
    return None if address is None else (address, instruction.predicate, instruction.negated)


def read_once(function: Assembly) -> frozenset[SourceLocation]:
    """Return the places, of library code and its callers alike, whose loads are in no loop.

    LLVM removes a loop of the source that it unrolls completely, or that runs once.
    """
    flow = cfg.build(function)
    forest = flow.forest
    outside, inside = set[SourceLocation](), set[SourceLocation]()
    starts = [block.start for block in flow.blocks]
    for index, (direction, _) in _accesses(function):
        if direction == "load":
            block = bisect_right(starts, index) - 1
            places = inside if forest.depth(block) else outside
            places.update(function.instructions[index].locations)
    return frozenset(outside - inside)


def access_bytes(instruction: Instruction) -> int | None:
    """Return how many bytes a load or store moves per thread; ``None`` if it does not say."""
    modifiers = instruction.modifiers
    bits = next((_BITS[name] for name in reversed(modifiers) if name in _BITS), None)
    elements = next((int(name[1:]) for name in modifiers if name in ("v2", "v4", "v8")), 1)
    return None if bits is None else bits * elements // 8


def _accesses(function: Assembly) -> Iterator[tuple[int, tuple[Direction, int | str]]]:
    """Yield the accesses to global memory, each with the index of its instruction.

    One whose direction is unknown may be a load and may be a store.
    """
    if isinstance(function, Function):
        for index, instruction in enumerate(function.instructions):
            if (access := _access(instruction)) is not None:
                yield index, access
        return
    from irlens.isa.amdgcn.memory import global_access

    for index, found in enumerate(map(global_access, function.instructions)):
        if found is None:
            continue
        direction, width = found
        either: tuple[Direction, ...] = ("load", "store")
        for each in either if direction == "unknown" else (direction,):
            yield index, (each, width)


def _access(instruction: Instruction) -> tuple[Direction, int] | None:
    """Return the direction and the bytes of an access to global memory."""
    if is_cp_async(instruction):
        size = copy_size(instruction)
        return None if size is None else ("load", size)
    direction = effects.direction(instruction)
    if direction is None or "global" not in instruction.modifiers:
        return None
    width = access_bytes(instruction)
    return None if width is None else (direction, width)
