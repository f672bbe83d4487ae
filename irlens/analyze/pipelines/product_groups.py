"""Commit groups with their identity: which wait of a loop retires each group, and how much later.

``commit_groups`` counts groups. Matrix products need more: a loop may have several products, and
one product may be several groups, each retired by a wait of its own. So the state at a point is
the queue of outstanding groups, oldest first, each with the iterations since its commit, for every
path to the point. Iterations are followed until they repeat.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from typing import TypeAlias

import msgspec

from irlens.analyze import work
from irlens.analyze.graph import Loop, Successors, predecessors, reverse_postorder
from irlens.isa.events import Commit, Copy, Event, Wait

#: Outstanding groups, queues at one point, and iterations, beyond which the analysis gives up: in
#: a pipeline groups do not pile up, paths do not multiply, and iterations repeat soon.
_MOST_OUTSTANDING = 64
_MOST_QUEUES = 64
_MOST_ITERATIONS = 80

#: A group: the offset of its commit in the text, and the iterations since; ``None`` for a group
#: from before the loop.
Group: TypeAlias = tuple[int, int | None]
Queue: TypeAlias = tuple[Group, ...]


class Retired(msgspec.Struct, frozen=True):
    """A group that a wait retires.

    Attributes:
        commit: Offset of its commit in the text.
        wait: Offset of the wait.
        age: Iterations between the two; ``None`` for a group from before the loop.
        before: Groups outstanding before the wait.
        after: Groups outstanding after it.
    """

    commit: int
    wait: int
    age: int | None
    before: int
    after: int


class SteadyGroups(msgspec.Struct, frozen=True):
    """A loop whose iterations repeat.

    Attributes:
        retired: What its waits retire.
        entry: The queues on entry to the loop; ``None`` if unknown.
        at_latch: The queues at the end of an iteration.
        closed: For each commit of the function the copies that it may collect.
    """

    retired: frozenset[Retired]
    entry: frozenset[Queue] | None
    at_latch: frozenset[Queue]
    closed: Mapping[int, frozenset[int]]


class _State(msgspec.Struct, frozen=True):
    """The possible states at a point: uncommitted copies, and queues of outstanding groups."""

    pending: frozenset[int] = frozenset()
    queues: frozenset[Queue] = frozenset({()})

    def join(self, other: "_State") -> "_State":
        return _State(self.pending | other.pending, self.queues | other.queues)

    def aged(self) -> "_State":
        """The state an iteration later."""
        return _State(self.pending, frozenset(map(_aged, self.queues)))

    def entering(self) -> "_State":
        """The state where a loop begins: all groups are from before it."""
        return _State(self.pending, frozenset(tuple((c, None) for c, _ in q) for q in self.queues))


class _TooManyError(Exception):
    """Groups pile up, or paths multiply."""


class ProductGroups:
    """The groups of one function.

    Args:
        successors: For each block those that can follow it.
        events: The events of each block that has any.
    """

    def __init__(self, successors: Successors, events: Mapping[int, Sequence[Event]]) -> None:
        self._successors = successors
        self._predecessors = predecessors(successors)
        self._events = events
        self._order = {b: index for index, b in enumerate(reverse_postorder(successors))}
        self._closed: dict[int, set[int]] = {}
        self._retired: set[Retired] = set()
        #: What ``settle`` found, by the loop's header.
        self._settled: dict[int, SteadyGroups | None] = {}
        #: The state at the start of every block, ages aside; ``None`` if it is not known.
        self._entries: dict[int, _State] | None = None
        if self._order:
            try:
                self._entries = self._flow(self._order, 0, _State(), whole=True)
            except _TooManyError:
                self._entries = None

    def settle(self, loop: Loop, body: Collection[int]) -> SteadyGroups | None:
        """Run a loop until its iterations repeat, once for all of its products.

        Args:
            loop: A reducible loop that is reachable.
            body: Its blocks, inner loops included.

        Returns:
            ``None`` where iterations never repeat: groups pile up.
        """
        if loop.header not in self._settled:
            self._settled[loop.header] = self._settle(loop, body)
        return self._settled[loop.header]

    def _settle(self, loop: Loop, body: Collection[int]) -> SteadyGroups | None:
        entry = self._entering(loop, body)
        state = entry or _State()
        order = {block: self._order[block] for block in body}
        try:
            for _ in range(_MOST_ITERATIONS):
                self._retired = set()
                entries = self._flow(order, loop.header, state)
                behind = [self._through(latch, entries[latch]) for latch in loop.latches]
                at_latch = _join(behind)
                if at_latch.aged() == state:
                    return SteadyGroups(
                        frozenset(self._retired),
                        entry.queues if entry is not None else None,
                        at_latch.queues,
                        {commit: frozenset(some) for commit, some in self._closed.items()},
                    )
                state = at_latch.aged()
        except _TooManyError:
            return None
        return None

    def per_iteration(
        self, loop: Loop, body: Collection[int], at: Collection[int]
    ) -> tuple[int, int]:
        """Return the fewest and the most of some commits that an iteration reaches.

        Args:
            loop: The loop; an inner one counts as if it ran once.
            body: Its blocks.
            at: Offsets of the commits.
        """
        fewest, most = dict[int, int](), dict[int, int]()
        for block in sorted(body, key=self._order.__getitem__):
            events = self._events.get(block, ())
            here = sum(isinstance(event, Commit) and event.at in at for event in events)
            ahead = [b for b in self._predecessors[block] if b in fewest and block != loop.header]
            fewest[block] = here + min((fewest[b] for b in ahead), default=0)
            most[block] = here + max((most[b] for b in ahead), default=0)
        return min(fewest[b] for b in loop.latches), max(most[b] for b in loop.latches)

    def without_optional_waits(
        self, loop: Loop, body: Collection[int]
    ) -> tuple["ProductGroups", tuple[int, ...]]:
        """Return the groups of a loop's iterations that take no branch to a wait.

        A kernel that goes on with the next tile in the same loop waits for everything where a
        tile ends, and passes that wait by in all other iterations.

        Args:
            loop: The loop.
            body: Its blocks, inner loops included.

        Returns:
            The groups without those waits, and the waits' lines.
        """
        optional = {b for b in body if self._waits(b) and self._is_optional(b, loop, body)}
        events = {
            block: [e for e in some if block not in optional or not isinstance(e, Wait)]
            for block, some in self._events.items()
        }
        lines = sorted(wait.line for block in optional for wait in self._waits(block))
        return ProductGroups(self._successors, events), tuple(lines)

    def _entering(self, loop: Loop, body: Collection[int]) -> _State | None:
        """Return the state on entry to a loop; ``None`` if unknown."""
        entries = self._entries
        if entries is None:
            return None
        outside = [
            self._through(block, entries[block])
            for block in self._predecessors[loop.header]
            if block not in body and block in entries
        ]
        # A loop around the function's first block is entered by the call, too.
        return _join([*outside, *([_State()] if loop.header == 0 else [])]).entering()

    def _waits(self, block: int) -> list[Wait]:
        return [event for event in self._events.get(block, ()) if isinstance(event, Wait)]

    def _is_optional(self, block: int, loop: Loop, body: Collection[int]) -> bool:
        """Whether an iteration can pass a block by."""
        reached, pending = {loop.header, block}, [loop.header]
        while pending and block != loop.header:
            for target in self._successors[pending.pop()]:
                if target in body and target not in reached:
                    reached.add(target)
                    pending.append(target)
        return any(latch in reached and latch != block for latch in loop.latches)

    def _flow(
        self, order: Mapping[int, int], start: int, state: _State, *, whole: bool = False
    ) -> dict[int, _State]:
        """Return the state at the start of every reachable block, at the fixed point.

        Args:
            order: The blocks to stay within, with the order to visit them in.
            start: The first block; within a loop, edges back to it are not followed.
            state: The state there.
            whole: Whether this is the whole function.

        Raises:
            _TooManyError: Groups pile up, or paths multiply.
        """
        entries = {start: state}
        waiting = [(order[start], start)]
        while waiting:
            _, block = heappop(waiting)
            behind = self._through(block, entries[block])
            for target in self._successors[block]:
                if target not in order or (target == start and not whole):
                    continue
                known = entries.get(target)
                joined = behind if known is None else known.join(behind)
                if joined != known:
                    entries[target] = joined
                    heappush(waiting, (order[target], target))
        return entries

    def _through(self, block: int, state: _State) -> _State:
        for event in self._events.get(block, ()):
            work.spend(len(state.queues))
            state = self._after(state, event)
        longest = max(map(len, state.queues), default=0)
        if len(state.queues) > _MOST_QUEUES or longest > _MOST_OUTSTANDING:
            raise _TooManyError
        return state

    def _after(self, state: _State, event: Event) -> _State:
        """Return the state after an event, and note what it collects or retires."""
        match event:
            case Copy(at=at):
                return _State(state.pending | {at}, state.queues)
            case Commit(at=at):
                self._closed.setdefault(at, set()).update(state.pending)
                behind = _State(frozenset(), frozenset((*q, (at, 0)) for q in state.queues))
            case Wait(at=at, limit=limit):
                waited = frozenset(self._wait(state.queues, at, limit))
                behind = _State(state.pending, waited)
        return behind if event.certain else state.join(behind)

    def _wait(self, queues: Iterable[Queue], at: int, limit: int) -> Iterator[Queue]:
        for queue in queues:
            cut = max(len(queue) - limit, 0)
            left = len(queue) - cut
            self._retired.update(Retired(c, at, age, len(queue), left) for c, age in queue[:cut])
            yield queue[cut:]


def _aged(queue: Queue) -> Queue:
    return tuple((commit, age if age is None else age + 1) for commit, age in queue)


def _join(states: Iterable[_State]) -> _State:
    first, *others = states
    for each in others:
        first = first.join(each)
    return first
