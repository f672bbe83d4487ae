"""AMDGPU functions as the engines see them: branches, exits and calls, register use, and the file.

Source: AMD's instruction set manuals, "Program Flow Control". LLVM computes the address of a
function relative to the program counter, or loads it from a table, and jumps to it (AMDGPUUsage,
"Function Call Convention")::

    s_getpc_b64 s[4:5]
    s_add_u32   s4, s4, NAME@rel32@lo+4
    s_addc_u32  s5, s5, NAME@rel32@hi+12
    s_swappc_b64 s[30:31], s[4:5]

``s_swappc`` leaves the address after it in s[30:31]. ``s_setpc s[30:31]`` returns, and through any
other register it leaves the caller for good.

A label that is too far away for a branch's 16 bits of instructions is reached the same way
(``SIInstrInfo::insertIndirectBranch``)::

    s_getpc_b64 s[4:5]
    .Lpost_getpc0:
    s_add_u32   s4, s4, (.LBB0_4-.Lpost_getpc0)&4294967295
    s_addc_u32  s5, s5, (.LBB0_4-.Lpost_getpc0)>>32
    s_setpc_b64 s[4:5]
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Set
from functools import lru_cache
from typing import ClassVar

import msgspec

from irlens.isa.amdgcn import memory, registers
from irlens.isa.amdgcn.records import (
    FunctionBody,
    Instruction,
    Label,
    Metadata,
    RegisterRange,
    Statement,
    Unknown,
)
from irlens.isa.amdgcn.units import classify
from irlens.isa.calls import Call, Expansion, expand
from irlens.isa.dialect import BlockLabel, ControlFlow, RegisterUse, StackAccess, Terminator
from irlens.model.errors import ArtifactError

#: What leads to an address in a register, or to another function. gfx1250 renames some.
LEADS_AWAY = ("s_setpc", "s_set_pc", "s_swappc", "s_swap_pc", "s_call", "s_rfe")
_CALLS = ("s_swappc", "s_swap_pc")
_JUMPS = ("s_setpc", "s_set_pc")
_TAKES_ADDRESS = ("s_getpc", "s_get_pc")
#: Instructions before a jump to a label that is far away which compute its address: at most two
#: that extend the sign of the program counter's high half, and two additions.
_FAR_JUMP = 5
_COPIES = frozenset({"s_load_b64", "s_load_dwordx2", "s_mov_b64"})
_RETURN_ADDRESS = 30
_SYMBOL = re.compile(r'(?P<name>"[^"]++"|[\w.$]++)@(?:rel(?:32|64)|gotpcrel(?:32)?)(?:@lo)?')
_DISTANCE = re.compile(r"\((?P<name>[\w.$]++)-(?P<from>\.Lpost_getpc\d++)\)")
_IN_A_REGISTER = "its target is in a register"


def find_calls(instructions: tuple[Instruction, ...], labels: Set[int]) -> dict[int, Call]:
    """Return the calls of a function by the index of their instruction.

    Args:
        labels: The indices of those that a label stands in front of.
    """
    calls = {}
    for index, each in enumerate(instructions):
        if not each.mnemonic.startswith(LEADS_AWAY) or _returns(instructions, index):
            continue
        if _far_target(instructions, index) is not None:
            continue
        leaves = each.mnemonic.startswith(_JUMPS)
        known = leaves or each.mnemonic.startswith(_CALLS)
        target = _range(each, -1) if known else None
        callee = _callee(instructions, labels, index, target) if target is not None else None
        calls[index] = Call(callee, "" if callee else _IN_A_REGISTER, leaves)
    return calls


def _far_target(instructions: tuple[Instruction, ...], jump: int) -> str | None:
    """Return the label of this function that a jump through registers leads to, if any.

    LLVM computes the distance right before the jump, from the address that it has just taken.
    """
    target = _range(instructions[jump], -1)
    if target is None or not instructions[jump].mnemonic.startswith(_JUMPS):
        return None
    names = set[str | None]()
    for each in reversed(instructions[max(jump - _FAR_JUMP, 0) : jump]):
        if not _writes(each, target):
            return None
        if each.mnemonic.startswith(_TAKES_ADDRESS):
            return names.pop() if len(names) == 1 else None
        found = _DISTANCE.match(each.operations[0].operands[-1].text)
        if each.mnemonic.startswith("s_add"):
            names.add(found["name"] if found else None)
    return None


def _returns(instructions: tuple[Instruction, ...], index: int) -> bool:
    each = instructions[index]
    target = _range(each, -1) if each.mnemonic.startswith(_JUMPS) else None
    if target is None or (target.file, target.first) != ("s", _RETURN_ADDRESS):
        return False
    return _far_target(instructions, index) is None


def _range(instruction: Instruction, operand: int) -> RegisterRange | None:
    operands = instruction.operations[0].operands
    registers = operands[operand].registers if operands else ()
    return registers[0] if len(registers) == 1 else None


def _callee(
    instructions: tuple[Instruction, ...], labels: Set[int], call: int, target: RegisterRange
) -> str | None:
    """Return the function whose address was last written to a pair of registers.

    After a label another path may have written it: there it counts only if no other function's
    address ever is in that pair.
    """
    straight = True
    for index in range(call - 1, -1, -1):
        straight = straight and index + 1 not in labels
        each = instructions[index]
        written = _range(each, 0)
        if written is None or not _covers(written, target):
            continue
        name = _named(each)
        if name is None and each.mnemonic in _COPIES:
            source = _range(each, 1)
            if source is None or source == target:
                return None
            target = source
        elif name is not None:
            others = {_named(one) for one in instructions if _writes(one, target)} - {None, name}
            return name if straight or not others else None
        elif not each.mnemonic.startswith(("s_add", "s_sext")):  # a half of the address, extended
            return None
    return None


def _named(instruction: Instruction) -> str | None:
    """Return the symbol of whose address an instruction adds the low half, or all of it."""
    texts = [operand.text for operand in instruction.operations[0].operands]
    found = [match["name"].strip('"') for text in texts if (match := _SYMBOL.match(text))]
    return found[0] if found and "@hi" not in texts[-1] else None


def _writes(instruction: Instruction, target: RegisterRange) -> bool:
    written = _range(instruction, 0)
    return written is not None and _covers(written, target)


def _covers(written: RegisterRange, target: RegisterRange) -> bool:
    """Whether two ranges overlap."""
    return (
        written.file == target.file
        and written.first < target.first + target.count
        and target.first < written.first + written.count
    )


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
            ArtifactError: A branch to a label, or through a list of labels, that does not exist.
        """
        if self.expansion is not None:
            return self.expansion.control_flow()
        flow = self.written_flow()
        names = {each.mnemonic for each in self.instructions}
        away = {name for name in names if name.startswith(LEADS_AWAY)}
        led = {index for index, each in flow.terminators.items() if each.targets}
        leads = (
            f"where {each.mnemonic} on line {each.line} leads"
            for index, each in enumerate(self.instructions if away else ())
            if each.mnemonic in away and index not in led
        )
        return msgspec.structs.replace(flow, unknown=next(leads, ""))

    def calls(self) -> Mapping[int, Call]:
        """Return the calls by the index of their instruction."""
        return find_calls(self.instructions, frozenset(_labels(self)[0].values()))

    def returns(self) -> frozenset[int]:
        """Return the indices of the instructions that return to the caller."""
        every = range(len(self.instructions))
        return frozenset(index for index in every if _returns(self.instructions, index))

    def written_flow(self) -> ControlFlow:
        """Return where basic blocks end and begin, as if calls came back and returns ended."""
        positions, lines = _labels(self)
        terminators: dict[int, Terminator] = {}
        labels: dict[int, BlockLabel] = {}
        for index, instruction in enumerate(self.instructions):
            mnemonic = instruction.mnemonic
            jumps = mnemonic in JUMPS
            targets: tuple[int, ...] = ()
            far = _far_target(self.instructions, index) if jumps else None
            if far is not None or branches(mnemonic):
                name = far or _target(instruction)
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


@lru_cache(maxsize=1 << 12)  # a kernel has few, many times
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
