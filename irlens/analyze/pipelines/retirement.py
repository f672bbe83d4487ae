"""Which wait retires which commit: groups followed one by one along all paths.

``groups`` counts them, which is enough for a verdict. Here each keeps its identity: the state at
a point is the list of the groups that are outstanding, oldest first, for each way to get there.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import msgspec

from irlens.analyze.graph import Successors
from irlens.isa.events import Commit, Copy, Event, Wait

#: Groups outstanding, and lists of them at one point, beyond which nothing is told: groups that
#: pile up, and paths that multiply, are no pipeline's.
_MOST_OUTSTANDING = 64
_MOST_LISTS = 64

#: Offsets in the text of two events: the one that begins something, and the one that ends it.
Pair: TypeAlias = tuple[int, int]


class Retiring(msgspec.Struct, frozen=True):
    """What closes and retires what, on some path, by the events' offsets in the text.

    Attributes:
        closed: Copies, each with a commit that takes it up. Of ``wait_all``, which commits and
            waits, that is the wait.
        retired: Commits, each with a wait that retires its group.
    """

    closed: frozenset[Pair] = frozenset()
    retired: frozenset[Pair] = frozenset()


class _State(msgspec.Struct, frozen=True):
    """What may be at a point: copies not committed yet, and lists of groups not waited for."""

    pending: frozenset[int]
    lists: frozenset[tuple[int, ...]]

    def join(self, other: "_State") -> "_State":
        return _State(self.pending | other.pending, self.lists | other.lists)


def follow(successors: Successors, events: Mapping[int, Sequence[Event]]) -> Retiring:
    """Follow the groups of a function from its first block.

    Args:
        successors: Of each block.
        events: The events of each block that has any.

    Returns:
        Nothing retired where groups pile up, or where the ways to a point are too many to be told
        apart.
    """
    start = _State(frozenset(), frozenset({()}))
    if not any(events.values()):
        return Retiring()
    found = _flow(successors, events, start)
    if found is None:  # what closes what needs no lists
        found = _flow(successors, events, _State(frozenset(), frozenset()))
    return Retiring(frozenset(found.closed), frozenset(found.retired)) if found else Retiring()


def _flow(
    successors: Successors, events: Mapping[int, Sequence[Event]], start: _State
) -> "_Found | None":
    """Go along all paths; ``None`` where lists become too many or too long."""
    found = _Found()
    entries = {0: start}
    waiting = [0]
    while waiting:
        block = waiting.pop()
        state = entries[block]
        for event in events.get(block, ()):
            state = found.step(state, event)
        longest = max(map(len, state.lists), default=0)
        if len(state.lists) > _MOST_LISTS or longest > _MOST_OUTSTANDING:
            return None
        for target in successors[block]:
            known = entries.get(target)
            joined = state if known is None else known.join(state)
            if joined != known:
                entries[target] = joined
                waiting.append(target)
    return found


class _Found:
    """Goes through events, and takes down what ends what."""

    def __init__(self) -> None:
        self.closed: set[Pair] = set()
        self.retired: set[Pair] = set()

    def step(self, state: _State, event: Event) -> _State:
        """Return what may be behind an event."""
        match event:
            case Copy(at=at):
                return _State(state.pending | {at}, state.lists)
            case Commit(at=at):
                self.closed.update((copy, at) for copy in state.pending)
                # The group of a wait_all is retired at once: it is never seen outstanding.
                grown = state.lists if event.implicit else {(*each, at) for each in state.lists}
                behind = _State(frozenset(), frozenset(grown))
            case Wait(at=at, limit=limit):
                behind = _State(state.pending, frozenset(self._wait(state.lists, at, limit)))
        return behind if event.certain else state.join(behind)

    def _wait(
        self, lists: Iterable[tuple[int, ...]], at: int, limit: int
    ) -> Iterable[tuple[int, ...]]:
        for each in lists:
            cut = max(len(each) - limit, 0)
            self.retired.update((commit, at) for commit in each[:cut])
            yield each[cut:]
