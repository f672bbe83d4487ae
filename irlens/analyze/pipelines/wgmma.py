"""Pipelines of Hopper's tensor core (PTX ISA, ``wgmma.commit_group`` and ``wgmma.wait_group``)."""

from collections.abc import Iterator

import msgspec

from irlens.analyze.pipelines.describe import IRREDUCIBLE, blank, innermost, judge, of_groups
from irlens.analyze.pipelines.groups import GroupFlow
from irlens.analyze.pipelines.loops import FunctionLoops
from irlens.analyze.pipelines.steady import Unreadable, read_loop
from irlens.isa.events import Commit, Copy, Event, Wait
from irlens.isa.ptx import Immediate, Instruction
from irlens.model.report import Pipeline

SERIAL = "a wait leaves no matrix product of the iteration under way"
PILE_UP = "the loop waits for fewer matrix products than it issues"
SERIALIZED = "ptxas serialized the matrix products: each is waited for before the next is issued"
UNSEEN = (
    "the ptx lets matrix products of several iterations overlap; whether ptxas serialized them, no"
    " machine code in this capture tells"
)


def find(loops: FunctionLoops, *, serialized: bool | None) -> list[Pipeline]:
    """Describe every innermost loop that issues ``wgmma`` instructions.

    Nobody asks for a number of stages here: it is that of the iterations whose products are under
    way at once, the one that is issued included.

    Args:
        loops: The function.
        serialized: Whether ptxas waits for each product at once, whatever the PTX says; ``None``
            where that is unknown.
    """
    chosen = innermost(loops, _multiplies)
    if not chosen:
        return []
    read = _one_by_one if serialized else events_of
    events = {index: tuple(read(loops.block(index))) for index in range(len(loops.cfg.blocks))}
    flow = GroupFlow(loops.cfg.successors, {b: found for b, found in events.items() if found})
    return [_record(loops, index, flow, serialized) for index in chosen]


def _multiplies(instruction: Instruction) -> bool:
    return instruction.opcode == "wgmma" and instruction.modifiers[:1] == ("mma_async",)


def events_of(instructions: tuple[Instruction, ...]) -> Iterator[Event]:
    """Yield the matrix products (as copies), commits and waits among some instructions."""
    for instruction in instructions:
        if instruction.opcode != "wgmma":
            continue
        line, at, certain = instruction.line, instruction.start, instruction.predicate is None
        match instruction.modifiers[0], instruction.operands:
            case "mma_async", _:
                yield Copy(line, None, at=at)
            case "commit_group", _:
                yield Commit(line, certain, at=at)
            case "wait_group", (Immediate(value=int() as limit), *_):
                yield Wait(line, limit, certain, instruction.locations or None, at=at)


def _one_by_one(instructions: tuple[Instruction, ...]) -> Iterator[Event]:
    """Yield the events as ptxas makes them where it serializes: a group and a wait a product."""
    for event in events_of(instructions):
        if isinstance(event, Copy):
            yield event
            yield Commit(event.line, certain=True, at=event.at)
            yield Wait(event.line, limit=0, certain=True, at=event.at)


def _record(loops: FunctionLoops, index: int, flow: GroupFlow, serialized: bool | None) -> Pipeline:
    record = blank(loops, index, "wgmma", None, IRREDUCIBLE)
    loop = loops.forest.loops[index]
    if loop.irreducible:
        return record
    steady = flow.settle(loop, loops.forest.body(index))
    outcome = Unreadable(PILE_UP) if steady is None else read_loop(steady, lambda _: None)
    if isinstance(outcome, Unreadable):
        return msgspec.structs.replace(record, reason=outcome.reason)
    if serialized is None and outcome.prefetch:
        return msgspec.structs.replace(record, reason=UNSEEN)
    verdict, reason = judge(outcome.prefetch, None, SERIALIZED if serialized else SERIAL)
    return msgspec.structs.replace(of_groups(record, outcome), verdict=verdict, reason=reason)
