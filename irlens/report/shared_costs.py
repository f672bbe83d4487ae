"""Conversions between layouts and accesses to shared memory, with what they cost a launch."""

from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from irlens.analyze.facts import Provenance
from irlens.analyze.layout_conversions import find_conversions
from irlens.isa.mlir import Module, Operation
from irlens.isa.mlir.copies import COPIES
from irlens.isa.mlir.operations import Deed
from irlens.model.conversions import Conversion, SharedAccesses
from irlens.model.source import SourceLocation

if TYPE_CHECKING:
    from irlens.analyze.time.counting import CostedLaunch
    from irlens.analyze.time.shared_costs import SharedCosts

#: What accesses shared memory, or shuffles, besides conversions and copies.
_USES_SHARED: frozenset[Deed] = frozenset({
    "reduce", "scan", "histogram", "gather", "atomic", "call", "load shared", "store shared",
    "allocate shared",
})  # fmt: skip
_NO_ACCESS = "its line has no access to shared memory in the machine code"


def find_shared_costs(launch: "CostedLaunch | str") -> "SharedCosts | str":
    """Return what accesses of a launch to shared memory cost, or why that is unknown."""
    if isinstance(launch, str):
        return launch
    from irlens.analyze.time.shared_costs import SharedCosts

    return SharedCosts(launch)


def find_shared_accesses(costs: "SharedCosts | str") -> list[SharedAccesses]:
    """Return the accesses of each line to shared memory, the most expensive first."""
    return [] if isinstance(costs, str) else costs.by_line()


def find_priced(
    module: Module, costs: "SharedCosts | str", provenance: Provenance
) -> list[Conversion]:
    """Return the conversions of a ttgir, the most expensive first.

    Args:
        module: The ttgir.
        provenance: Receives the origin, under "conversions".
    """
    found = list(find_conversions(module))
    if not found:
        return []
    if isinstance(costs, str):
        provenance.known("ttgir, the linear maps of both layouts", "conversions")
        return _ordered(
            replace(each, reason=each.reason or costs) if each.through != "registers" else each
            for _, each in found
        )
    provenance.known("ttgir; cubin, the accesses of a conversion's line", "conversions")
    groups: defaultdict[tuple[SourceLocation, ...], list[Conversion]] = defaultdict(list)
    for operation, each in found:
        groups[operation.location].append(each)
    priced = []
    for frames, members in groups.items():
        priced += _priced(module, frames, members, costs)
    return _ordered(priced)


def _priced(
    module: Module,
    frames: tuple[SourceLocation, ...],
    members: list[Conversion],
    costs: "SharedCosts",
) -> list[Conversion]:
    """Return conversions of one place with their prices, each its part by its bytes."""
    indices = costs.at(frames)
    others = sorted({each.name for each in module.operations if _shares(each, frames)})
    found = []
    for each in members:
        alike = [one for one in members if one.through == each.through]
        own = costs.of_way(indices, each.through) if each.through is not None else []
        reason = each.reason
        if each.through in ("shuffles", "shared memory") and not reason:
            if others:
                reason = f"its line's accesses are also those of {', '.join(others)}"
            elif not own:
                reason = _NO_ACCESS
        if each.through in (None, "registers") or reason:
            found.append(replace(each, reason=reason))
            continue
        whole = sum(one.bytes or 0 for one in alike)
        share = (each.bytes or 0) / whole if whole else 1 / len(alike)
        price = costs.price(own, removed=each.depth > 0, share=share)
        found.append(replace(each, runs=costs.runs(own), price=price))
    return found


def _shares(operation: Operation, frames: tuple[SourceLocation, ...]) -> bool:
    """Whether an operation of a place accesses shared memory, or shuffles, besides conversions."""
    return operation.location == frames and (
        operation.does in _USES_SHARED or operation.name in COPIES
    )


def _ordered(conversions: Iterable[Conversion]) -> list[Conversion]:
    """Return conversions, those that cost most first, then those in the deepest loops."""
    ways = ("shared memory", "shuffles", None, "registers")
    return sorted(
        conversions,
        key=lambda each: (
            -(each.price.us if each.price is not None else 0.0),
            -each.depth,
            ways.index(each.through),
            -(each.bytes or 0),
            each.line,
        ),
    )
