"""The elements of an access that one warp holds, and how far apart they lie in memory."""

from math import ceil, prod

import msgspec

from irlens.analyze.addresses import Access
from irlens.analyze.axis_info import Axis
from irlens.analyze.facts import Facts
from irlens.isa.mlir import Module
from irlens.isa.mlir.copies import COPIES, LOADS, STORES
from irlens.isa.mlir.encodings import Blocked, blocked
from irlens.model.source import SourceLocation

#: Elements of a warp's tile; real ones have hundreds.
_LARGEST_TILE = 1 << 14
_DIRECTIONS = {**dict.fromkeys(LOADS | COPIES, "load"), **dict.fromkeys(STORES, "store")}


class WarpTile(msgspec.Struct, frozen=True):
    """The elements that one warp holds: their number along each axis, and the step between them.

    Attributes:
        extents: Elements along each axis that has several, the fastest of the layout first.
    """

    extents: tuple[int, ...]
    axes: tuple[Axis, ...]
    element_bytes: int

    def steps(self, facts: Facts) -> list[int | None]:
        """Return the step along each axis in bytes; ``None`` where it is not known."""
        return [_step(facts, axis) for axis in self.axes]


def warp_tile(access: Access, layout: Blocked) -> WarpTile | None:
    """Return the tile of one warp, if its elements are even steps apart along every axis.

    ``None`` too if the warp has a single element, or very many.
    """
    pointer = access.pointer
    if len(pointer.shape) != len(layout.order):
        return None
    extents = tuple(
        min(size * threads, extent)
        for size, threads, extent in zip(
            layout.size_per_thread, layout.threads_per_warp, pointer.shape, strict=True
        )
    )
    if any(axis.run < extent for axis, extent in zip(pointer.axes, extents, strict=True)):
        return None
    spread = [n for n in layout.order if extents[n] > 1]
    if not spread or prod(extents) > _LARGEST_TILE:
        return None
    return WarpTile(
        tuple(extents[n] for n in spread),
        tuple(pointer.axes[n] for n in spread),
        access.element_bytes,
    )


def touched_granules(tile: WarpTile, steps: list[int], granule: int) -> tuple[int, int]:
    """Return how many sectors, or lines, a tile touches, and how many hold its bytes."""
    offsets = {0}
    for step, extent in zip(steps, tile.extents, strict=True):
        offsets = {offset + step * index for offset in offsets for index in range(extent)}
    size = tile.element_bytes
    touched = {
        sector
        for offset in offsets
        for sector in range(offset // granule, (offset + size - 1) // granule + 1)
    }
    return len(touched), ceil(len(offsets) * size / granule)


def blocked_layouts(module: Module) -> dict[tuple[str, tuple[SourceLocation, ...]], Blocked]:
    """Return the blocked layouts of accesses by their place."""
    layouts = {}
    for operation in module.named(*_DIRECTIONS):
        # A tensor of pointers comes first, but AMD's buffer accesses have one of offsets instead.
        layout = next(filter(None, (blocked(module, each) for each in operation.types)), None)
        if layout is not None and operation.location:
            layouts[_DIRECTIONS[operation.name], operation.location] = layout
    return layouts


def _step(facts: Facts, axis: Axis) -> int | None:
    """Return a step in bytes, if it is a number or an argument whose value is known."""
    if axis.symbol is None or axis.step is None:
        return axis.step
    value = facts.config.args.get(axis.symbol.removeprefix("%"))
    return axis.step * value if isinstance(value, int) else None
