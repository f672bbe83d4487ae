"""Neighbouring threads access memory far apart, so a warp moves far more bytes than it needs.

## What it means

Memory moves in sectors of 32 bytes (AMD: in cache lines of 128 bytes, up to CDNA 2 of 64). Threads
of a warp with contiguous addresses share them: 32 loads of 4 bytes are 4 sectors. If each thread's
address is in a sector of its own, the same loads are 32 sectors, 1,024 bytes for 128. The same
applies to a tile whose rows are a few bytes long and far apart: each row is a sector of its own. It
also applies to contiguous data of which each thread holds more than the 16 bytes that it moves per
request, as where the compiler chose the layout for a mask of bytes.

Where the launch is known, the finding counts the sectors that every request of it touches, and
those that hold as many bytes. Otherwise it takes the elements that one warp holds in the layout
that the compiler chose, and counts sectors where all strides are known, from constants or from the
arguments of the capture. Where a stride is an argument of unknown value, it only reports that
neighbours are that far apart: Triton turns a stride of 1 into a constant, so the value is another
one, unless the argument is excluded from specialization. Accesses through loaded indices are judged
only if the contents of the indices are given. Neighbours that are side by side but take several
narrow instructions are IRL301's.

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

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from irlens.analyze.address_slice import computed_from
from irlens.analyze.addresses import Access, divisors, loaded_scalars
from irlens.analyze.facts import Facts
from irlens.analyze.narrow_accesses import MOST_ARGUMENTS, divisor_of_value, is_multiple
from irlens.analyze.warp_tiles import WarpTile, blocked_layouts, touched_granules, warp_tile
from irlens.isa.mlir.copies import COPIES
from irlens.model.estimate import Cause
from irlens.model.report import Blame, Severity
from irlens.model.several import all_known
from irlens.model.source import SourceLocation
from irlens.rules import Match, Place

if TYPE_CHECKING:
    from irlens.analyze.sector_causes import SectorCause

CODE = "IRL302"
NAME = "uncoalesced-access"
SEVERITY: Severity = "warning"
CAUSE: Cause = "coalescing"
NEEDS = ("ttir", "ttgir", "sectors")

#: Tolerated ratio of touched to needed sectors, or lines.
_TOLERATED = 2
#: Elements between neighbours that a tile of all parts can have: ``tl.split`` takes two apart.
_CLOSE = (2, 4)
_INTERLEAVED = {
    "load": (
        "load all {} parts as one contiguous tile and take them apart (tl.reshape, tl.split), or"
        " keep them apart in memory"
    ),
    "store": (
        "put all {} parts together (tl.join, tl.reshape) and store one contiguous tile, or keep"
        " them apart in memory"
    ),
}
#: Elements of a row that are worth another order of threads.
_ROW = 4
_AS_CONSTANT = "as a tl.constexpr, or without do_not_specialize"
_TOLD = "tell the compiler of N neighbours: tl.max_contiguous(addresses, [{}])"
_ROWS = "let a dimension of the tile follow the contiguous rows, in place of // and %"
_SORT = "sort the indices, or let each of them name a longer row"
_APART = "let neighbouring threads access the dimension that is contiguous in memory"
_NOWHERE = (
    "no dimension of the tile is contiguous in memory: store {} with its dimensions in another"
    " order, or let the tile cover the contiguous one"
)
_ASCENDING = "load ascending addresses, and turn the tile round (tl.flip), or count the other way"
_BESIDE = "an access of a narrower type beside this one, such as a mask, gives each thread more"
_SHORT = "make the tile wider along the dimension that is contiguous in memory"


def find(facts: Facts) -> Iterator[Match]:
    """Yield a finding for each access whose neighbouring threads are far apart."""
    causes = {each.access.line: each for each in facts.sector_causes}
    known = set()
    reported = set()
    for access, tile in _accesses(facts):
        known.add(access.line)
        place = (access.direction, access.source)
        if tile is None or access.source is None or place in reported:
            continue  # products have layouts of their own, which no kernel can choose
        cause = causes.get(access.line)
        if facts.requests(access.line) is None:
            reasons = _estimated(facts, access, tile.tile) if tile.tile is not None else None
        else:
            reasons = _counted(facts, cause, access, tile.tile) if cause is not None else None
        if reasons is not None:
            reported.add(place)
            yield _match(reasons, access.direction, access.source, "ttir", access.line)
    for line, cause in causes.items():
        # Accesses through block pointers, and those of Gluon, whose ttir has none.
        reasons = _counted(facts, cause) if line not in known else None
        if reasons is not None:
            stage = "ttir" if facts.ttir is not None else "ttgir"
            yield _match(reasons, cause.access.direction, cause.access.source, stage, line)


class _Complaint(NamedTuple):
    """What is wrong with an access.

    Attributes:
        kind: "apart", "rows" of a few elements, "short" requests, "broadcast" for requests of few
            elements for many threads, "held" for threads that hold more than they move at a time,
            "untold" for a stride of 1 that the compiler does not know, "values" for others that
            it does not know, "indirect" for loaded addresses.
        dimension: The dimension of the tile that neighbours go along; ``None`` if unknown.
        arguments: Those that are to blame.
    """

    kind: str
    words: str
    hint: str
    dimension: int | None = None
    arguments: Sequence[str] = ()


class _Held(NamedTuple):
    """What one warp holds of a tensor in a layout of its own, if that is blocked and steps even."""

    tile: WarpTile | None


def _accesses(facts: Facts) -> Iterator[tuple[Access, _Held | None]]:
    """Yield the accesses of the ttir, and what a warp holds; ``None`` for a product's layout.

    Copies to shared memory have none of a product, though those to AMD's padded LDS are linear.
    """
    if facts.ttir is None or facts.ttgir is None or facts.addresses is None:
        return
    layouts = blocked_layouts(facts.ttgir)
    copied = {each.location for each in facts.ttgir.named(*COPIES)}
    for access in facts.addresses.accesses(divisors(facts.ttir)):
        layout = layouts.get((access.direction, access.location))
        is_copy = access.direction == "load" and access.location in copied
        tile = warp_tile(access, layout) if layout is not None else None
        yield access, None if layout is None and not is_copy else _Held(tile)


def _match(
    complaint: _Complaint,
    direction: str,
    source: SourceLocation | None,
    stage: str,
    line: int,
) -> Match:
    place = Place(stage, line, source)
    return Match(
        message=f"the {direction}{place} is not coalesced: {complaint.words}",
        hint=complaint.hint,
        place=place,
        blame=Blame(
            reason=complaint.words,
            kind=complaint.kind,
            arguments=[*complaint.arguments],
            dimension=complaint.dimension,
        ),
    )


def _counted(
    facts: Facts,
    cause: "SectorCause",
    access: Access | None = None,
    tile: WarpTile | None = None,
) -> _Complaint | None:
    """Return what is wrong with an access whose requests are known."""
    if cause.kind not in ("apart", "short"):
        return None
    words, counted = facts.words, cause.access
    if cause.kind == "short":
        complaint = _short(facts, cause)
    else:
        complaint = _apart(facts, access, tile, cause)
    touches = f"its {counted.requests:,} requests touch {counted.sectors:,} {words.granule}s"
    counts = f"{touches} of {facts.granule} B where {cause.ideal:,} would do"
    return complaint._replace(words=f"{complaint.words}, and {counts}")


def _short(facts: Facts, cause: "SectorCause") -> _Complaint:
    words = facts.words
    complaint = f"a request has {cause.request_bytes} B, less than a {words.granule}"
    if cause.lane_copies > 1:
        return _Complaint(
            "broadcast",
            f"{complaint}, since {cause.lane_copies} {words.thread}s take each element: the layout"
            " is that of the tile which it is broadcast to",
            f"in a narrower tile fewer {words.thread}s take each element",
        )
    if cause.elements >= 2 * cause.threads:
        hint = "let the compiler know the alignment: strides as tl.constexpr, or hints"
        return _Complaint("short", complaint, hint)
    return _Complaint(
        "short",
        complaint,
        f"give each {words.thread} more neighbours: a larger tile, or fewer {words.warp}s",
    )


def _apart(
    facts: Facts, access: Access | None, tile: WarpTile | None, cause: "SectorCause"
) -> _Complaint:
    """Return how far apart the elements of a warp are."""
    untold = _other_order(facts, access, cause) if access is not None else None
    if untold is not None:
        return untold
    held = _held(facts, cause)
    if held is not None:
        return held
    steps = all_known(tile.steps(facts)) if tile is not None else None
    if tile is None or steps is None:
        pairs = [pair for pair in zip(cause.steps, cause.extents, strict=True) if pair[1] > 1]
        pairs.sort(key=lambda pair: abs(pair[0] or 0))
        tile = WarpTile(tuple(extent for _, extent in pairs), (), cause.element_bytes)
        steps = all_known(step for step, _ in pairs)
    if steps:
        found = _distance(tile, steps, cause.access.direction)
        size, shown = cause.element_bytes, all_known(cause.steps)
        if found.hint != _APART or shown is None or len(shown) == 1 or size in map(abs, shown):
            return found
        return found._replace(hint=_NOWHERE.format(cause.access.argument or "the tensor"))
    if facts.ttir is not None:
        operation = next(
            each for each in facts.ttir.operations if each.span.line == cause.access.line
        )
        if any(each.name == "tt.load" for each in computed_from(facts.ttir, operation, 1)):
            words = "its addresses are loaded from memory and lie apart"
            return _Complaint("indirect", words, _SORT)
    along = zip(cause.steps, cause.extents, strict=True)
    run = cause.runs[-1 if cause.lanes_along is None else cause.lanes_along]
    if any(step == cause.element_bytes and extent == run for step, extent in along):
        return _Complaint("rows", f"rows of the tile are {run:,.0f} elements long", _SHORT)
    if run > 1.5:
        return _Complaint("apart", f"its neighbours {_in_rows(run)}", _ROWS)
    usual = cause.usual_steps[-1 if cause.lanes_along is None else cause.lanes_along]
    if usual is not None and abs(usual) > cause.element_bytes:
        apart = abs(usual) // cause.element_bytes
        words = f"most neighbours in the tile are {apart:,} elements apart"
        return _Complaint("apart", words, _hint_apart(cause.access.direction, apart))
    return _Complaint("apart", f"the addresses of a {facts.words.warp} are far apart", _APART)


def _hint_apart(direction: str, apart: int) -> str:
    return _INTERLEAVED.get(direction, _APART).format(apart) if apart in _CLOSE else _APART


def _in_rows(run: float) -> str:
    return f"lie side by side in rows of {run:.3g} on average"


def _other_order(facts: Facts, access: Access, cause: "SectorCause") -> _Complaint | None:
    """Return that the tile is contiguous along another dimension than threads go along."""
    along, shape, size = cause.lanes_along, access.pointer.shape, cause.element_bytes
    if along is None or along >= len(cause.steps) or len(shape) != len(cause.steps):
        return None
    step = cause.steps[along]
    for dimension, (each, run) in enumerate(zip(cause.steps, cause.runs, strict=True)):
        is_cut = each is None and run >= _ROW and (step or 0) > size
        if not (is_cut or (each is not None and abs(each) == size)) or dimension == along:
            continue
        if cause.extents[dimension] >= shape[dimension] or not step:
            continue  # short rows, which each warp holds completely
        beside = f"dimension {dimension}"
        lies = f"neighbours along {beside} {_in_rows(run)}" if is_cut else f"{beside} is contiguous"
        words = (
            f"threads go along dimension {along} of the tile, whose elements are"
            f" {abs(step) // size:,} apart, and {lies}"
        )
        symbol = access.pointer.axes[dimension].symbol
        if symbol is not None:
            name = symbol.removeprefix("%")
            hint = f"let the compiler know that {name} is 1: {_AS_CONSTANT}"
            return _Complaint("untold", words, hint, dimension, [name])
        if names := _telling(facts, access, dimension):
            hint = f"pass {' and '.join(names)} as tl.constexpr"
            if all(is_multiple(facts, each) for each in names):
                hint = f"let the compiler know {' and '.join(names)}: {_AS_CONSTANT}"
            return _Complaint("values", words, hint, dimension, names)
        told = ["1"] * len(shape)
        told[dimension] = "N"
        hint = f"{_ROWS}, or {_TOLD.format(', '.join(told))}"
        return _Complaint("untold", words, hint, dimension)
    return None


def _telling(facts: Facts, access: Access, dimension: int) -> list[str]:
    """Return the arguments whose values make a dimension contiguous for the compiler."""
    if facts.ttir is None or facts.addresses is None:
        return []
    known = {**dict.fromkeys(loaded_scalars(facts.ttir), 1), **divisors(facts.ttir)}
    if len(known) > MOST_ARGUMENTS:
        return []

    def run(divisors: dict[str, int]) -> int:
        found = facts.addresses.accesses(divisors) if facts.addresses is not None else ()
        axis = next(each for each in found if each.line == access.line).pointer.axes[dimension]
        return axis.run if axis.step == access.element_bytes and not axis.symbol else 1

    told = {name: divisor_of_value(facts, name, known[name]) for name in known}
    best = run(told)
    if best <= run(known):
        return []
    return [
        name.removeprefix("%")
        for name in known
        if told[name] > known[name] and run({**told, name: known[name]}) < best
    ]


def _estimated(facts: Facts, access: Access, tile: WarpTile) -> _Complaint | None:
    """Return what is wrong with a warp's tile; ``None`` if nothing is known to be."""
    steps = tile.steps(facts)
    known = all_known(steps)
    if known is not None:
        return _touches(facts, access, tile, known)
    symbol, unknown = tile.axes[0].symbol, steps.count(None)
    if tile.element_bytes in steps or symbol is None or unknown > 1:
        return None
    name = symbol.removeprefix("%")
    if facts.config.args and name not in facts.config.args:
        return None  # part of an argument, such as the stride 1 of a host's descriptor
    words = f"neighbours in the tile are {name} elements apart, which is not known to be 1"
    return _Complaint("untold", words, _APART, arguments=[name])


def _touches(facts: Facts, access: Access, tile: WarpTile, steps: list[int]) -> _Complaint | None:
    """Count the sectors of a warp's tile, and complain if there are too many."""
    granule, words = facts.granule, facts.words
    if granule is None or not _is_scattered(tile, steps, granule):
        return None
    touched, needed = touched_granules(tile, steps, granule)
    complaint = _distance(tile, steps, access.direction)
    touches = f"a {words.warp} touches {touched} {words.granule}s of {granule} B"
    return complaint._replace(words=f"{complaint.words}, and {touches} where {needed} would do")


def _held(facts: Facts, cause: "SectorCause") -> _Complaint | None:
    """Return that each thread holds more neighbours than one access moves."""
    held, moved = cause.held_bytes, cause.vector * cause.element_bytes
    if held <= moved:
        return None
    return _Complaint(
        "held",
        f"each thread holds {held:,} consecutive bytes and moves {moved} of them per request, so"
        f" that a request leaves gaps of {held - moved} B",
        f"{_fewer(facts, cause)}, so that a thread holds no more than it moves at a time;"
        f" {_BESIDE}",
    )


def _fewer(facts: Facts, cause: "SectorCause") -> str:
    """Return what leaves a thread as few elements as it moves at a time."""
    enough = cause.elements * cause.warps // (cause.vector * cause.threads)
    threads = enough * cause.threads // cause.warps
    if facts.gpu is None or threads <= facts.gpu.arch.threads_per_block:
        return f"raise num_warps to {enough} or make the tile smaller"
    return "give the accesses of the tile types of one size, or make the tile smaller"


def _distance(tile: WarpTile, steps: list[int], direction: str) -> _Complaint:
    """Return what is how far apart.

    Neighbours may be contiguous, but too few of them: then their rows are apart.
    """
    size, row = tile.element_bytes, 1
    for step, extent in zip(steps, tile.extents, strict=True):
        if abs(step) == size * row:
            row *= extent
        elif step and row > 1:
            return _Complaint(
                "rows",
                f"rows of the tile are {row} elements long and {abs(step) // size:,} apart",
                _SHORT,
            )
    apart = abs(steps[0]) // size
    if steps[0] == -size:
        return _Complaint("apart", "neighbours in the tile lie in descending order", _ASCENDING)
    words = f"neighbours in the tile are {apart:,} elements apart"
    return _Complaint("apart", words, _hint_apart(direction, apart))


def _is_scattered(tile: WarpTile, steps: list[int], granule: int) -> bool:
    touched, needed = touched_granules(tile, steps, granule)
    return touched > _TOLERATED * needed
