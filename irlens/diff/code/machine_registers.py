"""The values of machine registers in SASS and AMD's assembly, instruction by instruction."""

from collections.abc import Iterator, Mapping, Sequence

from irlens.analyze import cfg, sass_cfg
from irlens.analyze.graph import Successors
from irlens.diff.code.reaching import Register, Step, Traced, Use, by_register, trace_blocks
from irlens.isa import amdgcn, sass
from irlens.isa.amdgcn import registers as amdgcn_registers
from irlens.isa.amdgcn.exec_mask import lanes_off
from irlens.isa.sass import registers as sass_registers
from irlens.model.errors import ArtifactError, ParseError

#: AMD's registers that the text names by number. Of each other kind there is only one.
_NUMBERED = frozenset("vsa")


def trace(stage: str, text: str, counts: Mapping[int, int]) -> Traced:
    """Return the values of the registers of a stage; none for a stage that is no machine code.

    Args:
        stage: The stage.
        text: Its text.
        counts: How many registers the text of each line names. An instruction in which the
            parser found another number is not understood.
    """
    try:
        if stage == "sass":
            traced = [_trace_sass(each, counts) for each in sass.parse(text).sections]
        elif stage == "amdgcn":
            traced = [_trace_amdgcn(each, counts) for each in amdgcn.parse(text).functions]
        else:
            traced = []
    except ParseError:
        traced = []
    return Traced(
        {line: values for each in traced for line, values in each.values.items()},
        sum(each.lost for each in traced),
    )


def _trace_sass(section: sass.Section, counts: Mapping[int, int]) -> Traced:
    steps = [_sass_step(each, counts.get(each.line, 0)) for each in section.instructions]
    flow = sass_cfg.build(section)
    if flow.unknown or flow.outside:
        return by_register(section.name, steps)
    return trace_blocks(section.name, flow.ranges, _with_calls(flow), steps)


def _with_calls(flow: sass_cfg.SassCfg) -> Successors:
    """Return the successors of each block, with an edge from each call to its subroutine."""
    successors = [list(each) for each in flow.successors]
    for call in flow.calls:
        successors[call.block].append(call.entry)
    return successors


def _sass_step(instruction: sass.Instruction, count: int) -> Step:
    guard = instruction.guard
    if guard is not None and guard.never:
        return Step(instruction.line, None if count else ())
    guarded = guard is not None and guard.register.index is not None
    found = sass_registers.operand_uses(instruction)
    if found is None or len(found) != count:
        uses: tuple[Use, ...] | None = None
    else:
        uses = tuple(
            Use(
                _consecutive(each.register.file, each.register.index or 0, each.width),
                reads=not each.writes,
                writes=each.writes,
                kills=each.writes and not guarded,
            )
            for each in found
        )
    return Step(
        instruction.line,
        uses,
        tuple(_masked_predicates(instruction, uses)) if uses is not None else (),
        ((guard.register.file, guard.register.index or 0), guard.negated)
        if guard is not None and guarded
        else None,
        clobbers=instruction.opcode == "CALL",
    )


def _consecutive(file: str, first: int, count: int) -> tuple[Register, ...]:
    return tuple((file, first + part) for part in range(count))


def _masked_predicates(instruction: sass.Instruction, uses: Sequence[Use]) -> Iterator[Use]:
    """Yield the unnamed predicates of a move between predicates and a register."""
    access = sass_registers.access(instruction)
    if access is None or instruction.opcode not in ("P2R", "UP2UR", "R2P", "UR2UP"):
        return
    named = {register for use in uses for register in use.registers}
    for file in ("P", "UP"):
        for number in sass_registers.FILES.numbers(access.reads, file):
            if (file, number) not in named:
                yield Use(((file, number),))
        for number in sass_registers.FILES.numbers(access.writes, file):
            if (file, number) not in named:
                certain = instruction.guard is None
                yield Use(((file, number),), reads=False, writes=True, kills=certain)


def _trace_amdgcn(function: amdgcn.Function, counts: Mapping[int, int]) -> Traced:
    steps = list(_amdgcn_steps(function.instructions, counts))
    try:
        flow = cfg.build(function)
    except ArtifactError:
        return by_register(function.name, steps)
    if flow.unknown or any(isinstance(each, amdgcn.Unknown) for each in function.statements):
        return by_register(function.name, steps)
    return trace_blocks(function.name, flow.ranges, flow.successors, steps)


def _amdgcn_steps(
    instructions: Sequence[amdgcn.Instruction], counts: Mapping[int, int]
) -> Iterator[Step]:
    masked = False
    for each in instructions:
        uses = _amdgcn_uses(each, masked=masked)
        known = uses is not None and len(uses) == counts.get(each.line, 0)
        yield Step(each.line, uses if known else None)
        masked = lanes_off(each, masked)


def _amdgcn_uses(instruction: amdgcn.Instruction, *, masked: bool) -> tuple[Use, ...] | None:
    """Return the registers that an instruction names, from left to right.

    Args:
        instruction: The instruction.
        masked: Whether EXEC may mask lanes, so that a vector write keeps their old values.
    """
    uses: list[Use] = []
    for operation in instruction.operations:
        found = amdgcn_registers.operand_uses(operation)
        if found is None:
            return None
        uses += [
            Use(
                _consecutive(each.register.file, each.register.first, each.register.count),
                reads=each.reads,
                writes=each.writes,
                kills=each.kills and not (masked and each.register.file != "s"),
            )
            for each in found
            if each.register.file in _NUMBERED
        ]
    return tuple(uses)
