"""Operations that a counter of an AMDGPU wave has outstanding, in the steady state of a loop."""

from collections.abc import Sequence

import msgspec

from irlens.analyze import outstanding
from irlens.analyze.graph import FlowGraph, find_loops
from irlens.analyze.outstanding import GroupFlow, Queues, retired
from irlens.isa.events import Event, Wait

#: A block that follows itself.
_GRAPH = FlowGraph([[0]])
_LOOP = find_loops(_GRAPH.successors).loops[0]


class Queue(msgspec.Struct, frozen=True):
    """A counter in the steady state of a loop.

    Attributes:
        retired: For each operation, by its position, the iterations to the wait that retires it,
            and that wait's position.
        waits: For each wait that retires something, by its position, the operations outstanding
            before and after it, by their positions.
        computing: The distinct sets of operations outstanding at a computation, by position.
    """

    retired: dict[int, tuple[int, int]]
    waits: dict[int, tuple[tuple[int, ...], tuple[int, ...]]]
    computing: tuple[tuple[int, ...], ...]


def settle(events: Sequence[Event | None], computes: Sequence[bool]) -> Queue | None:
    """Follow a counter through a loop until its iterations repeat; ``None`` where they do not.

    Args:
        events: What each instruction of the loop does to the counter, if anything.
        computes: Whether each instruction computes something.
    """
    happening = [each for each in events if each is not None]
    steady = GroupFlow(_GRAPH, {0: happening}, Queues()).settle(_LOOP, {0})
    if steady is None or steady.at_latch.queues is None:
        return None
    position = {each.at: n for n, each in enumerate(events) if each is not None}
    ended: dict[int, tuple[int, int]] = {}
    waits: dict[int, tuple[tuple[int, ...], tuple[int, ...]]] = {}
    computing: list[tuple[int, ...]] = []
    has_changed = True
    state = steady.blocks[0]
    for n, event in enumerate(events):
        if event is not None:
            before, state = _only(state), state.after(event)
            limit = event.limit if isinstance(event, Wait) else len(before)
            gone = retired(before, limit)
            ended |= {position[at]: (age or 0, n) for at, age in gone}
            if gone:
                places = tuple(position[at] for at, _ in before)
                waits[n] = places, places[len(gone) :]
            has_changed = has_changed or bool(gone) or not isinstance(event, Wait)
        if computes[n] and has_changed:
            computing.append(tuple(position[at] for at, _ in _only(state)))
            has_changed = False
    return Queue(ended, waits, tuple(computing))


def _only(state: Queues) -> outstanding.Queue:
    """Return the queue of the only path."""
    (queue,) = state.queues or ((),)
    return queue
