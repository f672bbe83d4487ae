"""Blocked layouts, from the text of ttgir.

A blocked layout deals a tensor out to threads: each holds ``sizePerThread`` neighbours, a warp is
``threadsPerWarp`` threads, a CTA ``warpsPerCTA`` warps, along each dimension; ``order`` names the
dimensions from the fastest to the slowest (Triton, ``TritonGPUAttrDefs.td``,
``BlockedEncodingAttr``).
"""

import re
from math import prod

import msgspec

from irlens.isa.mlir import Module
from irlens.isa.mlir.types import Shaped

_FIELD = re.compile(r"\b(\w{1,40}) = \[([0-9, ]{1,99})\]")
_BLOCKED = ("sizePerThread", "threadsPerWarp", "warpsPerCTA", "order")


class Blocked(msgspec.Struct, frozen=True):
    """A blocked layout; one number per dimension."""

    size_per_thread: tuple[int, ...]
    threads_per_warp: tuple[int, ...]
    warps_per_cta: tuple[int, ...]
    order: tuple[int, ...]

    @property
    def warp_size(self) -> int:
        """Threads of a warp."""
        return prod(self.threads_per_warp)

    def lane(self, number: int) -> tuple[int, ...]:
        """Return the index of the first element that a lane of the first warp holds."""
        index = [0] * len(self.order)
        for dimension in self.order:
            number, place = divmod(number, self.threads_per_warp[dimension])
            index[dimension] = place * self.size_per_thread[dimension]
        return tuple(index)


def layout_of(module: Module, tensor: Shaped) -> str:
    """Return the layout of a tensor in full; empty if it has none."""
    written = tensor.parameters[0] if tensor.parameters else ""
    return module.aliases.get(written, written)


def fields(layout: str) -> dict[str, tuple[int, ...]]:
    """Return the fields of a layout that are lists of numbers."""
    return {name: _integers(values) for name, values in _FIELD.findall(layout)}


def blocked(module: Module, tensor: Shaped) -> Blocked | None:
    """Return the layout of a tensor if it is a blocked one and fits the tensor."""
    layout = layout_of(module, tensor)
    found = fields(layout)
    if not layout.startswith("#ttg.blocked<") or any(name not in found for name in _BLOCKED):
        return None
    sizes, threads, warps, order = (found[name] for name in _BLOCKED)
    ranks = {len(tensor.shape), len(sizes), len(threads), len(warps), len(order)}
    positive = min(sizes + threads + warps, default=0) > 0
    if len(ranks) > 1 or not positive or sorted(order) != list(range(len(order))):
        return None
    return Blocked(sizes, threads, warps, order)


def _integers(values: str) -> tuple[int, ...]:
    return tuple(int(value) for value in values.split(",") if value.strip().isdecimal())
