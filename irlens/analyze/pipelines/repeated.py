"""Bytes that several lanes load, counted once.

A tensor may have fewer elements than a CTA has threads, or the layout of a slice, which all lanes
along the dropped dimension share. AMD's lanes then all load, and many load the same; NVIDIA's
copies are predicated, and only some lanes issue them. The ttgir says how many bytes there are.
"""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TypeAlias

from irlens.model.memory import LoopLoad
from irlens.model.source import SourceLocation

#: File and line.
Place: TypeAlias = tuple[str, int]
#: Bytes per CTA of an iteration of each loop of the source, by the places of its loads.
SourceBytes: TypeAlias = Mapping[Place, Mapping[Place, int | None]]


def place_of(source: SourceLocation | None) -> Place | None:
    """Return what a source location is looked up by; columns differ between stages."""
    return (source.file, source.line) if source is not None else None


def source_bytes(loads: Iterable[LoopLoad]) -> SourceBytes:
    """Return what an iteration of each loop of the source loads; ``None`` is not known.

    A loop in a function that is called twice stands there twice. What the two do not have in
    common is not known.
    """
    loops: dict[Place, dict[int, dict[Place, int | None]]] = {}
    for load in loads:
        loop, place = place_of(load.loop_source), place_of(load.source)
        if loop is None or place is None:
            continue
        there = loops.setdefault(loop, {}).setdefault(load.loop_line, {})
        before, amount = there.get(place, 0), load.bytes_per_iteration
        there[place] = None if before is None or amount is None else before + amount
    return {loop: _in_common(list(alike.values())) for loop, alike in loops.items()}


def _in_common(loops: Sequence[Mapping[Place, int | None]]) -> dict[Place, int | None]:
    found: dict[Place, int | None] = {}
    for place in dict.fromkeys(place for loop in loops for place in loop):
        amounts_there = {loop.get(place) for loop in loops}
        found[place] = amounts_there.pop() if len(amounts_there) == 1 else None
    return found


def amounts(
    reads: Mapping[int, tuple[Place | None, int | None]],
    *,
    threads: int | None,
    copies: int,
    of_source: Mapping[Place, int | None],
) -> dict[int, Fraction | None]:
    """Return the bytes of a CTA that each read of a loop brings and no other lane does.

    Args:
        reads: Place in the source and bytes per lane of each, by what names it.
        threads: Of a CTA.
        copies: Iterations of the source that they make up.
        of_source: Bytes of one such iteration.
    """
    if threads is None:
        return dict.fromkeys(reads)
    share = shares(reads.values(), threads=threads, copies=copies, of_source=of_source)
    unknown = _unknown(reads.values())
    return {
        name: None
        if width is None or place in unknown
        else width * threads * share.get(place, Fraction(1))
        for name, (place, width) in reads.items()
    }


def shares(
    reads: Iterable[tuple[Place | None, int | None]],
    *,
    threads: int,
    copies: int,
    of_source: Mapping[Place, int | None],
) -> dict[Place | None, Fraction]:
    """Return how much of what is loaded at each place is not also loaded by another lane.

    Arguments are those of ``amounts``. Nothing where each place loads twice as much as it has, or
    more: the loop may as well be one that LLVM unrolled, so that an iteration is several of the
    source.
    """
    known = list(reads)
    unknown = _unknown(known)
    loaded: dict[Place, int] = {}
    for place, width in known:
        if place is not None and width is not None and place not in unknown:
            loaded[place] = loaded.get(place, 0) + width * threads
    times = {
        place: Fraction(amount // copies, there)
        for place, amount in loaded.items()
        if amount and (there := of_source.get(place))
    }
    if min(times.values(), default=2) >= 2:
        return {}
    return {place: 1 / max(factor, Fraction(1)) for place, factor in times.items()}


def _unknown(reads: Iterable[tuple[Place | None, int | None]]) -> set[Place]:
    """Return the places of which it is not known how much is loaded there."""
    return {place for place, width in reads if place is not None and width is None}


def total(found: Iterable[Fraction | None]) -> int | None:
    """Add bytes up; ``None`` if any are not known, or what lanes share does not come out even."""
    added = Fraction(0)
    for amount in found:
        if amount is None:
            return None
        added += amount
    return int(added) if added.denominator == 1 else None


def largest(found: Iterable[int | None]) -> int | None:
    """Return the largest, 0 of none; ``None`` if any are not known."""
    most = 0
    for amount in found:
        if amount is None:
            return None
        most = max(most, amount)
    return most
