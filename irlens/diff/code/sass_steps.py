"""What NVIDIA's instructions do with registers, step by step."""

from collections.abc import Iterator, Mapping, Sequence

from irlens.analyze import sass_cfg
from irlens.analyze.graph import Successors
from irlens.analyze.sass_cfg import SassCfg
from irlens.diff.code.registers import by_name, follow
from irlens.diff.code.steps import Followed, Register, Step, Use
from irlens.isa import sass
from irlens.isa.sass import (
    registers as sass_registers,
)
from irlens.isa.sass import (
    results as sass_results,
)
from irlens.isa.sass import (
    widths as sass_widths,
)
from irlens.model.errors import ParseError


def sections(text: str) -> list[sass.Section]:
    """Return the sections of a disassembly; none where it cannot be read."""
    try:
        return list(sass.parse(text).sections)
    except ParseError:
        return []


def values(section: sass.Section, named: Mapping[int, int]) -> Followed:
    """Return what the registers in a section stand for.

    Args:
        section: The section.
        named: How many registers the text of each line names. Where the parser found another
            number the instruction is not understood.
    """
    steps = [_step(each, named.get(each.line, 0)) for each in section.instructions]
    flow = sass_cfg.build(section)
    if flow.unknown or flow.outside:
        return by_name(section.name, steps)
    return follow(section.name, flow.ranges, _with_calls(flow), steps)


def _with_calls(flow: SassCfg) -> Successors:
    """A call leads to the subroutine, too."""
    successors = [list(each) for each in flow.successors]
    for call in flow.calls:
        successors[call.block].append(call.entry)
    return successors


def _step(instruction: sass.Instruction, named: int) -> Step:
    guard = instruction.guard
    if guard is not None and guard.never:
        return Step(instruction.line, None if named else ())
    uses = tuple(_uses(instruction))
    known = sass_widths.widths(instruction) is not None and len(uses) == named
    return Step(
        instruction.line,
        uses if known else None,
        tuple(_hidden(instruction, uses)) if known else (),
        (_register(guard.register), guard.negated)
        if guard is not None and guard.register.index is not None
        else None,
        loses=instruction.opcode == "CALL",
    )


def _register(register: sass.Register) -> Register:
    return register.file, register.index or 0


def _uses(instruction: sass.Instruction) -> Iterator[Use]:
    """Yield the registers that an instruction names, from left to right."""
    guard = instruction.guard
    guarded = guard is not None and guard.register.index is not None
    if guard is not None and guarded:
        yield Use((_register(guard.register),))
    written = sass_results.written(instruction)
    widths: Sequence[sass_widths.Width] = sass_widths.widths(instruction) or ()
    for position, (operand, width) in enumerate(zip(instruction.operands, widths, strict=False)):
        for register in operand.registers:
            if register.index is None:
                continue
            writes = position in written and operand.kind == "register"
            file, first = _register(register)
            count = width.of(operand, register)
            registers = tuple((file, first + part) for part in range(count))
            yield Use(registers, not writes, writes, writes and not guarded)


def _hidden(instruction: sass.Instruction, uses: Sequence[Use]) -> Iterator[Use]:
    """Yield the predicates that a move between them and a register moves."""
    access = sass_registers.access(instruction)
    if access is None or instruction.opcode not in ("P2R", "UP2UR", "R2P", "UR2UP"):
        return
    told = {register for use in uses for register in use.registers}
    for file in ("P", "UP"):
        for number in sass_registers.FILES.numbers(access.reads, file):
            if (file, number) not in told:
                yield Use(((file, number),))
        for number in sass_registers.FILES.numbers(access.writes, file):
            if (file, number) not in told:
                certain = instruction.guard is None
                yield Use(((file, number),), reads=False, writes=True, kills=certain)
