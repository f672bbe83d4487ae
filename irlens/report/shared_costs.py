"""Conversions between layouts and accesses to shared memory, with what they cost a launch."""

from collections.abc import Iterable
from math import prod
from typing import TYPE_CHECKING

from msgspec.structs import replace

from irlens.analyze.facts import Provenance
from irlens.analyze.layout_conversions import find_conversions
from irlens.analyze.mlir_loops import iterations
from irlens.gpus import Gpu
from irlens.isa.mlir import Module, Operation
from irlens.isa.mlir.copies import COPIES
from irlens.isa.mlir.operations import Deed
from irlens.isa.mlir.values import Value
from irlens.model.config import Config
from irlens.model.conversions import Conversion
from irlens.model.several import grouped
from irlens.model.source import SourceLocation

if TYPE_CHECKING:
    from irlens.analyze.time.shared_costs import SharedCosts

#: What accesses shared memory, or shuffles, besides conversions and copies.
_USES_SHARED: frozenset[Deed] = frozenset({
    "reduce", "scan", "histogram", "gather", "call", "load shared", "store shared",
    "allocate shared",
})  # fmt: skip
#: Bytes that a bank moves in a cycle ("LDS" in AMD's and "Shared Memory" in NVIDIA's guides).
_BANK_BYTES = 4
_NO_ACCESS = "its line has no access to shared memory in the machine code"


def find_priced(
    module: Module,
    costs: "SharedCosts | str",
    gpu: Gpu | None,
    config: Config,
    provenance: Provenance,
) -> list[Conversion]:
    """Return the conversions of a ttgir, the most expensive first."""
    found = list(find_conversions(module))
    if not found:
        return []
    if isinstance(costs, str):
        provenance.known("ttgir, the linear maps of both layouts", "conversions")
        return _ordered(
            replace(_at_least(module, operation, each, gpu, config), reason=each.reason or costs)
            if each.through != "registers"
            else each
            for operation, each in found
        )
    provenance.known("ttgir; cubin, the accesses of a conversion's line", "conversions")
    priced = []
    for frames, members in grouped((one.location, each) for one, each in found).items():
        priced += _priced(module, frames, members, costs)
    return _ordered(priced)


def _at_least(
    module: Module, operation: Operation, conversion: Conversion, gpu: Gpu | None, config: Config
) -> Conversion:
    """Return a conversion with its runs, and the least time that they take, where known."""
    runs, grid, moved = _runs(module, operation, config), config.grid, conversion.bytes
    if gpu is None or gpu.product is None or grid is None or moved is None or runs is None:
        return replace(conversion, runs=runs)
    clock, units, banks = gpu.product.clock, gpu.sm_count, gpu.arch.shared_banks
    if gpu.arch.multiprocessor == "WGP":  # whose two halves have banks of their own
        banks = None
    if conversion.through != "shared memory" or not (clock and units and banks):
        return replace(conversion, runs=runs)
    cycles = 2 * moved * runs * prod(grid) / (banks * _BANK_BYTES)
    return replace(conversion, runs=runs, least_us=cycles / units / clock * 1e6)


def _runs(module: Module, operation: Operation, config: Config) -> float | None:
    """Return how often each warp runs an operation; ``None`` if bounds of loops are unknown."""
    runs, values = 1, {n: each for n, each in config.args.items() if isinstance(each, int)}
    while operation.parent is not None:
        operation = module.operations[operation.parent]
        if operation.does == "function":
            break
        times = iterations(module, operation, values) if operation.does == "for" else None
        if times is None:
            return None
        runs *= times
    return float(runs)


def _priced(
    module: Module,
    frames: tuple[SourceLocation, ...],
    members: list[Conversion],
    costs: "SharedCosts",
) -> list[Conversion]:
    """Return conversions of one place with their prices, each its part by its bytes."""
    indices = costs.at(frames)
    others = sorted({each.name for each in module.operations if _shares(module, each, frames)})
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


def _shares(module: Module, operation: Operation, frames: tuple[SourceLocation, ...]) -> bool:
    """Whether an operation of a place accesses shared memory, or shuffles, besides conversions."""
    if operation.location != frames:
        return False
    if operation.does == "atomic":  # whose result passes through shared memory if it has a reader
        return Value(operation.index, 0) in module.values.readers
    return operation.does in _USES_SHARED or operation.name in COPIES


def _ordered(conversions: Iterable[Conversion]) -> list[Conversion]:
    """Return conversions, those that cost most first, then those in the deepest loops."""
    ways = ("shared memory", "shuffles", None, "registers")
    return sorted(
        conversions,
        key=lambda each: (
            -(each.price.us if each.price is not None else each.least_us or 0.0),
            -each.depth,
            ways.index(each.through),
            -(each.bytes or 0),
            each.line,
        ),
    )
