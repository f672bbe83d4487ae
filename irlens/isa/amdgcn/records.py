"""The statements of AMDGPU assembly in the order of the text, their operands, and views."""

import msgspec

from irlens.model.source import SourceLocation, Span


class RegisterRange(msgspec.Struct, frozen=True, gc=False):
    """Consecutive 32-bit registers of one file.

    Attributes:
        file: "v", "s", "a", "ttmp", or the name of a special one: "vcc", "exec", "m0", "scc",
            "flat_scratch", "xnack_mask".
        first: Number of the first one. The halves of a special pair are 0 (low) and 1 (high).
        count: How many. ``vcc`` and ``exec`` are pairs; in wave32 code only their low halves
            are named.
        half: "l" or "h" where the operand is only 16 bits of one register.
    """

    file: str
    first: int
    count: int
    half: str = ""


class Operand(msgspec.Struct, frozen=True, gc=False):
    """One operand: its text, and the registers it covers, in the order of the text.

    ``v3 /*v259*/``, which LLVM writes where the upper bits of a register's number were set by an
    earlier instruction (gfx1250), is the register in the comment.
    """

    text: str
    registers: tuple[RegisterRange, ...] = ()


class Operation(msgspec.Struct, frozen=True, gc=False):
    """An operation of an instruction; a dual-issue one (``v_dual_... :: v_dual_...``) has two.

    Attributes:
        mnemonic: As written, with the suffix of its encoding: "v_add_f32_e32".
        operands: Destinations first, by AMD's convention.
        modifiers: The words after the operands: ("offen", "offset:16").
    """

    mnemonic: str
    operands: tuple[Operand, ...] = ()
    modifiers: tuple[str, ...] = ()


class Statement(msgspec.Struct, frozen=True, gc=False):
    """One statement: whole lines, so that joining the texts rebuilds the input.

    Attributes:
        text: The lines with their comments and line ends.
        line: 1-based number of the first.
        end_line: 1-based number of the last.
    """

    text: str
    line: int
    end_line: int

    @property
    def span(self) -> Span:
        """The statement's lines."""
        return Span("amdgcn", self.line, self.end_line)


class Comment(Statement, frozen=True, gc=False):
    """An empty line or one with only a comment; ``comment`` is without its sign."""

    comment: str


class Directive(Statement, frozen=True, gc=False):
    """A directive: its name with the dot, and the rest of the line as written."""

    name: str
    arguments: str


class Loc(Statement, frozen=True, gc=False):
    """``.loc``: the source location of what follows.

    Attributes:
        locations: Innermost first, then the calls it was inlined through; empty for line 0,
            which is code that belongs to no line.
    """

    locations: tuple[SourceLocation, ...]


class Label(Statement, frozen=True, gc=False):
    """A label, without its colon."""

    name: str


class Instruction(Statement, frozen=True, gc=False):
    """One instruction.

    Attributes:
        operations: One; two of a dual-issue instruction.
        locations: Of the ``.loc`` in force.
    """

    operations: tuple[Operation, ...]
    locations: tuple[SourceLocation, ...]

    @property
    def mnemonic(self) -> str:
        """The mnemonic of the (first) operation."""
        return self.operations[0].mnemonic


class Metadata(Statement, frozen=True, gc=False):
    """``.amdgpu_metadata`` to ``.end_amdgpu_metadata``: the YAML that becomes the hsaco's note."""

    yaml: str


class Unknown(Statement, frozen=True, gc=False):
    """A line of no known form."""


class FunctionBody(msgspec.Struct, frozen=True):
    """The text of a function: its statements from its label on, and LLVM's notes.

    Attributes:
        is_kernel: Whether it has a descriptor (``.amdhsa_kernel``).
        statements: Up to the label of its end.
        directives: The descriptor's integer fields, by their names without ".amdhsa_".
        info: The figures of the comment "Kernel info" (or "Function info"): "NumVgprs",
            "ScratchSize", "Occupancy", ... Sizes are bytes. ``Occupancy`` is waves per SIMD as
            far as registers allow; it ignores LDS that is allocated at launch.
    """

    name: str
    is_kernel: bool
    statements: tuple[Statement, ...]
    instructions: tuple[Instruction, ...]
    directives: dict[str, int]
    info: dict[str, int]

    @property
    def line(self) -> int:
        """1-based line of its first statement."""
        return self.statements[0].line if self.statements else 1

    @property
    def lanes(self) -> int:
        """Lanes of a wave."""
        return 32 if self.directives.get("wavefront_size32") else 64
