"""Accesses of a ttgir as the machine issues them: their layout, and an instruction's width."""

import re
from typing import Literal

import msgspec

from irlens.analyze.global_accesses import Assembly, Direction, access_widths
from irlens.analyze.warp_requests import SECTOR, WarpAccess
from irlens.isa.mlir import Module, Operation
from irlens.isa.mlir.copies import BULK_COPIES, BULK_STORES, COPIES, LOADS, STORES
from irlens.isa.mlir.encoding_maps import Unmapped, linear_map
from irlens.isa.mlir.layouts import element_bits, read_shaped
from irlens.isa.mlir.linear_maps import LinearMap
from irlens.model.source import SourceLocation

_POINTER = re.compile(r"!tt\.ptr<([^<>,]+)(?:, \d+)?>")


class IssuedAccess(msgspec.Struct, frozen=True):
    """A load, store or asynchronous copy.

    Attributes:
        operation: Index of the operation in the ttgir.
        access: How the machine accesses the elements; ``None`` if unknown.
        reason: Why it is unknown.
    """

    operation: int
    access: WarpAccess | None
    reason: str | None = None


def issued_accesses(
    module: Module, assembly: Assembly, granule: int = SECTOR
) -> tuple[IssuedAccess, ...]:
    """Return the accesses of a ttgir to global memory through pointers, in the order of the text.

    Args:
        module: The ttgir.
        assembly: The kernel in the stage that has its instructions.
        granule: Bytes of the GPU's sector or cache line.
    """
    widths = access_widths(assembly)
    found = []
    for operation in module.named(*LOADS, *STORES, *COPIES):
        machine: Direction = "store" if operation.name in STORES else "load"
        issued = widths.get((machine, operation.location), frozenset())
        access = _access(module, operation, issued, granule)
        if isinstance(access, str):
            found.append(IssuedAccess(operation.index, None, access))
        else:
            found.append(IssuedAccess(operation.index, access))
    return tuple(found)


class Issue(msgspec.Struct, frozen=True):
    """How an operation's elements are accessed.

    Attributes:
        access: By the instructions of warps; ``None`` where the TMA copies them, which makes no
            requests of warps.
    """

    access: WarpAccess | None


_ATOMICS = frozenset({"tt.atomic_rmw", "tt.atomic_cas", "ttg.atomic_poll"})
_PRODUCTS = frozenset({"tt.dot", "tt.dot_scaled"})


class IssueTable:
    """What the compiler made of the accesses and products of a ttir, found by their locations.

    Args:
        module: The ttgir.
        assembly: The kernel in the stage that has its instructions.
        granule: Bytes of the GPU's sector or cache line.
    """

    def __init__(self, module: Module, assembly: Assembly, granule: int = SECTOR) -> None:
        self._by_place: dict[tuple[str, tuple[SourceLocation, ...]], list[Issue | str]] = {}
        for each in issued_accesses(module, assembly, granule):
            operation = module.operations[each.operation]
            direction = "store" if operation.name in STORES else "load"
            issue = each.reason or "" if each.access is None else Issue(each.access)
            self._by_place.setdefault((direction, operation.location), []).append(issue)
        for operation in module.operations:
            if operation.name in BULK_COPIES | BULK_STORES:
                direction = "load" if operation.name in BULK_COPIES else "store"
                self._by_place.setdefault((direction, operation.location), []).append(Issue(None))
        self._on_vectors = frozenset(
            operation.location for operation in module.named(*_PRODUCTS)
            if _is_blocked(module, operation)
        )  # fmt: skip

    def find(self, operation: Operation) -> Issue | str:
        """Return how an access of the ttir is issued, or why that is unknown."""
        if operation.name in _ATOMICS:
            return "atomic operations have counters of their own"
        direction = "store" if operation.name.endswith("store") else "load"
        found = self._by_place.get((direction, operation.location), [])
        if not found:
            return "the ttgir has no access at its location"
        if any(each != found[0] for each in found):
            reasons = [each for each in found if isinstance(each, str)]
            return reasons[0] if reasons else "the ttgir has several different accesses for it"
        return found[0]

    def on_tensor_cores(self, product: Operation) -> bool:
        """Return whether tensor cores compute a matrix product of the ttir."""
        return product.location not in self._on_vectors


def _is_blocked(module: Module, product: Operation) -> bool:
    """Return whether a product's result has the layout of products without tensor cores."""
    kinds = product.result_types or product.operand_types[-1:]
    shaped = read_shaped(kinds[0]) if kinds else None
    if shaped is None or not shaped.parameters:
        return False
    layout = shaped.parameters[0]
    return "blocked" in module.aliases.get(layout, layout)


def _access(
    module: Module, operation: Operation, widths: frozenset[int], granule: int
) -> WarpAccess | str:
    """Return how an operation's elements are accessed, or why that is unknown."""
    pointer = operation.operand_types[0] if operation.operand_types else ""
    match = _POINTER.fullmatch(pointer)
    # AMD's buffer accesses name a scalar pointer first, and then a tensor of values or offsets.
    written = (*operation.operand_types, *operation.result_types)
    tensor = next((read_shaped(kind) for kind in written if kind.startswith("tensor<")), None)
    if tensor is not None and match is None:
        match = _POINTER.fullmatch(tensor.element)
    bits = element_bits(match[1]) if match else None
    if bits is None:
        return f"{pointer} is not a pointer to elements of a known width"
    if len(widths) != 1:
        return "its instructions differ in width" if widths else "no instruction has its location"
    layout = _scalar(module)
    if tensor is not None:
        layout = linear_map(
            tensor.parameters[0] if tensor.parameters else "", tensor.shape, module.aliases
        )
    if isinstance(layout, Unmapped):
        return layout.reason
    (width,) = widths
    try:
        return WarpAccess(layout, _direction(operation), max(bits // 8, 1), width, granule)
    except ValueError as error:
        return str(error)


def _direction(operation: Operation) -> Literal["load", "store", "copy"]:
    if operation.name in STORES:
        return "store"
    return "copy" if operation.name in COPIES else "load"


def _scalar(module: Module) -> LinearMap | Unmapped:
    """Return the map of a value that every thread of a CTA holds."""
    bases = []
    for name in ("ttg.threads-per-warp", "ttg.num-warps"):
        number = module.attributes.get(name, "").partition(" ")[0]
        if not number.isdecimal() or int(number) < 1:
            return Unmapped(f"the module has no {name}")
        bases.append(((),) * (int(number).bit_length() - 1))
    return LinearMap((), (), bases[0], bases[1], ())
