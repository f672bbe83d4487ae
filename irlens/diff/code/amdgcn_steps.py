"""What AMD's instructions do with registers, step by step."""

from collections.abc import Iterator, Mapping, Sequence

from irlens.analyze import cfg
from irlens.diff.code.registers import by_name, follow
from irlens.diff.code.steps import Followed, Step, Use
from irlens.isa import amdgcn
from irlens.isa.amdgcn import registers as amdgcn_registers
from irlens.isa.amdgcn.exec_mask import lanes_off
from irlens.model.errors import ArtifactError

#: The registers that text names by number. Of the others there is one each, named by what it is.
_FILES = frozenset("vsa")


def values(function: amdgcn.Function, named: Mapping[int, int]) -> Followed:
    """Return what the registers in a function stand for.

    Args:
        function: The function.
        named: How many registers the text of each line names. Where the parser found another
            number the instruction is not understood.
    """
    steps = list(_steps(function.instructions, named))
    try:
        flow = cfg.build(function)
    except ArtifactError:
        return by_name(function.name, steps)
    if flow.unknown or any(isinstance(each, amdgcn.Unknown) for each in function.statements):
        return by_name(function.name, steps)
    return follow(function.name, flow.ranges, flow.successors, steps)


def _steps(instructions: Sequence[amdgcn.Instruction], named: Mapping[int, int]) -> Iterator[Step]:
    narrowed = False
    for each in instructions:
        uses = _uses(each, narrowed=narrowed)
        known = uses is not None and len(uses) == named.get(each.line, 0)
        yield Step(each.line, tuple(uses) if known and uses is not None else None)
        narrowed = lanes_off(each, narrowed)


def _uses(instruction: amdgcn.Instruction, *, narrowed: bool) -> list[Use] | None:
    """Return the registers that an instruction names, from left to right."""
    uses = []
    for operation in instruction.operations:
        # VCC, which depends on the number of lanes, is no name here.
        access = amdgcn_registers.operation_access(operation, lanes=64)
        if access is None:
            return None
        modifies = amdgcn_registers.reads_destination(operation)
        left = access.writes
        for operand in operation.operands:
            bits = 0
            for register in operand.registers:
                bits |= amdgcn_registers.bits(register)
            # Destinations stand first: an operand behind the last of them is read.
            writes = bool(bits & left)
            kills = writes and not bits & ~access.kills
            left &= ~bits
            uses += [
                Use(
                    tuple((each.file, each.first + part) for part in range(each.count)),
                    reads=modifies or not writes,
                    writes=writes,
                    kills=kills and not (narrowed and each.file != "s"),
                )
                for each in operand.registers
                if each.file in _FILES
            ]
    return uses
