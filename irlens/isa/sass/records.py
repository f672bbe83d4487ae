"""The records of a disassembly, and the control fields that ptxas writes into each instruction."""

from typing import Literal, NamedTuple, TypeAlias

import msgspec

from irlens.isa.dialect import Access
from irlens.model.schedule import SCOREBOARDS, Control
from irlens.model.source import SourceLocation, Span

RegisterFile: TypeAlias = Literal["R", "UR", "P", "UP", "B"]
OperandKind: TypeAlias = Literal[
    "register", "memory", "constant", "descriptor", "special", "immediate", "label", "other"
]


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
        access: What it reads and writes; ``None`` where that is not known.
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
    access: Access | None = None
    locations: tuple[SourceLocation, ...] = ()
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
        name: Of the section, without ".text.".
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


#: Bytes of an instruction since Volta.
INSTRUCTION_BYTES = 16
_SLOTS = 4
_NONE = 7
#: The first bit of the control fields.
_FIRST = 105


def decode(word: int) -> Control:
    """Return the control fields of one instruction.

    Since Volta an instruction has 128 bits, and the highest of them say when the warp's next
    instruction may issue and what this one waits for:

    | bits | field |
    |---|---|
    | 105 to 108 | stall: cycles until the warp's next instruction may issue |
    | 109 | yield, inverted: 0 prefers another warp, and the operands kept for reuse are lost |
    | 110 to 112 | the scoreboard that the result sets when it is written, 7 for none |
    | 113 to 115 | the scoreboard that is set when the operands have been read, 7 for none |
    | 116 to 121 | the scoreboards that must be clear before it issues, one bit each |
    | 122 to 125 | the source operands that are kept for the next instruction, one bit each |

    Source: Jia, Maggioni, Staiger, Scarpazza, "Dissecting the NVIDIA Volta GPU Architecture via
    Microbenchmarking" (2018), section 2.1; nvdisasm 12.8 prints the same fields for sm_120, and
    the reuse flags for every architecture.
    """
    fields = word >> _FIRST
    write, read = fields >> 5 & 7, fields >> 8 & 7
    return Control(
        stall=fields & 0xF,
        write=None if write == _NONE else write,
        read=None if read == _NONE else read,
        wait=fields >> 11 & (1 << SCOREBOARDS) - 1,
        yields=not fields >> 4 & 1,
        reuse=fields >> 17 & (1 << _SLOTS) - 1,
    )


def decode_all(code: bytes) -> tuple[Control, ...]:
    """Return the control fields of each instruction of a code section.

    Args:
        code: The section's bytes: those of instructions of 16 bytes, as Volta and newer have.
    """
    size = INSTRUCTION_BYTES
    whole = len(code) - len(code) % size
    return tuple(
        decode(int.from_bytes(code[at : at + size], "little")) for at in range(0, whole, size)
    )
