"""The time of warps: when their units are free, and what they have in flight.

A warp issues in order. What it waits for is in the schedule that ptxas wrote into its instructions,
and in the groups of asynchronous work that it commits and retires.
"""

from collections import defaultdict
from collections.abc import Container, Iterable, Sequence
from math import inf
from typing import NamedTuple

import msgspec

from irlens.isa.events import Commit, Copy, Event, Wait
from irlens.isa.sass import units
from irlens.isa.sass.timing import Ordering, Stream

#: How often a repeated segment is followed before its last rounds stand for the rest.
_ROUNDS = 8


class TimedInstruction(msgspec.Struct, frozen=True):
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
    takes: float


class Step(NamedTuple):
    """An instruction as ``Clock.run`` takes it: its fields at hand, as a loop runs many times.

    Attributes:
        timed: The instruction where it loads, orders other work or is of asynchronous work.
    """

    timed: TimedInstruction | None
    wait: tuple[int, ...]
    unit: int
    cycles: float
    queues: bool
    shared: float
    write: int
    latency: float
    read: int
    source: float
    stall: float


def step_of(each: TimedInstruction) -> Step:
    """Return an instruction as ``Clock.run`` takes it."""
    plain = each.event is None and each.ordering is None and not each.bytes
    return Step(
        None if plain else each, each.wait, each.unit, each.cycles, each.queues, each.shared,
        each.write, each.latency, each.read, each.source, each.stall,
    )  # fmt: skip


UNITS: tuple[units.Unit, ...] = ("alu", "fma", "xu", "lsu", "tensor")
#: The way of stores to the L2, where they queue.
STORES = len(UNITS)
#: The scoreboards of each mask of them.
SCOREBOARDS = tuple(tuple(bit for bit in range(6) if mask >> bit & 1) for mask in range(64))
#: Shared memory, which loads and stores, copies and products take besides their unit.
SHARED = len(UNITS) + 1


def issues(event: Event | None) -> bool:
    """Whether an event begins work."""
    return isinstance(event, Copy) or (isinstance(event, Commit) and event.copies)


class _InFlight:
    """The groups of a stream that are under way, oldest first, by when they are complete.

    Attributes:
        latest: When all that was issued is complete.
        groups: When each group is complete.
    """

    def __init__(self) -> None:
        self.latest = 0.0
        self.groups: list[float] = []

    def issue(self, complete: float) -> None:
        """Add to what the next commit collects."""
        self.latest = max(self.latest, complete)

    def commit(self, now: float) -> None:
        """Close a group, which completes with all that was issued before it."""
        self.groups.append(max(self.latest, now))

    def join(self, now: float, complete: float) -> None:
        """Add to the youngest group."""
        if not self.groups:
            self.groups.append(now)
        self.groups[-1] = max(self.groups[-1], complete)

    def retire(self, limit: int | None) -> float:
        """Remove all groups but some, or the oldest; return when the last was complete."""
        groups = self.groups
        count = min(1, len(groups)) if limit is None else len(groups) - limit
        if count <= 0:
            return 0.0
        last = max(groups[:count])
        del groups[:count]
        return last

    def advance(self, cycles: float) -> None:
        """Let time pass in which nothing else changes."""
        self.latest += cycles
        self.groups[:] = [each + cycles for each in self.groups]


class Units:
    """When the units of an SM are free, and what its way to memory still brings.

    Attributes:
        port: Bytes that come to an SM in a cycle.
        arrived: When the last of what was loaded has come.
        loaded: Until when loads are in flight that the L1 lacks.
    """

    def __init__(self, port: float) -> None:
        self.port = port
        self.free = [0.0] * (len(UNITS) + 2)
        self.arrived = 0.0
        self.loaded = 0.0

    def advance(self, cycles: float) -> None:
        """Let time pass in which nothing else changes."""
        self.arrived += cycles
        self.loaded += cycles
        self.free[:] = [each + cycles for each in self.free]


class Clock:
    """The time of warps that run the same code, and what they have in flight.

    Args:
        units: Those of their SM, which other warps may share.
    """

    def __init__(self, units: Units) -> None:
        self.now = 0.0
        self.units = units
        self.fetch = self.fetched = 0.0
        self.ready = [0.0] * 8
        self.written = 0.0
        self.work: defaultdict[Stream, _InFlight] = defaultdict(_InFlight)

    def repeat(self, code: Sequence[Step], times: int, fetch: float = 0.0) -> None:
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
            self.run(code)

    def run(
        self, code: Iterable[Step], limit: float = inf, stops: Container[int] = ()
    ) -> Step | None:
        """Issue instructions one after the other, as ``issue`` does.

        Args:
            limit: The cycle after which no more are issued.
            stops: Instructions that are not, each of which is ``timed``.

        Returns:
            The first instruction that was not issued; ``None`` if all were.
        """
        now, ready, free, fetched, fetch = (
            self.now, self.ready, self.units.free, self.fetched, self.fetch
        )  # fmt: skip
        left = None
        for step in code:
            timed, wait, unit, cycles, queues, shared, write, latency, read, source, stall = step
            if now > limit or (timed is not None and timed.index in stops):
                left = step
                break
            if timed is not None:
                self.now, self.fetched = now, fetched
                self.issue(timed)
                now, fetched = self.now, self.fetched
                continue
            for bit in wait:
                now = max(now, ready[bit])
            done = now
            if unit >= 0:
                begun = free[unit]
                if begun < now:
                    begun = now
                done = free[unit] = begun + cycles
                if not queues:
                    now = begun
            sent = done
            if shared:
                free[SHARED] = max(now, free[SHARED]) + shared
                done = max(done, free[SHARED])
                sent = done if unit >= 0 else sent
            if write >= 0 and ready[write] < done + latency:
                ready[write] = done + latency
            if read >= 0 and ready[read] < sent + source:
                ready[read] = sent + source
            fetched += fetch
            now += stall
            if now < fetched:
                now = fetched
        self.now, self.fetched = now, fetched
        return left

    def _advance(self, cycles: float) -> None:
        self.now += cycles
        self.written += cycles
        self.fetched += cycles
        self.units.advance(cycles)
        self.ready[:] = [each + cycles for each in self.ready]
        for work in self.work.values():
            work.advance(cycles)

    def issue(self, each: TimedInstruction) -> float:
        """Issue an instruction; return when it, or all that it loads, has been through its unit."""
        now, ready, free = self.now, self.ready, self.units.free
        for bit in each.wait:
            if ready[bit] > now:
                now = ready[bit]
        event = each.event
        if each.ordering is not None or event is not None:
            now = self._wait(each, now)
        done, unit = now, each.unit
        if unit >= 0:
            begun = max(free[unit], now)
            done = free[unit] = begun + each.cycles
            if not each.queues:
                now = begun
        read, latency = done, each.latency
        if each.shared:
            free[SHARED] = max(now, free[SHARED]) + each.shared
            done = max(done, free[SHARED])
            read = done if unit >= 0 else read  # a bulk copy comes later: its registers are read
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
        return done

    def _load(self, each: TimedInstruction, now: float, done: float) -> tuple[float, float]:
        """Return when the last of a load's bytes is sent, and the latency of that."""
        units = self.units
        latency = each.alone if now >= units.loaded else each.latency
        units.arrived = max(units.arrived, done) + each.bytes / units.port
        if not each.repeats:
            units.loaded = max(units.loaded, units.arrived + latency)
        return units.arrived, latency

    def _wait(self, each: TimedInstruction, now: float) -> float:
        if each.ordering == "barrier":
            return now + each.takes
        if each.ordering == "fence":
            return max(now, self.written) + each.takes
        if not isinstance(each.event, Wait):
            return now
        limit = None if each.stream == "tma" else each.event.limit
        return max(now, self.work[each.stream].retire(limit))

    def _record(self, event: Event, each: TimedInstruction, done: float) -> None:
        work = self.work[each.stream]
        if each.stream == "tma" and isinstance(event, Copy):
            work.join(done, done + each.takes)
            return
        if issues(event):
            work.issue(done + each.takes)
        if isinstance(event, Commit):
            work.commit(done)

    def end(self) -> float:
        """Return the cycle in which the warps have ended and all units are free."""
        return max(self.now, *self.units.free)
