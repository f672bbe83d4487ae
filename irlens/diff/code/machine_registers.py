"""The values of machine registers in SASS and AMD's assembly, instruction by instruction."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import cast

from irlens.analyze.capture_code import AmdgcnCode, SassCode, StageCode
from irlens.analyze.graph import Successors
from irlens.analyze.sass_cfg import SassCfg
from irlens.diff.code.reaching import Step, Traced, by_register, trace_blocks
from irlens.isa import amdgcn, sass
from irlens.isa.amdgcn import registers as amdgcn_registers
from irlens.isa.dialect import OperandUse
from irlens.isa.sass import registers as sass_registers
from irlens.isa.sass.control_flow import effect
from irlens.model.errors import ArtifactError, ParseError
from irlens.model.several import all_known


def trace(code: StageCode, counts: Mapping[int, int]) -> Traced:
    """Return the values of the registers of a stage; none for a stage that is no machine code.

    Args:
        counts: How many registers the text of each line names. An instruction in which the
            parser found another number is not understood.
    """
    traced: list[Traced] = []
    try:
        if isinstance(code, SassCode):
            traced = [_trace_sass(code, each, counts) for each in code.module.sections]
        elif code.name == "amdgcn":
            amd = cast(AmdgcnCode, code)
            traced = [_trace_amdgcn(amd, each, counts) for each in amd.functions]
    except ParseError:
        traced = []
    return Traced(
        {line: values for each in traced for line, values in each.values.items()},
        sum(each.lost for each in traced),
    )


def _trace_sass(code: SassCode, section: sass.Section, counts: Mapping[int, int]) -> Traced:
    steps = [_sass_step(each, counts.get(each.line, 0)) for each in section.instructions]
    flow = code.flow_of(section)
    if flow.unknown or flow.outside:
        return by_register(section.name, steps)
    return trace_blocks(section.name, flow.ranges, _with_calls(flow), steps)


def _with_calls(flow: SassCfg) -> Successors:
    """Return the successors of each block, with an edge from each call to its subroutine."""
    successors = [list(each) for each in flow.successors]
    for call in flow.calls:
        if not call.far_branch:
            successors[call.block].append(call.entry)
    return successors


def _sass_step(instruction: sass.Instruction, count: int) -> Step:
    guard = instruction.guard
    if guard is not None and guard.never:
        return Step(instruction.line, None if count else [])
    uses = sass_registers.operand_uses(instruction)
    if uses is not None and len(uses) != count:
        uses = None
    return Step(
        instruction.line,
        uses,
        list(_masked_predicates(instruction, uses)) if uses is not None else [],
        ((guard.register.file, guard.register.index), guard.negated)
        if guard is not None and guard.register.index is not None
        else None,
        clobbers=effect(instruction) == "calls",
    )


def _masked_predicates(
    instruction: sass.Instruction, uses: Sequence[OperandUse]
) -> Iterator[OperandUse]:
    """Yield the unnamed predicates of a move between predicates and a register."""
    access = instruction.access
    if access is None or not sass_registers.packs_predicates(instruction):
        return
    named = {register for use in uses for register in use.registers}
    for file in ("P", "UP"):
        for number in sass_registers.FILES.numbers(access.reads, file):
            if (file, number) not in named:
                yield OperandUse(((file, number),))
        for number in sass_registers.FILES.numbers(access.writes, file):
            if (file, number) not in named:
                certain = instruction.guard is None
                yield OperandUse(((file, number),), reads=False, writes=True, kills=certain)


def _trace_amdgcn(code: AmdgcnCode, function: amdgcn.Function, counts: Mapping[int, int]) -> Traced:
    steps = list(_amdgcn_steps(function.instructions, counts))
    try:
        flow = code.flow_of(function)
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
        uses = _amdgcn_uses(each)
        if masked and uses is not None:
            uses = _of_some_lanes(uses)
        known = uses is not None and len(uses) == counts.get(each.line, 0)
        yield Step(each.line, uses if known else None)
        changed = amdgcn_registers.lanes_off(each)
        masked = masked if changed is None else changed


def _amdgcn_uses(instruction: amdgcn.Instruction) -> list[OperandUse] | None:
    """Return the registers that an instruction names, from left to right."""
    uses = all_known(map(amdgcn_registers.operand_uses, instruction.operations))
    return None if uses is None else list(chain.from_iterable(uses))


def _of_some_lanes(uses: Sequence[OperandUse]) -> list[OperandUse]:
    """Return uses where EXEC may mask lanes: a vector write keeps the old values of these."""
    return [
        use._replace(kills=use.kills and all(file == "s" for file, _ in use.registers))
        for use in uses
    ]
