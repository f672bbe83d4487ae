"""What the compiler made of the accesses and products of a ttir, found by their locations."""

from collections import Counter, defaultdict

import msgspec

from irlens.analyze.global_accesses import Assembly
from irlens.analyze.issued_accesses import issued_accesses
from irlens.analyze.warp_requests import SECTOR, WarpAccess
from irlens.isa.mlir import Module, Operation
from irlens.isa.mlir.copies import BULK_COPIES, BULK_STORES, STORES
from irlens.isa.mlir.layouts import read_shaped
from irlens.model.source import SourceLocation


class Issue(msgspec.Struct, frozen=True):
    """How the machine does an access of the ttir.

    Attributes:
        accesses: Instructions of warps, each time that the access is executed. The compiler may
            load the same elements in several layouts. Empty where the TMA copies them, which makes
            no requests of warps.
    """

    accesses: tuple[WarpAccess, ...]


_ATOMICS = frozenset({"tt.atomic_rmw", "tt.atomic_cas", "ttg.atomic_poll"})
_PRODUCTS = frozenset({"tt.dot", "tt.dot_scaled"})
_Place = tuple[str, tuple[SourceLocation, ...]]


class IssueTable:
    """What the compiler made of the accesses and products of a ttir, found by their locations.

    Args:
        module: The ttgir.
        assembly: The kernel in the stage that has its instructions.
        granule: Bytes of the GPU's sector or cache line.
    """

    def __init__(self, module: Module, assembly: Assembly, granule: int = SECTOR) -> None:
        self._by_place: defaultdict[_Place, list[WarpAccess | str]] = defaultdict(list)
        self._by_tma: set[_Place] = set()
        for each in issued_accesses(module, assembly, granule):
            operation = module.operations[each.operation]
            place = ("store" if operation.name in STORES else "load", operation.location)
            self._by_place[place].append(each.access or each.reason or "")
        for operation in module.named(*BULK_COPIES, *BULK_STORES):
            direction = "load" if operation.name in BULK_COPIES else "store"
            self._by_tma.add((direction, operation.location))
        self._on_vectors = frozenset(
            operation.location for operation in module.named(*_PRODUCTS)
            if _is_blocked(module, operation)
        )  # fmt: skip

    def find(self, operation: Operation, *, alone: bool) -> Issue | str:
        """Return how an access of the ttir is issued, or why that is unknown.

        Args:
            operation: The access.
            alone: Whether the ttir has no other one with its location.
        """
        if operation.name in _ATOMICS:
            return "atomic operations have counters of their own"
        place = ("store" if operation.name.endswith("store") else "load", operation.location)
        found = self._by_place.get(place, [])
        if place in self._by_tma:
            return "some of it is copied by the TMA" if found else Issue(())
        if not found:
            return "the ttgir has no access at its location"
        for each in found:
            if isinstance(each, str):
                return each
        # Copies that pipelining makes are alike; loads in several layouts are executed each.
        counts = Counter(each for each in found if isinstance(each, WarpAccess))
        if len(counts) > 1 and (not alone or len(set(counts.values())) > 1):
            return "the ttgir has several different accesses for it"
        return Issue(tuple(counts))

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
