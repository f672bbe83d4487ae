"""Branches and exits of PTX (PTX ISA, Control Flow Instructions)."""

from irlens.isa.dialect import BlockLabel, ControlFlow, Terminator
from irlens.isa.ptx.operands import Symbol
from irlens.isa.ptx.records import FunctionBody, Instruction, Label
from irlens.model.errors import ArtifactError

BRANCHES = frozenset({"bra", "brx"})
#: Opcodes behind which control does not continue.
EXITS = frozenset({"ret", "exit", "trap"})


def control_flow(function: FunctionBody) -> ControlFlow:
    """Return where basic blocks of a function end and begin.

    ``bra`` and ``brx.idx`` branch, ``ret``, ``exit`` and ``trap`` end; with a predicate any of
    them may also fall through. A call comes back.

    Raises:
        ArtifactError: A branch to a label, or through a list of labels, that does not exist.
    """
    terminators: dict[int, Terminator] = {}
    labels: dict[int, BlockLabel] = {}
    for index, instruction in enumerate(function.instructions):
        targets: tuple[Label, ...] = ()
        if instruction.opcode in BRANCHES:
            targets = _targets(function, instruction)
        elif instruction.opcode not in EXITS:
            continue
        for label in targets:
            labels.setdefault(label.position, BlockLabel(label.name, label.line))
        terminators[index] = Terminator(
            tuple(label.position for label in targets), instruction.predicate is not None
        )
    return ControlFlow(terminators, labels)


def _targets(function: FunctionBody, branch: Instruction) -> tuple[Label, ...]:
    operand = branch.operands[-1] if branch.operands else None
    if not isinstance(operand, Symbol):
        raise _dangling(branch, "a target that is not a label")
    names: tuple[str, ...] | None = (operand.name,)
    if branch.opcode == "brx":
        names = function.targets(operand.name, branch.scope)
        if names is None:
            raise _dangling(branch, f"the list '{operand.name}', which does not exist")
    labels = []
    for name in names or ():
        label = function.label(name, branch.scope)
        if label is None:
            raise _dangling(branch, f"'{name}', which does not exist")
        labels.append(label)
    return tuple(labels)


def _dangling(branch: Instruction, target: str) -> ArtifactError:
    return ArtifactError(
        f"ptx:{branch.line}: branch to {target}",
        hint="give the whole kernel: the text looks like a part of one",
    )
