"""What instructions of PTX let run on by itself: in groups, or until a barrier's phase ends."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TypeAlias

import msgspec

from irlens.analyze.pipelines import cp_async_events, tcgen05, tma, wgmma
from irlens.analyze.pipelines.barriers import arrives_for_copies, awaited, expects_bytes
from irlens.isa.events import Event
from irlens.isa.ptx import Address, Instruction, Operand, Register
from irlens.isa.ptx.registers import access
from irlens.model.listing import PipelineRole
from irlens.model.report import PipelineKind

#: The events among some instructions, in order.
EventsOf: TypeAlias = Callable[[tuple[Instruction, ...]], Iterable[Event]]


class Stream(msgspec.Struct, frozen=True):
    """Something that is committed and waited for on its own.

    Attributes:
        kind: The mechanism; ``None`` where no pipeline of the report is made of it.
        events_of: Its events.
        empty: Whether a commit that takes up nothing is something to wait for all the same.
            Triton commits bulk copies out of shared memory that way after it wrote a descriptor.
    """

    kind: PipelineKind | None
    events_of: EventsOf
    empty: bool = True


STREAMS = (
    Stream("cp.async", cp_async_events.events_of),
    Stream("wgmma", wgmma.events_of),
    # A tcgen05.commit takes up all products before it; what waits for it asks the barrier.
    Stream("tcgen05", tcgen05.issue_events),
    Stream(None, tma.group_events, empty=False),
    Stream(None, partial(tcgen05.move_events, direction="ld")),
    Stream(None, partial(tcgen05.move_events, direction="st")),
)


def at_barrier(instruction: Instruction) -> tuple[PipelineRole, PipelineKind | None] | None:
    """Return what an instruction does by means of a barrier, and for which mechanism.

    ``None`` where it does nothing of that kind. A wait is for whatever signals the barrier.
    """
    if tma.completes_at_barrier(instruction):
        return "copy", "tma"
    if expects_bytes(instruction):
        return "commit", "tma"
    if awaited(instruction) is not None:
        return "wait", None
    return ("commit", "cp.async") if arrives_for_copies(instruction) else None


def announced(instructions: Iterable[Instruction]) -> Iterator[tuple[Instruction, Instruction]]:
    """Yield the bulk copies of a block, each with the announcement of its bytes before it.

    They name the same barrier by the same operand.
    """
    known: dict[Operand, Instruction] = {}
    for each in instructions:
        barrier = tma.barrier_of(each)
        if barrier is not None and expects_bytes(each):
            known[barrier] = each
        elif barrier in known:
            yield each, known[barrier]
        found = access(each)
        for operand in [o for o in known if found is None or _base(o) in found.writes]:
            del known[operand]


def _base(operand: Operand) -> str | None:
    base = operand.base if isinstance(operand, Address) else operand
    return base.name if isinstance(base, Register) else None
