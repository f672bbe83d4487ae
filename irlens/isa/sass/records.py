"""The records of a disassembly."""

from typing import Literal, NamedTuple, TypeAlias

import msgspec

from irlens.model.source import SourceLocation, Span

RegisterFile: TypeAlias = Literal["R", "UR", "P", "UP", "B"]
OperandKind: TypeAlias = Literal[
    "register", "memory", "constant", "descriptor", "special", "immediate", "label", "other"
]

#: A longer inlining chain is a cycle in the debug information.
MAX_CHAIN = 64


class Register(msgspec.Struct, frozen=True, gc=False):
    """A register as one operand names it.

    Attributes:
        file: "R" general, "UR" uniform, "P" predicate, "UP" uniform predicate, "B" barrier.
        index: Its number; ``None`` for those that are constants (RZ, URZ, PT, UPT).
        suffixes: The suffixes written after it: "64", "reuse", "H0_H0", "X16", "F32x2", ...
    """

    file: RegisterFile
    index: int | None
    suffixes: tuple[str, ...] = ()


class Operand(msgspec.Struct, frozen=True, gc=False):
    """One operand.

    Attributes:
        kind: "register" (with or without sign, absolute value or suffix), "memory"
            (``[R4+0x10]``, ``desc[UR4][R2.64]``), "constant" (``c[0x0][0x210]``), "descriptor"
            (``gdesc[UR8]``, ``tmem[UR4]``), "special" (``SR_TID.X``), "immediate", "label",
            "other".
    """

    kind: OperandKind
    text: str
    registers: tuple[Register, ...]

    @property
    def is_predicate(self) -> bool:
        """Whether it is a predicate by itself."""
        return self.kind == "register" and self.registers[0].file in ("P", "UP")


class Guard(msgspec.Struct, frozen=True, gc=False):
    """The predicate under which an instruction runs: ``@P0``, ``@!UP1``, ``@!PT``."""

    register: Register
    negated: bool

    @property
    def never(self) -> bool:
        """Whether it never holds, like ``@!PT``."""
        return self.negated and self.register.index is None


class Mnemonic(NamedTuple):
    """The name of an instruction: its opcode, "LDG", and its modifiers, ("E", "128")."""

    opcode: str
    modifiers: tuple[str, ...]


class Instruction(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One machine instruction.

    Attributes:
        offset: Bytes from the start of its section.
        line: 1-based line of the disassembly.
        opcode: Without modifiers: "LDG".
        modifiers: The rest of the name: ("E", "128").
        targets: Labels that the instruction names, or jumps to according to nvdisasm.
        schedule: Scheduling notes that nvdisasm 13 prints for sm_100 and newer; else empty.
        locations: Source lines, innermost inlined function first; empty without debug information.
        ptx_line: Line of the PTX it was made from, as the assembler counted.
    """

    offset: int
    line: int
    guard: Guard | None
    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]
    targets: tuple[str, ...]
    schedule: str
    locations: tuple[SourceLocation, ...]
    ptx_line: int | None = None

    @property
    def end_line(self) -> int:
        """The same as ``line``: an instruction is one line."""
        return self.line

    @property
    def span(self) -> Span:
        """The instruction's line."""
        return Span("sass", self.line, self.line)


class SectionBody(msgspec.Struct, frozen=True, kw_only=True):
    """The text of a code section: a kernel and the subroutines linked to it.

    Attributes:
        line: 1-based line of the ``.section`` directive.
        instructions: In ascending order of their offsets.
        labels: Index of the instruction after each label; one after the last for a label at
            the end.
        functions: Index of the first instruction of each function, by name; the kernel itself
            is one of them.
    """

    name: str
    line: int
    instructions: tuple[Instruction, ...]
    labels: dict[str, int]
    functions: dict[str, int]
