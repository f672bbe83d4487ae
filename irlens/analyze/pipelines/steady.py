"""From a loop's steady state to the four numbers that describe a pipeline of commit groups."""

from collections.abc import Callable, Iterator, Sequence

import msgspec

from irlens.analyze.pipelines.groups import UNBOUNDED, Observation, State, SteadyLoop
from irlens.analyze.pipelines.uses import Use
from irlens.isa.events import Commit, Copy, Wait


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """A pipelined loop, in the words of ``irlens.model.report.Pipeline``; bytes as copies count.

    Attributes:
        prefetch: Iterations between a group's commit and the first use of its data.
        during_compute: Groups outstanding at that use.
        read_ahead: Whether the wait stands at the end of an iteration, for the next one.
        unrolled: How many iterations of the source one iteration of the loop runs; all figures
            are for one of the source's.
    """

    prefetch: int
    groups_before_loop: int | None
    groups_per_iteration: int
    outstanding_at_wait: int
    outstanding_after_wait: int
    during_compute: int | None
    read_ahead: bool
    copies_per_iteration: int | None
    bytes_per_copy: int | None
    bytes_per_iteration: int | None
    bytes_in_flight: int | None
    unrolled: int


class Unreadable(msgspec.Struct, frozen=True):
    """Why a loop has no reading; ``copies`` is whether that is for want of copies."""

    reason: str
    copies: bool = True


class _Step(msgspec.Struct, frozen=True):
    """A wait in the steady state.

    Attributes:
        wait: The wait.
        outstanding: Groups outstanding before it.
        committed: Groups committed in this iteration before it.
        distance: Iterations since the commit of the youngest group it retires.
    """

    wait: Wait
    outstanding: int
    committed: int
    distance: int


def read_loop(steady: SteadyLoop, first_use: Callable[[int], Use | None]) -> Reading | Unreadable:
    """Read the steady state of a loop that commits groups.

    Args:
        steady: The loop.
        first_use: Where the data that the wait at an offset releases is first used.
    """
    per_iteration = steady.at_latch.committed.exact
    if per_iteration is None:
        return Unreadable(_uncertain_commit(steady.observations))
    if per_iteration == 0:
        return Unreadable("the loop copies nothing that a group of its own takes up")
    sizes = _group_sizes(steady.observations, per_iteration)
    steps = []
    for step in _steps(steady.observations, sizes):
        if isinstance(step, Unreadable):
            return step
        steps.append(step)
    if not steps:
        return Unreadable("no wait in the loop retires a group that was copied")
    unrolled = _unrolled(steps, per_iteration)
    if unrolled == 1 and len({step.distance for step in steps}) > 1 and not _told_apart(steps):
        return Unreadable(
            "the loop waits more than once an iteration, for groups of different age, and no debug"
            " information says whether it was unrolled"
        )
    return _reading(steady, steps, sizes, unrolled, first_use)


def _reading(
    steady: SteadyLoop,
    steps: Sequence[_Step],
    sizes: Sequence[int],
    unrolled: int,
    first_use: Callable[[int], Use | None],
) -> Reading:
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
    widths = {o.event.bytes for o in steady.observations if isinstance(o.event, Copy)}
    return Reading(
        prefetch=prefetch,
        groups_before_loop=steady.entry.outstanding.exact,
        groups_per_iteration=groups,
        outstanding_at_wait=chosen.outstanding,
        outstanding_after_wait=after,
        during_compute=computing,
        read_ahead=use is not None and use.ahead,
        copies_per_iteration=_share(steady.at_latch.copies.high, unrolled),
        bytes_per_copy=widths.pop() if len(widths) == 1 else None,
        bytes_per_iteration=_share(steady.at_latch.bytes.high, unrolled),
        bytes_in_flight=_flying(sizes, computing, committed),
        unrolled=unrolled,
    )


def _state_at(steady: SteadyLoop, at: int) -> State:
    """What is known in the steady state in front of an offset in the loop's text."""
    state = steady.at_latch.next_iteration()
    for observation in sorted(steady.observations, key=lambda o: o.event.at):
        if observation.event.at >= at:
            break
        state = observation.state.after(observation.event)
    return state


def _flying(sizes: Sequence[int], outstanding: int | None, committed: int | None) -> int | None:
    """Bytes of the youngest groups, ``committed`` of them from this iteration."""
    if outstanding is None or committed is None:
        return None
    total = sum(sizes[(committed - 1 - index) % len(sizes)] for index in range(outstanding))
    return _share(total, 1)


def _share(total: int, parts: int) -> int | None:
    """One of equal parts of a bounded total."""
    return total // parts if total < UNBOUNDED and total % parts == 0 else None


def _group_sizes(observations: Sequence[Observation], per_iteration: int) -> list[int]:
    """Bytes of each group of an iteration, in the order of the commits."""
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
    """Iterations since the commit of an outstanding group, the youngest having index 0."""
    return 0 if index < committed else (index - committed) // per_iteration + 1


def _steps(
    observations: Sequence[Observation], sizes: Sequence[int]
) -> Iterator[_Step | Unreadable]:
    """The waits that retire a group which holds a copy."""
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
    """How often the loop was unrolled: waits from one place that split the groups evenly."""
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


def _told_apart(steps: Sequence[_Step]) -> bool:
    origins = {step.wait.origin for step in steps}
    return None not in origins and len(origins) == len(steps)


def _uncertain_commit(observations: Sequence[Observation]) -> str:
    for observation in observations:
        if isinstance(observation.event, Commit) and not observation.event.certain:
            where = f"the commit on line {observation.event.line} is predicated"
            break
    else:
        where = "a commit stands under a branch"
    return f"how many groups an iteration commits depends on the path taken: {where}"
