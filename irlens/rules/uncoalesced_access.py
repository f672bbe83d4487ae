"""Neighbouring threads access memory far apart, so a warp moves far more bytes than it needs.

## What it means

Memory moves in sectors of 32 bytes (AMD: in cache lines of 128 bytes, up to CDNA 2 of 64). Threads
of a warp with contiguous addresses share them: 32 loads of 4 bytes are 4 sectors. If each thread's
address is in a sector of its own, the same loads are 32 sectors, 1,024 bytes for 128. The same
applies to a tile whose rows are a few bytes long and far apart: each row is a sector of its own.

The finding takes the elements that one warp holds in the layout that the compiler chose, and counts
sectors where all strides are known, from constants or from the arguments of the capture. Where a
stride is an argument of unknown value, it only reports that neighbours are that far apart: Triton
turns a stride of 1 into a constant, so the value is another one, unless the argument is excluded
from specialization. Accesses through loaded indices are not judged.

Sectors and lines that a cache still holds are counted all the same.

## Example

```python
columns = tl.arange(0, 32)
x = tl.load(x_ptr + columns * n_rows + row)     # down a column of a row-major matrix
```

## What to do

* Load along the dimension that is contiguous in memory, as a tile of both dimensions if necessary,
  and transpose in registers (`tl.trans`).
* Make a tile of short rows wider along that dimension, with fewer rows if necessary.
* Transpose the data in memory, if it is read more often than written.
* If the stride is always 1, let Triton know: as a `tl.constexpr`, or without `do_not_specialize`.

## Targets

NVIDIA, in sectors of 32 bytes, and AMD, in cache lines where their size is confirmed: on RDNA 4
and CDNA 5 it is not, and only strides of unknown value are reported.
"""

from collections.abc import Iterator
from math import ceil, prod

import msgspec

from irlens.analyze.addresses import Access, divisors
from irlens.analyze.axis_info import Axis
from irlens.analyze.facts import Facts
from irlens.isa.mlir import Module
from irlens.isa.mlir.copies import COPIES, LOADS, STORES
from irlens.isa.mlir.layouts import Blocked, blocked, read_shaped
from irlens.model.report import Severity
from irlens.model.source import SourceLocation
from irlens.rules import Match

CODE = "IRL302"
NAME = "uncoalesced-access"
SEVERITY: Severity = "warning"

#: Tolerated ratio of touched to needed sectors, or lines.
_TOLERATED = 2
#: Elements of a warp's tile; real ones have hundreds.
_LARGEST_TILE = 1 << 14
_APART = "let neighbouring threads access the dimension that is contiguous in memory"
_SHORT = "make the tile wider along the dimension that is contiguous in memory"
_DIRECTIONS = {**dict.fromkeys(LOADS | COPIES, "load"), **dict.fromkeys(STORES, "store")}


class _Tile(msgspec.Struct, frozen=True):
    """The elements that one warp holds: their number along each axis, and the step between them."""

    extents: tuple[int, ...]
    axes: tuple[Axis, ...]


def find(facts: Facts) -> Iterator[Match]:
    """Yield a finding for each access whose neighbouring threads are far apart."""
    if facts.ttir is None or facts.ttgir is None or facts.addresses is None:
        return
    layouts = _layouts(facts.ttgir)
    reported = set()
    for access in facts.addresses.accesses(divisors(facts.ttir)):
        layout = layouts.get((access.direction, access.location))
        place = (access.direction, access.source)
        if layout is None or access.source is None or place in reported:
            continue
        tile = _tile(access, layout)
        reasons = _complaint(facts, access, tile, layout) if tile else None
        if reasons is None:
            continue
        complaint, hint = reasons
        reported.add(place)
        yield Match(
            message=f"the {access.direction} at {access.source} is not coalesced: {complaint}",
            hint=hint,
            stage="ttir",
            line=access.line,
            source=access.source,
        )


def _layouts(module: Module) -> dict[tuple[str, tuple[SourceLocation, ...]], Blocked]:
    """Return the blocked layouts of accesses by their place."""
    layouts = {}
    for operation in module.named(*_DIRECTIONS):
        # A tensor of pointers comes first, but AMD's buffer accesses have one of offsets instead.
        written = (*operation.operand_types, *operation.result_types)
        tensors = filter(None, map(read_shaped, written))
        layout = next(filter(None, (blocked(module, tensor) for tensor in tensors)), None)
        if layout is not None and operation.location:
            layouts[_DIRECTIONS[operation.name], operation.location] = layout
    return layouts


def _tile(access: Access, layout: Blocked) -> _Tile | None:
    """Return the tile of one warp, if its elements are even steps apart along every axis."""
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
    return _Tile(extents, pointer.axes)


def _complaint(
    facts: Facts, access: Access, tile: _Tile, layout: Blocked
) -> tuple[str, str] | None:
    """Return what is wrong with an access, and a hint; ``None`` if nothing is known to be."""
    spread = [n for n in layout.order if tile.extents[n] > 1]
    if not spread or prod(tile.extents) > _LARGEST_TILE:
        return None
    steps = [_step(facts, tile.axes[n]) for n in spread]
    known = [step for step in steps if step is not None]
    if len(known) == len(steps):
        return _sectors(facts, access, known, [tile.extents[n] for n in spread])
    symbol = tile.axes[spread[0]].symbol
    if access.element_bytes in known or symbol is None or len(spread) > len(known) + 1:
        return None
    name = symbol.removeprefix("%")
    if facts.config.args and name not in facts.config.args:
        return None  # part of an argument, such as the stride 1 of a host's descriptor
    return f"neighbours in the tile are {name} elements apart, which is not known to be 1", _APART


def _sectors(
    facts: Facts, access: Access, steps: list[int], extents: list[int]
) -> tuple[str, str] | None:
    """Count sectors one by one, and complain if there are too many; the fastest axis is first."""
    offsets = {0}
    for step, extent in zip(steps, extents, strict=True):
        offsets = {offset + step * index for offset in offsets for index in range(extent)}
    size = access.element_bytes
    granule = facts.gpu.arch.memory_granule if facts.gpu is not None else None
    if granule is None:
        return None
    touched = len(
        {
            sector
            for offset in offsets
            for sector in range(offset // granule, (offset + size - 1) // granule + 1)
        }
    )
    needed = ceil(len(offsets) * size / granule)
    if touched <= _TOLERATED * needed:
        return None
    apart, hint = _distance(size, steps, extents)
    words = facts.words
    touches = f"a {words.warp} touches {touched} {words.granule}s of {granule} B"
    return f"{apart}, and {touches} where {needed} would do", hint


def _distance(size: int, steps: list[int], extents: list[int]) -> tuple[str, str]:
    """Return what is how far apart, and a hint; ``size`` and ``steps`` in bytes.

    Neighbours may be contiguous, but too few of them: then their rows are apart.
    """
    row = 1
    for step, extent in zip(steps, extents, strict=True):
        if abs(step) == size * row:
            row *= extent
        elif step and row > 1:
            return (
                f"rows of the tile are {row} elements long and {abs(step) // size:,} apart",
                _SHORT,
            )
    return f"neighbours in the tile are {abs(steps[0]) // size:,} elements apart", _APART


def _step(facts: Facts, axis: Axis) -> int | None:
    """Return a step in bytes, if it is a number or an argument whose value is known."""
    if axis.symbol is None or axis.step is None:
        return axis.step
    value = facts.config.args.get(axis.symbol.removeprefix("%"))
    return axis.step * value if isinstance(value, int) else None
