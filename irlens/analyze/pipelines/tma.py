"""Pipelines of bulk copies (PTX ISA, ``cp.async.bulk``, the TMA of sm_90 and newer).

An elected thread tells a barrier how many bytes to expect and issues the copies; whoever needs
the data waits for the barrier's phase. A ring of barriers, one for each stage, lets the copies
run ahead. Copies out of shared memory go by groups instead, each thread's own.
"""

from collections.abc import Iterator

import msgspec

from irlens.analyze.pipelines.barriers import Elsewhere, Ring, RingReading, expects_bytes
from irlens.analyze.pipelines.describe import (
    IRREDUCIBLE,
    RequestedStages,
    blank,
    innermost,
    of_ring,
)
from irlens.analyze.pipelines.elsewhere import awaited_elsewhere
from irlens.analyze.pipelines.loops import FunctionLoops, is_bulk_load
from irlens.isa.events import Commit, Copy, Event, Wait
from irlens.isa.ptx import Address, Immediate, Instruction, Operand
from irlens.model.report import Pipeline

SERIAL = "each copy is waited for in the iteration that issues it"


def find(loops: FunctionLoops, *, requested: RequestedStages) -> list[Pipeline]:
    """Describe every innermost loop that issues bulk copies to shared memory.

    Bytes are those that the barriers are told to expect, per CTA.
    """
    chosen = innermost(loops, is_bulk_load)
    if not chosen:
        return []
    ring = Ring(loops, barrier_of)
    return [_record(loops, index, ring, requested) for index in chosen]


def barrier_of(instruction: Instruction) -> Operand | None:
    """Return the barrier of a bulk load or of the announcement of its bytes, if it is one."""
    addresses = [operand for operand in instruction.operands if isinstance(operand, Address)]
    if expects_bytes(instruction) and addresses:
        return addresses[0]
    # Destination, source, barrier.
    return addresses[2] if is_bulk_load(instruction) and len(addresses) > 2 else None


def completes_at_barrier(instruction: Instruction) -> bool:
    """Whether it is a bulk copy that tells a barrier of its bytes: one into shared memory."""
    return instruction.opcode == "cp" and any("complete_tx" in m for m in instruction.modifiers)


def group_events(instructions: tuple[Instruction, ...]) -> Iterator[Event]:
    """Yield the bulk copies out of shared memory, and the commits and waits of their groups."""
    for instruction in instructions:
        if instruction.opcode != "cp" or "bulk" not in instruction.modifiers:
            continue
        line, at, certain = instruction.line, instruction.start, instruction.predicate is None
        match instruction.modifiers[1:], instruction.operands:
            case ("bulk", "commit_group", *_), _:
                yield Commit(line, certain, at=at)
            case ("bulk", "wait_group", *_), (Immediate(value=int() as limit), *_):
                yield Wait(line, limit, certain, instruction.locations or None, at=at)
            case modifiers, _ if "bulk_group" in modifiers:
                yield Copy(line, None, at=at)


def _record(loops: FunctionLoops, index: int, ring: Ring, requested: RequestedStages) -> Pipeline:
    copies = sum(map(is_bulk_load, loops.own(index)))
    stages = requested(loops.locations(index))
    record = blank(loops, index, "tma", stages, IRREDUCIBLE)
    record = msgspec.structs.replace(record, copies_per_iteration=copies)
    if loops.forest.loops[index].irreducible:
        return record
    match ring.read(index):
        case RingReading() as reading:
            filled = of_ring(record, reading, SERIAL)
            return msgspec.structs.replace(
                filled,
                bytes_per_iteration=reading.bytes_per_iteration,
                bytes_in_flight=reading.bytes_in_flight,
            )
        case Elsewhere() as found:
            return awaited_elsewhere(loops, index, record, "the copies", found)
        case unreadable:
            return msgspec.structs.replace(record, reason=unreadable.reason)
