"""Basic blocks of an AMDGPU function (AMD's instruction set manuals, "Program Flow Control")."""

import msgspec

from irlens.isa.amdgcn import Function, Instruction, Label
from irlens.model.errors import ArtifactError

#: Behind these control does not go on. gfx1250 has names of its own for those with an address.
_ENDS = frozenset(
    {
        "s_branch", "s_endpgm", "s_endpgm_saved", "s_rfe_b64", "s_rfe_i64", "s_setpc_b64",
        "s_set_pc_i64", "s_trap",
    }
)  # fmt: skip
#: These lead to an address in a register, or to another function.
_LEADS_AWAY = ("s_setpc", "s_set_pc", "s_swappc", "s_swap_pc", "s_call", "s_rfe")


class Block(msgspec.Struct, frozen=True):
    """Instructions that run one after the other.

    Attributes:
        start: Index into the function's instructions of the first one.
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
        instructions: The function's.
        blocks: In the order of the text. A label at the very end makes an empty block.
        successors: For each block those that can follow it: the branch's target first.
        unknown: What is not known of it; empty if it all is.
    """

    instructions: tuple[Instruction, ...]
    blocks: tuple[Block, ...]
    successors: tuple[tuple[int, ...], ...]
    unknown: str = ""

    @property
    def ranges(self) -> tuple[range, ...]:
        """The indices of each block's instructions, for all blocks."""
        return tuple(map(self.indices, range(len(self.blocks))))

    def indices(self, block: int) -> range:
        """The indices of one block's instructions."""
        return range(self.blocks[block].start, self.blocks[block].stop)


def build(function: Function) -> Cfg:
    """Cut a function into basic blocks.

    Raises:
        ArtifactError: A branch to a label that is not there.
    """
    instructions = tuple(function.instructions)
    positions: dict[str, int] = {}
    lines: dict[str, int] = {}
    count = 0
    for statement in function.statements:
        if isinstance(statement, Label):
            positions[statement.name] = count
            lines[statement.name] = statement.line
        elif isinstance(statement, Instruction):
            count += 1
    targets = {i: _target(each) for i, each in enumerate(instructions) if _branches(each)}
    labelled: dict[int, str] = {}
    for index, label in targets.items():
        if label not in positions:
            raise _dangling(instructions[index], label)
        labelled.setdefault(positions[label], label)
    cuts = {i + 1 for i, each in enumerate(instructions) if i in targets or _ends(each)}
    starts = sorted({0, *labelled, *(cut for cut in cuts if cut < count)})
    block_at = {start: block for block, start in enumerate(starts)}
    blocks, successors = [], []
    for block, (start, stop) in enumerate(zip(starts, [*starts[1:], count], strict=True)):
        named = labelled.get(start)
        if named is not None:
            line = lines[named]
        else:
            line = instructions[start].line if start < stop else 1
        blocks.append(Block(start, stop, named, line))
        following = []
        if start < stop:
            if stop - 1 in targets:
                following.append(block_at[positions[targets[stop - 1]]])
            if not _ends(instructions[stop - 1]) and block + 1 < len(starts):
                following.append(block + 1)
        successors.append(tuple(dict.fromkeys(following)))
    return Cfg(instructions, tuple(blocks), tuple(successors), _unknown(instructions))


def _branches(instruction: Instruction) -> bool:
    return instruction.mnemonic.startswith(("s_branch", "s_cbranch_"))


def _ends(instruction: Instruction) -> bool:
    return instruction.mnemonic in _ENDS


def _target(branch: Instruction) -> str:
    operands = branch.operations[0].operands
    return operands[-1].text if operands else ""


def _unknown(instructions: tuple[Instruction, ...]) -> str:
    """What leads elsewhere: through a register to where no label says, or to another function."""
    for each in instructions:
        if each.mnemonic.startswith(_LEADS_AWAY):
            return f"where {each.mnemonic} on line {each.line} leads"
    return ""


def _dangling(branch: Instruction, label: str) -> ArtifactError:
    return ArtifactError(
        f"amdgcn:{branch.line}: branch to '{label}', which is not there",
        hint="give the whole kernel: the text looks like a part of one",
    )
