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


class Effects(msgspec.Struct, frozen=True):
    """What an instruction does besides occupying its unit.

    Attributes:
        index: Its index among those of the kernel.
        of_memory: Whether its times depend on the latency of memory.
        alone: The latency of a load while nothing that the L1 lacks is in flight.
        repeats: Whether it loads only what the CTA has loaded before, so that it brings nothing
            that later loads could wait for.
        queues: Whether it queues at its unit while the warp goes on, as a product does.
        ordering: How it orders other work, if it does.
        event: What it does to asynchronous work, if anything.
        takes: Cycles for which the barrier, the fence or the work takes.
    """

    index: int
    of_memory: bool
    bytes: float
    alone: float
    repeats: bool
    queues: bool
    ordering: Ordering | None
    event: Event | None
    stream: Stream
    takes: float


class TimedInstruction(NamedTuple):
    """One instruction: its schedule, its latency, and what it occupies for how long.

    Attributes:
        effects: ``None`` where it neither loads, nor orders other work, nor is of asynchronous
            work, as of most.
    """

    effects: Effects | None
    wait: tuple[int, ...]
    unit: int
    cycles: float
    shared: float
    write: int
    latency: float
    read: int
    source: float
    stall: float


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

    def repeat(self, code: Sequence[TimedInstruction], times: int, fetch: float = 0.0) -> None:
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
        self, code: Iterable[TimedInstruction], limit: float = inf, stops: Container[int] = ()
    ) -> TimedInstruction | None:
        """Issue instructions one after the other, as ``issue`` does.

        Args:
            limit: The cycle after which no more are issued.
            stops: Instructions that are not, each of which has effects.

        Returns:
            The first instruction that was not issued; ``None`` if all were.
        """
        now, ready, free, fetched, fetch = (
            self.now, self.ready, self.units.free, self.fetched, self.fetch
        )  # fmt: skip
        left = None
        for each in code:
            effects, wait, unit, cycles, shared, write, latency, read, source, stall = each
            if now > limit or (effects is not None and effects.index in stops):
                left = each
                break
            if effects is not None:
                self.now, self.fetched = now, fetched
                self.issue(each, effects)
                now, fetched = self.now, self.fetched
                continue
            for bit in wait:
                if ready[bit] > now:
                    now = ready[bit]
            done = now
            if unit >= 0:
                if free[unit] > now:
                    now = free[unit]
                done = free[unit] = now + cycles
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
            now = now + stall if now + stall > fetched else fetched
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

    def issue(self, each: TimedInstruction, effects: Effects) -> float:
        """Issue an instruction; return when it, or all that it loads, has been through its unit."""
        now, ready, free = self.now, self.ready, self.units.free
        _, wait, unit, cycles, shared, write, latency, read, source, stall = each
        for bit in wait:
            if ready[bit] > now:
                now = ready[bit]
        event = effects.event
        if effects.ordering is not None or event is not None:
            now = self._wait(effects, now)
        done = now
        if unit >= 0:
            begun = max(free[unit], now)
            done = free[unit] = begun + cycles
            if not effects.queues and unit != STORES:
                now = begun
        sent = done
        if shared:
            free[SHARED] = max(now, free[SHARED]) + shared
            done = max(done, free[SHARED])
            sent = done if unit >= 0 else sent  # a bulk copy comes later: its registers are read
        if effects.bytes:
            latency = effects.alone if now >= self.units.loaded else latency
            done = self._load(effects, latency, done)
        if event is not None:
            self._record(event, effects, done)
        elif effects.ordering == "write":
            self.written = max(self.written, done + effects.takes)
        if write >= 0:
            ready[write] = max(ready[write], done + latency)
        if read >= 0:
            ready[read] = max(ready[read], sent + source)
        self.fetched += self.fetch
        self.now = max(now + stall, self.fetched)
        return done

    def _load(self, effects: Effects, latency: float, done: float) -> float:
        """Return when the last of a load's bytes is sent."""
        units = self.units
        units.arrived = max(units.arrived, done) + effects.bytes / units.port
        if not effects.repeats:
            units.loaded = max(units.loaded, units.arrived + latency)
        return units.arrived

    def _wait(self, effects: Effects, now: float) -> float:
        if effects.ordering == "barrier":
            return now + effects.takes
        if effects.ordering == "fence":
            return max(now, self.written) + effects.takes
        if not isinstance(effects.event, Wait):
            return now
        limit = None if effects.stream == "tma" else effects.event.limit
        return max(now, self.work[effects.stream].retire(limit))

    def _record(self, event: Event, effects: Effects, done: float) -> None:
        work = self.work[effects.stream]
        if effects.stream == "tma" and isinstance(event, Copy):
            work.join(done, done + effects.takes)
            return
        if issues(event):
            work.issue(done + effects.takes)
        if isinstance(event, Commit):
            work.commit(done)

    def end(self) -> float:
        """Return the cycle in which the warps have ended and all units are free."""
        return max(self.now, *self.units.free)
