"""Outstanding work: what is issued, committed to groups and awaited, along all paths of a function.

A commit closes a group of what was issued before it, and a wait for N blocks until at most the N
youngest groups are outstanding (PTX ISA, ``cp.async.commit_group`` and ``cp.async.wait_group``).
Bulk copies, wgmma, tcgen05 and the counters of AMD waves work alike; only the events differ
(``irlens.isa.events``). Two kinds of state answer two kinds of questions: ``Counts`` how many
groups and bytes are outstanding, ``Queues`` which ones.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property, reduce
from typing import Generic, Protocol, Self, TypeAlias, TypeVar

import msgspec

from irlens.analyze import work
from irlens.analyze.graph import FlowGraph, Loop
from irlens.analyze.solver import MOST_VISITS, solve
from irlens.isa.events import UNBOUNDED, Commit, Copy, Event, Wait

#: Iterations after which a loop must be steady; real pipelines need as many as they are deep.
_MOST_ITERATIONS = 128
#: Outstanding groups, and queues of them at one point, beyond which they are unknown: in a pipeline
#: groups do not pile up, and paths do not multiply.
_MOST_OUTSTANDING = 256
_MOST_QUEUES = 64
#: States to remember; the flow of a real kernel has hundreds.
_MOST_REMEMBERED = 1 << 14


class Interval(msgspec.Struct, frozen=True, gc=False):
    """A closed interval of numbers."""

    low: int
    high: int

    @property
    def exact(self) -> int | None:
        """The number, where only one is possible."""
        return self.low if self.low == self.high else None

    def plus(self, amount: int) -> "Interval":
        """Add a constant."""
        low, high = self.low + amount, self.high + amount
        if high > UNBOUNDED:
            return Interval(min(low, UNBOUNDED), UNBOUNDED)
        return Interval(low, high)

    def at_most(self, limit: int) -> "Interval":
        """Clamp to an upper limit."""
        if self.high <= limit:
            return self
        return Interval(min(self.low, limit), min(self.high, limit))

    def join(self, other: "Interval") -> "Interval":
        """The smallest interval around both."""
        if self.low <= other.low and other.high <= self.high:
            return self
        return Interval(min(self.low, other.low), max(self.high, other.high))


ZERO = Interval(0, 0)


class Counts(msgspec.Struct, frozen=True, gc=False):
    """How much is outstanding at a point; intervals where paths differ.

    Attributes:
        outstanding: Groups committed and not awaited.
        pending: Bytes copied since the last commit, as each copy counts them.
        committed: Groups committed since the loop's header.
        bytes: Bytes of these copies.
    """

    outstanding: Interval = ZERO
    pending: Interval = ZERO
    committed: Interval = ZERO
    copies: Interval = ZERO
    bytes: Interval = ZERO

    def join(self, other: "Counts") -> "Counts":
        """The state where two paths meet."""
        if self == other:
            return self
        return Counts(
            self.outstanding.join(other.outstanding),
            self.pending.join(other.pending),
            self.committed.join(other.committed),
            self.copies.join(other.copies),
            self.bytes.join(other.bytes),
        )

    def after(self, event: Event) -> "Counts":
        """The state after an event."""
        if isinstance(event, Copy):
            # Predicated copies count: the figures are what an iteration moves at most.
            known = event.bytes if event.amount is None else event.amount
            amount = UNBOUNDED if known is None else known
            return Counts(
                self.outstanding,
                self.pending.plus(amount),
                self.committed,
                self.copies.plus(1),
                self.bytes.plus(amount),
            )
        if isinstance(event, Commit):
            if event.implicit and self.pending.high == 0:
                return self
            reached = Counts(
                self.outstanding.plus(1), ZERO, self.committed.plus(1), self.copies, self.bytes
            )
        else:
            outstanding = self.outstanding.at_most(event.limit)
            reached = Counts(outstanding, self.pending, self.committed, self.copies, self.bytes)
        return reached if event.certain else self.join(reached)

    def next_iteration(self) -> "Counts":
        """The state back at the header: the counts per iteration restart at 0."""
        return Counts(self.outstanding, self.pending)

    def entering(self) -> "Counts":
        """The state where a loop begins."""
        return self.next_iteration()

    def widened(self, before: "Counts") -> "Counts":
        """Drop the upper bound of every interval that still grows."""
        grown = {
            field: Interval(getattr(self, field).low, UNBOUNDED)
            for field in Counts.__struct_fields__
            if getattr(self, field).high > getattr(before, field).high
        }
        return msgspec.structs.replace(self, **grown)


#: A group: the offset of its commit in the text, and the iterations since; ``None`` for a group
#: from before the loop. Inverted (``~at``), it is one that completes out of order.
Group: TypeAlias = tuple[int, int | None]
#: Outstanding groups, oldest first.
Queue: TypeAlias = tuple[Group, ...]


def retired(queue: Queue, limit: int) -> Queue:
    """Return the groups that a wait retires, the oldest ones; it leaves the younger ones."""
    return queue[: max(len(queue) - limit, 0)]


class Queues(msgspec.Struct, frozen=True):
    """Which groups are outstanding at a point.

    Attributes:
        pending: Offsets of the copies that are not committed.
        queues: The outstanding groups, by whatever path; ``None`` if unknown: where groups pile up,
            paths multiply, or it depends on what completes first.
    """

    pending: frozenset[int] = frozenset()
    queues: frozenset[Queue] | None = frozenset({()})

    def join(self, other: "Queues") -> "Queues":
        """The state where two paths meet."""
        queues = None
        if self.queues is not None and other.queues is not None:
            queues = _bounded(self.queues | other.queues)
        return Queues(self.pending | other.pending, queues)

    def after(self, event: Event) -> "Queues":
        """The state after an event."""
        work.spend(len(self.pending) + sum(1 + len(queue) // 16 for queue in self.queues or ()))
        if isinstance(event, Copy):
            return Queues(self.pending | {event.at}, self.queues)
        if isinstance(event, Commit):
            reached = Queues(frozenset(), self._committed(event))
        else:
            reached = Queues(self.pending, self._awaited(event.limit))
        return reached if event.certain else self.join(reached)

    def _committed(self, commit: Commit) -> frozenset[Queue] | None:
        if self.queues is None or commit.implicit:
            return self.queues  # the group of a wait_all is retired at once, never seen outstanding
        group = (commit.at if commit.in_order else ~commit.at, 0)
        return _bounded(frozenset([(*queue, group) for queue in self.queues]))

    def _awaited(self, limit: int) -> frozenset[Queue] | None:
        if self.queues is None:
            return None
        if limit and any(len(queue) > limit and not in_order(queue) for queue in self.queues):
            return None
        return frozenset([queue[len(retired(queue, limit)) :] for queue in self.queues])

    def next_iteration(self) -> "Queues":
        """The state an iteration later."""
        return self._aged({age: None if age is None else age + 1 for age in self._ages()})

    def entering(self) -> "Queues":
        """The state where a loop begins: all groups are from before it, none where unknown."""
        known = self if self.queues is not None else Queues(self.pending)
        return known._aged(dict.fromkeys(known._ages()))

    def widened(self, before: "Queues") -> "Queues":
        """Forget groups that still pile up."""
        return self if self == before else Queues(self.pending | before.pending, None)

    def _ages(self) -> set[int | None]:
        return {age for queue in self.queues or () for _, age in queue}

    def _aged(self, ages: Mapping[int | None, int | None]) -> "Queues":
        if self.queues is None:
            return self
        aged = frozenset([tuple([(at, ages[age]) for at, age in queue]) for queue in self.queues])
        return Queues(self.pending, aged)


def in_order(queue: Queue) -> bool:
    """Whether the groups of a queue complete in the order of their commits."""
    return all(at >= 0 for at, _ in queue)


def _bounded(queues: frozenset[Queue]) -> frozenset[Queue] | None:
    longest = max(map(len, queues), default=0)
    return None if len(queues) > _MOST_QUEUES or longest > _MOST_OUTSTANDING else queues


class Outstanding(Protocol):
    """The state at a point: ``Counts`` or ``Queues``."""

    def join(self, other: Self, /) -> Self:
        """The state where two paths meet."""

    def after(self, event: Event, /) -> Self:
        """The state after an event."""

    def next_iteration(self) -> Self:
        """The state at a loop's header, given that at the end of an iteration."""

    def entering(self) -> Self:
        """The state at a loop's header, given that before the loop."""

    def widened(self, before: Self, /) -> Self:
        """The state without what still grows."""


S = TypeVar("S", bound=Outstanding)


class Observation(msgspec.Struct, Generic[S], frozen=True):
    """The state just before an event."""

    event: Event
    state: S


class SteadyLoop(msgspec.Struct, Generic[S], frozen=True):
    """A loop whose iterations repeat.

    Attributes:
        observations: Each event of the loop with the state before it, in the order of the text.
        blocks: The state at the start of each of its blocks.
    """

    entry: S
    at_latch: S
    observations: tuple[Observation[S], ...]
    blocks: Mapping[int, S]


class GroupFlow(Generic[S]):
    """The outstanding groups of one function."""

    def __init__(self, graph: FlowGraph, events: Mapping[int, Sequence[Event]], begin: S) -> None:
        self.graph = graph
        self.events = events
        self._begin = begin
        #: The state after a block by the state before it; iterations repeat.
        self._reached: dict[tuple[int, S], S] = {}

    @cached_property
    def entries(self) -> dict[int, S]:
        """The state at the start of every reachable block."""
        return self._flow(0, self._begin, None) if self.graph.successors else {}

    def settle(self, loop: Loop, body: Collection[int]) -> SteadyLoop[S] | None:
        """Run a loop until its iterations repeat.

        Args:
            loop: A reducible loop that is reachable.
            body: Its blocks, inner loops included.

        Returns:
            ``None`` where iterations never repeat: groups pile up.
        """
        outside = [
            self._through(block, self.entries[block])
            for block in self.graph.predecessors[loop.header]
            if block not in body and block in self.entries
        ]
        # A loop around the function's first block is entered by the call, too.
        join = type(self._begin).join
        entry = reduce(join, [*outside, self._begin] if loop.header == 0 else outside)
        state = entry.entering()
        for iteration in range(_MOST_ITERATIONS):
            entries = self._flow(loop.header, state, body)
            at_latch = reduce(join, (self._through(each, entries[each]) for each in loop.latches))
            following = at_latch.next_iteration()
            if iteration > MOST_VISITS:
                following = following.widened(state)
            if following == state:
                return SteadyLoop(entry, at_latch, tuple(self.observe(entries)), entries)
            state = following
        return None

    def states(self, steady: SteadyLoop[S]) -> Iterator[tuple[int, int, S]]:
        """Yield the block, the offset in the text and the state after each event of a loop.

        The start of a block comes before its events, with the offset -1.
        """
        for block, state in steady.blocks.items():
            yield block, -1, state
            for event in self.events.get(block, ()):
                state = state.after(event)
                yield block, event.at, state

    def observe(self, entries: Mapping[int, S]) -> Iterator[Observation[S]]:
        """Yield the events of blocks with the state before each, in the order of the text."""
        for block in sorted(entries):
            state = entries[block]
            for event in self.events.get(block, ()):
                yield Observation(event, state)
                state = state.after(event)

    def _through(self, block: int, state: S) -> S:
        events = self.events.get(block)
        if not events:
            return state
        reached = self._reached.get((block, state))
        if reached is None:
            reached = state
            for event in events:
                reached = reached.after(event)
            if len(self._reached) < _MOST_REMEMBERED:
                self._reached[block, state] = reached
        return reached

    def _flow(self, start: int, state: S, within: Collection[int] | None) -> dict[int, S]:
        """Return the state at the start of every block that is reached, of one iteration or all."""
        if within is not None:
            within = {*within} - {start}
        kind = type(state)
        return solve(
            self.graph, {start: state}, self._through, kind.join, within=within, widen=kind.widened
        )


#: Offsets in the text of two events: the one that begins something, and the one that ends it.
Pair: TypeAlias = tuple[int, int]


class Retirement(msgspec.Struct, frozen=True):
    """Pairs of events on some path, by their offsets in the text.

    Attributes:
        closed: Copies, each with a commit that collects it; for ``wait_all``, which commits and
            waits, with the wait.
        retired: Commits, each with a wait that retires its group; none where the groups of a point
            are unknown.
    """

    closed: frozenset[Pair]
    retired: frozenset[Pair]


def follow(graph: FlowGraph, events: Mapping[int, Sequence[Event]]) -> Retirement:
    """Follow the groups of a function from its first block."""
    flow = GroupFlow(graph, events, Queues())
    observed = list(flow.observe(flow.entries)) if any(events.values()) else []
    closed = {
        (copy, each.event.at)
        for each in observed
        if isinstance(each.event, Commit)
        for copy in each.state.pending
    }
    ended = set[Pair]()
    for event, state in ((each.event, each.state) for each in observed):
        if state.queues is None:
            return Retirement(frozenset(closed), frozenset())
        if isinstance(event, Wait):
            ended.update((at, event.at) for q in state.queues for at, _ in retired(q, event.limit))
    return Retirement(frozenset(closed), frozenset(ended))
