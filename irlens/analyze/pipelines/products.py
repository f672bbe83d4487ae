"""Asynchronous matrix products: where in a loop the tensor core is at work on one.

A product of ``wgmma`` or ``tcgen05`` runs from its issue to the wait that retires it (PTX ISA,
``wgmma.wait_group`` and ``tcgen05.commit``), often into the next iteration. Copies that are issued
after it, into the buffers that the previous product released, arrive while it runs. So what is in
flight during the compute is not what the wait for the product's operands left outstanding, but the
most that is outstanding at once while a product runs.

Counts do not tell which group is whose: a loop may have several products, and one product may be
several groups, each retired by a wait of its own. ``ProductGroups`` follows groups with their
identity: which wait of a loop retires each, and how much later.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby

import msgspec

from irlens.analyze.graph import FlowGraph, Loop
from irlens.analyze.outstanding import (
    Counts,
    GroupFlow,
    Observation,
    Queue,
    Queues,
    SteadyLoop,
    retired,
)
from irlens.analyze.pipelines.mbarrier_rings import Ring
from irlens.analyze.pipelines.ptx_loops import FunctionLoops
from irlens.analyze.pipelines.steady_state import InFlight
from irlens.analyze.solver import may_pass
from irlens.isa.events import Commit, Copy, Event, Wait
from irlens.isa.ptx import Instruction
from irlens.isa.ptx.copies import is_tcgen05_mma, is_wgmma, tcgen05_barrier, wgmma_events
from irlens.model.report import Pipeline


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
    """The commit groups of one function, and what its waits retire."""

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


#: Why it is unknown what overlaps with a product of ``wgmma``.
UNSEEN = (
    "the ptx lets matrix products of several iterations overlap; this capture has no machine code"
    " that shows whether ptxas serialized them"
)


def serialized_events(instructions: tuple[Instruction, ...]) -> Iterator[Event]:
    """Yield the events that ptxas makes where it serializes: a group and a wait per product."""
    for event in wgmma_events(instructions):
        if isinstance(event, Copy):
            yield event
            yield Commit(event.line, certain=True, at=event.at)
            yield Wait(event.line, limit=0, certain=True, at=event.at)


def states_after(
    loops: FunctionLoops, flow: GroupFlow[Counts], steady: SteadyLoop[Counts]
) -> Iterator[tuple[int, Counts]]:
    """Yield the offset in the text of each instruction of a loop, and the state after it."""
    for block, points in groupby(flow.states(steady), key=lambda point: point[0]):
        after = {at: state for _, at, state in points}
        latest = after[-1]
        for instruction in loops.block(block):
            latest = after.get(instruction.start, latest)
            yield instruction.start, latest


class Products:
    """The asynchronous products of one function.

    Args:
        serialized: Whether ptxas waits for each product of ``wgmma`` at once; ``None`` if unknown.
    """

    def __init__(self, loops: FunctionLoops, serialized: bool | None) -> None:
        self._loops = loops
        self.serialized = serialized

    @cached_property
    def groups(self) -> GroupFlow[Counts]:
        """The groups of ``wgmma``, as far as is known how ptxas issues them."""
        return GroupFlow(self._loops.cfg.graph, self._events(), Counts())

    @cached_property
    def identities(self) -> ProductGroups:
        """The same groups with their identity."""
        return ProductGroups(self._loops.cfg.graph, self._events())

    @cached_property
    def barriers(self) -> Ring:
        """The barriers that the commits of ``tcgen05`` signal."""
        return Ring(self._loops, tcgen05_barrier)

    def _events(self) -> dict[int, tuple[Event, ...]]:
        return self._loops.events(serialized_events if self.serialized else wgmma_events)

    def settle(self, loop: int) -> SteadyLoop[Counts] | None:
        """Return the groups of ``wgmma`` in the steady state of a reducible loop."""
        forest = self._loops.forest
        return self.groups.settle(forest.loops[loop], forest.body(loop))

    def overlap(self, record: Pipeline, loop: int, after: Mapping[int, InFlight]) -> Pipeline:
        """Return the record of a loop's copies, with what is in flight while a product runs.

        Args:
            record: Has what is in flight after the wait for a product's operands.
        """
        during = [after[at] for at in self.running(loop) if at in after]
        most = max(during, key=lambda each: (each.groups or 0, each.bytes or 0), default=None)
        if most is None or most.groups == record.groups_during_compute:
            return record
        uncertain = self.serialized is None and any(map(is_wgmma, self._loops.body(loop)))
        if uncertain or any(each.groups is None for each in during):
            notes = filter(None, (record.reason, UNSEEN if uncertain else ""))
            most = InFlight(None, None)
            record = msgspec.structs.replace(record, reason="; ".join(notes))
        elif (most.groups or 0) < (record.groups_during_compute or 0):
            return record
        bytes_ = None if record.bytes_per_iteration is None else most.bytes
        return msgspec.structs.replace(
            record, groups_during_compute=most.groups, bytes_in_flight=bytes_
        )

    def running(self, loop: int) -> frozenset[int]:
        """Return after which instructions of a reducible loop a product certainly runs.

        Returns:
            Their offsets in the text; empty where the products cannot be followed.
        """
        body = tuple(self._loops.body(loop))
        running: frozenset[int] = frozenset()
        if any(map(is_wgmma, body)):
            running |= self._in_groups(loop)
        if any(map(is_tcgen05_mma, body)):
            running |= self.barriers.busy(loop)
        return running

    def _in_groups(self, loop: int) -> frozenset[int]:
        steady = self.settle(loop)
        if steady is None:
            return frozenset()
        states = states_after(self._loops, self.groups, steady)
        return frozenset(at for at, there in states if there.outstanding.low or there.pending.low)
