"""Retirement: the waits that retire each commit group, along all paths.

``commit_groups`` counts groups, which is enough for a verdict. Here each keeps its identity: the
state at a point is the list of outstanding groups, oldest first, for each path to the point.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import msgspec

from irlens.analyze.graph import Successors
from irlens.isa.events import Commit, Copy, Event, Wait

#: Outstanding groups, and lists of them at one point, beyond which the analysis gives up: in a
#: pipeline groups do not pile up, and paths do not multiply.
_MOST_OUTSTANDING = 64
_MOST_LISTS = 64

#: Offsets in the text of two events: the one that begins something, and the one that ends it.
Pair: TypeAlias = tuple[int, int]


class Retirement(msgspec.Struct, frozen=True):
    """Pairs of events on some path, by their offsets in the text.

    Attributes:
        closed: Copies, each with a commit that collects it; for ``wait_all``, which commits and
            waits, with the wait.
        retired: Commits, each with a wait that retires its group.
    """

    closed: frozenset[Pair] = frozenset()
    retired: frozenset[Pair] = frozenset()


class _State(msgspec.Struct, frozen=True):
    """The possible states at a point: uncommitted copies, and lists of outstanding groups."""

    pending: frozenset[int]
    lists: frozenset[tuple[int, ...]]

    def join(self, other: "_State") -> "_State":
        return _State(self.pending | other.pending, self.lists | other.lists)


def follow(successors: Successors, events: Mapping[int, Sequence[Event]]) -> Retirement:
    """Follow the groups of a function from its first block.

    Args:
        successors: Of each block.
        events: The events of each block that has any.

    Returns:
        Nothing is retired where groups pile up, or where there are too many paths to a point.
    """
    start = _State(frozenset(), frozenset({()}))
    if not any(events.values()):
        return Retirement()
    pairs = _flow(successors, events, start)
    if pairs is None:  # closing needs no lists
        pairs = _flow(successors, events, _State(frozenset(), frozenset()))
    return Retirement(frozenset(pairs.closed), frozenset(pairs.retired)) if pairs else Retirement()


def _flow(
    successors: Successors, events: Mapping[int, Sequence[Event]], start: _State
) -> "_Pairs | None":
    """Follow all paths; ``None`` where lists become too many or too long."""
    pairs = _Pairs()
    entries = {0: start}
    pending = [0]
    while pending:
        block = pending.pop()
        state = entries[block]
        for event in events.get(block, ()):
            state = pairs.step(state, event)
        longest = max(map(len, state.lists), default=0)
        if len(state.lists) > _MOST_LISTS or longest > _MOST_OUTSTANDING:
            return None
        for target in successors[block]:
            known = entries.get(target)
            joined = state if known is None else known.join(state)
            if joined != known:
                entries[target] = joined
                pending.append(target)
    return pairs


class _Pairs:
    """Steps through events, and records the pairs."""

    def __init__(self) -> None:
        self.closed: set[Pair] = set()
        self.retired: set[Pair] = set()

    def step(self, state: _State, event: Event) -> _State:
        """Return the state after an event."""
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
