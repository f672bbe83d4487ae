"""Pipelines of Blackwell's tensor core (PTX ISA, ``tcgen05.mma`` and ``tcgen05.commit``).

The matrix instructions run on their own; a commit makes a barrier's phase end when they are done,
and whoever reads the result, or overwrites the operands, waits for it. Between registers and tensor
memory ``tcgen05.ld`` and ``tcgen05.st`` move data, also on their own, and ``tcgen05.wait`` waits
for all of the one or of the other that its thread has issued.
"""

from collections.abc import Iterator
from typing import Literal

import msgspec

from irlens.analyze.pipelines.barriers import Elsewhere, Ring, RingReading
from irlens.analyze.pipelines.describe import IRREDUCIBLE, blank, innermost, of_ring
from irlens.analyze.pipelines.elsewhere import awaited_elsewhere
from irlens.analyze.pipelines.loops import FunctionLoops
from irlens.isa.events import Commit, Copy, Event, Wait
from irlens.isa.ptx import Address, Instruction, Operand
from irlens.model.report import Pipeline

SERIAL = "each matrix product is waited for in the iteration that issues it"

_COMMITTED = (("mma",), ("cp",), ("shift",))


def find(loops: FunctionLoops) -> list[Pipeline]:
    """Describe every innermost loop that issues matrix instructions to tensor memory.

    Nobody asks for a number of stages here: it is that of the products under way at once.
    """
    chosen = innermost(loops, multiplies)
    if not chosen:
        return []
    ring = Ring(loops, barrier_of)
    return [_record(loops, index, ring) for index in chosen]


def multiplies(instruction: Instruction) -> bool:
    """Whether it is a matrix product of tcgen05."""
    return instruction.opcode == "tcgen05" and instruction.modifiers[:1] == ("mma",)


def barrier_of(instruction: Instruction) -> Operand | None:
    """Return the barrier that a ``tcgen05.commit`` signals; ``None`` for anything else."""
    if instruction.opcode != "tcgen05" or instruction.modifiers[:1] != ("commit",):
        return None
    return next((o for o in instruction.operands if isinstance(o, Address)), None)


def issue_events(instructions: tuple[Instruction, ...]) -> Iterator[Event]:
    """Yield what a commit takes up (products, copies and shifts, as copies), and the commits.

    One thread issues both. A commit that runs under the predicate of what is before it takes that
    up for certain.
    """
    issuer: str | None = None
    for instruction in instructions:
        if instruction.opcode == "tcgen05" and instruction.modifiers[:1] in _COMMITTED:
            issuer = instruction.predicate
            yield Copy(instruction.line, None, at=instruction.start)
        elif barrier_of(instruction) is not None:
            certain = instruction.predicate in (None, issuer)
            yield Commit(instruction.line, certain, at=instruction.start)


def move_events(
    instructions: tuple[Instruction, ...], direction: Literal["ld", "st"]
) -> Iterator[Event]:
    """Yield the loads from tensor memory, or the stores to it, as copies, and the waits for all."""
    for instruction in instructions:
        if instruction.opcode != "tcgen05":
            continue
        line, at, certain = instruction.line, instruction.start, instruction.predicate is None
        if instruction.modifiers[:1] == (direction,):
            yield Copy(line, None, at=at)
        elif instruction.modifiers[:1] == (f"wait::{direction}",):
            yield Commit(line, certain, implicit=True, at=at)
            yield Wait(line, 0, certain, instruction.locations or None, at=at)


def _record(loops: FunctionLoops, index: int, ring: Ring) -> Pipeline:
    record = blank(loops, index, "tcgen05", None, IRREDUCIBLE)
    if loops.forest.loops[index].irreducible:
        return record
    match ring.read(index):
        case RingReading() as reading:
            return of_ring(record, reading, SERIAL)
        case Elsewhere() as found:
            return awaited_elsewhere(loops, index, record, "the matrix products", found)
        case unreadable:
            return msgspec.structs.replace(record, reason=unreadable.reason)
