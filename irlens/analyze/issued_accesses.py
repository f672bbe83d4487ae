"""Accesses of a ttgir as the machine issues them: their layout, and an instruction's width."""

import re
from typing import Literal

import msgspec

from irlens.analyze.global_accesses import Assembly, Direction, access_widths
from irlens.analyze.warp_requests import SECTOR, Access
from irlens.isa.mlir import Module, Operation
from irlens.isa.mlir.encoding_maps import Unmapped, linear_map
from irlens.isa.mlir.layouts import element_bits, read_shaped
from irlens.isa.mlir.linear_maps import LinearMap

_DIRECTIONS: dict[str, Literal["load", "store", "copy"]] = {
    "tt.load": "load",
    "tt.store": "store",
    "ttg.async_copy_global_to_local": "copy",
}
_POINTER = re.compile(r"!tt\.ptr<([^<>,]+)(?:, \d+)?>")


class IssuedAccess(msgspec.Struct, frozen=True):
    """A load, store or asynchronous copy.

    Attributes:
        operation: Index of the operation in the ttgir.
        access: How the machine accesses the elements; ``None`` if unknown.
        reason: Why it is unknown.
    """

    operation: int
    access: Access | None
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
    for operation in module.named(*_DIRECTIONS):
        direction = _DIRECTIONS[operation.name]
        machine: Direction = "store" if direction == "store" else "load"
        issued = widths.get((machine, operation.location), frozenset())
        access = _access(module, operation, issued, granule)
        if isinstance(access, str):
            found.append(IssuedAccess(operation.index, None, access))
        else:
            found.append(IssuedAccess(operation.index, access))
    return tuple(found)


def _access(
    module: Module, operation: Operation, widths: frozenset[int], granule: int
) -> Access | str:
    """Return how an operation's elements are accessed, or why that is unknown."""
    pointer = operation.operand_types[0] if operation.operand_types else ""
    tensor = None if pointer.startswith("!") else read_shaped(pointer)
    match = _POINTER.fullmatch(tensor.element if tensor else pointer)
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
        return Access(layout, _DIRECTIONS[operation.name], max(bits // 8, 1), width, granule)
    except ValueError as error:
        return str(error)


def _scalar(module: Module) -> LinearMap | Unmapped:
    """Return the map of a value that every thread of a CTA holds."""
    bases = []
    for name in ("ttg.threads-per-warp", "ttg.num-warps"):
        number = module.attributes.get(name, "").partition(" ")[0]
        if not number.isdecimal() or int(number) < 1:
            return Unmapped(f"the module has no {name}")
        bases.append(((),) * (int(number).bit_length() - 1))
    return LinearMap((), (), bases[0], bases[1], ())
