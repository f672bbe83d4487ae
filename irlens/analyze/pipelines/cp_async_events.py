"""The instructions of ``cp.async`` (PTX ISA, Data Movement: ``cp.async``) as events of groups."""

from collections.abc import Iterator

from irlens.analyze.pipelines.groups import UNBOUNDED
from irlens.isa.events import Commit, Copy, Event, Wait
from irlens.isa.ptx import Immediate, Instruction


def events_of(instructions: tuple[Instruction, ...]) -> Iterator[Event]:
    """Yield the copies, commits and waits among some instructions."""
    for instruction in instructions:
        if instruction.opcode != "cp" or instruction.modifiers[:1] != ("async",):
            continue
        line, at, certain = instruction.line, instruction.start, instruction.predicate is None
        origin = instruction.locations or None
        match instruction.modifiers[1:]:
            case ("ca" | "cg", *_):
                yield Copy(line, literal(instruction, 2), at=at)
            case ("commit_group",):
                yield Commit(line, certain, at=at)
            case ("wait_group",):
                limit = literal(instruction, 0)
                # Without a literal, which PTX does not allow, nothing is known to be retired.
                if limit is not None:
                    yield Wait(line, limit, certain, origin, at=at)
            case ("wait_all",):
                yield Commit(line, certain, implicit=True, at=at)
                yield Wait(line, 0, certain, origin, at=at)


def literal(instruction: Instruction, position: int) -> int | None:
    """Return an operand that is a number; ``None`` if it is none, or there is no such operand."""
    if position >= len(instruction.operands):
        return None
    operand = instruction.operands[position]
    value = operand.value if isinstance(operand, Immediate) else None
    return value if isinstance(value, int) and 0 <= value < UNBOUNDED else None
