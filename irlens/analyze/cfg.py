"""Basic blocks of a PTX function (PTX ISA, Control Flow Instructions)."""

import msgspec

from irlens.isa.ptx import Function, Instruction, Label, Symbol
from irlens.model.errors import ArtifactError

#: Opcodes behind which control does not simply go on.
_ENDS = frozenset({"ret", "exit", "trap"})


class Block(msgspec.Struct, frozen=True):
    """Instructions that run one after the other.

    Attributes:
        start: Index into ``Function.instructions`` of the first one.
        stop: Index behind the last one.
        label: The label that branches use to get here; ``None`` where none does.
        line: 1-based line of the label, or of the first instruction.
    """

    start: int
    stop: int
    label: str | None
    line: int


class Cfg(msgspec.Struct, frozen=True):
    """Control flow of one function; block 0 is where it starts.

    Attributes:
        blocks: In the order of the text. A label at the very end makes an empty block.
        successors: For each block the blocks that can follow it: branch targets first, then
            the block behind it.
    """

    blocks: tuple[Block, ...]
    successors: tuple[tuple[int, ...], ...]

    @property
    def ranges(self) -> tuple[range, ...]:
        """The indices of each block's instructions."""
        return tuple(range(block.start, block.stop) for block in self.blocks)


def build(function: Function) -> Cfg:
    """Cut a function into basic blocks.

    ``bra`` and ``brx.idx`` branch, ``ret``, ``exit`` and ``trap`` end; with a predicate any of
    them may also fall through. A call comes back.

    Raises:
        ArtifactError: A branch to a label, or through a list of labels, that is not there.
    """
    targets = {
        index: _targets(function, instruction)
        for index, instruction in enumerate(function.instructions)
        if instruction.opcode in ("bra", "brx")
    }
    labelled: dict[int, Label] = {}
    for label in (label for labels in targets.values() for label in labels):
        labelled.setdefault(label.position, label)
    starts = _starts(function, targets, labelled)
    block_at = {start: index for index, start in enumerate(starts)}
    blocks = []
    successors = []
    for index, start in enumerate(starts):
        stop = starts[index + 1] if index + 1 < len(starts) else len(function.instructions)
        blocks.append(_block(function, start, stop, labelled.get(start)))
        following = []
        if start < stop:
            following = [block_at[label.position] for label in targets.get(stop - 1, ())]
            if index + 1 < len(starts) and _falls_through(function, stop - 1):
                following.append(index + 1)
        successors.append(tuple(dict.fromkeys(following)))
    return Cfg(tuple(blocks), tuple(successors))


def _starts(
    function: Function, targets: dict[int, tuple[Label, ...]], labelled: dict[int, Label]
) -> list[int]:
    """Instruction indices at which a block starts."""
    count = len(function.instructions)
    starts = {0, *labelled}
    for index, instruction in enumerate(function.instructions):
        if (index in targets or instruction.opcode in _ENDS) and index + 1 < count:
            starts.add(index + 1)
    return sorted(starts)


def _block(function: Function, start: int, stop: int, label: Label | None) -> Block:
    if label is not None:
        return Block(start, stop, label.name, label.line)
    line = function.instructions[start].line if start < stop else function.line
    return Block(start, stop, None, line)


def _falls_through(function: Function, index: int) -> bool:
    instruction = function.instructions[index]
    jumps = instruction.opcode in _ENDS or instruction.opcode in ("bra", "brx")
    return not jumps or instruction.predicate is not None


def _targets(function: Function, branch: Instruction) -> tuple[Label, ...]:
    operand = branch.operands[-1] if branch.operands else None
    if not isinstance(operand, Symbol):
        raise _dangling(branch, "a target that is not a label")
    names: tuple[str, ...] | None = (operand.name,)
    if branch.opcode == "brx":
        names = function.targets(operand.name, branch.scope)
        if names is None:
            raise _dangling(branch, f"the list '{operand.name}', which is not there")
    labels = []
    for name in names or ():
        label = function.label(name, branch.scope)
        if label is None:
            raise _dangling(branch, f"'{name}', which is not there")
        labels.append(label)
    return tuple(labels)


def _dangling(branch: Instruction, what: str) -> ArtifactError:
    return ArtifactError(
        f"ptx:{branch.line}: branch to {what}",
        hint="give the whole kernel: the text looks like a part of one",
    )
