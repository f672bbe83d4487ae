"""Commit groups with their identity: which wait of a loop retires each group, and how much later.

Matrix products need more than counts: a loop may have several products, and one product may be
several groups, each retired by a wait of its own.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property

import msgspec

from irlens.analyze.graph import FlowGraph, Loop
from irlens.analyze.outstanding import GroupFlow, Observation, Queue, Queues, retired
from irlens.analyze.solver import may_pass
from irlens.isa.events import Commit, Event, Wait


class Retired(msgspec.Struct, frozen=True):
    """A group that a wait retires.

    Attributes:
        commit: Offset of its commit in the text.
        age: Iterations between the two; ``None`` for a group from before the loop.
        before: Groups outstanding before the wait.
    """

    commit: int
    wait: int
    age: int | None
    before: int
    after: int


class SteadyGroups(msgspec.Struct, frozen=True):
    """A loop whose iterations repeat.

    Attributes:
        entry: The queues on entry to the loop; ``None`` if unknown.
    """

    retired: frozenset[Retired]
    entry: frozenset[Queue] | None
    at_latch: frozenset[Queue]


class ProductGroups:
    """The groups of one function."""

    def __init__(self, graph: FlowGraph, events: Mapping[int, Sequence[Event]]) -> None:
        self._graph = graph
        self._events = events
        self._flow = GroupFlow(graph, events, Queues())
        #: What ``settle`` found, by the loop's header.
        self._settled: dict[int, SteadyGroups | None] = {}

    @cached_property
    def closed(self) -> Mapping[int, Collection[int]]:
        """For each commit of the function the copies that it may collect."""
        observed = self._flow.observe(self._flow.entries)
        return {o.event.at: o.state.pending for o in observed if isinstance(o.event, Commit)}

    def settle(self, loop: Loop, body: Collection[int]) -> SteadyGroups | None:
        """Run a loop until its iterations repeat, once for all of its products.

        Returns:
            ``None`` where iterations never repeat: groups pile up.
        """
        if loop.header not in self._settled:
            self._settled[loop.header] = self._settle(loop, body)
        return self._settled[loop.header]

    def _settle(self, loop: Loop, body: Collection[int]) -> SteadyGroups | None:
        steady = self._flow.settle(loop, body)
        if steady is None or steady.at_latch.queues is None:
            return None
        retires = frozenset(each for one in steady.observations for each in _retires(one))
        return SteadyGroups(retires, steady.entry.queues, steady.at_latch.queues)

    def per_iteration(
        self, loop: Loop, body: Collection[int], at: Collection[int]
    ) -> tuple[int, int]:
        """Return the fewest and the most of some commits that an iteration reaches.

        Args:
            loop: The loop; an inner one counts as if it ran once.
        """
        fewest, most = dict[int, int](), dict[int, int]()
        for block in sorted(body, key=self._graph.rank.__getitem__):
            events = self._events.get(block, ())
            here = sum(isinstance(event, Commit) and event.at in at for event in events)
            before = () if block == loop.header else self._graph.predecessors[block]
            ahead = [each for each in before if each in fewest]
            fewest[block] = here + min((fewest[b] for b in ahead), default=0)
            most[block] = here + max((most[b] for b in ahead), default=0)
        return min(fewest[b] for b in loop.latches), max(most[b] for b in loop.latches)

    def without_optional_waits(
        self, loop: Loop, body: Collection[int]
    ) -> tuple["ProductGroups", tuple[int, ...]]:
        """Return the groups of a loop's iterations that take no branch to a wait.

        A kernel that goes on with the next tile in the same loop waits for everything where a
        tile ends, and passes that wait by in all other iterations.

        Returns:
            The groups without those waits, and the waits' lines.
        """
        optional = {
            b for b in body if self._waits(b) and may_pass(self._graph.successors, loop, body, b)
        }
        events = {
            block: [e for e in some if block not in optional or not isinstance(e, Wait)]
            for block, some in self._events.items()
        }
        lines = sorted(wait.line for block in optional for wait in self._waits(block))
        return ProductGroups(self._graph, events), tuple(lines)

    def _waits(self, block: int) -> list[Wait]:
        return [event for event in self._events.get(block, ()) if isinstance(event, Wait)]


def _retires(observation: Observation[Queues]) -> Iterator[Retired]:
    """Yield what a wait retires, by whatever path."""
    wait = observation.event
    if isinstance(wait, Wait):
        for queue in observation.state.queues or ():
            ended = retired(queue, wait.limit)
            left = len(queue) - len(ended)
            yield from (Retired(at, wait.at, age, len(queue), left) for at, age in ended)
