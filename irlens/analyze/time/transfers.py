"""What a launch moves between its SMs, the L2 and memory, from the traffic that it requests.

- Loads of one CTA that touch a sector twice take it from the L1 the second time, but for copies to
  shared memory that bypass it. What one loop has read and another reads again is there only if the
  L1 holds what the SM's CTAs move in between.
- The L2 keeps what the CTAs of one wave share, and what the next wave reads again if a wave's data
  are no more than half of its capacity: an H200's L2 keeps data in both of its partitions.
- A CTA that reads its own data again in another operation finds them in the L2 as far as a wave's
  data fit there: all of them up to half of its capacity, fewer and fewer beyond. Where one
  operation reads them again, in a loop or for another lane, what it reads in a wave has to fit;
  what it shares with other CTAs of the wave, as in persistent products, they bring together.
- CTAs without loops run one after the other rather than side by side: if more than half of the L2
  passes between them, each brings its own sectors, and partly written ones leave too early.
- Registers that are spilled stay in the L1 as far as it holds those of all resident threads.

On 217 launches on an H200 the DRAM's reads are within 3 % of this on 198, and within 25 % on all.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType

import msgspec
from msgspec.structs import replace

from irlens.analyze.time.l1_requests import Occupied, occupied
from irlens.analyze.traffic import Footprint, Survey, Updates
from irlens.gpus.timing import PIECE_BYTES
from irlens.isa.mlir.global_memory import BULK_LOADS, BULK_STORES
from irlens.model.source import SourceLocation, Span
from irlens.model.traffic import Traffic

# Of atomic operations, in microseconds, fitted to what an H100 took (``benchmarks/atomics.py``,
# tests/data/h100). Other GPUs are assumed to be as fast.
#: Between two updates of one address: floating-point numbers, and integers.
_FLOATING, _INTEGER = 1.76e-3, 0.74e-3
#: Between two sectors that a slice updates for instructions of warps: of fp64, and others.
_DOUBLE, _OTHER = 1.72e-3, 0.64e-3
#: Between two of them that all slices together update.
_SECTOR = 1 / 65e3


class Caches(msgspec.Struct, frozen=True, kw_only=True):
    """The caches that a launch runs with, in bytes.

    Attributes:
        l1: The L1 of an SM: what shared memory leaves.
    """

    l1: float
    l2: float


class Wave(msgspec.Struct, frozen=True):
    """How the CTAs of a launch follow each other.

    Attributes:
        waves: The same over those that the GPU holds at once.
        resident: CTAs of it that run on an SM at once.
        looping: Whether they run loops, so that those of a wave go through their data together.
    """

    ctas: int
    waves: float
    resident: int
    looping: bool


class Spilled(msgspec.Struct, frozen=True):
    """Accesses to local memory, in bytes.

    Attributes:
        read_bytes: Bytes that all threads load.
        written_bytes: Bytes that they store.
        resident_bytes: Local memory of the threads that an SM holds.
    """

    read_bytes: float
    written_bytes: float
    resident_bytes: float
    sms: int


class Transfers(msgspec.Struct, frozen=True, kw_only=True):
    """What a launch moves through the memory system.

    Attributes:
        load_sectors: Sectors that warps' loads touch, copies to shared memory included.
        bulk_read_bytes: Bytes that bulk copies (TMA) read.
        bulk_written_bytes: Bytes that they write.
        evicted: Part of what a loop of a CTA has loaded and another one loads again which has left
            the L1 meanwhile, 0..1.
        missed_sectors: Those of ``load_sectors`` that the L1 takes from the L2.
        held_sectors: Those that it holds since an earlier loop, and not for a moment.
        local_bytes: Bytes of local memory between L1 and L2.
        local_missed: Part of the loads of local memory that the L1 lacks, 0..1.
        local_dram_bytes: Bytes of local memory between the L2 and memory; half of them are read.
        dram_read_bytes: Bytes that come from memory.
        dram_written_bytes: Bytes that go to memory.
        pieces: Pieces of 64 bytes that memory moves, each far from the others.
        load_lines: 128-byte lines of the L2 that the loads' requests touch.
        partial_lines: Those of ``store_lines`` of which sectors are written in part, at least.
        occupied: What loads and stores occupy of the SMs.
        coalesced: The same if each touched no more lines and sectors than its bytes fill.
        colliding_us: Microseconds for which atomic operations keep the L2 busy.
        uncertain: What is not exact in these; empty if nothing.
    """

    load_sectors: float
    store_sectors: float
    bulk_read_bytes: float
    bulk_written_bytes: float
    missed_sectors: float
    dram_read_bytes: float
    dram_written_bytes: float
    held_sectors: float = 0.0
    evicted: float = 0.0
    local_bytes: float = 0.0
    local_written_bytes: float = 0.0
    local_missed: float = 0.0
    local_dram_bytes: float = 0.0
    pieces: float = 0.0
    load_lines: float = 0.0
    store_lines: float = 0.0
    partial_lines: float = 0.0
    occupied: Occupied = Occupied()
    coalesced: Occupied = Occupied()
    colliding_us: float = 0.0
    uncertain: str = ""

    def without_local(self) -> "Transfers":
        """Return the same without accesses to local memory."""
        return replace(
            self,
            local_bytes=0.0,
            local_written_bytes=0.0,
            local_missed=0.0,
            local_dram_bytes=0.0,
            dram_read_bytes=self.dram_read_bytes - self.local_dram_bytes / 2,
            dram_written_bytes=self.dram_written_bytes - self.local_dram_bytes / 2,
        )

    @property
    def input_cycles(self) -> float:
        """Cycles for which requests occupy the inputs of the L2's slices.

        One for each sector that is written, and one for each line of a request that reads it or
        writes sectors in part, as lts__xbar2lts_cycles_active of an H100 and an H200 has them.
        Loads are taken to ask for whole lines.
        """
        sectors = (self.written_bytes + self.local_written_bytes) / _SECTOR_BYTES
        asked = self.l2_read_bytes + self.local_bytes - self.local_written_bytes
        return self.partial_lines + sectors + asked / _LINE

    @property
    def lookups(self) -> float:
        """Lines that the L2's slices look up.

        One for each line of a request that the L1 does not answer, and two for each that goes to
        memory or comes from it, as lts__t_tag_requests of an H100 has them. Where sectors are
        written in part, both halves look up what crosses: half of the lines.
        """
        missed = self.missed_sectors / self.load_sectors if self.load_sectors else 0.0
        whole_lines = (self.bulk_read_bytes + self.bulk_written_bytes + self.local_bytes) / _LINE
        moved = (self.dram_read_bytes + self.dram_written_bytes) / _LINE
        stored = self.store_lines + self.partial_lines / 2
        return self.load_lines * missed + stored + whole_lines + 2 * moved

    @property
    def l2_read_bytes(self) -> float:
        """Bytes of global memory that SMs take from the L2."""
        return self.missed_sectors * 32 + self.bulk_read_bytes

    @property
    def written_bytes(self) -> float:
        """Bytes of global memory that SMs give to the L2."""
        return self.store_sectors * 32 + self.bulk_written_bytes

    @property
    def crossed_bytes(self) -> float:
        """Bytes that pass between the halves of an L2 that has two.

        Each half is home to half of the addresses and serves half of the SMs. It keeps a copy of
        what its SMs read and the other is home to, so that a sector that n SMs read crosses with
        a probability of 1 - 2^-n; every other byte that is written does. On 326 launches on an
        H100 lts__t_sectors_srcunit_ltcfabric is within 25 % of this but where many requests write
        parts of a sector.
        """
        share = self.memory_share
        read = self.l2_read_bytes * share * (1 - 0.5 ** (1 / share)) if share else 0.0
        return read + (self.written_bytes + self.local_written_bytes) / 2

    @property
    def memory_share(self) -> float:
        """Part of them that come from memory, 0..1."""
        read = self.l2_read_bytes
        return min(1.0, self.dram_read_bytes / read) if read else 1.0

    @property
    def l1_share(self) -> float:
        """Part of the loads' data that the L1 delivers at its own latency, 0..1.

        A load of what another one has asked for just before waits as long as that one.
        """
        held = self.held_sectors * 32
        return held / (held + self.l2_read_bytes) if held else 0.0


#: Part of the L2 by which what an SM reads again may miss or exceed it, and is held in part.
_FADING = 0.08
#: Bytes of a line of the L2, and of a sector.
_LINE, _SECTOR_BYTES = 128, 32
#: Bytes of the sectors that a CTA touches over those that it uses, from where on others are taken
#: to use the rest.
_PARTLY = 1.5
#: Sizes of groups of CTAs that are tried, each twice the one before.
_GROUPINGS = 3


def transfers(
    launch: Survey,
    program: Survey,
    wave: Wave,
    caches: Caches,
    loops: Sequence[Span] = (),
    spilled: Spilled | None = None,
    in_groups: Callable[[int], Survey | None] = lambda _: None,
    bypassing: Collection[SourceLocation] = (),
    copied: Mapping[SourceLocation, bool] = MappingProxyType({}),
) -> Transfers | str:
    """Return what a launch moves, or why that is unknown.

    Args:
        launch: Its traffic and its footprint.
        program: Those of its first program alone.
        loops: Lines of the ttir's outermost loops.
        spilled: Its accesses to local memory, if there are any.
        in_groups: Returns its traffic for waves of a number of CTAs.
        bypassing: Places of the loads that bypass the L1.
        copied: Places of the copies to shared memory, these among them: see ``occupied``.
    """
    traffic, footprint = launch.traffic, launch.footprint
    if traffic.at_least:
        return f"{traffic.at_least}: how long it waits is not known before the launch"
    if traffic.reason or footprint is None:
        return traffic.reason or "the bytes that it reads are too scattered to count"
    loads, stores = traffic.load_sectors, traffic.store_sectors
    if loads is None or stores is None:
        reasons = [each.reason for each in traffic.accesses if each.reason]
        return next(iter(reasons), "the sectors of its loads and stores are unknown")
    again = _touched_again(program, bypassing)
    bulk = [
        sum(each.bytes for each in traffic.accesses
            if each.operation in kinds and not each.requests)
        for kinds in (BULK_LOADS, BULK_STORES)
    ]  # fmt: skip
    held, evicted = _read_again(launch, program, loops, wave, caches, bypassing)
    missed = loads * (1 - max(0.0, again - evicted))
    read = _from_memory(launch, footprint, program, wave, caches)
    more = 0.0, 0.0
    if not wave.looping:
        more = _scattered(footprint, read, program, wave, caches, in_groups)
    if not any(more):
        more = _filled(footprint, traffic, caches)
    read, written = read + more[0], footprint.written_bytes + more[1]
    missed_local, local, beyond = _local(spilled, caches)
    lines = _by_direction(launch)
    fewest = [replace(each, sectors=each.ideal_sectors) for each in traffic.accesses]
    return Transfers(
        load_sectors=loads,
        store_sectors=stores,
        bulk_read_bytes=bulk[0],
        bulk_written_bytes=bulk[1],
        evicted=evicted / (held + evicted) if evicted else 0.0,
        missed_sectors=missed,
        held_sectors=loads * min(again, held),
        dram_read_bytes=read + beyond / 2,
        dram_written_bytes=written + beyond / 2,
        local_bytes=local,
        local_written_bytes=spilled.written_bytes if spilled is not None else 0.0,
        local_missed=missed_local,
        local_dram_bytes=beyond,
        pieces=(read * _apart(launch, "load") + written * _apart(launch, "store")) / PIECE_BYTES,
        load_lines=lines["load"],
        store_lines=lines["store"],
        partial_lines=_written_in_part(launch),
        occupied=occupied(traffic.accesses, launch.lines, launch.wavefronts, copied),
        coalesced=occupied(fewest, [0] * len(fewest), [0] * len(fewest)),
        colliding_us=colliding_us(launch.updates),
        uncertain=f"assumed of data: {launch.assumed}" if launch.assumed else "",
    )


def _by_direction(launch: Survey) -> Counter[str]:
    """Return the lines that requests touch, by the direction of the accesses."""
    lines: Counter[str] = Counter()
    for each, touched in zip(launch.traffic.accesses, launch.lines, strict=False):
        lines[each.direction] += touched
    return lines


def _written_in_part(launch: Survey) -> float:
    """Return the lines of stores' requests of which sectors are written in part, at least.

    Such a sector lacks at most what one instruction of a lane leaves of it.
    """
    partial = 0.0
    for each, touched in zip(launch.traffic.accesses, launch.lines, strict=False):
        if each.direction != "store" or not each.sectors or not each.width:
            continue
        if each.width < _SECTOR_BYTES:
            lacking = _SECTOR_BYTES * each.sectors - each.bytes
            sectors = lacking / (_SECTOR_BYTES - each.width)
            partial += touched * min(1.0, max(0.0, sectors) / each.sectors)
    return partial


def _apart(launch: Survey, direction: str) -> float:
    """Return how far apart the pieces of memory are that are accessed at once, 0..1."""
    found = zip(launch.traffic.accesses, launch.apart, strict=False)
    alike = [(each.distinct_bytes, apart) for each, apart in found if each.direction == direction]
    total = sum(size for size, _ in alike)
    return sum(size * apart for size, apart in alike) / total if total else 0.0


def _filled(footprint: Footprint, traffic: Traffic, caches: Caches) -> tuple[float, float]:
    """Return how many bytes more are read and written as sectors are written in part.

    A sector that leaves the L2 in part takes the rest from memory first, with its neighbour: a
    store of 4 bytes to each 32 takes an H200 as long as a copy, and to each 64 1.4 times as long.
    """
    sectors, distinct = footprint.written_sector_bytes, traffic.distinct_written_bytes or 0
    lacking = sectors - distinct
    if lacking <= 0 or any(each.distinct_read_bytes for each in traffic.arguments
                           if each.distinct_written_bytes):  # fmt: skip
        return 0.0, 0.0
    widths = [each.width for each in traffic.accesses if each.direction == "store" and each.width]
    most = _SECTOR_BYTES - min((*widths, _SECTOR_BYTES - 1))
    in_part = min(1.0, lacking / most * _SECTOR_BYTES / sectors)
    in_part *= _beyond(sectors, caches.l2 / 2)
    return in_part * footprint.written_bytes, in_part * (sectors - footprint.written_bytes)


def _touched_again(program: Survey, bypassing: Collection[SourceLocation]) -> float:
    """Part of the sectors that a CTA's loads touch which it has loaded to the L1 before, 0..1."""
    sectors, footprint = program.traffic.load_sectors, program.footprint
    if not sectors or footprint is None:
        return 0.0
    again = sectors - footprint.read_sector_bytes / 32
    for each in program.traffic.accesses:
        if each.direction == "load" and each.source in bypassing and each.sectors and each.bytes:
            again -= each.sectors * (1 - each.distinct_bytes / each.bytes)
    return max(0.0, again / sectors)


def loop_around(loops: Sequence[Span], line: int) -> int:
    """Return the index of the loop that a line is in, -1 for a line beside all of them."""
    return next((n for n, span in enumerate(loops) if span.line <= line <= span.end_line), -1)


def _read_again(
    launch: Survey,
    program: Survey,
    loops: Sequence[Span],
    wave: Wave,
    caches: Caches,
    bypassing: Collection[SourceLocation],
) -> tuple[float, float]:
    """Parts of a CTA's loads that are of what another of its outermost loops has loaded, 0..1.

    The code beside the loops counts as one more of them.

    Returns:
        What the L1 still holds, and what has left it.
    """
    # An operation may access memory through several arguments.
    all_ctas = {(each.line, each.argument): each for each in launch.traffic.accesses}
    sectors: defaultdict[str, dict[int, float]] = defaultdict(dict)
    moved: defaultdict[int, dict[str, int]] = defaultdict(dict)  # by the CTAs of an SM
    for each in program.traffic.accesses:
        if each.source in bypassing:
            continue
        loop, argument = loop_around(loops, each.line), each.argument
        most = all_ctas[each.line, argument].distinct_bytes
        of_sm = min(wave.resident * each.distinct_bytes, most)
        moved[loop][argument] = max(moved[loop].get(argument, 0), of_sm)
        if each.direction == "load" and each.sectors and each.bytes:
            once = each.sectors * each.distinct_bytes / each.bytes
            sectors[argument][loop] = max(sectors[argument].get(loop, 0.0), once)
    total = program.traffic.load_sectors
    if not total:
        return 0.0, 0.0
    again = sum(sum(each.values()) - max(each.values()) for each in sectors.values()) / total
    between = max((sum(each.values()) for each in moved.values()), default=0)
    evicted = again * _beyond(between, caches.l1)
    return again - evicted, evicted


def _from_memory(
    launch: Survey, footprint: Footprint, program: Survey, wave: Wave, caches: Caches
) -> float:
    """Bytes that are read from memory."""
    of_waves = footprint.wave_read_bytes
    if of_waves is None:
        return footprint.read_bytes
    held = of_waves / max(1.0, wave.waves)
    evicted = _beyond(held, caches.l2 / 2)
    between = footprint.read_bytes + (of_waves - footprint.read_bytes) * evicted
    return between + _from_memory_again(launch, program, held, wave, caches)


def _from_memory_again(
    launch: Survey, program: Survey, held: float, wave: Wave, caches: Caches
) -> float:
    """Bytes that CTAs read which they have read before, as far as the L2 holds them no more.

    Args:
        program: The first of them, which stands for all.
        held: Bytes that the CTAs of a wave read.
        wave: How CTAs follow each other.
    """
    traffic = program.traffic
    if not traffic.read_bytes or traffic.distinct_read_bytes is None:
        return 0.0
    reads = [each for each in traffic.accesses if each.direction != "store"]
    elsewhere = sum(each.distinct_bytes for each in reads) - traffic.distinct_read_bytes
    missed = elsewhere * _beyond(held, caches.l2 / 2, until=caches.l2)
    all_ctas = {(each.line, each.argument): each for each in launch.traffic.accesses}
    for each in reads:
        apart = each.distinct_bytes * wave.ctas / max(1.0, wave.waves)
        together = min(apart, all_ctas[each.line, each.argument].distinct_bytes)
        readers = apart / together if together else 1.0
        within = (each.bytes - each.distinct_bytes) / readers
        missed += within * _evicted(min(held, together), caches, readers)
    return missed * (launch.traffic.read_bytes or 0) / traffic.read_bytes


def _scattered(
    footprint: Footprint,
    read: float,
    program: Survey,
    wave: Wave,
    caches: Caches,
    in_groups: Callable[[int], Survey | None],
) -> tuple[float, float]:
    """Return how many bytes more are read and written as CTAs share sectors that leave the L2.

    CTAs find there what their neighbours have read or written, as many of them as half of it
    holds. What leaves written in part has to be read first.
    """
    own, used = program.footprint, program.traffic
    if own is None or used.distinct_read_bytes is None or used.distinct_written_bytes is None:
        return 0.0, 0.0
    if footprint.read_bytes + footprint.written_bytes <= caches.l2 / 2:
        return 0.0, 0.0  # what all CTAs share, such as sums that they add to, is there once
    held = (own.read_bytes + own.written_bytes) * wave.ctas / max(1.0, wave.waves)
    evicted = _beyond(held, caches.l2 / 2)
    partly_read = own.read_sector_bytes > _PARTLY * used.distinct_read_bytes
    partly_written = own.written_sector_bytes > _PARTLY * used.distinct_written_bytes
    if not evicted or not (partly_read or partly_written):
        return 0.0, 0.0
    apart = wave.ctas * own.read_bytes, wave.ctas * own.written_bytes
    brought = _brought(caches.l2 / 2, sum(apart), wave.ctas, in_groups)
    if brought is None:  # what the CTAs of a wave share they find there, if all of it fits
        of_waves = footprint.wave_read_bytes or apart[0], footprint.wave_written_bytes or apart[1]
        fits = sum(of_waves) <= caches.l2 / 2 * max(1.0, wave.waves)
        brought = of_waves if fits else apart
    reads = max(0.0, brought[0] - read) if partly_read else 0.0
    writes = max(0.0, brought[1] - footprint.written_bytes) if partly_written else 0.0
    if writes:
        reads += writes + footprint.written_bytes
    return evicted * reads, evicted * writes


def _brought(
    room: float, apart: float, ctas: int, in_groups: Callable[[int], Survey | None]
) -> tuple[float, float] | None:
    """Return the bytes that CTAs bring to read, and to write, as a part of the L2 keeps the latest.

    What more CTAs in a row touch beyond the data of fewer, whose data it holds, it lacked: misses
    are the slope of the footprint (Xiang et al., "HOTL", 2013). Groups of CTAs begin with as many
    as fill it if they share nothing. ``None`` if unknown.

    Args:
        room: Bytes that it keeps.
        apart: Bytes that all CTAs touch, each for itself.
    """
    size = max(1, int(room * ctas / max(1, apart)))
    found: list[tuple[int, float, float]] = []
    while len(found) < _GROUPINGS and size < 2 * ctas:
        size = min(size, ctas)
        group = in_groups(size)
        of = group.footprint if group is not None else None
        if of is None or of.wave_read_bytes is None or of.wave_written_bytes is None:
            return None
        found.append((size, of.wave_read_bytes, of.wave_written_bytes))
        if len(found) > 1 and sum(found[-1][1:]) * size > room * ctas:
            break
        size *= 2
    if len(found) < 2:
        return found[0][1:] if found else None
    (few, *fewer), (many, *more) = found[-2:]
    read, written = (
        max(0.0, (many * y - few * x) / (many - few)) for x, y in zip(fewer, more, strict=True)
    )
    return read, written


def _evicted(size: float, caches: Caches, readers: float) -> float:
    """How much of data that one operation of CTAs reads again has been evicted, 0..1.

    SMs of an H200 that read parts of their own again find all of it where that is less than the L2
    holds by ``_FADING``, and nothing where it is more by as much. Each half keeps copies of what
    its SMs read, so that less is left.

    Args:
        readers: CTAs of a wave that read each of them, at least 1.
    """
    alone = 0.5 ** (readers - 1)
    room = caches.l2 / (2 - alone)
    return _beyond(size, room * (1 - _FADING * alone), until=caches.l2 * (1 + _FADING * alone))


def _beyond(size: float, capacity: float, until: float | None = None) -> float:
    """How much of data that is used again has been evicted, 0..1.

    All of it if the data are as large as ``until``, by default a quarter more than the capacity.
    """
    span = capacity / 4 if until is None else until - capacity
    return min(1.0, max(0.0, (size - capacity) / span)) if span else 1.0


def _local(spilled: Spilled | None, caches: Caches) -> tuple[float, float, float]:
    """The part of local loads that the L1 lacks, the bytes from and to the L2, those to memory."""
    if spilled is None:
        return 0.0, 0.0, 0.0
    missed = _beyond(spilled.resident_bytes, caches.l1 / 2)
    moved = spilled.written_bytes + spilled.read_bytes * missed
    return missed, moved, moved * _beyond(spilled.resident_bytes * spilled.sms, caches.l2 / 2)


def colliding_us(updates: Iterable[Updates]) -> float:
    """Return the microseconds for which atomic operations keep the L2 busy.

    An address is updated by one lane at a time. A slice of the L2, which is home to some hundreds
    of neighbouring bytes, takes the sectors of instructions one after the other, however many lanes
    of a warp update each, and those that all slices take in a second are limited. Updates of few
    addresses therefore take long however many SMs send them: 2^20 additions of fp32 to one address
    take an H100 1.85 ms, to 256 addresses in a row 44 µs, and to 2^20 addresses 8 µs.
    """
    return sum(map(_busy, updates))


def _busy(updates: Updates) -> float:
    address = updates.depth * (_FLOATING if updates.floating else _INTEGER)
    own = _DOUBLE if updates.floating and updates.element_bytes == 8 else _OTHER
    return max(address, updates.passes * (own / updates.granules + _SECTOR))
