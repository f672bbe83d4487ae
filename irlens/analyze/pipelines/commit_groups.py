"""Data-flow analysis of commit groups: how many are outstanding at each point of a function.

A commit collects a thread's asynchronous copies into a group, and a wait for N blocks until at
most N of the latest groups are outstanding (PTX ISA, ``cp.async.commit_group`` and
``cp.async.wait_group``). Only the counts matter here, so the state at a point is a handful of
intervals; where different paths meet, an interval is wider than one value.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property, reduce
from heapq import heappop, heappush

import msgspec

from irlens.analyze.graph import Loop, Successors, predecessors, reverse_postorder
from irlens.isa.events import UNBOUNDED, Commit, Copy, Event

#: Visits of a block, or iterations, after which a bound that still grows is widened.
_MAX_VISITS = 64
#: Iterations after which a loop must be steady; real pipelines need as many as they are deep.
_MAX_ITERATIONS = 128

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


class State(msgspec.Struct, frozen=True, gc=False):
    """The data-flow state at a point.

    Attributes:
        outstanding: Groups committed and not awaited.
        pending: Bytes copied since the last commit, as each copy counts them.
        committed: Groups committed since the loop's header.
        copies: Copies since the loop's header.
        bytes: Bytes of these copies.
    """

    outstanding: Interval = ZERO
    pending: Interval = ZERO
    committed: Interval = ZERO
    copies: Interval = ZERO
    bytes: Interval = ZERO

    def join(self, other: "State") -> "State":
        """The state where two paths meet."""
        if self == other:
            return self
        return State(
            self.outstanding.join(other.outstanding),
            self.pending.join(other.pending),
            self.committed.join(other.committed),
            self.copies.join(other.copies),
            self.bytes.join(other.bytes),
        )

    def after(self, event: Event) -> "State":
        """The state after an event."""
        if isinstance(event, Copy):
            # Predicated copies count: the figures are what an iteration moves at most.
            known = event.bytes if event.amount is None else event.amount
            amount = UNBOUNDED if known is None else known
            return State(
                self.outstanding,
                self.pending.plus(amount),
                self.committed,
                self.copies.plus(1),
                self.bytes.plus(amount),
            )
        if isinstance(event, Commit):
            if event.implicit and self.pending.high == 0:
                return self
            behind = State(
                self.outstanding.plus(1), ZERO, self.committed.plus(1), self.copies, self.bytes
            )
        else:
            outstanding = self.outstanding.at_most(event.limit)
            behind = State(outstanding, self.pending, self.committed, self.copies, self.bytes)
        return behind if event.certain else self.join(behind)

    def next_iteration(self) -> "State":
        """The state back at the header: the counts per iteration restart at 0."""
        return State(self.outstanding, self.pending)

    def widened(self, before: "State") -> "State":
        """Drop the upper bound of every interval that still grows."""
        grown = {
            field: Interval(getattr(self, field).low, UNBOUNDED)
            for field in State.__struct_fields__
            if getattr(self, field).high > getattr(before, field).high
        }
        return msgspec.structs.replace(self, **grown)


class Observation(msgspec.Struct, frozen=True):
    """The state just before an event, in the steady state of a loop."""

    event: Event
    state: State


class SteadyLoop(msgspec.Struct, frozen=True):
    """A loop whose iterations repeat.

    Attributes:
        entry: The state on entry to the loop.
        at_latch: The state at the end of an iteration.
        observations: Each event of the loop with the state before it, in the order of the text.
        blocks: The state at the start of each of its blocks.
    """

    entry: State
    at_latch: State
    observations: tuple[Observation, ...]
    blocks: Mapping[int, State]


class GroupFlow:
    """Group counts along all paths of one function.

    Args:
        successors: For each block those that can follow it.
        events: The events of each block that has any.
    """

    def __init__(self, successors: Successors, events: Mapping[int, Sequence[Event]]) -> None:
        self._successors = successors
        self._predecessors = predecessors(successors)
        self._events = events
        #: The state behind a block by the state before it; iterations repeat.
        self._behind: dict[tuple[int, State], State] = {}
        self._order = {b: index for index, b in enumerate(reverse_postorder(successors))}

    @cached_property
    def _entries(self) -> dict[int, State]:
        """The state at the start of every reachable block."""
        return self._flow(self._order, 0, State()) if self._order else {}

    def settle(self, loop: Loop, body: Collection[int]) -> SteadyLoop | None:
        """Run a loop until its iterations repeat.

        Args:
            loop: A reducible loop that is reachable.
            body: Its blocks, inner loops included.

        Returns:
            ``None`` where iterations never repeat: groups pile up.
        """
        outside = [
            self._through(block, self._entries[block])
            for block in self._predecessors[loop.header]
            if block not in body and block in self._entries
        ]
        # A loop around the function's first block is entered by the call, too.
        entry = _join([*outside, State()] if loop.header == 0 else outside).next_iteration()
        order = {block: self._order[block] for block in body}
        state = entry
        for iteration in range(_MAX_ITERATIONS):
            entries = self._flow(order, loop.header, state)
            at_latch = _join([self._through(latch, entries[latch]) for latch in loop.latches])
            following = at_latch.next_iteration()
            if iteration > _MAX_VISITS:
                following = following.widened(state)
            if following == state:
                return SteadyLoop(entry, at_latch, self._observe(entries), entries)
            state = following
        return None

    def states(self, steady: SteadyLoop) -> Iterator[tuple[int, int, State]]:
        """Yield the block, the offset in the text and the state behind each event of a loop.

        The start of a block comes before its events, with the offset -1.
        """
        for block, state in steady.blocks.items():
            yield block, -1, state
            for event in self._events.get(block, ()):
                state = state.after(event)
                yield block, event.at, state

    def _observe(self, entries: Mapping[int, State]) -> tuple[Observation, ...]:
        observations = []
        for block in sorted(entries):
            state = entries[block]
            for event in self._events.get(block, ()):
                observations.append(Observation(event, state))
                state = state.after(event)
        return tuple(observations)

    def _through(self, block: int, state: State) -> State:
        events = self._events.get(block)
        if not events:
            return state
        behind = self._behind.get((block, state))
        if behind is None:
            behind = reduce(State.after, events, state)
            if len(self._behind) < _MOST_REMEMBERED:
                self._behind[block, state] = behind
        return behind

    def _flow(self, order: Mapping[int, int], start: int, state: State) -> dict[int, State]:
        """Return the state at the start of every reachable block, at the fixed point.

        Args:
            order: The blocks to stay within, with the order to visit them in.
            start: The first block; within a loop, edges back to it are not followed.
            state: The state there.
        """
        entries = {start: state}
        visits: dict[int, int] = {}
        waiting = [(order[start], start)]
        whole = order is self._order
        while waiting:
            _, block = heappop(waiting)
            visits[block] = visits.get(block, 0) + 1
            behind = self._through(block, entries[block])
            for target in self._successors[block]:
                if target not in order or (target == start and not whole):
                    continue
                before = entries.get(target)
                joined = behind if before is None else before.join(behind)
                if before is not None and visits.get(target, 0) > _MAX_VISITS:
                    joined = joined.widened(before)
                if joined != before:
                    entries[target] = joined
                    heappush(waiting, (order[target], target))
        return entries


def _join(states: Sequence[State]) -> State:
    return reduce(State.join, states)
