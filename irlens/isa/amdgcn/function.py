"""AMDGPU functions as the engines see them: branches and exits, register use, and the file.

Source: AMD's instruction set manuals, "Program Flow Control".
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import ClassVar

import msgspec

from irlens.isa.amdgcn import memory, registers
from irlens.isa.amdgcn.callees import LEADS_AWAY, find_calls, find_returns
from irlens.isa.amdgcn.classes import classify
from irlens.isa.amdgcn.records import FunctionBody, Instruction, Label, Metadata, Statement, Unknown
from irlens.isa.calls import Call, Expansion, expand
from irlens.isa.dialect import BlockLabel, ControlFlow, RegisterUse, StackAccess, Terminator
from irlens.model.errors import ArtifactError

#: Control does not continue after these. gfx1250 renames those with an address.
JUMPS = frozenset(
    {
        "s_branch", "s_endpgm", "s_endpgm_ordered_ps_done", "s_endpgm_saved", "s_rfe_b64",
        "s_rfe_i64", "s_setpc_b64", "s_set_pc_i64", "s_trap",
    }
)  # fmt: skip


class Function(FunctionBody, frozen=True):
    """A function (``irlens.isa.dialect.Function``).

    Attributes:
        expansion: Where the functions that it calls are among its instructions; ``None`` for a
            function as it is written.
    """

    stage: ClassVar[str] = "amdgcn"
    expansion: "Expansion[Function] | None" = None

    def control_flow(self) -> ControlFlow:
        """Return where basic blocks end and begin.

        Raises:
            ArtifactError: A branch to a label that does not exist.
        """
        if self.expansion is not None:
            return self.expansion.control_flow()
        flow = self.written_flow()
        leads = (
            f"where {each.mnemonic} on line {each.line} leads"
            for each in self.instructions
            if each.mnemonic.startswith(LEADS_AWAY)
        )
        return msgspec.structs.replace(flow, unknown=next(leads, ""))

    def calls(self) -> Mapping[int, Call]:
        """Return the calls by the index of their instruction."""
        return find_calls(self.instructions, self._label_positions)

    def returns(self) -> frozenset[int]:
        """Return the indices of the instructions that return to the caller."""
        return find_returns(self.instructions)

    @property
    def _label_positions(self) -> frozenset[int]:
        return frozenset(_labels(self)[0].values())

    def written_flow(self) -> ControlFlow:
        """Return where basic blocks end and begin, as if calls came back and returns ended.

        Raises:
            ArtifactError: A branch to a label that does not exist.
        """
        positions, lines = _labels(self)
        terminators: dict[int, Terminator] = {}
        labels: dict[int, BlockLabel] = {}
        for index, instruction in enumerate(self.instructions):
            jumps = instruction.mnemonic in JUMPS
            targets: tuple[int, ...] = ()
            if branches(instruction.mnemonic):
                name = _target(instruction)
                if name not in positions:
                    raise _dangling(instruction, name)
                labels.setdefault(positions[name], BlockLabel(name, lines[name]))
                targets = (positions[name],)
            elif not jumps:
                continue
            terminators[index] = Terminator(targets, falls_through=not jumps)
        return ControlFlow(terminators, labels)

    def register_use(self) -> RegisterUse:
        """Return what each instruction reads, writes and certainly overwrites."""
        return registers.register_use(self)

    def classes(self) -> Iterator[tuple[str, str | None]]:
        """Yield the mnemonic and the class of each operation; ``None`` where it is not known.

        Before gfx940 buffer instructions reach scratch, and only LLVM's comment says so.
        """
        for instruction in {each.line: each for each in self.instructions}.values():
            for operation in instruction.operations:
                kind = classify(operation)
                if kind in ("buffer load", "buffer store") and "-byte Folded " in instruction.text:
                    kind = kind.replace("buffer", "scratch")
                yield operation.mnemonic, kind

    def stack_accesses(self) -> Iterator[StackAccess]:
        """Yield the instructions that spill, reload, or access arrays in scratch."""
        return memory.stack_accesses(self.instructions)


class Program(msgspec.Struct, frozen=True):
    """A whole file.

    Attributes:
        target: The operand of ``.amdgcn_target``: "amdgcn-amd-amdhsa--gfx942".
        functions: In the order of the text.
    """

    target: str | None
    statements: tuple[Statement, ...]
    functions: tuple[Function, ...]

    @property
    def kernels(self) -> list[Function]:
        """The functions that a launch can name, with what they call."""
        bodies = {each.name: each for each in self.functions if not each.is_kernel}
        return [_expanded(each, bodies) for each in self.functions if each.is_kernel]

    @property
    def arch(self) -> str:
        """The processor, "gfx942"; empty if the text does not say."""
        return (self.target or "").partition(":")[0].rpartition("-")[2]

    @property
    def metadata(self) -> str | None:
        """The YAML of the metadata, unparsed."""
        return next((each.yaml for each in self.statements if isinstance(each, Metadata)), None)

    @property
    def unknown(self) -> dict[str, int]:
        """The number of lines of no known form, by their first word."""
        lines = (each.text.split() for each in self.statements if isinstance(each, Unknown))
        return dict(sorted(Counter(words[0] for words in lines if words).items()))


def branches(mnemonic: str) -> bool:
    """Whether an instruction names a label it branches to, conditionally or not."""
    return mnemonic.startswith(("s_branch", "s_cbranch_"))


def _labels(function: FunctionBody) -> tuple[dict[str, int], dict[str, int]]:
    """The index of the instruction after each label, and the label's line."""
    positions: dict[str, int] = {}
    lines: dict[str, int] = {}
    count = 0
    for statement in function.statements:
        if isinstance(statement, Label):
            positions[statement.name] = count
            lines[statement.name] = statement.line
        elif isinstance(statement, Instruction):
            count += 1
    return positions, lines


def _target(branch: Instruction) -> str:
    operands = branch.operations[0].operands
    return operands[-1].text if operands else ""


def _expanded(kernel: Function, bodies: Mapping[str, Function]) -> Function:
    """Return a kernel with the functions that it calls; as it is written without any."""
    expansion = expand(kernel, bodies)
    if expansion is None:
        return kernel
    functions = [copy.function for copy in expansion.copies]
    return msgspec.structs.replace(
        kernel,
        statements=tuple(each for body in expansion.functions for each in body.statements),
        instructions=tuple(
            msgspec.structs.replace(
                functions[copy].instructions[own], locations=expansion.chain(index)
            )
            for index, (copy, own) in enumerate(expansion.origins)
        ),
        expansion=expansion,
    )


def _dangling(branch: Instruction, label: str) -> ArtifactError:
    return ArtifactError(
        f"amdgcn:{branch.line}: branch to '{label}', which does not exist",
        hint="give the whole kernel: the text looks like a part of one",
    )
