"""Bytes that several lanes load, counted once.

A tensor may have fewer elements than a CTA has threads, or the layout of a slice, which all lanes
along the dropped dimension share. AMD's lanes then all load, and many load the same; NVIDIA's
copies are predicated, and only some lanes issue them. The ttgir says how many bytes there are.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TypeAlias

import msgspec

from irlens.model.memory import LoopLoad
from irlens.model.source import SourceLocation

#: File and line.
Place: TypeAlias = tuple[str, int]


class SourceLoad(msgspec.Struct, frozen=True):
    """What an iteration of a loop of the source loads at one place.

    Attributes:
        bytes: Per CTA; ``None`` where that is not known.
        widest: Of a single load no access of a thread is wider, in bytes; ``None`` where that is
            not known, or several loads stand there.
    """

    bytes: int | None
    widest: int | None = None


#: What an iteration of each loop of the source loads, by the places of its loads.
SourceBytes: TypeAlias = Mapping[Place, Mapping[Place, SourceLoad]]
#: A load instruction: its place in the source and the bytes that a lane loads.
Read: TypeAlias = tuple[Place | None, int | None]


class Sharing(msgspec.Struct, frozen=True):
    """How much of what a loop's instructions load lanes share.

    Attributes:
        parts: By place how much of it no other lane loads, too, above 0 and at most 1; without
            the places of which that is not known.
        times: How many times what one iteration of the source loads an iteration of the machine
            code does, where that may be because the loop was unrolled; else ``None``.
    """

    parts: dict[Place, Fraction] = {}
    times: Fraction | None = None


class Traffic(msgspec.Struct, frozen=True):
    """Bytes of a CTA that an iteration loads.

    Attributes:
        brought: By read what it brings and no other lane does; ``None`` where not known.
        repeated: By read what lanes bring beyond the first that does; ``None`` where not known.
        times: As in ``Sharing``.
    """

    brought: dict[int, Fraction | None]
    repeated: dict[int, Fraction | None]
    times: Fraction | None = None


def place_of(source: SourceLocation | None) -> Place | None:
    """Return what a source location is looked up by; columns differ between stages."""
    return (source.file, source.line) if source is not None else None


def source_bytes(loads: Iterable[LoopLoad]) -> SourceBytes:
    """Return what an iteration of each loop of the source loads.

    A loop in a function that is called twice stands there twice. What the two do not have in
    common is not known.
    """
    loops: dict[Place, dict[int, dict[Place, SourceLoad]]] = {}
    for load in loads:
        loop, place = place_of(load.loop_source), place_of(load.source)
        if loop is None or place is None:
            continue
        there = loops.setdefault(loop, {}).setdefault(load.loop_line, {})
        amount, before = load.bytes_per_iteration, there.get(place)
        if before is None:
            there[place] = SourceLoad(amount, load.widest_access_bytes)
        else:
            there[place] = SourceLoad(total([before.bytes, amount]))
    return {loop: _in_common(list(alike.values())) for loop, alike in loops.items()}


def expected(of_source: SourceBytes, loop: SourceLocation | None) -> Mapping[Place, SourceLoad]:
    """Return what an iteration of one loop loads; nothing where that is not known."""
    place = place_of(loop)
    return of_source.get(place, {}) if place is not None else {}


def _in_common(loops: Sequence[Mapping[Place, SourceLoad]]) -> dict[Place, SourceLoad]:
    found: dict[Place, SourceLoad] = {}
    for place in dict.fromkeys(place for loop in loops for place in loop):
        there = {loop.get(place) for loop in loops}
        one = there.pop() if len(there) == 1 else None
        found[place] = one if one is not None else SourceLoad(None)
    return found


def find_traffic(
    reads: Mapping[int, Read],
    *,
    threads: int | None,
    copies: int,
    of_source: Mapping[Place, SourceLoad],
) -> Traffic:
    """Return what each read of a loop brings to a CTA.

    Where it is not known what lanes share, they are taken to share nothing.

    Args:
        reads: By what names them.
        threads: Of a CTA; ``None`` leaves the amounts open.
        copies: Iterations of the source that they make up.
        of_source: What one such iteration loads.
    """
    if threads is None:
        return Traffic(dict.fromkeys(reads), dict.fromkeys(reads))
    sharing = share(reads.values(), threads=threads, copies=copies, of_source=of_source)
    unknown = _unknown(reads.values())
    brought: dict[int, Fraction | None] = {}
    repeated: dict[int, Fraction | None] = {}
    for name, (place, width) in reads.items():
        part = sharing.parts.get(place) if place is not None else None
        loaded = None if width is None or place in unknown else Fraction(width * threads)
        brought[name] = loaded if loaded is None or part is None else loaded * part
        repeated[name] = None if loaded is None or part is None else loaded * (1 - part)
    return Traffic(brought, repeated, sharing.times)


def share(
    reads: Iterable[Read],
    *,
    threads: int,
    copies: int,
    of_source: Mapping[Place, SourceLoad],
    certain: bool = False,
) -> Sharing:
    """Find out how much of what is loaded at each place several lanes load.

    Where each place loads twice as much as it has, or more, the loop may as well be one that LLVM
    unrolled, so that an iteration is several of the source.

    Args:
        reads: The loop's.
        threads: Of a CTA.
        copies: Iterations of the source that they make up.
        of_source: What one such iteration loads.
        certain: Whether ``copies`` is, and not only the least that it can be.
    """
    known = list(reads)
    loaded = {place: width * threads for place, width in _loaded(known).items()}
    there = {place: amount for place in loaded if (amount := _bytes(of_source, place))}
    times = {place: Fraction(loaded[place], copies * amount) for place, amount in there.items()}
    unrolled = min(times.values(), default=Fraction(0)) >= 2
    if unrolled and not certain and not _as_in_the_source(known, copies, of_source):
        amount = sum(loaded[place] for place in there)
        return Sharing(times=Fraction(amount, copies * sum(there.values())))
    # Where less is loaded than there is, the rest is loaded elsewhere, by whom is not known.
    return Sharing({place: 1 / factor for place, factor in times.items() if factor >= 1})


def _loaded(reads: Sequence[Read]) -> dict[Place, int]:
    """Return the bytes per lane that are loaded at each place of which it is known."""
    unknown = _unknown(reads)
    loaded: dict[Place, int] = {}
    for place, width in reads:
        if place is not None and width is not None and place not in unknown:
            loaded[place] = loaded.get(place, 0) + width
    return loaded


def _bytes(of_source: Mapping[Place, SourceLoad], place: Place) -> int:
    """Return what the source loads at a place, 0 where that is not known."""
    found = of_source.get(place)
    return (found.bytes or 0) if found is not None else 0


def _as_in_the_source(
    reads: Sequence[Read], copies: int, of_source: Mapping[Place, SourceLoad]
) -> bool:
    """Whether one place shows that there are no more iterations of the source than ``copies``.

    A thread's share of a load of the source is at least its widest access. So an instruction that
    is no wider is not made of those of several iterations, and one for each copy are all.
    """
    often = Counter(place for place, _ in reads)
    return any(
        place is not None
        and width is not None
        and often[place] == copies
        and (there := of_source.get(place)) is not None
        and there.widest is not None
        and width <= there.widest
        for place, width in reads
    )


def _unknown(reads: Iterable[Read]) -> set[Place]:
    """Return the places of which it is not known how much is loaded there."""
    return {place for place, width in reads if place is not None and width is None}


def total(found: Iterable[Fraction | int | None]) -> int | None:
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
