"""How long a CTA takes with an SM to itself: its code as the machine schedules it.

ptxas writes into each instruction how many cycles to wait after it, which scoreboards it waits for
and which one tells that its result is there. A warp issues in order, so that its time follows from
these and from the latency of what scoreboards track: loads, shared memory, special functions,
barriers, products of tensor cores. Asynchronous copies and products are followed to the waits
that retire them, so that a loop that overlaps them with its work is as fast as the slower of both.
A fence of the GPU, as acquire-release atomics have before them, is a round trip to the L2 that
begins when the warp's writes have made theirs.

One warp stands for all of its CTA, which run side by side: an instruction occupies its unit
once for each of them.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

import msgspec
from msgspec.structs import replace

from irlens.analyze.cfg import Cfg
from irlens.analyze.time.paths import Path
from irlens.analyze.time.tensor_memory import TensorMemory
from irlens.gpus.timing import Timing
from irlens.isa.events import Commit, Copy, Event, Wait
from irlens.isa.sass import Instruction, units
from irlens.isa.sass.control import INSTRUCTION_BYTES
from irlens.isa.sass.timing import (
    Demand,
    Ordering,
    Origin,
    Stream,
    asynchronous,
    commits_products,
    demand,
)
from irlens.model.schedule import Control
from irlens.model.source import SourceLocation

#: Streams whose waits end the oldest group: a phase of a barrier.
_OF_BARRIERS = frozenset({"tma", "tcgen05"})
#: How often a repeated segment is followed before its last rounds stand for the rest.
_ROUNDS = 8


# The caches of instructions, as measured on an H100 and an H200
# (``benchmarks/instruction_fetch.cu``) and assumed of other GPUs.
#: Instructions that fit into an SM's own cache, and into the next one. A loop of 32 KB takes 1.2
#: cycles for each of them, loops of 48 to 112 KB 2.4 to 2.8, those of 144 KB and more 5.6 to 6.1.
_NEAR, CACHED_INSTRUCTIONS = (size * 1024 // INSTRUCTION_BYTES for size in (32, 128))
#: Cycles per instruction fetched from the next cache, and from the L2, while all warps run in step.
_FROM_CACHE, _FROM_L2 = 2.5, 5.9
#: Cycles per instruction fetched from the next cache by warps of a loop that have drifted apart:
#: five launches with loops of 77 to 115 KB took 5.8 to 6.4.
_REPEATED = 6.0


class _Timed(msgspec.Struct, frozen=True):
    """One instruction: its schedule, its latency, and what it occupies for how long.

    Attributes:
        index: Its index among those of the kernel.
        of_memory: Whether its times depend on the latency of memory.
        alone: The latency of a load while nothing that the L1 lacks is in flight.
        repeats: Whether it loads only what the CTA has loaded before, so that it brings nothing
            that later loads could wait for.
        queues: Whether it queues at its unit while the warp goes on: a store, or a product.
        ordering: How it orders other work, if it does.
        event: What it does to asynchronous work, if anything.
        barrier: The barriers of that, where they are told apart.
        takes: Cycles for which the barrier, the fence or the work takes.
    """

    index: int
    of_memory: bool
    stall: float
    wait: tuple[int, ...]
    write: int
    read: int
    latency: float
    source: float
    unit: int
    cycles: float
    shared: float
    bytes: float
    alone: float
    repeats: bool
    queues: bool
    ordering: Ordering | None
    event: Event | None
    stream: Stream
    barrier: int
    takes: float


_UNITS: tuple[units.Unit, ...] = ("alu", "fma", "xu", "lsu", "tensor")
#: The way of stores to the L2, where they queue.
_STORES = len(_UNITS)
#: The scoreboards of each mask of them.
_BITS = tuple(tuple(bit for bit in range(6) if mask >> bit & 1) for mask in range(64))
#: Shared memory, which loads and stores, copies and products take besides their unit.
_SHARED = len(_UNITS) + 1


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """What a CTA's time is computed with.

    Attributes:
        timing: Latencies and rates of the GPU.
        memory: Cycles from a load to its data, by where the data are.
        local: The same of a load of local memory; by default the L1's.
        multiply_adds: Of 16 bits that the tensor cores of an SM do in a cycle.
        partitions: Sub-partitions of an SM, which share a CTA's warps.
        request_bytes: Bytes that a load of one warp takes from the L2, for each byte it asks for.
        bulk_bytes: Bytes of one bulk copy.
        wavefronts: Of accesses to shared memory, by index, where they are known.
        tensor: Products in tensor memory.
        removed: Instructions that are taken out.
        repeated: Part of the sectors of loads that the CTA has loaded before, by their places. The
            L1 has them when nothing is in flight any more.
        request_cycles: Cycles for which one request occupies the L1, by its place; by default those
            that its bytes take.
    """

    timing: Timing
    memory: float
    multiply_adds: float
    partitions: int
    warps: int
    local: float | None = None
    request_bytes: float = 1.0
    bulk_bytes: float = 0.0
    wavefronts: Mapping[int, float] = MappingProxyType({})
    tensor: TensorMemory = TensorMemory()
    removed: frozenset[int] = frozenset()
    repeated: Mapping[SourceLocation, float] = MappingProxyType({})
    request_cycles: Mapping[SourceLocation, float] = MappingProxyType({})

    def durations(
        self,
        instructions: Sequence[Instruction],
        flow: Cfg,
        paths: Sequence[Path],
        control: Sequence[Control],
    ) -> list[float]:
        """Return for each path the cycles that a CTA takes if all its warps take it.

        Args:
            control: The control fields of each of the instructions.
        """
        (found,) = self.durations_at((self.memory,), instructions, flow, paths, control)
        return found

    def durations_at(
        self,
        memories: Iterable[float],
        instructions: Sequence[Instruction],
        flow: Cfg,
        paths: Sequence[Path],
        control: Sequence[Control],
    ) -> list[list[float]]:
        """Return the durations of paths, see ``durations``, for latencies of memory each."""
        executed = {number for path in paths for each in path.segments for number in each.blocks}
        blocks = {
            number: [
                self._timed(index, instructions[index], control[index])
                for index in flow.blocks[number].indices
                if index not in self.removed
            ]
            for number in executed
        }
        found = []
        for memory in memories:
            line = self if memory == self.memory else replace(self, memory=memory)
            here = blocks if line is self else {
                number: [
                    line._timed(each.index, instructions[each.index], control[each.index])
                    if each.of_memory
                    else each
                    for each in block
                ]
                for number, block in blocks.items()
            }  # fmt: skip
            found.append([self._end(here, path) for path in paths])
        return found

    def _end(self, blocks: Mapping[int, list[_Timed]], path: Path) -> float:
        clock = _Clock(self.timing.port)
        executed = {number for each in path.segments for number in each.blocks}
        size = sum(len(blocks[number]) for number in executed)
        for segment in path.segments:
            code = [each for number in segment.blocks for each in blocks[number]]
            clock.repeat(code, 1, _fetch(size, _FROM_CACHE))
            clock.repeat(code, segment.times - 1, _fetch(len(code), _REPEATED))
        return clock.end()

    def _timed(self, index: int, instruction: Instruction, control: Control) -> _Timed:
        per_scheduler = max(1.0, self.warps / self.partitions)
        asked = demand(instruction)
        work = asynchronous(instruction) if asked.is_asynchronous else None
        places = instruction.locations
        place = places[0] if places else None
        number, cycles = self._occupied(asked, per_scheduler, place)
        shared = self._shared_cycles(instruction, asked, self.wavefronts.get(index))
        if index in self.tensor.barriers:
            at = instruction.offset
            signals = commits_products(instruction)
            work = "tcgen05", Commit(0, True, at=at) if signals else Wait(0, 0, True, at=at)
        if index in self.tensor.products:  # one for the whole CTA
            product = self.tensor.products[index]
            cycles, shared = product.multiply_adds / self.multiply_adds, product.shared_cycles
            work = "tcgen05", Copy(0, None, at=instruction.offset)
        stream, event = work or ("cp.async", None)
        latency = self._latency(asked.origin)
        repeated = self.repeated.get(place, 0.0) if asked.loaded and place else 0.0
        return _Timed(
            index=index,
            of_memory=asked.origin == "memory" or stream == "tma",
            stall=max(per_scheduler, control.stall),
            wait=_BITS[control.wait],
            write=-1 if control.write is None else control.write,
            read=-1 if control.read is None else control.read,
            latency=latency,
            source=self.timing.source,
            unit=number,
            cycles=cycles,
            shared=shared,
            bytes=self._bytes(asked),
            alone=latency + (self.timing.l1 - latency) * repeated,
            repeats=repeated >= 1.0,
            queues=number == _STORES
            or (event is not None and stream in ("wgmma", "tcgen05") and _issues(event)),
            ordering=asked.ordering,
            event=event,
            stream=stream,
            barrier=self.tensor.barriers.get(index, 0),
            takes=self._takes(asked.ordering, stream, latency),
        )

    def _occupied(
        self, asked: Demand, per_scheduler: float, place: SourceLocation | None
    ) -> tuple[int, float]:
        kind, timing = asked.unit, self.timing
        if kind == "tensor":  # each sub-partition has tensor cores of its own
            warps = max(self.warps, self.partitions)
            return 4, tensor_cycles(asked, timing, self.multiply_adds) * warps
        if kind == "lsu":
            taken = self.request_cycles.get(place, 0.0) if place else 0.0
            if taken and asked.ordering == "write":
                return _STORES, taken * self.warps
            known = taken if asked.origin == "memory" else 0.0
            return 3, max(asked.slots * timing.lsu, known) * self.warps
        cost = {"alu": timing.alu, "fma": timing.fma, "xu": timing.xu}.get(kind)
        if cost is None:
            return -1, 0.0
        return _UNITS.index(kind), cost * per_scheduler * asked.issues

    def _shared_cycles(
        self, instruction: Instruction, asked: Demand, wavefronts: float | None
    ) -> float:
        if asked.is_bulk_copy:
            return self.bulk_bytes / units.WAVEFRONT
        return units.shared_cycles(instruction, wavefronts) * self.warps

    def _bytes(self, asked: Demand) -> float:
        if asked.loaded:
            return 32 * asked.loaded * self.warps * self.request_bytes
        return self.bulk_bytes if asked.is_bulk_copy else 0.0

    def _latency(self, origin: Origin) -> float:
        timing = self.timing
        match origin:
            case "memory":
                return self.memory
            case "local":
                return timing.l1 if self.local is None else self.local
            case "shared":
                return timing.shared
            case "shuffle":
                return timing.shuffle
            case "constant":
                return timing.constant
            case "special":
                return timing.special

    def _takes(self, orders: Ordering | None, stream: Stream, latency: float) -> float:
        """Return how long a barrier or a fence takes, or else work of a stream once it is begun."""
        timing = self.timing
        if orders is not None:
            return timing.barrier if orders == "barrier" else timing.l2
        if stream == "cp.async":
            return latency
        return self.memory + timing.bulk if stream == "tma" else timing.product


def _fetch(instructions: int, from_cache: float) -> float:
    """Return the cycles until the next instruction is there.

    Args:
        instructions: Those that run between two runs of one.
        from_cache: The cycles if the next cache has it.
    """
    if instructions <= _NEAR:
        return 0.0
    return from_cache if instructions <= CACHED_INSTRUCTIONS else _FROM_L2


def _issues(event: Event | None) -> bool:
    return isinstance(event, Copy) or (isinstance(event, Commit) and event.copies)


def tensor_cycles(asked: Demand, timing: Timing, multiply_adds: float) -> float:
    """Return the cycles for which a warp's product occupies the tensor cores of its SM."""
    rate = multiply_adds if asked.of_warpgroup else multiply_adds * timing.warp_products
    return asked.multiply_adds / rate


class _InFlight:
    """The groups of a stream that are under way, oldest first, by when they are complete.

    Attributes:
        latest: When all that was issued is complete.
        groups: The groups of each barrier; of one, where the stream has none.
    """

    def __init__(self) -> None:
        self.latest = 0.0
        self.groups: defaultdict[int, list[float]] = defaultdict(list)

    def issue(self, complete: float) -> None:
        """Add to what the next commit collects."""
        self.latest = max(self.latest, complete)

    def commit(self, barrier: int, now: float) -> None:
        """Close a group, which completes with all that was issued before it."""
        self.groups[barrier].append(max(self.latest, now))

    def join(self, barrier: int, now: float, complete: float) -> None:
        """Add to the youngest group."""
        groups = self.groups[barrier]
        if not groups:
            groups.append(now)
        groups[-1] = max(groups[-1], complete)

    def retire(self, barrier: int, limit: int | None) -> float:
        """Remove all groups but some, or the oldest; return when the last was complete."""
        groups = self.groups[barrier]
        count = min(1, len(groups)) if limit is None else len(groups) - limit
        if count <= 0:
            return 0.0
        last = max(groups[:count])
        del groups[:count]
        return last

    def advance(self, cycles: float) -> None:
        """Let time pass in which nothing else changes."""
        self.latest += cycles
        for groups in self.groups.values():
            groups[:] = [each + cycles for each in groups]


class _Clock:
    """The time of a CTA, when its units are free, and what it has in flight."""

    def __init__(self, memory: float) -> None:
        self.now = 0.0
        self.memory = memory
        self.fetch = self.fetched = 0.0
        self.ready = [0.0] * 8
        self.free = [0.0] * (len(_UNITS) + 2)
        self.arrived = 0.0
        self.loaded = 0.0
        self.written = 0.0
        self.work: defaultdict[Stream, _InFlight] = defaultdict(_InFlight)

    def repeat(self, code: list[_Timed], times: int, fetch: float = 0.0) -> None:
        """Run code a number of times; after some rounds the last ones stand for all others.

        Args:
            fetch: Cycles until the next instruction is there.
        """
        half = _ROUNDS // 2
        self.fetch = fetch
        self.fetched = max(self.fetched, self.now)
        begun = self.now
        for done in range(times):
            if done == half:
                begun = self.now
            if done >= _ROUNDS:
                self._advance((self.now - begun) / (_ROUNDS - half) * (times - done))
                return
            for each in code:
                self._issue(each)

    def _advance(self, cycles: float) -> None:
        self.now += cycles
        self.arrived += cycles
        self.loaded += cycles
        self.written += cycles
        self.fetched += cycles
        for times in (self.ready, self.free):
            times[:] = [each + cycles for each in times]
        for work in self.work.values():
            work.advance(cycles)

    def _issue(self, each: _Timed) -> None:
        now, ready, free = self.now, self.ready, self.free
        for bit in each.wait:
            if ready[bit] > now:
                now = ready[bit]
        event = each.event
        if each.ordering is not None or event is not None:
            now = self._wait(each, now)
        done, unit = now, each.unit
        if unit >= 0:
            begun = free[unit] if free[unit] > now else now
            done = free[unit] = begun + each.cycles
            if not each.queues:
                now = begun
        if each.shared:
            free[_SHARED] = max(now, free[_SHARED]) + each.shared
            done = max(done, free[_SHARED])
        read, latency = done, each.latency
        if each.bytes:
            done, latency = self._load(each, now, done)
        if event is not None:
            self._record(event, each, done)
        elif each.ordering == "write":
            self.written = max(self.written, done + each.takes)
        if each.write >= 0:
            ready[each.write] = max(ready[each.write], done + latency)
        if each.read >= 0:
            ready[each.read] = max(ready[each.read], read + each.source)
        self.fetched += self.fetch
        self.now = max(now + each.stall, self.fetched)

    def _load(self, each: _Timed, now: float, done: float) -> tuple[float, float]:
        """Return when the last of a load's bytes is sent, and the latency of that."""
        latency = each.alone if now >= self.loaded else each.latency
        self.arrived = max(self.arrived, done) + each.bytes / self.memory
        if not each.repeats:
            self.loaded = max(self.loaded, self.arrived + latency)
        return self.arrived, latency

    def _wait(self, each: _Timed, now: float) -> float:
        if each.ordering == "barrier":
            return now + each.takes
        if each.ordering == "fence":
            return max(now, self.written) + each.takes
        if not isinstance(each.event, Wait):
            return now
        limit = None if each.stream in _OF_BARRIERS else each.event.limit
        return max(now, self.work[each.stream].retire(each.barrier, limit))

    def _record(self, event: Event, each: _Timed, done: float) -> None:
        work = self.work[each.stream]
        if each.stream == "tma" and isinstance(event, Copy):
            work.join(each.barrier, done, done + each.takes)
            return
        if _issues(event):
            work.issue(done + each.takes)
        if isinstance(event, Commit):
            work.commit(each.barrier, done)

    def end(self) -> float:
        """Return the cycle in which the CTA has ended."""
        return max(self.now, *self.free)
