"""Bytes that an iteration brings to a CTA, where several lanes load the same ones.

A tensor may have fewer elements than a CTA has threads, or the layout of a slice, which all lanes
along the dropped dimension share. On AMD all lanes then load, and many load the same bytes; on
NVIDIA the copies are predicated, and only some lanes issue them. The ttgir says how many bytes an
iteration of the source loads, so each byte can be counted once.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TypeAlias

import msgspec

from irlens.isa.dialect import Instruction
from irlens.model.memory import LoopLoad
from irlens.model.several import all_known, only
from irlens.model.source import SourceLocation, user_frame

#: File and line: columns differ between stages.
Place: TypeAlias = tuple[str, int]


class SourceLoad(msgspec.Struct, frozen=True):
    """What an iteration of a source loop loads at one place.

    Attributes:
        bytes: Per CTA; ``None`` if unknown.
        widest: Upper bound of a thread's access width in bytes, where a single load stands there;
            ``None`` if unknown.
    """

    bytes: int | None
    widest: int | None = None


#: What an iteration of each source loop loads, by the places of the loop and of its loads.
SourceBytes: TypeAlias = Mapping[Place, Mapping[Place, SourceLoad]]
#: A load instruction: its place in the source and the bytes that a lane loads.
Read: TypeAlias = tuple[Place | None, int | None]


class Sharing(msgspec.Struct, frozen=True):
    """How much of the loaded bytes lanes share.

    Attributes:
        parts: By place the fraction that no other lane loads, above 0 and at most 1; without the
            places where it is unknown.
        times: Bytes loaded by an iteration of the machine code, as a multiple of those of a source
            iteration, where unrolling may explain the difference; else ``None``.
    """

    parts: dict[Place, Fraction] = {}
    times: Fraction | None = None


class Traffic(msgspec.Struct, frozen=True):
    """Bytes that a CTA loads per iteration.

    Attributes:
        brought: By read the distinct bytes it brings; ``None`` if unknown.
        repeated: By read the bytes that lanes load again; ``None`` if unknown.
        times: As in ``Sharing``.
    """

    brought: dict[int, Fraction | None]
    repeated: dict[int, Fraction | None]
    times: Fraction | None = None


def place_of(source: SourceLocation | None) -> Place | None:
    """Return the key of a source location in ``SourceBytes``."""
    return (source.file, source.line) if source is not None else None


def place_in_kernel(instruction: Instruction) -> Place | None:
    """Return where an instruction stands in the kernel's own file, as a key of ``SourceBytes``."""
    return place_of(user_frame(instruction.locations))


def source_bytes(loads: Iterable[LoopLoad]) -> SourceBytes:
    """Return what an iteration of each source loop loads.

    A loop in a function that is called twice occurs twice; where the two differ, the bytes are
    unknown.
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
    return {loop: _common_loads(list(copies.values())) for loop, copies in loops.items()}


def loads_of_loop(
    of_source: SourceBytes, loop: SourceLocation | None
) -> Mapping[Place, SourceLoad]:
    """Return what an iteration of one source loop loads; empty if unknown."""
    place = place_of(loop)
    return of_source.get(place, {}) if place is not None else {}


def _common_loads(loops: Sequence[Mapping[Place, SourceLoad]]) -> dict[Place, SourceLoad]:
    common: dict[Place, SourceLoad] = {}
    for place in dict.fromkeys(place for loop in loops for place in loop):
        common[place] = only(loop.get(place) for loop in loops) or SourceLoad(None)
    return common


def find_traffic(
    reads: Mapping[int, Read],
    *,
    threads: int | None,
    copies: int,
    of_source: Mapping[Place, SourceLoad],
    certain: bool = False,
) -> Traffic:
    """Return what each read of a loop brings to a CTA.

    Where it is unknown what lanes share, they count as sharing nothing.

    Args:
        reads: The loop's reads, by any number that identifies them.
        threads: Of a CTA; ``None`` leaves the amounts open.
        copies: Source iterations per iteration of the loop.
        certain: Whether ``copies`` is exact, and not only a lower bound.
    """
    if threads is None:
        return Traffic(dict.fromkeys(reads), dict.fromkeys(reads))
    sharing = share(
        reads.values(), threads=threads, copies=copies, of_source=of_source, certain=certain
    )
    unknown = _unknown_places(reads.values())
    brought: dict[int, Fraction | None] = {}
    repeated: dict[int, Fraction | None] = {}
    for number, (place, width) in reads.items():
        part = sharing.parts.get(place) if place is not None else None
        loaded = None if width is None or place in unknown else Fraction(width * threads)
        brought[number] = loaded if loaded is None or part is None else loaded * part
        repeated[number] = None if loaded is None or part is None else loaded * (1 - part)
    return Traffic(brought, repeated, sharing.times)


def share(
    reads: Iterable[Read],
    *,
    threads: int,
    copies: int,
    of_source: Mapping[Place, SourceLoad],
    certain: bool = False,
) -> Sharing:
    """Return how much of the bytes loaded at each place several lanes load.

    Where every place loads at least twice what the source does, LLVM may have unrolled the loop
    instead, so that an iteration is several of the source.

    Args:
        copies: Source iterations per iteration of the loop.
        certain: Whether ``copies`` is exact, and not only a lower bound.
    """
    known = list(reads)
    loaded = {place: width * threads for place, width in _bytes_per_lane(known).items()}
    there = {
        place: load.bytes
        for place in loaded
        if (load := of_source.get(place)) is not None and load.bytes
    }
    times = {place: Fraction(loaded[place], copies * amount) for place, amount in there.items()}
    unrolled = min(times.values(), default=Fraction(0)) >= 2
    if unrolled and not certain and not _is_not_unrolled(known, copies, of_source):
        amount = sum(loaded[place] for place in there)
        return Sharing(times=Fraction(amount, copies * sum(there.values())))
    # Where the loop loads less than the source does, some other code loads the rest.
    return Sharing({place: 1 / factor for place, factor in times.items() if factor >= 1})


def _bytes_per_lane(reads: Sequence[Read]) -> dict[Place, int]:
    """Return the bytes that a lane loads at each place where they are known."""
    unknown = _unknown_places(reads)
    loaded: dict[Place, int] = {}
    for place, width in reads:
        if place is not None and width is not None and place not in unknown:
            loaded[place] = loaded.get(place, 0) + width
    return loaded


def _is_not_unrolled(
    reads: Sequence[Read], copies: int, of_source: Mapping[Place, SourceLoad]
) -> bool:
    """Whether one place proves that there are no more source iterations than ``copies``.

    A thread's share of a source load is at least its widest access. So an instruction that is no
    wider does not combine several iterations, and one instruction per copy accounts for them all.
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


def _unknown_places(reads: Iterable[Read]) -> set[Place]:
    """Return the places with a read of unknown width."""
    return {place for place, width in reads if place is not None and width is None}


def total(amounts: Iterable[Fraction | int | None]) -> int | None:
    """Add bytes up; ``None`` if any are unknown, or the sum is not whole."""
    known: list[Fraction | int] | None = all_known(amounts)
    added = None if known is None else sum(map(Fraction, known))
    return int(added) if added is not None and added.denominator == 1 else None


def largest(amounts: Iterable[int | None]) -> int | None:
    """Return the largest amount, 0 of none; ``None`` if any are unknown."""
    known = all_known(amounts)
    return None if known is None else max(known, default=0)
