"""What a launch moves between its SMs, the L2 and memory, from the traffic that it requests.

- Loads of one CTA that touch a sector twice take it from the L1 the second time.
- The L2 keeps what the CTAs of one wave share, and what the next wave reads again if a wave's data
  are no more than half of its capacity: an H200's L2 keeps data in both of its partitions.
- A CTA that reads its own data again finds them in the L2 as far as a wave's data fit there: all of
  them up to half of its capacity, fewer and fewer beyond.
- Registers that are spilled stay in the L1 as far as it holds those of all resident threads.

On 217 launches on an H200 the DRAM's reads are within 3 % of this on 198, and within 25 % on all.
"""

import msgspec

from irlens.analyze.traffic import Footprint, Survey


class Caches(msgspec.Struct, frozen=True, kw_only=True):
    """The caches that a launch runs with, in bytes.

    Attributes:
        l1: The L1 of an SM: what shared memory leaves.
        l2: The L2.
    """

    l1: float
    l2: float


class Spilled(msgspec.Struct, frozen=True):
    """Accesses to local memory, in bytes.

    Attributes:
        read_bytes: Bytes that all threads load.
        written_bytes: Bytes that they store.
        resident_bytes: Local memory of the threads that an SM holds.
        sms: SMs of the GPU.
    """

    read_bytes: float
    written_bytes: float
    resident_bytes: float
    sms: int


class Transfers(msgspec.Struct, frozen=True, kw_only=True):
    """What a launch moves through the memory system.

    Attributes:
        load_sectors: Sectors that warps' loads touch, copies to shared memory included.
        store_sectors: Sectors that their stores touch.
        bulk_read_bytes: Bytes that bulk copies (TMA) read.
        bulk_written_bytes: Bytes that they write.
        missed_sectors: Those of ``load_sectors`` that the L1 takes from the L2.
        local_bytes: Bytes of local memory between L1 and L2.
        dram_read_bytes: Bytes that come from memory.
        dram_written_bytes: Bytes that go to memory.
        uncertain: What is not exact in these; empty if nothing.
    """

    load_sectors: float
    store_sectors: float
    bulk_read_bytes: float
    bulk_written_bytes: float
    missed_sectors: float
    dram_read_bytes: float
    dram_written_bytes: float
    local_bytes: float = 0.0
    uncertain: str = ""

    @property
    def l2_read_bytes(self) -> float:
        """Bytes of global memory that SMs take from the L2."""
        return self.missed_sectors * 32 + self.bulk_read_bytes

    @property
    def memory_share(self) -> float:
        """Part of them that come from memory, 0..1."""
        read = self.l2_read_bytes
        return min(1.0, self.dram_read_bytes / read) if read else 1.0


#: Operations that move data without warps' loads and stores.
_BULK_LOADS = frozenset({"tt.descriptor_load", "tt.descriptor_gather"})
_BULK_STORES = frozenset({"tt.descriptor_store", "tt.descriptor_scatter", "tt.descriptor_reduce"})


def transfers(
    launch: Survey, program: Survey, waves: float, caches: Caches, spilled: Spilled | None = None
) -> Transfers | str:
    """Return what a launch moves, or why that is unknown.

    Args:
        launch: Its traffic and its footprint.
        program: Those of its first program alone, in granules of a sector.
        waves: Its CTAs over those that the GPU holds at once.
        caches: The caches.
        spilled: Its accesses to local memory, if there are any.
    """
    traffic, footprint = launch.traffic, launch.footprint
    if traffic.reason or footprint is None:
        return traffic.reason or "the bytes that it reads are too scattered to count"
    loads, stores = traffic.load_sectors, traffic.store_sectors
    if loads is None or stores is None:
        reasons = [each.reason for each in traffic.accesses if each.reason]
        return next(iter(reasons), "the sectors of its loads and stores are unknown")
    again = _touched_again(program)
    bulk = [
        sum(each.bytes for each in traffic.accesses
            if each.operation in kinds and not each.requests)
        for kinds in (_BULK_LOADS, _BULK_STORES)
    ]  # fmt: skip
    missed = loads * (1 - again)
    read = _from_memory(footprint, waves, _read_again(launch, program), caches)
    local, beyond = _local(spilled, caches)
    return Transfers(
        load_sectors=loads,
        store_sectors=stores,
        bulk_read_bytes=bulk[0],
        bulk_written_bytes=bulk[1],
        missed_sectors=missed,
        dram_read_bytes=read + beyond / 2,
        dram_written_bytes=footprint.written_bytes + beyond / 2,
        local_bytes=local,
    )


def _read_again(launch: Survey, program: Survey) -> float:
    """Bytes that CTAs read which they have read before, in another operation or iteration."""
    read, distinct = program.traffic.read_bytes, program.traffic.distinct_read_bytes
    if not read or distinct is None:
        return 0.0
    return (launch.traffic.read_bytes or 0) * (1 - distinct / read)


def _touched_again(program: Survey) -> float:
    """Part of the sectors that a CTA's loads touch which it has loaded before, 0..1."""
    sectors, footprint = program.traffic.load_sectors, program.footprint
    if not sectors or footprint is None:
        return 0.0
    return max(0.0, 1 - footprint.read_bytes / (32 * sectors))


def _from_memory(footprint: Footprint, waves: float, again: float, caches: Caches) -> float:
    """Bytes that are read from memory."""
    wave = footprint.wave_read_bytes
    if wave is None:
        return footprint.read_bytes
    held = wave / max(1.0, waves)
    evicted = _beyond(held, caches.l2 / 2)
    between = footprint.read_bytes + (wave - footprint.read_bytes) * evicted
    return between + again * _beyond(held, caches.l2 / 2, until=caches.l2)


def _beyond(size: float, capacity: float, until: float | None = None) -> float:
    """How much of data that is used again has been evicted, 0..1.

    All of it if the data are as large as ``until``, by default a quarter more than the capacity.
    """
    span = capacity / 4 if until is None else until - capacity
    return min(1.0, max(0.0, (size - capacity) / span)) if span else 1.0


def _local(spilled: Spilled | None, caches: Caches) -> tuple[float, float]:
    """Bytes of local memory between L1 and L2, and those that go on to memory."""
    if spilled is None:
        return 0.0, 0.0
    read = spilled.read_bytes * _beyond(spilled.resident_bytes, caches.l1 / 2)
    moved = spilled.written_bytes + read
    return moved, moved * _beyond(spilled.resident_bytes * spilled.sms, caches.l2 / 2)
