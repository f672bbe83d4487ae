"""The statements of a PTX module, frozen and in the order of the text, and views of them.

Every statement owns its slice of the input: the white space and comments before it (``trivia``)
and its own characters (``text``). Joining the two over all statements rebuilds the input.
"""

from math import prod
from typing import Literal, TypeAlias

import msgspec

from irlens.isa.ptx.operands import Operand
from irlens.model.source import SourceLocation, Span

FunctionKind: TypeAlias = Literal["entry", "func", "fragment"]


class Statement(msgspec.Struct, frozen=True, gc=False):
    """One statement and the slice of the text it owns.

    Attributes:
        trivia: White space and comments between the previous statement and this one.
        text: The statement's own characters, terminator included.
        start: Offset in the input of the first character of ``text``.
        line: 1-based line of that character.
        end_line: 1-based line of the last character.
        scope: Index into ``Function.scopes`` of the ``{ }`` around it; 0 at module level.
    """

    trivia: str
    text: str
    start: int
    line: int
    end_line: int
    scope: int

    @property
    def end(self) -> int:
        """Offset in the input just after the statement."""
        return self.start + len(self.text)

    @property
    def span(self) -> Span:
        """The statement's lines."""
        return Span("ptx", self.line, self.end_line)


class Instruction(Statement, frozen=True, gc=False):
    """One instruction.

    Attributes:
        name: Opcode with its modifiers as written: "cp.async.cg.shared.global".
        opcode: The name up to the first dot: "cp".
        modifiers: The rest, split at the dots: ("async", "cg", "shared", "global").
        operands: Operands in the order of the text; by PTX's convention destinations come first.
        predicate: Register of the guard ``@%p1``, or ``None``.
        negated: Whether the guard is ``@!%p1``.
        locations: Source location, innermost first, then the chain of calls it was inlined
            through; empty where the debug information has none.
        inline_asm: Whether it is between "begin inline asm" and "end inline asm".
    """

    name: str
    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]
    predicate: str | None
    negated: bool
    locations: tuple[SourceLocation, ...]
    inline_asm: bool


class Label(Statement, frozen=True, gc=False):
    """A label.

    Attributes:
        position: Index into ``Function.instructions`` of the instruction that follows it.
    """

    name: str
    position: int


class RegisterGroup(msgspec.Struct, frozen=True, gc=False):
    """Virtual registers declared together.

    Attributes:
        name: The register's name, or the prefix where ``count`` is given.
        count: ``%r<4>`` declares %r0 to %r3 and has count 4; ``None`` is one plain name.
        type: "pred", "b32", "f64", ...; a vector's width comes first: "v2.f32".
        scope: The ``{ }`` that they are visible in, nested ones included.
    """

    name: str
    count: int | None
    type: str
    scope: int


class RegisterDeclaration(Statement, frozen=True, gc=False):
    """``.reg``: declares virtual registers (PTX ISA, State Spaces, Types, and Variables)."""

    groups: tuple[RegisterGroup, ...]


class Declaration(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The declaration of one variable or parameter.

    Attributes:
        linkage: "visible", "extern", "weak", "common" or ``None``.
        space: "global", "shared", "const", "local" or "param" ("reg" for old-style parameters).
        type: Fundamental type: "b8", "u32", ...; a vector's width comes first.
        align: Alignment in bytes, if written; for a pointer parameter that of its pointee.
        dimensions: Elements along each dimension; ``None`` where the brackets are empty or hold
            an expression. Empty for a scalar.
        pointer: State space of a ``.ptr`` parameter ("global"), "generic" where none is given,
            ``None`` for anything that is not marked a pointer.
        initializer: The text after ``=``.
    """

    linkage: str | None
    space: str
    type: str
    align: int | None
    name: str
    dimensions: tuple[int | None, ...]
    pointer: str | None
    initializer: str | None


class Variable(Statement, frozen=True, gc=False):
    """A declaration of variables, or of the parameters of a call."""

    declarations: tuple[Declaration, ...]


class Loc(Statement, frozen=True, gc=False):
    """``.loc``: the source location of the instructions that follow, innermost first."""

    locations: tuple[SourceLocation, ...]


class Section(Statement, frozen=True, gc=False):
    """``.section NAME { ... }``: DWARF data, kept as text."""

    name: str


class Directive(Statement, frozen=True, gc=False):
    """Any other directive.

    Attributes:
        name: With its dot: ".version", ".pragma", ".branchtargets", ...
        arguments: The text after it, comments removed.
    """

    name: str
    arguments: str


class Brace(Statement, frozen=True, gc=False):
    """``{`` or ``}`` of a function's body or a nested scope; ``scope`` is the one it delimits."""


class Signature(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A function's header.

    Attributes:
        returns: Return parameters of a ``.func``.
        limits: Performance-tuning directives and their numbers: {"reqntid": (256,)}.
    """

    kind: FunctionKind
    name: str
    returns: tuple[Declaration, ...]
    parameters: tuple[Declaration, ...]
    limits: dict[str, tuple[int, ...]]


class FunctionHeader(Statement, frozen=True, gc=False):
    """``.entry`` or ``.func`` up to its body, or a declaration without one."""

    signature: Signature


class Unknown(Statement, frozen=True, gc=False):
    """A statement that no rule understands: kept, and counted by ``PtxModule.unknown``."""


class Scope(msgspec.Struct, frozen=True, gc=False):
    """One ``{ }`` of a function.

    Attributes:
        parent: Index of the scope around it; -1 for the body.
        registers: Declarations by name, or by prefix and ``True`` for ``%r<4>``.
    """

    parent: int
    labels: dict[str, Label]
    registers: dict[tuple[str, bool], RegisterGroup]


class FunctionBody(msgspec.Struct, frozen=True, kw_only=True):
    """The text of a function with a body.

    Attributes:
        kind: "entry" for a kernel, "func" for a device function, "fragment" for instructions
            outside any function (a pasted piece of PTX).
        name: Its name; empty for a fragment.
        signature: Its header; ``None`` for a fragment.
        line: 1-based line of the header.
        end_line: 1-based line of the closing brace.
        statements: Everything of its body in the order of the text, braces included.
        scopes: The ``{ }`` in it; the first is the body.
        branch_targets: ``.branchtargets`` lists by their label, per scope.
        tables: Names of the module's variables that have initial values.
    """

    kind: FunctionKind
    name: str
    signature: Signature | None
    line: int
    end_line: int
    statements: tuple[Statement, ...]
    instructions: tuple[Instruction, ...]
    labels: tuple[Label, ...]
    registers: tuple[RegisterGroup, ...]
    scopes: tuple[Scope, ...]
    branch_targets: dict[tuple[int, str], tuple[str, ...]]
    tables: frozenset[str]

    @property
    def threads_per_cta(self) -> int | None:
        """Threads per CTA if ``.reqntid`` fixes them."""
        threads = self.signature.limits.get("reqntid") if self.signature else None
        return prod(threads) if threads else None

    def label(self, name: str, scope: int = 0) -> Label | None:
        """Return the label that ``name`` refers to in a scope: inner scopes hide outer ones."""
        while scope >= 0:
            label = self.scopes[scope].labels.get(name)
            if label is not None:
                return label
            scope = self.scopes[scope].parent
        return None

    def targets(self, name: str, scope: int = 0) -> tuple[str, ...] | None:
        """Return the ``.branchtargets`` list that ``name`` refers to in a scope."""
        while scope >= 0:
            targets = self.branch_targets.get((scope, name))
            if targets is not None:
                return targets
            scope = self.scopes[scope].parent
        return None

    def register(self, name: str, scope: int = 0) -> RegisterGroup | None:
        """Return the declaration that a register's name refers to in a scope.

        ``None``: a special register (%tid, %laneid, ...) or nothing declared here.
        """
        prefix = name.rstrip("0123456789")
        number = name[len(prefix) :]
        index = int(number) if 0 < len(number) < 10 else None
        while scope >= 0:
            declared = self.scopes[scope].registers
            declaration = declared.get((name, False))
            if declaration is None and index is not None:
                group = declared.get((prefix, True))
                if group is not None and group.count is not None and index < group.count:
                    declaration = group
            if declaration is not None:
                return declaration
            scope = self.scopes[scope].parent
        return None
