"""Figures of a pipeline of commit groups, read from the steady state of its loop.

Triton's usual loop waits and then computes. But where operands of the next iteration's first
``mma`` are read ahead into registers, and in CUDA's classic double buffer (copy the next, compute,
wait, swap), the wait stands at the end, for the next iteration: the data it releases has been in
flight for one iteration more than commit and wait are apart. So the first use counts as well.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate

import msgspec

from irlens.analyze.outstanding import Counts, Observation, SteadyLoop
from irlens.analyze.pipelines.ptx_loops import FunctionLoops
from irlens.analyze.solver import reach
from irlens.isa.events import UNBOUNDED, Commit, Copy, Wait
from irlens.isa.ptx import Instruction, effects
from irlens.isa.ptx.registers import access
from irlens.model.report import Pipeline
from irlens.model.several import only


class InFlight(msgspec.Struct, frozen=True):
    """Groups of copies, or phases, under way at a point, and their bytes; ``None`` if unknown."""

    groups: int | None
    bytes: int | None


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of a loop, named as in ``irlens.model.report.Pipeline``.

    Attributes:
        prefetch: Iterations between issuing work and the wait for it, or the first use of its data.
    """

    prefetch: int
    groups_before_loop: int | None
    groups_per_iteration: int
    outstanding_at_wait: int | None
    outstanding_after_wait: int | None

    def filled(self, record: Pipeline) -> Pipeline:
        """Return a record with these figures, of a loop that computes after the wait."""
        return msgspec.structs.replace(
            record,
            achieved_stages=self.prefetch + 1,
            prefetch_iterations=self.prefetch,
            groups_before_loop=self.groups_before_loop,
            groups_per_iteration=self.groups_per_iteration,
            outstanding_at_wait=self.outstanding_at_wait,
            outstanding_after_wait=self.outstanding_after_wait,
            groups_during_compute=self.outstanding_after_wait,
        )


class GroupReading(Reading, frozen=True, kw_only=True):
    """Figures of a loop that commits groups of copies.

    Attributes:
        during_compute: Groups outstanding at the first use of a group's data.
        bytes_per_copy: Of one thread.
        bytes_per_iteration: The sum of ``Copy.amount``, or of one thread's bytes where it is not
            given; ``bytes_in_flight`` is counted alike.
        read_ahead: Whether the wait stands at the end of an iteration, for the next one.
        unrolled: Iterations of the source per iteration of the loop; all figures are for one of
            the source's.
        after: What is outstanding after each instruction, by its offset in the text; empty
            where nobody asked.
    """

    during_compute: int | None
    read_ahead: bool
    copies_per_iteration: int | None
    bytes_per_copy: int | None
    bytes_per_iteration: int | None
    bytes_in_flight: int | None
    unrolled: int
    after: Mapping[int, InFlight] = {}


class Unreadable(msgspec.Struct, frozen=True):
    """Why a loop has no reading; ``copies`` is false where it has no copies to read."""

    reason: str
    copies: bool = True


class Use(msgspec.Struct, frozen=True):
    """The first instruction that computes with released data.

    Attributes:
        ahead: Whether it stands in the iteration after the wait's.
    """

    at: int
    ahead: bool


class _Step(msgspec.Struct, frozen=True):
    """A wait in the steady state.

    Attributes:
        outstanding: Groups outstanding before it.
        distance: Iterations since the commit of the youngest group it retires.
    """

    wait: Wait
    outstanding: int
    committed: int
    distance: int


def read_loop(
    steady: SteadyLoop[Counts],
    first_use: Callable[[int], Use | None],
    states: Iterable[tuple[int, Counts]] = (),
) -> GroupReading | Unreadable:
    """Read the steady state of a loop that commits groups.

    Args:
        first_use: Returns the first use of the data that the wait at an offset releases.
        states: The state after each instruction, if the reading should have these.
    """
    per_iteration = steady.at_latch.committed.exact
    if per_iteration is None:
        return Unreadable(_uncertain_commit(steady.observations))
    if per_iteration == 0:
        return Unreadable("the loop commits no group of its own copies")
    sizes = _group_sizes(steady.observations, per_iteration)
    steps = []
    for step in _steps(steady.observations, sizes):
        if isinstance(step, Unreadable):
            return step
        steps.append(step)
    if not steps:
        return Unreadable("no wait in the loop retires a group with copies")
    unrolled = _unrolled(steps, per_iteration)
    ages = {step.distance for step in steps}
    origins = {step.wait.origin for step in steps}
    distinct = None not in origins and len(origins) == len(steps)
    if unrolled == 1 and len(ages) > 1 and not distinct:
        return Unreadable(
            "the loop waits several times per iteration, for groups of different age, and no debug"
            " information shows whether it was unrolled"
        )
    reading = _reading(steady, steps, sizes, unrolled, first_use)
    totals = _running_totals(sizes)
    return msgspec.structs.replace(reading, after={a: _in_flight(totals, s) for a, s in states})


def _reading(
    steady: SteadyLoop[Counts],
    steps: Sequence[_Step],
    sizes: Sequence[int],
    unrolled: int,
    first_use: Callable[[int], Use | None],
) -> GroupReading:
    groups = len(sizes) // unrolled
    chosen = min(steps, key=lambda step: (step.distance, step.wait.limit))
    prefetch = chosen.distance
    after = min(chosen.outstanding, chosen.wait.limit)
    computing: int | None = after
    committed: int | None = chosen.committed
    use = None
    if unrolled > 1:
        chosen = steps[0]
        after = computing = min(chosen.outstanding, chosen.wait.limit)
        committed = chosen.committed
        prefetch = _age(chosen.wait.limit, chosen.committed, groups)
    else:
        use = first_use(chosen.wait.at)
        if use is not None and use.ahead:
            prefetch += 1
            state = _state_at(steady, use.at)
            computing, committed = state.outstanding.exact, state.committed.exact
    copies = (o.event for o in steady.observations if isinstance(o.event, Copy))
    return GroupReading(
        prefetch=prefetch,
        groups_before_loop=steady.entry.outstanding.exact,
        groups_per_iteration=groups,
        outstanding_at_wait=chosen.outstanding,
        outstanding_after_wait=after,
        during_compute=computing,
        read_ahead=use is not None and use.ahead,
        copies_per_iteration=_share(steady.at_latch.copies.high, unrolled),
        bytes_per_copy=only(copy.bytes for copy in copies),
        bytes_per_iteration=_share(steady.at_latch.bytes.high, unrolled),
        bytes_in_flight=_bytes_in_flight(_running_totals(sizes), computing, committed),
        unrolled=unrolled,
    )


def _state_at(steady: SteadyLoop[Counts], at: int) -> Counts:
    """Return the steady state in front of an offset in the loop's text."""
    state = steady.at_latch.next_iteration()
    for observation in sorted(steady.observations, key=lambda o: o.event.at):
        if observation.event.at >= at:
            break
        state = observation.state.after(observation.event)
    return state


def _in_flight(totals: Sequence[int], state: Counts) -> InFlight:
    outstanding, committed = state.outstanding.exact, state.committed.exact
    return InFlight(outstanding, _bytes_in_flight(totals, outstanding, committed))


def _running_totals(sizes: Sequence[int]) -> list[int]:
    """Return the bytes of the first groups of an iteration: of none, of one, ... of all."""
    return [0, *accumulate(sizes)]


def _bytes_in_flight(
    totals: Sequence[int], outstanding: int | None, committed: int | None
) -> int | None:
    """Return the bytes of the youngest groups, ``committed`` of them from this iteration."""
    if outstanding is None or committed is None:
        return None
    groups = len(totals) - 1
    iterations, rest = divmod(outstanding, groups)
    end = committed % groups
    start = end - rest
    part = (
        totals[end] - totals[start] if start >= 0 else totals[end] + totals[-1] - totals[start - 1]
    )
    return _share(iterations * totals[-1] + part, 1)


def _share(total: int, parts: int) -> int | None:
    """Return a total per part; ``None`` if it is unbounded or not divisible."""
    return total // parts if total < UNBOUNDED and total % parts == 0 else None


def _group_sizes(observations: Sequence[Observation[Counts]], per_iteration: int) -> list[int]:
    """Return the bytes of each group of an iteration, in the order of the commits."""
    sizes: list[int | None] = [None] * per_iteration
    for observation in observations:
        if isinstance(observation.event, Commit):
            ordinal = observation.state.committed.exact
            size = observation.state.pending.high
            if ordinal is not None and ordinal < per_iteration:
                known = sizes[ordinal]
                sizes[ordinal] = size if known in (None, size) else UNBOUNDED
    return [UNBOUNDED if size is None else size for size in sizes]


def _age(index: int, committed: int, per_iteration: int) -> int:
    """Return the iterations since an outstanding group's commit; the youngest has index 0."""
    return 0 if index < committed else (index - committed) // per_iteration + 1


def _steps(
    observations: Sequence[Observation[Counts]], sizes: Sequence[int]
) -> Iterator[_Step | Unreadable]:
    """Yield the waits that retire a group with a copy."""
    for observation in observations:
        wait, state = observation.event, observation.state
        if not isinstance(wait, Wait) or state.outstanding.high <= wait.limit:
            continue
        outstanding, committed = state.outstanding.exact, state.committed.exact
        if outstanding is None or committed is None or not wait.certain:
            yield Unreadable(
                f"how many groups are outstanding at the wait on line {wait.line} depends on the"
                " path taken"
            )
            return
        retired = range(wait.limit, outstanding)
        ages = [
            _age(index, committed, len(sizes))
            for index in retired
            if sizes[(committed - 1 - index) % len(sizes)]
        ]
        if ages:
            yield _Step(wait, outstanding, committed, min(ages))


def _unrolled(steps: Sequence[_Step], per_iteration: int) -> int:
    """Return the unroll factor: the number of waits of one origin that split the groups evenly."""
    times = len(steps)
    first = steps[0]
    share = per_iteration // times
    even = per_iteration % times == 0 and all(
        (step.wait.limit, step.outstanding, step.committed)
        == (first.wait.limit, first.outstanding, first.committed + position * share)
        for position, step in enumerate(steps)
    )
    same = first.wait.origin is not None and len({step.wait.origin for step in steps}) == 1
    return times if even and same else 1


def _uncertain_commit(observations: Sequence[Observation[Counts]]) -> str:
    for observation in observations:
        if isinstance(observation.event, Commit) and not observation.event.certain:
            where = f"the commit on line {observation.event.line} is predicated"
            break
    else:
        where = "a commit stands under a branch"
    return f"how many groups an iteration commits depends on the path taken: {where}"


def first_use(loops: FunctionLoops, header: int, body: Collection[int], wait: int) -> Use | None:
    """Return the first use of the data that a wait in a loop releases.

    Returns:
        ``None`` where nothing in the loop reads shared memory.
    """
    before, after = _split_iteration(loops, header, body, wait)
    loaded: set[str] = set()
    used = _scan(after, loaded)
    if used is not None:
        return Use(used.start, ahead=False)
    used = _scan(before, loaded)
    return Use(used.start, ahead=True) if used is not None else None


def _split_iteration(
    loops: FunctionLoops, header: int, body: Collection[int], wait: int
) -> tuple[list[Instruction], list[Instruction]]:
    """Return an iteration's instructions before and after a wait, in the order of the text."""
    home = next(b for b in body if any(i.start == wait for i in loops.block(b)))
    rest = {*body} - {header}
    reached = reach([home], lambda each: rest.intersection(loops.cfg.successors[each]))
    own = loops.block(home)
    tail = [i for i in own if i.start > wait]
    tail += [i for block in sorted(reached.keys() - {home}) for i in loops.block(block)]
    head = [i for block in sorted({*body} - {*reached}) for i in loops.block(block)]
    head += [i for i in own if i.start < wait]
    return sorted(head, key=lambda i: i.start), tail


def _scan(instructions: Iterable[Instruction], loaded: set[str]) -> Instruction | None:
    """Return the first instruction that computes with data read from shared memory."""
    for instruction in instructions:
        if effects.multiplies_from_shared(instruction):
            return instruction
        accessed = access(instruction)
        reads, writes = (accessed.reads, accessed.writes) if accessed is not None else ((), ())
        if effects.loads_shared(instruction):
            loaded.update(writes)
        elif loaded.isdisjoint(reads):
            loaded.difference_update(writes)
        elif effects.repacks(instruction):
            loaded.update(writes)
        else:
            return instruction
    return None
