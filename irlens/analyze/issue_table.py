"""How the machine issues the accesses of a kernel: layouts, and instructions' widths.

``issued_accesses`` takes those of a ttgir. ``IssueTable`` finds what the compiler made of those of
a ttir, by their locations.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec

from irlens.analyze.global_accesses import (
    Assembly,
    Direction,
    Place,
    atomic_widths,
    instruction_widths,
    loses_lines,
    merged_loads,
    scalar_loads,
)
from irlens.analyze.solver import reach
from irlens.analyze.warp_requests import SECTOR, WarpAccess, free_bits
from irlens.isa.mlir import Module, Operation
from irlens.isa.mlir.copies import BULK_COPIES, BULK_STORES, COPIES, LOADS, STORES
from irlens.isa.mlir.encoding_maps import Unmapped, linear_map
from irlens.isa.mlir.global_memory import ATOMICS, BULK_LOADS
from irlens.isa.mlir.global_memory import BULK_STORES as ALL_BULK_STORES
from irlens.isa.mlir.linear_maps import LinearMap
from irlens.isa.mlir.types import Pointer, Shaped, Tensor
from irlens.isa.ptx import Function
from irlens.model.source import SourceLocation

#: AMD's accesses by a scalar pointer and a tensor of offsets.
_BUFFER_ACCESSES = frozenset(name for name in LOADS | STORES if ".buffer_" in name)
#: Elements that one instruction of such an access moves, by AMD's compiler; 1 is not written.
_CONTIGUITY = "contiguity"
_NO_COUNTERS = "atomic operations have counters of their own"
_LINELESS = "no instruction has its location, as where LLVM makes one of several lines"
_NONE: frozenset[int] = frozenset()
#: A block: its loop depth, and the index of its first operation.
_Block: TypeAlias = tuple[int, int]


class IssuedAccess(msgspec.Struct, frozen=True):
    """A load, store or asynchronous copy.

    Attributes:
        access: How the machine accesses the elements; ``None`` if unknown.
        reason: Why it is unknown.
    """

    operation: int
    access: WarpAccess | None
    reason: str | None = None


def issued_accesses(
    module: Module, assembly: Assembly, granule: int = SECTOR
) -> tuple[IssuedAccess, ...]:
    """Return a ttgir's accesses to global memory through pointers, in the order of the text."""
    elements = {
        operation.index: _elements(module, operation)
        for operation in module.named(*LOADS, *STORES, *COPIES)
    }
    places: defaultdict[Place, list[int]] = defaultdict(list)
    for index in elements:
        places[_place(module.operations[index])].append(index)
    widths: dict[int, int | str] = {}
    merged: dict[int, frozenset[int]] = {}
    again = merged_loads(assembly)
    issued_at = instruction_widths(assembly)
    for place, issued in find_extending(module, issued_at, places).items():
        held = [elements[index] for index in places[place]]
        sizes = {each.bytes for each in held if isinstance(each, _Elements)}
        if sizes == {*issued}:  # such an instruction brings a single element
            issued_at[place] = [*issued]
    for place, issued in issued_at.items():
        at = places.get(place, [])
        if not isinstance(assembly, Function) and len({*issued}) > 1:  # LLVM reorders them
            wide = {n: module.operations[n].integer(_CONTIGUITY) or 1 for n in at}
            if len({*wide.values()}) > 1:
                at = sorted(at, key=lambda n: -wide[n])
                issued = sorted(issued, key=lambda each: -each if isinstance(each, int) else 0)
        if place in again:
            parts = _merged([elements[index] for index in at], issued, again[place])
            merged.update(zip(at, parts, strict=False))
        widths.update(zip(at, _widths([elements[index] for index in at], issued), strict=True))
    for index in elements:
        if index not in widths and (other := _in_other_branch(module, index, widths)) is not None:
            widths[index] = widths[other]
    for index in elements:
        if index not in widths and loses_lines(assembly, _place(module.operations[index])[0]):
            widths[index] = _LINELESS
    return tuple(
        _issued(
            module.operations[index], each, widths.get(index), granule, merged.get(index, _NONE)
        )
        for index, each in elements.items()
    )


def _in_other_branch(module: Module, index: int, widths: Mapping[int, int | str]) -> int | None:
    """Return the store of the other branch of an ``scf.if`` whose instruction is one's own, too.

    LLVM makes one instruction of both, with the location of one, where they differ in their
    addresses alone.
    """
    operation = module.operations[index]
    if operation.name not in STORES or operation.parent is None:
        return None
    branch = module.operations[operation.parent]
    if branch.does != "if":
        return None
    bodies = [{n for block in each.blocks for n in block.operations} for each in branch.regions]
    alike = (
        each
        for body in bodies
        if index not in body
        for each in sorted(body & widths.keys())
        if module.operations[each].name == operation.name
        and module.operations[each].operands[1:] == operation.operands[1:]
        and module.operations[each].types == operation.types
    )
    return next(alike, None)


class _Elements(msgspec.Struct, frozen=True):
    """The elements that an operation accesses: how threads hold them, and their bytes."""

    layout: LinearMap
    bytes: int

    @property
    def thread_bytes(self) -> int:
        """Bytes that a thread accesses; elements that it holds several times count once."""
        return self.bytes * (self.layout.registers >> len(free_bits(self.layout)[0]))


def _place(operation: Operation) -> Place:
    stores = operation.name in STORES or operation.name in ALL_BULK_STORES
    return ("store" if stores else "load"), operation.location


def _widths(accesses: Sequence[_Elements | str], widths: list[int | str]) -> list[int | str]:
    """Return the width of the instructions of each access at one place, or why it is unknown.

    Accesses of different layouts differ in width. Their instructions stand in the same order, as
    many for each as its bytes take.

    Args:
        widths: Those of the instructions; a name where it is unknown.
    """
    nameless = next((each for each in widths if isinstance(each, str)), None)
    if nameless is not None:
        return [f"how many bytes {nameless} moves is unknown"] * len(accesses)
    issued = [each for each in widths if isinstance(each, int)]
    if len(set(issued)) == 1:
        return [issued[0]] * len(accesses)
    unknown: list[int | str] = ["its instructions differ in width"] * len(accesses)
    found: list[int | str] = []
    at = 0
    for each in accesses:
        if isinstance(each, str) or at >= len(issued):
            return unknown
        width = issued[at]
        count = max(1, each.thread_bytes // width)
        if issued[at : at + count] != [width] * count:
            return unknown
        found.append(width)
        at += count
    return found if at == len(issued) else unknown


def _merged(
    accesses: Sequence["_Elements | str"], issued: Sequence[int | str], again: frozenset[int]
) -> list[frozenset[int]]:
    """Return which of its instructions each access of one place need not issue.

    Nothing where the instructions are not those of all accesses, each once.
    """
    wholes = [0 if isinstance(each, str) else each.thread_bytes for each in accesses]
    width = issued[0]
    if isinstance(width, str) or set(issued) != {width} or 0 in wholes:
        return []
    if sum(wholes) != width * len(issued):
        return []
    parts, begin = [], 0
    for whole in wholes:
        end = begin + whole // width
        parts.append(frozenset(number - begin for number in again if begin <= number < end))
        begin = end
    return parts


def _issued(
    operation: Operation,
    elements: _Elements | str,
    width: int | str | None,
    granule: int,
    merged: frozenset[int],
) -> IssuedAccess:
    """Return how an operation's elements are accessed, or why that is unknown."""
    reason = "no instruction has its location"
    if isinstance(elements, str) or width is None or isinstance(width, str):
        wrong = (each for each in (elements, width) if isinstance(each, str))
        return IssuedAccess(operation.index, None, next(wrong, reason))
    try:
        access = WarpAccess(
            elements.layout, _direction(operation), elements.bytes, width, granule, merged
        )
    except ValueError as error:
        return IssuedAccess(operation.index, None, str(error))
    return IssuedAccess(operation.index, access)


def _elements(module: Module, operation: Operation) -> _Elements | str:
    """Return the elements that an operation accesses, or why they are unknown."""
    printed = pointer = operation.operand_type
    # AMD's buffer accesses name a scalar pointer first, and then a tensor of values or offsets.
    tensor = next((each for each in operation.types if isinstance(each, Tensor)), None)
    if tensor is not None and not isinstance(pointer, Pointer):
        pointer = tensor.element
    size = pointer.pointee.bytes if isinstance(pointer, Pointer) else None
    if type(printed) is Shaped and not printed.shape:
        size = printed.element.bytes  # up to Triton 3.8 AMD's copies print a pointer as "<f16>"
    if size is None and tensor is not None and operation.name in _BUFFER_ACCESSES:
        size = tensor.element.bytes  # up to Triton 3.6 they name their values' type alone
    if size is None:
        return f"{printed} is not a pointer to elements of a known width"
    layout = _scalar(module)
    if tensor is not None:
        layout = linear_map(tensor.layout, tensor.shape, module.aliases)
    return layout.reason if isinstance(layout, Unmapped) else _Elements(layout, size)


def _direction(operation: Operation) -> Literal["load", "store", "copy", "update"]:
    if operation.name in STORES:
        return "store"
    if operation.name in ATOMICS:
        return "update"
    return "copy" if operation.name in COPIES else "load"


def _scalar(module: Module) -> LinearMap | Unmapped:
    """Return the map of a value that every thread of a CTA holds."""
    bases = []
    for name in ("ttg.threads-per-warp", "ttg.num-warps"):
        number = module.integer(name)
        if number is None or number < 1:
            return Unmapped(f"the module has no {name}")
        bases.append(((),) * (number.bit_length() - 1))
    return LinearMap((), (), bases[0], bases[1], ())


class IssueTable:
    """What the compiler made of the accesses of a ttir, found by their locations, or of a ttgir.

    Args:
        granule: Bytes of the GPU's sector or cache line.
    """

    def __init__(self, module: Module, assembly: Assembly, granule: int = SECTOR) -> None:
        self._by_place: defaultdict[Place, list[WarpAccess | str]] = defaultdict(list)
        self._blocks: defaultdict[Place, list[_Block]] = defaultdict(list)
        blocks = _blocks(module)
        self._by_tma: set[Place] = set()
        self._module = module
        self._own: dict[int, WarpAccess | str] = {}
        self._scalar = {("load", each) for each in scalar_loads(assembly)}
        self._updates: dict[tuple[SourceLocation, ...], WarpAccess] = {}
        widths = atomic_widths(assembly)
        for atomic in module.named(*ATOMICS):
            width = widths.get(atomic.location)
            update = _issued(atomic, _elements(module, atomic), width, granule, _NONE).access
            if update is not None:
                self._updates[atomic.location] = update
        for each in issued_accesses(module, assembly, granule):
            place = _place(module.operations[each.operation])
            self._own[each.operation] = each.access or each.reason or ""
            self._by_place[place].append(self._own[each.operation])
            self._blocks[place].append(blocks[each.operation])
        for operation in module.named(*BULK_COPIES, *BULK_STORES):
            direction: Direction = "load" if operation.name in BULK_COPIES else "store"
            self._by_tma.add((direction, operation.location))

    def update(self, operation: Operation) -> WarpAccess | None:
        """Return how an atomic operation is issued; ``None`` if unknown."""
        return self._updates.get(operation.location)

    def of_module(self, module: Module) -> Callable[[Operation], tuple[WarpAccess, ...] | str]:
        """Return what finds how an access of a module is issued, or why that is unknown.

        Args:
            module: The ttgir itself, or the ttir that it was made from.
        """
        if module is self._module:
            return self._of_own
        alike: defaultdict[tuple[str, tuple[SourceLocation, ...]], list[int]] = defaultdict(list)
        for each in module.operations:
            alike[each.name, each.location].append(each.index)

        tiles = {_place(each) for each in module.named(*(BULK_LOADS | ALL_BULK_STORES) - ATOMICS)}
        moved = {direction for direction, location in self._by_tma
                 if (direction, location) not in tiles}  # fmt: skip

        def find(operation: Operation) -> tuple[WarpAccess, ...] | str:
            place = _place(operation)
            # Warp specialization gives copies the location of the kernel, or of what uses the tile.
            unknown = place not in self._by_tma and place not in self._by_place
            if place in tiles and place[0] in moved and unknown:
                return ()
            return self.find(operation, alike[operation.name, operation.location])

        return find

    def _of_own(self, operation: Operation) -> tuple[WarpAccess, ...] | str:
        if operation.name in ATOMICS:
            return _NO_COUNTERS
        if operation.name in BULK_LOADS | ALL_BULK_STORES:
            return ()
        found = self._own.get(operation.index, "its layout is not read")
        if not isinstance(found, str):
            return (found,)
        return () if _place(operation) in self._scalar else found

    def find(self, operation: Operation, alike: Sequence[int]) -> tuple[WarpAccess, ...] | str:
        """Return how an access of the ttir is issued, or why that is unknown.

        Args:
            alike: The indexes of all of the ttir with its name and location, in their order: an
                unrolled loop has several.

        Returns:
            Instructions of warps, each time that the access is executed. The compiler may load the
            same elements in several layouts. Empty where the TMA copies them, and where AMD's
            scalar loads bring them past the L1, which make no requests of warps.
        """
        if operation.name in ATOMICS:
            return _NO_COUNTERS
        place = _place(operation)
        found = self._by_place.get(place, [])
        if place in self._by_tma:
            return "some of it is copied by the TMA" if found else ()
        if not found:
            return "the ttgir has no access at its location"
        if place in self._scalar and all(isinstance(each, str) for each in found):
            return ()
        for each in found:
            if isinstance(each, str):
                return each
        issued = [each for each in found if isinstance(each, WarpAccess)]
        # The deepest block is the loop where some are pipelined, which stand before it as well, and
        # on AMD after it. What is loaded in several layouts, or twice in one, is so in each.
        blocks = self._blocks[place]
        of_blocks: defaultdict[_Block, list[WarpAccess]] = defaultdict(list)
        for each, block in zip(issued, blocks, strict=True):
            of_blocks[block].append(each)
        copied = any(each.direction == "copy" for each in issued)
        alone = len(alike) == 1
        first, deepest = of_blocks[blocks[0]], of_blocks[max(blocks)]
        if alone and (copied or all(each == first for each in of_blocks.values())):
            return tuple(deepest)
        # Loads that pipelining makes are alike; those in several layouts are executed each.
        counts = Counter(issued)
        if len(of_blocks) == 1 and len(issued) == len(alike) and not copied:
            return (issued[alike.index(operation.index)],)  # as many, and passes keep the order
        if len(counts) > 1 and (not alone or len(set(counts.values())) > 1):
            return "the ttgir has several different accesses for it"
        return tuple(counts)


def _blocks(module: Module) -> dict[int, _Block]:
    """Return the block of each operation."""
    blocks = dict[int, _Block]()
    for operation in module.operations:
        around, _ = blocks.get(operation.index, (0, 0))
        loops = around + (operation.does in ("for", "while"))
        for region in operation.regions:
            for block in region.blocks:
                blocks.update(dict.fromkeys(block.operations, (loops, block.operations[0])))
    return blocks


#: Operations that leave each element as it is.
_CARRIES = frozenset({"stretch", "insert", "reshape", "split", "transpose", "relayout"})


def find_extending(
    module: Module, issued: Mapping[Place, Sequence[int | str]], known: Collection[Place]
) -> dict[Place, Sequence[int | str]]:
    """Return the widths of the instructions of loads that have none at their own place.

    LLVM makes a narrow load and the extension of its value a single instruction
    (``buffer_load_sbyte``), which takes the location of the extension. Where the ttgir converts the
    value of a load, that is the place of the conversion.

    A place of instructions counts for the loads of a single place, and only if no access stands
    there.
    """
    lost = {place: widths for place, widths in issued.items() if place not in known}
    loads = [each for each in module.named(*LOADS) if ("load", each.location) not in issued]
    if not lost or not loads:
        return {}
    users = _users(module)
    claims: defaultdict[Place, set[Place]] = defaultdict(set)
    for load in loads:
        for user in _converted_by(load, users):
            if ("load", user.location) in lost:
                claims["load", user.location].add(("load", load.location))
    owners: defaultdict[Place, list[Place]] = defaultdict(list)
    for place, claimants in claims.items():
        if len(claimants) == 1:
            owners[next(iter(claimants))].append(place)
    return {load: lost[places[0]] for load, places in owners.items() if len(places) == 1}


def _users(module: Module) -> Mapping[str, Sequence[Operation]]:
    """Return the operations that read each value, by its name without the number of a result."""
    users: defaultdict[str, list[Operation]] = defaultdict(list)
    for operation in module.operations:
        for operand in operation.operands:
            users[operand.partition("#")[0]].append(operation)
    return users


def _converted_by(load: Operation, users: Mapping[str, Sequence[Operation]]) -> Sequence[Operation]:
    """Return the operations that compute with what a load brings."""
    found = list[Operation]()

    def carried(name: str) -> Iterator[str]:
        for user in users.get(name, ()):
            if user.does in _CARRIES:
                yield from (result for result, _ in user.results)
            else:
                found.append(user)

    reach((name for name, _ in load.results), carried)
    return found
