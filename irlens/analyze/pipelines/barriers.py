"""Pipelines whose groups are phases of mbarriers in a ring (PTX ISA, ``mbarrier``).

Work is issued on a barrier, and whoever needs its result waits for that barrier. How many
iterations lie between the two is read off the barriers' addresses, followed through the loop.
"""

from collections.abc import Callable, Iterable
from itertools import pairwise

import msgspec

from irlens.analyze.pipelines.loops import FunctionLoops
from irlens.analyze.pipelines.steady import Unreadable
from irlens.analyze.pipelines.trace import Touch, Tracer
from irlens.isa.ptx import Address, Immediate, Instruction, Operand

#: Iterations to follow, and how many of the last ones must agree. Rings are a few stages long.
_ITERATIONS = 48
_AGREEING = 24

#: An instruction that issues work: the operand with the barrier's address, otherwise ``None``.
Issues = Callable[[Instruction], Operand | None]


class RingReading(msgspec.Struct, frozen=True, kw_only=True):
    """A loop over a ring of barriers; bytes are per CTA.

    Attributes:
        prefetch: Iterations between issuing work and the wait for it.
        groups_before_loop: Phases begun and not waited for on entry.
        groups_per_iteration: Phases begun per iteration.
        outstanding_at_wait: Phases under way just before the wait.
        outstanding_after_wait: Phases under way behind it.
        bytes_per_iteration: Bytes that the phases of an iteration expect.
        bytes_in_flight: Bytes that those under way behind the wait expect.
        ended: Which wait ends what, in all iterations that were followed: the instructions that
            began a phase or added to it, and the wait, as indices into ``Function.instructions``.
    """

    prefetch: int
    groups_before_loop: int | None
    groups_per_iteration: int
    outstanding_at_wait: int
    outstanding_after_wait: int
    bytes_per_iteration: int | None
    bytes_in_flight: int | None
    ended: frozenset[tuple[tuple[int, ...], int]]


class _Phase(msgspec.Struct):
    """A barrier's phase that is under way.

    Attributes:
        iteration: In which it began.
        bytes: That it expects; ``None`` where they are not known.
        touched: The instructions that began it or added to it.
    """

    iteration: int
    bytes: int | None
    touched: tuple[int, ...] = ()


class _Wait(msgspec.Struct, frozen=True):
    """One wait, as it was found in one iteration."""

    at: int
    age: int
    before: int
    after: int
    bytes_after: int | None
    touched: tuple[int, ...]


class _Iteration(msgspec.Struct, frozen=True):
    """What an iteration began, and what it waited for."""

    begun: int
    bytes: int | None
    waits: tuple[_Wait, ...]


class Elsewhere(msgspec.Struct, frozen=True):
    """Nothing in the loop waits for the work that it issues.

    Attributes:
        ring: Barriers that the work goes around; ``None`` where that is not known.
        bytes_per_iteration: Bytes that they are told to expect in an iteration.
        waits: What waits for one of them, as indices into ``Function.instructions``.
    """

    ring: int | None
    bytes_per_iteration: int | None
    waits: tuple[int, ...]


def awaited(instruction: Instruction) -> Operand | None:
    """Return the barrier that ``mbarrier.try_wait`` or ``test_wait`` asks, if it is one."""
    waiting = instruction.modifiers[:1] in (("try_wait",), ("test_wait",))
    if instruction.opcode != "mbarrier" or not waiting:
        return None
    return next((o for o in instruction.operands if isinstance(o, Address)), None)


def expects_bytes(instruction: Instruction) -> bool:
    """Whether it tells a barrier how many bytes to expect."""
    return instruction.opcode == "mbarrier" and "expect_tx" in instruction.modifiers


def arrives_for_copies(instruction: Instruction) -> bool:
    """Whether it lets a barrier know when its thread's ``cp.async`` are done."""
    return instruction.opcode == "cp" and instruction.modifiers[:2] == ("async", "mbarrier")


def _expected(instruction: Instruction) -> int | None:
    count = instruction.operands[-1]
    return count.value if isinstance(count, Immediate) and isinstance(count.value, int) else None


def _total(phases: Iterable[_Phase]) -> int | None:
    sizes = [phase.bytes for phase in phases]
    known = [size for size in sizes if size is not None]
    return sum(known) if len(known) == len(sizes) else None


class Ring:
    """Reads the loops of one function.

    Args:
        loops: The function.
        issues: What issues the work.
    """

    def __init__(self, loops: FunctionLoops, issues: Issues) -> None:
        self._instructions = loops.function.instructions
        touching = {}
        for index, instruction in enumerate(self._instructions):
            operand = issues(instruction) or awaited(instruction)
            if operand is not None:
                touching[index] = operand
        self._tracer = Tracer(loops, touching)

    def read(self, loop: int) -> RingReading | Elsewhere | Unreadable:
        """Read a loop that issues work."""
        if self._tracer.repeats(loop):
            return Unreadable("a loop inside works on barriers, and how often it does is not known")
        traced = list(self._tracer.iterations(loop, _ITERATIONS))
        every = [touch for touches in traced for touch in touches]
        issued = {touch.address for touch in every if not self._waits(touch)}
        awaited = {touch.address for touch in every if self._waits(touch)}
        if not awaited or (None not in issued | awaited and not issued & awaited):
            return self._elsewhere(traced, issued)
        for touch in every:
            if touch.address is None:
                line = self._instructions[touch.at].line
                return Unreadable(f"which barrier line {line} means is not a matter of constants")

        # What is under way on a barrier that this loop does not wait for is not its business.
        def concerned(touches: list[Touch]) -> list[Touch]:
            return [touch for touch in touches if touch.address in awaited]

        before = self._tracer.before(loop)
        phases: dict[int, _Phase] = {}
        self._play(-1, concerned(before or []), phases)
        entering = len(phases)
        steps = [self._play(n, concerned(touches), phases) for n, touches in enumerate(traced)]
        apart = self._are_apart(every)
        return self._settled(steps, None if before is None else entering, apart)

    def _waits(self, touch: Touch) -> bool:
        return awaited(self._instructions[touch.at]) is not None

    def _elsewhere(self, traced: list[list[Touch]], issued: set[int | None]) -> Elsewhere:
        """Look for the waits in the rest of the function."""
        last = [self._instructions[touch.at] for touch in traced[-1]]
        expected = [_expected(instruction) for instruction in last if expects_bytes(instruction)]
        known = [count for count in expected if count is not None]
        return Elsewhere(
            self._around([touch for touches in traced for touch in touches]),
            sum(known) if known and len(known) == len(expected) else None,
            tuple(
                touch.at
                for touch in self._tracer.everywhere()
                if self._waits(touch) and touch.address is not None and touch.address in issued
            ),
        )

    def _around(self, touches: list[Touch]) -> int | None:
        """Barriers that each of the instructions that issue work goes around."""
        around: dict[int, set[int | None]] = {}
        for touch in touches:
            if not self._waits(touch):
                around.setdefault(touch.at, set()).add(touch.address)
        sizes = {None if None in ring else len(ring) for ring in around.values()}
        return sizes.pop() if len(sizes) == 1 else None

    def _play(self, iteration: int, touches: list[Touch], phases: dict[int, _Phase]) -> _Iteration:
        """Let an iteration happen to the phases that are under way."""
        begun: list[_Phase] = []
        waits = []
        for touch in touches:
            instruction, address = self._instructions[touch.at], touch.address
            if address is None:
                continue
            if self._waits(touch):
                ended = phases.pop(address, None)
                if ended is not None:
                    age, after = iteration - ended.iteration, len(phases)
                    flying = _total(phases.values())
                    waits.append(_Wait(touch.at, age, after + 1, after, flying, ended.touched))
                continue
            if address not in phases:
                phases[address] = _Phase(iteration, 0)
                begun.append(phases[address])
            phase = phases[address]
            phase.touched += (touch.at,)
            if expects_bytes(instruction):
                added = _expected(instruction)
                known = phase.bytes is not None and added is not None
                phase.bytes = (phase.bytes or 0) + (added or 0) if known else None
        return _Iteration(len(begun), _total(begun), tuple(waits))

    def _are_apart(self, touches: list[Touch]) -> bool:
        """Whether each wait has a ring of its own, so that no two are one that was unrolled.

        What unrolling makes of one wait goes round every second barrier, say, of the same ring.
        """
        rings: dict[int, set[int]] = {}
        for touch in touches:
            if self._waits(touch) and touch.address is not None:
                rings.setdefault(touch.at, set()).add(touch.address)
        spans = sorted((min(ring), max(ring)) for ring in rings.values())
        return all(low < high for low, high in spans) and all(
            high < low for (_, high), (low, _) in pairwise(spans)
        )

    def _settled(
        self, steps: list[_Iteration], entering: int | None, apart: bool
    ) -> RingReading | Unreadable:
        """Read iterations of which the last ones must all be alike."""
        first = steps[-_AGREEING]
        if any(step != first for step in steps[-_AGREEING:]):
            return Unreadable("its iterations do not come to repeat")
        origins = [self._instructions[wait.at].locations for wait in first.waits]
        alike = len(set(origins)) < len(origins) or (len(origins) > 1 and () in origins)
        if alike and not apart:
            return Unreadable("it waits several times an iteration: it may have been unrolled")
        if not first.waits:
            return Unreadable("nothing that it waits for is under way")
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
        )
