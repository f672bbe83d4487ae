"""A program takes the same elements several times: in several CTAs, warps, lanes or rows of a tile.

## What it means

A tile with fewer elements than the program has threads is held by several warps, and each of them
loads it: 64 elements with `num_warps=4`, where two warps have a thread for each. Stores are made by
one of these warps alone.

A tile of few elements that is broadcast to a larger one may be loaded in the layout of the larger
one, where lanes hold the same element and a warp takes one request for each element.

Of a cluster (`num_ctas`), each CTA loads all of a tile that the others need too: an operand of a
product whose CTAs share its rows.

The same happens inside a tile whose addresses repeat: where the address does not depend on one of
its dimensions, where `offsets // 2` names each element twice, or where the rows of a tile are
windows that overlap. A request takes each sector once, but the tile's other requests take it again.

The finding is reported where such an access touches a tenth more sectors than hold its distinct
bytes, and at least half of these for this reason. The L1 serves most of them, so less is saved in
DRAM; requests, registers and instructions are saved too.

## Example

```python
offsets = tl.program_id(0) * 64 + tl.arange(0, 64)     # num_warps=4: 128 threads
x = tl.load(x_ptr + offsets)
```

## What to do

* Fewer elements than threads: compile with as few warps as have a thread for each element and fill
  their sectors (AMD: lines), or let a program compute several rows.
* CTAs of a cluster: compile with `num_ctas=1`.
* An address that does not depend on a dimension: load the tile without it and broadcast the value
  (`tl.load(pointers)[:, None]`), not the pointers.
* Elements that repeat, or windows that overlap: load each element once and spread it
  (`tl.reshape` of a broadcast, `tl.gather`), if requests limit the kernel.

## Targets

NVIDIA and AMD, where the launch is known.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from irlens.analyze.facts import Facts
from irlens.analyze.mlir_loops import user_line
from irlens.isa.mlir.copies import LOADS
from irlens.isa.mlir.encodings import encoding_of
from irlens.model.estimate import Cause
from irlens.model.report import Blame, Severity
from irlens.rules import Match, Place

if TYPE_CHECKING:
    from irlens.analyze.sector_causes import SectorCause

CODE = "IRL309"
NAME = "repeated-elements"
SEVERITY: Severity = "note"
NEEDS = ("ttir", "ttgir", "sectors")
CAUSE: Cause = "coalescing"

_CONVERTED = (
    "; both may have the compiler convert it to the layout of the tile that it meets, in every"
    " iteration: compare the times"
)
#: Neighbours with the same address, of all neighbours along a dimension, that repeat elements.
_STILL = 0.3


def find(facts: Facts) -> Iterator[Match]:
    """Yield a finding for each access that mostly takes the same elements again.

    A single value is a request of each warp: what that is beside the rest of the launch is unknown
    where the rest is.
    """
    is_partial = facts.traffic is None or bool(facts.traffic.reason)
    for cause in facts.sector_causes:
        if cause.elements == 1 and is_partial:
            continue
        if cause.kind in ("ctas", "warps", "lanes", "repeated"):
            yield _finding(facts, cause)


def _finding(facts: Facts, cause: "SectorCause") -> Match:
    access, words, kind = cause.access, facts.words, str(cause.kind)
    still = []
    if cause.kind == "repeated":
        still = _still(cause)
        kind, complaint, hint = _repeated(cause)
    elif cause.kind == "ctas":
        complaint = f"takes the same elements in each of the cluster's {facts.config.num_ctas} CTAs"
        hint = "num_ctas=1 takes them once"
    else:
        complaint, hint = (_warps if cause.kind == "warps" else _lanes)(facts, cause)
    place = Place("ttir", access.line, access.source)
    return Match(
        message=(
            f"the {access.direction} of {access.argument}{place} {complaint}, and its"
            f" {access.requests or 0:,} requests touch {access.sectors or 0:,} {words.granule}s of"
            f" {facts.granule} B where {cause.ideal:,} would do"
        ),
        hint=hint,
        place=place,
        blame=Blame(
            reason=complaint,
            kind=kind,
            dimension=still[0] if still else None,
            suffices=_enough_warps(facts, cause),
        ),
    )


def _still(cause: "SectorCause") -> list[int]:
    """Return the dimensions of the tile along which the address stays."""
    return [n for n, step in enumerate(cause.steps) if step == 0]


def _warps(facts: Facts, cause: "SectorCause") -> tuple[str, str]:
    warp, thread = facts.words.warp, facts.words.thread
    repeated = f"in each of {cause.copies} {warp}s"
    if cause.elements == 1:
        return (
            f"takes the same element {repeated}",
            f"give each program more work, or fewer {warp}s (num_warps)",
        )
    if cause.elements < cause.threads:
        return (
            f"takes the same elements {repeated}: the tile has {cause.elements} elements for"
            f" {cause.threads} {thread}s",
            f"num_warps {_enough_warps(facts, cause)}, or a tile of {cause.threads} elements or"
            f" more{_CONVERTED * _has_layout_of_tile(facts, cause)}",
        )
    return (
        f"takes the same elements {repeated}, whose layout repeats them",
        f"fewer {warp}s (num_warps), or a tile that is wider along this dimension",
    )


def _has_layout_of_tile(facts: Facts, cause: "SectorCause") -> bool:
    """Whether a loop loads a vector in the layout of the tile that it meets."""
    source, ttgir = cause.access.source, facts.ttgir
    if ttgir is None or all(each.source != source for each in facts.loads):
        return False
    reads = (each for each in ttgir.named(*LOADS) if user_line(each) == source)
    tensors = (kind for each in reads for kind in (each.operand_type, each.result_type))
    layouts = (encoding_of(ttgir, each) for each in tensors)
    return any(each is not None and each.kind == "slice" for each in layouts)


def _enough_warps(facts: Facts, cause: "SectorCause") -> int | None:
    """Return how many warps have a thread for each element and fill their sectors."""
    if cause.kind != "warps":
        return None
    full = cause.elements * cause.element_bytes // (facts.granule or 1)
    return max(1, min(cause.warps // cause.copies, full))


def _lanes(facts: Facts, cause: "SectorCause") -> tuple[str, str]:
    warp, thread = facts.words.warp, facts.words.thread
    return (
        f"takes each element in {cause.lane_copies} {thread}s of a {warp}: its layout is that of a"
        " tile that the value is broadcast to",
        f"a tile of {cause.threads} elements or more keeps a layout of its own; or fewer {warp}s"
        " (num_warps)",
    )


def _repeated(cause: "SectorCause") -> tuple[str, str, str]:
    """Return which elements repeat, "repeated" neighbours or "overlapping" parts, and the words."""
    times = f"{cause.repeats:.3g} times" if cause.repeats < 999.5 else f"{cause.repeats:,.0f} times"
    if still := _still(cause):
        return (
            "repeated",
            f"takes each element {times}: its address does not depend on dimension {still[0]} of"
            " the tile",
            "load the tile without this dimension, and broadcast the value instead of the pointers",
        )
    known = [step for step in cause.steps if step]
    if len(known) == len(cause.steps) > 1:
        return (
            "overlapping",
            f"takes each element {times}: the rows of the tile are windows that overlap",
            "load each element once and spread it over the windows with tl.gather",
        )
    if cause.still < _STILL:
        return (
            "overlapping",
            f"takes each element {times}: parts of the tile overlap, as a convolution's windows do",
            "load each element once and spread it over the windows, if requests limit the kernel",
        )
    return (
        "repeated",
        f"takes each element {times}: neighbours in the tile have the same address",
        "load each element once and repeat the value (tl.reshape of a broadcast, or tl.gather)",
    )
