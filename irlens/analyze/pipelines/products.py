"""Asynchronous matrix products: where in a loop the tensor core is at work on one.

A product of ``wgmma`` or ``tcgen05`` runs from its issue to the wait that retires it (PTX ISA,
``wgmma.wait_group`` and ``tcgen05.commit``), often into the next iteration. Copies that are issued
after it, into the buffers that the previous product released, arrive while it runs. So what is in
flight during the compute is not what the wait for the product's operands left outstanding, but the
most that is outstanding at once while a product runs.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import groupby

import msgspec

from irlens.analyze.outstanding import Counts, GroupFlow, SteadyLoop
from irlens.analyze.pipelines.mbarrier_rings import Ring
from irlens.analyze.pipelines.product_groups import ProductGroups
from irlens.analyze.pipelines.ptx_loops import FunctionLoops
from irlens.analyze.pipelines.steady_state import InFlight
from irlens.isa.events import Commit, Copy, Event, Wait
from irlens.isa.ptx import Instruction
from irlens.isa.ptx.copies import is_tcgen05_mma, is_wgmma, tcgen05_barrier, wgmma_events
from irlens.model.report import Pipeline

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
        loops = self._loops
        events_of = serialized_events if self.serialized else wgmma_events
        events = {n: tuple(events_of(loops.block(n))) for n in range(len(loops.cfg.blocks))}
        return {block: some for block, some in events.items() if some}

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
