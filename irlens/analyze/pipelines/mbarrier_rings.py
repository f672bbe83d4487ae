"""Pipelines whose groups are phases of mbarriers in a ring (PTX ISA, ``mbarrier``).

Work is issued on a barrier, and whoever needs its result waits for that barrier. The iterations
between the two follow from the barriers' addresses, which ``mbarrier_trace`` evaluates through
the loop. Where the waits are outside the loop, often in other warps, the number of phases under
way depends on run time; the ring bounds it, since each barrier has one phase under way at a time.
"""

from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from itertools import chain, pairwise

import msgspec

from irlens.analyze import work
from irlens.analyze.pipelines.mbarrier_trace import Issues, Touch, Tracer
from irlens.analyze.pipelines.ptx_loops import FunctionLoops
from irlens.analyze.pipelines.steady_state import InFlight, Reading, Unreadable
from irlens.isa.ptx.copies import awaited_barrier, expected_bytes, expects_bytes
from irlens.model.report import Pipeline
from irlens.model.several import only, total
from irlens.model.source import user_frame
from irlens.model.text import plural

REPEATS = "an inner loop works on barriers, and its trip count is unknown"
UNKNOWN_BARRIER = "the barrier of line {} does not follow from constants"
#: Iterations to follow, and how many of the last ones must agree. Rings are a few stages long.
_ITERATIONS = 48
_AGREEING = 24
#: With a single barrier the work of two iterations is never announced at once.
_SMALLEST_RING = 2


class RingReading(Reading, frozen=True, kw_only=True):
    """Figures of a loop over a ring of barriers; bytes are per CTA.

    Attributes:
        groups_before_loop: Phases begun and not awaited on entry.
        groups_per_iteration: Phases begun per iteration.
        outstanding_at_wait: Phases under way just before the wait.
        bytes_per_iteration: Bytes that the phases of an iteration expect.
        bytes_in_flight: Bytes that the phases under way after the wait expect.
        ended: Which wait ends what, in all iterations that were followed: the instructions that
            began a phase or added to it, and the wait, as indices into ``Function.instructions``.
        after_each: What is in flight after each instruction of an iteration, by its offset in the
            text.
        optional: The work on barriers that an iteration may pass by, and the waits for it, as
            indices into ``Function.instructions``. All figures leave them out.
    """

    bytes_per_iteration: int | None
    bytes_in_flight: int | None
    ended: frozenset[tuple[tuple[int, ...], int]]
    after_each: Mapping[int, InFlight]
    optional: frozenset[int] = frozenset()


class AwaitedOutside(msgspec.Struct, frozen=True):
    """Nothing in the loop waits for the work that it issues.

    Attributes:
        ring: The number of barriers that the work goes around; ``None`` if unknown.
        bytes_per_iteration: Bytes announced to them in an iteration.
        waits: The waits for one of them, as indices into ``Function.instructions``.
    """

    ring: int | None
    bytes_per_iteration: int | None
    waits: tuple[int, ...]


class Trace(msgspec.Struct, frozen=True):
    """The barriers that a loop touches.

    Attributes:
        before: From the function's start until the loop is first entered; ``None`` if unknown.
        iterations: In each of the first iterations.
        order: The loop's instructions in the order of the trace, as indices into
            ``Function.instructions``.
    """

    before: list[Touch] | None
    iterations: list[list[Touch]]
    order: tuple[int, ...]


class _Phase(msgspec.Struct):
    """A barrier's phase that is under way.

    Attributes:
        iteration: In which it began.
        bytes: That it expects; ``None`` if unknown.
        touched: The instructions that began it or added to it.
    """

    iteration: int
    bytes: int | None
    touched: tuple[int, ...] = ()


class _Wait(msgspec.Struct, frozen=True):
    """One wait in one iteration: its index, the phase's age, and the phases before and after."""

    at: int
    age: int
    before: int
    after: int
    bytes_after: int | None
    touched: tuple[int, ...]


class _Iteration(msgspec.Struct, frozen=True):
    """The phases an iteration began, their bytes, its waits, and what is in flight after each.

    Attributes:
        after_each: What is in flight after each instruction that touches a barrier, by its index.
    """

    begun: int
    bytes: int | None
    waits: tuple[_Wait, ...]
    after_each: dict[int, InFlight]


class Ring:
    """Reads the loops of one function."""

    def __init__(self, loops: FunctionLoops, issues: Issues) -> None:
        self._instructions = loops.function.instructions
        touching = {}
        for index, instruction in enumerate(self._instructions):
            operand = issues(instruction) or awaited_barrier(instruction)
            if operand is not None:
                touching[index] = operand
        self._tracer = Tracer(loops, touching)

    def read(self, loop: int) -> RingReading | AwaitedOutside | Unreadable:
        """Read a loop that issues work."""
        if self._tracer.repeats(loop):
            return Unreadable(REPEATS)
        traced = list(self._tracer.iterations(loop, _ITERATIONS))
        every = [touch for touches in traced for touch in touches]
        issued = {touch.address for touch in every if not self.waits(touch)}
        awaited = {touch.address for touch in every if self.waits(touch)}
        if not awaited or (None not in issued | awaited and not issued & awaited):
            return self._awaited_outside(loop, traced, issued)
        unknown = next((touch for touch in every if touch.address is None), None)
        if unknown is not None:
            reason = UNKNOWN_BARRIER.format(self._instructions[unknown.at].line)
            return self._known_ring(loop, traced, awaited) or Unreadable(reason)

        optional = self._optional(loop, every)
        awaited -= {touch.address for touch in every if touch.at in optional}

        # Phases of barriers that this loop does not wait for are another loop's.
        def relevant(touches: list[Touch]) -> list[Touch]:
            return [touch for touch in touches if touch.address in awaited]

        before = self._tracer.before(loop)
        phases: dict[int, _Phase] = {}
        self._replay(-1, relevant(before or []), phases)
        entering = len(phases)
        steps = [self._replay(n, relevant(touches), phases) for n, touches in enumerate(traced)]
        separate = self._have_separate_rings(relevant(every))
        reading = self._settle(loop, steps, None if before is None else entering, separate)
        if isinstance(reading, RingReading):
            return msgspec.structs.replace(reading, optional=optional)
        return reading

    def _optional(self, loop: int, touches: list[Touch]) -> frozenset[int]:
        """Return what touches only barriers that an iteration of a loop may pass by.

        A kernel that goes on with the next tile in the same loop loads for its epilogue where a
        tile ends. Empty where each iteration may pass by all its waits.
        """
        passed = self._tracer.optional(loop)
        if all(touch.at in passed for touch in touches if self.waits(touch)):
            return frozenset()
        certain = {touch.address for touch in touches if touch.at not in passed}
        return frozenset(touch.at for touch in touches if touch.address not in certain)

    def trace(self, loop: int) -> Trace | Unreadable:
        """Trace a loop that issues work."""
        if self._tracer.repeats(loop):
            return Unreadable(REPEATS)
        return Trace(
            self._tracer.before(loop),
            list(self._tracer.iterations(loop, _ITERATIONS)),
            tuple(self._tracer.instructions(loop)),
        )

    def waits_for(self, addresses: Collection[int | None]) -> tuple[int, ...]:
        """Return the waits of the function for some known barriers, as indices."""
        found = (self._waits_by_address.get(each, ()) for each in addresses if each is not None)
        return tuple(sorted(chain.from_iterable(found)))

    @cached_property
    def _waits_by_address(self) -> dict[int, list[int]]:
        """The waits of the function, as indices, by the barrier that each waits for."""
        waits: dict[int, list[int]] = {}
        for touch in chain.from_iterable(self._tracer.touches.values()):
            if touch.address is not None and self.waits(touch):
                waits.setdefault(touch.address, []).append(touch.at)
        return waits

    def busy(self, loop: int) -> frozenset[int]:
        """Return after which instructions of a loop work is in flight, by their offsets.

        Empty where the loop has no reading.
        """
        reading = self.read(loop)
        if not isinstance(reading, RingReading):
            return frozenset()
        return frozenset(at for at, there in reading.after_each.items() if there.groups)

    def _in_flight_after(self, loop: int, iteration: _Iteration) -> dict[int, InFlight]:
        """Return what is in flight after each instruction of the steady state."""
        latest = list(iteration.after_each.values())[-1]
        everywhere = {}
        for index in self._tracer.instructions(loop):
            latest = iteration.after_each.get(index, latest)
            everywhere[self._instructions[index].start] = latest
        return everywhere

    def waits(self, touch: Touch) -> bool:
        """Whether an instruction waits for the barrier that it touches."""
        return awaited_barrier(self._instructions[touch.at]) is not None

    def _known_ring(
        self, loop: int, traced: list[list[Touch]], awaited: set[int | None]
    ) -> AwaitedOutside | None:
        """Look for work on barriers that are all known, beside work on others.

        The products of a tile's last iteration signal a second ring, for example, whose index
        depends on the number of tiles. What goes around the first one is still bounded by it.
        """
        every = [touch for touches in traced for touch in touches]
        issuing = {touch.at for touch in every if not self.waits(touch)}
        issuing -= {touch.at for touch in every if touch.address is None}
        known = [[touch for touch in touches if touch.at in issuing] for touches in traced]
        issued = {touch.address for touches in known for touch in touches}
        if not issued or issued & awaited:
            return None
        outside = self._awaited_outside(loop, known, issued)
        return outside if outside.waits else None

    def _awaited_outside(
        self, loop: int, traced: list[list[Touch]], issued: set[int | None]
    ) -> AwaitedOutside:
        """Look for the waits in the rest of the function."""
        last = [self._instructions[touch.at] for touch in traced[-1]]
        expected = [expected_bytes(each) for each in last if expects_bytes(each)]
        return AwaitedOutside(
            self._ring_size([touch for touches in traced for touch in touches]),
            total(expected) if expected else None,
            self.waits_for(issued),
        )

    def _ring_size(self, touches: list[Touch]) -> int | None:
        """Return the number of barriers that work goes around; ``None`` if unknown."""
        rings = self.signalled(touches).values()
        return None if any(None in ring for ring in rings) else only(map(len, rings))

    def signalled(self, touches: Iterable[Touch]) -> dict[int, set[int | None]]:
        """Return the barriers that each instruction that issues work signals, by its index."""
        rings: dict[int, set[int | None]] = {}
        for touch in touches:
            if not self.waits(touch):
                rings.setdefault(touch.at, set()).add(touch.address)
        return rings

    def _replay(
        self, iteration: int, touches: list[Touch], phases: dict[int, _Phase]
    ) -> _Iteration:
        """Apply an iteration to the phases under way."""
        begun: list[_Phase] = []
        waits = []
        after_each = {}
        for touch in touches:
            work.spend(1 + len(phases))  # after each, all that are in flight are counted
            address = touch.address
            if address is None:
                continue
            if not self.waits(touch):
                if address not in phases:
                    phases[address] = _Phase(iteration, 0)
                    begun.append(phases[address])
                self._add(phases[address], touch.at)
            elif (ended := phases.pop(address, None)) is not None:
                age, after = iteration - ended.iteration, len(phases)
                left = _total(phases.values())
                waits.append(_Wait(touch.at, age, after + 1, after, left, ended.touched))
            after_each[touch.at] = InFlight(len(phases), _total(phases.values()))
        return _Iteration(len(begun), _total(begun), tuple(waits), after_each)

    def _add(self, phase: _Phase, at: int) -> None:
        """Add the work of an instruction to a phase."""
        phase.touched += (at,)
        if expects_bytes(self._instructions[at]):
            added = expected_bytes(self._instructions[at])
            known = phase.bytes is not None and added is not None
            phase.bytes = (phase.bytes or 0) + (added or 0) if known else None

    def _have_separate_rings(self, touches: list[Touch]) -> bool:
        """Whether each wait has a ring of its own, so that no two are copies of one wait.

        The copies that unrolling makes of a wait share a ring: each takes every second barrier.
        """
        rings: dict[int, set[int]] = {}
        for touch in touches:
            if self.waits(touch) and touch.address is not None:
                rings.setdefault(touch.at, set()).add(touch.address)
        spans = sorted((min(ring), max(ring)) for ring in rings.values())
        return all(low < high for low, high in spans) and all(
            high < low for (_, high), (low, _) in pairwise(spans)
        )

    def _settle(
        self, loop: int, steps: list[_Iteration], entering: int | None, separate: bool
    ) -> RingReading | Unreadable:
        """Read iterations of which the last ones must all be alike."""
        first = steps[-_AGREEING]
        if any(step != first for step in steps[-_AGREEING:]):
            return Unreadable("its iterations never repeat")
        origins = [self._instructions[wait.at].locations for wait in first.waits]
        alike = len(set(origins)) < len(origins) or (len(origins) > 1 and () in origins)
        if alike and not separate:
            return Unreadable("it waits several times per iteration: it may have been unrolled")
        if not first.waits:
            return Unreadable("it waits for nothing that is in flight")
        wait = min(first.waits, key=lambda wait: (wait.age, wait.after))
        return RingReading(
            prefetch=wait.age,
            groups_before_loop=entering,
            groups_per_iteration=first.begun,
            outstanding_at_wait=wait.before,
            outstanding_after_wait=wait.after,
            bytes_per_iteration=first.bytes,
            bytes_in_flight=wait.bytes_after,
            ended=frozenset((each.touched, each.at) for step in steps for each in step.waits),
            after_each=self._in_flight_after(loop, first),
        )


def _total(phases: Iterable[_Phase]) -> int | None:
    return total(phase.bytes for phase in phases)


def awaited_outside(
    loops: FunctionLoops, index: int, record: Pipeline, work: str, reading: AwaitedOutside
) -> Pipeline:
    """Fill in what is known of a loop whose work is awaited outside of it.

    Args:
        work: What it issues: "the copies".
    """
    own = loops.warp_group(loops.forest.loops[index].header)
    blocks = _blocks(loops, reading.waits)
    by_other_warps = any(loops.warp_group(block) not in (None, own) for block in blocks)
    places = _places(loops, blocks)
    where = f"at {' and '.join(places)}" if places else "outside this loop"
    reason = f"{work} are awaited {where}: how many are in flight depends on the warps at run time"
    if reading.ring is None:
        return msgspec.structs.replace(record, reason=reason)
    most = reading.ring if by_other_warps and reading.ring >= _SMALLEST_RING else None
    return msgspec.structs.replace(
        record,
        stages_at_most=most,
        bytes_per_iteration=reading.bytes_per_iteration,
        verdict=record.verdict if most is None else "pipelined",
        reason=f"{reason}, within a ring of {plural(reading.ring, 'barrier')}",
    )


def _blocks(loops: FunctionLoops, instructions: tuple[int, ...]) -> list[int]:
    """Return the blocks of some instructions."""
    return [
        number
        for number, block in enumerate(loops.cfg.blocks)
        if any(block.start <= at < block.stop for at in instructions)
    ]


def _places(loops: FunctionLoops, blocks: list[int]) -> list[str]:
    """Name the loops around some waits, with the warps that run them."""
    places = []
    for block in blocks:
        # The innermost loop only polls the barrier.
        polling = loops.forest.innermost[block]
        around = loops.forest.loops[polling].parent if polling is not None else None
        place = user_frame(loops.locations(around)) if around is not None else None
        at = loops.cfg.blocks[block].start
        place = place or user_frame(loops.function.instructions[at].locations)
        group = loops.warp_group(block)
        if place is not None:
            places.append(f"{place} by {group.name}" if group is not None else str(place))
    return list(dict.fromkeys(places))
