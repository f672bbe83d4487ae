"""How long a CTA takes, its barriers in shared memory followed one by one.

In ``ttg.warp_specialize`` some warps copy, others multiply, and barriers tell them when a buffer is
full or free. So the warps that do the same have a clock of their own and share the units of the SM,
and a clock that waits for a barrier stands until others have done what ends its phase.
"""

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from math import inf, lcm

import msgspec
from msgspec.structs import replace

from irlens.analyze.cfg import Cfg
from irlens.analyze.time.barriers import BarrierUses, Use
from irlens.analyze.time.clock import Clock, Effects, TimedInstruction, Units
from irlens.analyze.time.cta_timeline import Timeline
from irlens.analyze.time.dataflow import UnknownPathError
from irlens.analyze.time.launched import WarpPath
from irlens.analyze.time.loop_runs import Path
from irlens.isa.sass import Instruction
from irlens.isa.sass.mbarriers import Meeting, meeting
from irlens.isa.sass.operands import ThreadInputs
from irlens.model.schedule import Control

_WARP = 32
#: Rounds of a repeated segment that are followed at least, before the last ones stand for others.
_ROUNDS = 8
#: Rounds in which a loop comes to all barriers of its rings.
_BRIEF = 8
#: Rounds after which the barriers of all rings are at the same phase again, at most.
_MOST_PERIOD = 64
#: Tiles of a persistent kernel that are followed, and how many more to see what each takes.
_TILES, _MORE_TILES = 4, 2
#: Segments of a tile's path, at most.
_LONGEST_TILE = 12
#: Instructions of a CTA that are followed, those of all its warps' paths together.
_MOST_STEPS = 2_000_000


class _Tiles(msgspec.Struct, frozen=True):
    """The part of a path that is repeated: one run of it is a tile of a persistent kernel.

    Attributes:
        begin: The first of its segments.
        count: How often they run in a row; 1 where none repeat.
    """

    begin: int
    length: int
    count: int


class _Group(msgspec.Struct, frozen=True):
    """Warps of a CTA that do the same, their path, and what their first lane can read."""

    path: Path
    warps: int
    thread: ThreadInputs
    tiles: _Tiles

    def cut(self, tiles: int) -> "_Group":
        """Return the group with fewer tiles."""
        begin, length = self.tiles.begin, self.tiles.length
        segments = self.path.segments
        kept = segments[: begin + tiles * length] + segments[begin + self.tiles.count * length :]
        path = Path(kept, self.path.skipped)
        return replace(self, path=path, tiles=_Tiles(begin, length, tiles))


def _tiles(path: Path) -> _Tiles:
    """Return the repeated part that covers most of a path."""
    segments = path.segments
    best, covered = _Tiles(0, len(segments), 1), 0
    for length in range(1, min(_LONGEST_TILE, len(segments) // 2) + 1):
        run = 0
        for at in range(len(segments) - length):
            run = run + 1 if segments[at] == segments[at + length] else 0
            count = run // length + 1
            if count > 1 and count * length > covered:
                best, covered = _Tiles(at + 1 - run, length, count), count * length
    return best


class BarrierTimeline:
    """The code of a CTA with what its warps do to barriers.

    Args:
        timeline: What its time is computed with, whatever warps it is for.
        control: The control fields of each of the instructions.
    """

    def __init__(
        self,
        timeline: Timeline,
        instructions: Sequence[Instruction],
        flow: Cfg,
        control: Sequence[Control],
        uses: BarrierUses,
    ) -> None:
        self._timeline, self._uses = timeline, uses
        self._instructions, self._flow, self._control = instructions, flow, control
        named = {index: meeting(each) for index, each in enumerate(instructions)}
        self._meetings = {index: each for index, each in named.items() if each is not None}
        self._steps: defaultdict[int, dict[int, list[TimedInstruction]]] = defaultdict(dict)

    def of_ctas(self, followed: Sequence[Sequence[WarpPath]]) -> list[float]:
        """Return the cycles of each of some CTAs, see ``cycles``."""
        known: dict[tuple[Path, ...], float] = {}
        for cta in followed:
            paths = tuple(one.path for one in cta)
            if paths not in known:
                known[paths] = self.cycles(cta)
        return [known[tuple(one.path for one in cta)] for cta in followed]

    def cycles(self, cta: Sequence[WarpPath]) -> float:
        """Return the cycles that a CTA takes.

        Args:
            cta: The paths of its warps.

        Raises:
            UnknownPathError: A barrier is not known, or what ends its phase.
        """
        groups = self._groups(cta)
        tiles = {each.tiles.count for each in groups}
        if len(tiles) > 1 or max(tiles) <= _TILES + _MORE_TILES:
            return self._of_groups(groups)
        few = self._of_groups([each.cut(_TILES) for each in groups])
        more = self._of_groups([each.cut(_TILES + _MORE_TILES) for each in groups])
        return few + (more - few) / _MORE_TILES * (max(tiles) - _TILES)

    def _of_groups(self, groups: Sequence[_Group]) -> float:
        """Return the cycles of some groups, of whose long loops a few rounds are followed."""
        lengths = {each.times for one in groups for each in one.path.segments if each.times > 1}
        period = self._period(groups)
        left_out = {}
        for coupled in _coupled(lengths):
            if coupled[0] > _ROUNDS + 2 * period:
                left_out[coupled] = (coupled[0] - _ROUNDS) // period * period
        fewer = {times: times - rounds for coupled, rounds in left_out.items() for times in coupled}
        base = self._run(groups, fewer)
        total = base
        for coupled, rounds in left_out.items():
            more = {times: fewer[times] + period for times in coupled}
            longer = self._run(groups, {**fewer, **more})
            total += (longer - base) / period * rounds
        return total

    def _groups(self, cta: Sequence[WarpPath]) -> list[_Group]:
        """Group the warps of a CTA that wait for the same barriers in the same order.

        Only one warp of a partition copies, or fills in a descriptor, so that their paths differ:
        the path with the most uses of barriers stands for the group.
        """
        alike: defaultdict[tuple[Use, ...], list[tuple[int, _Group]]] = defaultdict(list)
        for one in cta:
            group = _Group(one.path, one.of_cta, self._uses.threads[one.path], _tiles(one.path))
            uses = [each for each in self._briefly(group) if each is not None]
            waits = tuple(each for each in uses if each.deed == "waits")
            alike[waits].append((len(uses), group))
        return [
            replace(
                max(found, key=lambda each: each[0])[1], warps=sum(each.warps for _, each in found)
            )
            for found in alike.values()
        ]

    def _period(self, groups: Sequence[_Group]) -> int:
        """Return after how many rounds all barriers of a loop are at the same phase again."""
        period = 1
        for group in groups:
            rings: defaultdict[int, set[int]] = defaultdict(set)
            for each in filter(None, self._briefly(group)):
                rings[each.index].add(each.barrier)
            period = lcm(period, *(2 * len(ring) for ring in rings.values()))
        return min(period, _MOST_PERIOD)

    def _briefly(self, group: _Group) -> Sequence[Use | None]:
        brief = group.cut(min(group.tiles.count, _BRIEF))
        rounds = {each.times: min(each.times, _BRIEF) for each in brief.path.segments}
        return self._uses.along(brief.path, brief.thread, rounds)

    def _run(self, groups: Sequence[_Group], rounds: Mapping[int, int]) -> float:
        timing = self._timeline.timing
        units = Units(timing.port)
        codes = [_code(group.path, self._blocks(group), rounds) for group in groups]
        if sum(len(code) * times for segments in codes for code, times in segments) > _MOST_STEPS:
            raise UnknownPathError(f"its warps issue more than {_MOST_STEPS:,} instructions")
        actors = []
        for group, segments in zip(groups, codes, strict=True):
            code = chain.from_iterable(each for each, times in segments for _ in range(times))
            uses = self._uses.along(group.path, group.thread, rounds)
            actors.append(_Actor(Clock(units), group.warps * _WARP, code, uses))
        return _Simulation(actors, self._uses, self._meetings, timing.shared).run()

    def _blocks(self, group: _Group) -> Mapping[int, Sequence[TimedInstruction]]:
        """Return the blocks of a path, without what they do to barriers in shared memory."""
        known = self._steps[group.warps]
        line = replace(self._timeline, warps=group.warps)
        for number in group.path.counts().keys() - known.keys():
            known[number] = [self._timed_by(line, n) for n in line.indices(self._flow, number)]
        return known

    def _timed_by(self, line: Timeline, index: int) -> TimedInstruction:
        """Return an instruction with its times, and with effects where it may meet others."""
        instruction = self._instructions[index]
        timed = line.timed(index, instruction, self._control[index])
        if index in self._uses:
            return timed._replace(effects=replace(line.effects(index, instruction), event=None))
        if index in self._meetings:
            return timed._replace(effects=line.effects(index, instruction))
        return timed


def _coupled(lengths: Iterable[int]) -> list[tuple[int, ...]]:
    """Group loops by how often they run: those of two partitions that hand each other buffers.

    Some of their rounds may stand before or after the loop.
    """
    groups: list[list[int]] = []
    for times in sorted(lengths):
        if groups and times - groups[-1][-1] < _ROUNDS:
            groups[-1].append(times)
        else:
            groups.append([times])
    return list(map(tuple, groups))


def _code(
    path: Path, blocks: Mapping[int, Sequence[TimedInstruction]], rounds: Mapping[int, int]
) -> list[tuple[list[TimedInstruction], int]]:
    """Return the code of each segment of a path, and how often it is followed."""
    return [
        (
            [each for number in segment.blocks for each in blocks[number]],
            rounds.get(segment.times, segment.times),
        )
        for segment in path.segments
    ]


class _Barrier:
    """A barrier in shared memory.

    Attributes:
        arrivals: Those that a phase lacks.
        copies: Copies that it lacks, whose bytes were announced.
        latest: When the last arrival or copy of the phase is complete.
        ended: When each phase was complete.
    """

    def __init__(self, expected: int) -> None:
        self.expected = self.arrivals = expected
        self.copies = 0
        self.latest = 0.0
        self.ended: list[float] = []

    def count(self, when: float, arrivals: int = 0, copies: int = 0) -> bool:
        """Count arrivals, and copies that are announced or, below 0, made.

        Args:
            when: The cycle in which they are complete.

        Returns:
            Whether they complete the phase.
        """
        self.latest = max(self.latest, when)
        self.arrivals -= arrivals
        self.copies += copies
        if self.arrivals > 0 or self.copies > 0:
            return False
        self.ended.append(self.latest)
        self.arrivals, self.copies, self.latest = self.expected, 0, 0.0
        return True

    def passes(self, parity: int) -> float | None:
        """Return when the phase of a parity was complete; ``None`` if it is not yet."""
        if len(self.ended) & 1 == parity:
            return None
        return self.ended[-1] if self.ended else 0.0


class _Actor:
    """The warps of one path, and how far they have come.

    Attributes:
        next: The instruction that they issue next; ``None`` at the end.
        use: What that does to a barrier, if it may do anything and they have come to it.
    """

    def __init__(
        self,
        clock: Clock,
        threads: int,
        code: Iterator[TimedInstruction],
        uses: Sequence[Use | None],
    ) -> None:
        self.clock, self.threads = clock, threads
        self._code, self._uses = code, iter(uses)
        self.copies = _announced(uses)
        self.next = next(code, None)
        self.use: Use | None = None
        self.is_at_use = False

    def come_to_use(self) -> Use | None:
        """Return what the next instruction does to a barrier; ``None`` if it does not run."""
        if not self.is_at_use:
            self.use, self.is_at_use = next(self._uses, None), True
        return self.use

    def advance(self, stops: Container[int], limit: float) -> None:
        """Issue instructions up to one of some, or to a time."""
        if self.next is not None:
            self.next = self.clock.run(chain((self.next,), self._code), limit, stops)

    def step(self, since: float = 0.0) -> float:
        """Issue the next instruction, not before a time; return when it is through its unit."""
        assert self.next is not None
        self.clock.now = max(self.clock.now, since)
        done = self.clock.issue(self.next, self.effects)
        self.next, self.is_at_use = next(self._code, None), False
        return done

    def skip(self) -> None:
        """Issue the next instruction, whose guard keeps it from doing anything."""
        assert self.next is not None
        idle = replace(self.effects, bytes=0.0)
        self.next = self.next._replace(unit=-1, cycles=0.0, shared=0.0, effects=idle)
        self.step()

    @property
    def effects(self) -> Effects:
        """The effects of the next instruction, at which ``advance`` has stopped."""
        assert self.next is not None
        assert self.next.effects is not None
        return self.next.effects


def _announced(uses: Sequence[Use | None]) -> Iterator[int]:
    """Return how many copies each announcement of bytes is for, in their order."""
    counts: list[int] = []
    last: dict[int, int] = {}
    for each in filter(None, uses):
        if each.deed == "announces":
            last[each.barrier] = len(counts)
            counts.append(0)
        elif each.deed == "copies" and each.barrier in last:
            counts[last[each.barrier]] += 1
    return iter(counts)


class _Simulation:
    """The clocks of a CTA's warps, of which the earliest issues next."""

    def __init__(
        self,
        actors: Sequence[_Actor],
        uses: BarrierUses,
        meetings: Mapping[int, Meeting],
        latency: float,
    ) -> None:
        self.actors, self.uses, self.meetings = actors, uses, meetings
        self.stops = frozenset(uses) | meetings.keys()
        self.latency = latency  # from an arrival to where it is seen, through shared memory
        self.ready = list(actors)
        self.barriers: dict[int, _Barrier] = {}
        self.blocked: defaultdict[int, list[_Actor]] = defaultdict(list)
        self.met: defaultdict[int, list[_Actor]] = defaultdict(list)
        self.here: Counter[int] = Counter()
        self.latest: defaultdict[int, float] = defaultdict(float)
        self.threads = sum(each.threads for each in actors)

    def run(self) -> float:
        """Return when the last warps have ended."""
        while self.ready:
            actor = min(self.ready, key=lambda each: each.clock.now)
            limit = min((o.clock.now for o in self.ready if o is not actor), default=inf)
            ready = len(self.ready)  # changes when the actor waits, or wakes others
            while actor.next is not None and actor.clock.now <= limit and len(self.ready) == ready:
                actor.advance(self.stops, limit)
                if actor.next is not None and actor.clock.now <= limit:
                    self._go_on(actor, actor.effects)
            if actor.next is None:
                self._end(actor)
        stuck = next((each.next for each in self.actors if each.next is not None), None)
        if stuck is not None:
            raise UnknownPathError("how long its warps wait for each other is unknown")
        return max(each.clock.end() for each in self.actors)

    def _go_on(self, actor: _Actor, instruction: Effects) -> None:
        met = self.meetings.get(instruction.index)
        use = actor.come_to_use() if instruction.index in self.uses else None
        if instruction.index in self.uses and use is None:
            actor.skip()
        elif met is not None:
            self._meet(actor, met)
        elif use is None:
            actor.step()
        elif use.deed == "expects":
            self.barriers[use.barrier] = _Barrier(use.value)
            actor.step()
        else:
            barrier = self.barriers.get(use.barrier)
            if barrier is None:
                raise UnknownPathError("warps use a barrier that none of them has set up")
            self._use(actor, use, barrier, instruction.takes)

    def _use(self, actor: _Actor, use: Use, barrier: _Barrier, takes: float) -> None:
        clock = actor.clock
        if use.deed == "waits":
            when = barrier.passes(use.value)
            if when is None:
                self.ready.remove(actor)
                self.blocked[use.barrier].append(actor)
            else:
                actor.step(when)
            return
        done = actor.step()
        now = clock.now + self.latency
        match use.deed:
            case "copies":
                ended = barrier.count(done + takes, copies=-1)
            case "announces":
                copies = next(actor.copies)
                if not copies:
                    raise UnknownPathError("which copies a barrier waits for is unknown")
                ended = barrier.count(now, use.value, copies)
            case "commits":
                ended = barrier.count(max(now, clock.work["tcgen05"].latest), use.value)
            case _:
                ended = barrier.count(now, use.value)
        if ended:
            self.ready.extend(self.blocked.pop(use.barrier, ()))

    def _meet(self, actor: _Actor, met: Meeting) -> None:
        number = met.number
        self.here[number] += actor.threads
        self.latest[number] = max(self.latest[number], actor.clock.now)
        if met.waits:
            self.ready.remove(actor)
            self.met[number].append(actor)
        else:
            actor.step()
        if self.here[number] >= (met.threads or self.threads):
            self._release(number)

    def _release(self, number: int) -> None:
        for each in self.met.pop(number, ()):
            each.step(self.latest[number])
            self.ready.append(each)
        self.here[number], self.latest[number] = 0, 0.0

    def _end(self, actor: _Actor) -> None:
        """Let warps end: all others of the CTA do not wait for them any more."""
        self.ready.remove(actor)
        self.threads -= actor.threads
        for number, waiting in list(self.met.items()):
            met = self.meetings[waiting[0].effects.index]
            if met.threads is None and self.here[number] >= self.threads:
                self._release(number)
