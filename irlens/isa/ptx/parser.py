"""Reads PTX text into a ``PtxModule``."""

import re
from collections.abc import Iterable

from irlens.isa.ptx import declarations, lexer
from irlens.isa.ptx.function import Function, PtxModule
from irlens.isa.ptx.lexer import Kind, without_comments
from irlens.isa.ptx.locations import LocationReader, read_file
from irlens.isa.ptx.operands import OperandReader
from irlens.isa.ptx.records import (
    Brace,
    Declaration,
    Directive,
    FunctionHeader,
    Instruction,
    Label,
    Loc,
    RegisterDeclaration,
    RegisterGroup,
    Scope,
    Section,
    Signature,
    Statement,
    Unknown,
    Variable,
)
from irlens.model.source import SourceLocation

#: No compiler nests scopes this deep, and looking up a name takes a step per level.
MAX_SCOPES = 256

_INSTRUCTION = re.compile(
    r"(?:@\s*+(!?)\s*+([%A-Za-z_$][\w$%]*+)\s++)?([A-Za-z_][\w.:]*+)(?![\w$%])(.*+)", re.DOTALL
)
_DIRECTIVE = re.compile(r"(\.\w++)\s*+(.*?)\s*+;?", re.DOTALL)
_LIST_ITEM = re.compile(r"[\w$%]++")


def parse(text: str) -> PtxModule:
    """Parse PTX: a whole module, or a fragment of one.

    Instructions outside any function are gathered in a function of kind "fragment". Statements
    that no rule understands are kept as ``Unknown``. An empty text gives an empty module.

    Raises:
        ParseError: A comment, string, statement, section or scope does not end, or a brace
            closes nothing; with line, column and the line itself.
    """
    return _Parser(text).module()


class _Body:
    """A function while it is being read."""

    def __init__(self, signature: Signature | None, line: int) -> None:
        self.signature = signature
        self.line = line
        self.statements: list[Statement] = []
        self.instructions: list[Instruction] = []
        self.labels: list[Label] = []
        self.registers: list[RegisterGroup] = []
        self.scopes: list[Scope] = [Scope(-1, {}, {})]
        self.branch_targets: dict[tuple[int, str], tuple[str, ...]] = {}

    def declare(self, groups: tuple[RegisterGroup, ...], scope: int) -> None:
        self.registers.extend(groups)
        for group in groups:
            self.scopes[scope].registers[group.name, group.count is not None] = group

    def finish(self, end_line: int, variables: Iterable[Declaration]) -> Function:
        signature = self.signature
        return Function(
            kind=signature.kind if signature else "fragment",
            name=signature.name if signature else "",
            signature=signature,
            line=self.line,
            end_line=end_line,
            statements=tuple(self.statements),
            instructions=tuple(self.instructions),
            labels=tuple(self.labels),
            registers=tuple(self.registers),
            scopes=tuple(self.scopes),
            branch_targets=self.branch_targets,
            tables=frozenset(each.name for each in variables if each.initializer is not None),
        )


class _Parser:
    """One parse: a walk over the statements that keeps track of the open scopes."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = list(lexer.tokenize(text))
        self.files = self._files()
        self.operands = OperandReader()
        self.locations = LocationReader(self.files)
        self.names: dict[str, tuple[str, tuple[str, ...]]] = {}
        self.line = 1
        self.inline_asm = False
        self.location: tuple[SourceLocation, ...] = ()
        self.fragment = _Body(None, 1)
        self.body = self.fragment
        #: Open braces: offset, and the scope that is current again when it closes.
        self.open: list[tuple[int, int]] = []
        self.scope = 0
        #: The header that the next brace belongs to, and its line.
        self.pending: Signature | None = None
        self.pending_line = 1
        self.statements: list[Statement] = []
        self.functions: list[Function] = []
        self.declared: list[Signature] = []
        self.variables: list[Declaration] = []

    def _files(self) -> dict[int, str]:
        """The files that tokens name; all are read first, since ``.file`` may end the text."""
        text = self.text
        texts = [text[at:end] for kind, _, at, end in self.tokens if kind is Kind.DIRECTIVE]
        named = (read_file(without_comments(each)) for each in texts if each.startswith(".file"))
        return dict(filter(None, named))

    def module(self) -> PtxModule:
        readers = {
            Kind.LABEL: self._label,
            Kind.OPEN: self._open,
            Kind.CLOSE: self._close,
            Kind.LOC: self._loc,
            Kind.HEADER: self._header,
            Kind.REGISTERS: self._registers,
            Kind.VARIABLE: self._variable,
            Kind.SECTION: self._section,
            Kind.DIRECTIVE: self._directive,
            Kind.UNKNOWN: self._unknown,
        }
        text, end = self.text, 0
        for kind, before, start, end in self.tokens:
            trivia, own = text[before:start], text[start:end]
            if "inline asm" in trivia:
                self.inline_asm = trivia.rfind("begin inline asm") > trivia.rfind("end inline asm")
            line = self.line + trivia.count("\n")
            self.line = line + own.count("\n")
            extent = (trivia, own, start, line, self.line)
            clean = without_comments(own) if "/" in own else own
            if kind is Kind.INSTRUCTION:  # most are
                statement = self._instruction(extent, clean)
            else:
                statement = readers[kind](extent, clean)
            self.statements.append(statement)
        if self.open:
            raise lexer.error_at(self.text, self.open[-1][0], "'{' is not closed")
        if self.fragment.instructions:
            self.functions.append(self.fragment.finish(self.line, self.variables))
        return self._finished(text[end:])

    def _finished(self, trailing: str) -> PtxModule:
        directives = [each for each in self.statements if type(each) is Directive]
        header = {each.name: each.arguments for each in reversed(directives)}
        target = header.get(".target")
        return PtxModule(
            version=header.get(".version"),
            target=target.partition(",")[0].strip() if target else None,
            files=self.files,
            statements=tuple(self.statements),
            functions=tuple(self.functions),
            declarations=tuple(self.declared),
            variables=tuple(self.variables),
            trailing=trailing,
        )

    def _keep(self, statement: Statement) -> Statement:
        self.body.statements.append(statement)
        return statement

    def _unknown(self, extent: "_Extent", _clean: str) -> Statement:
        return self._keep(Unknown(*extent, self.scope))

    def _instruction(self, extent: "_Extent", clean: str) -> Statement:
        match = _INSTRUCTION.fullmatch(clean[:-1])
        if match is None:
            return self._unknown(extent, clean)
        negation, predicate, name, rest = match.groups()
        operands = self.operands.read_all(rest)
        if operands is None:
            return self._unknown(extent, clean)
        split = self.names.get(name)
        if split is None:
            # Two colons join the parts of one modifier ("shared::cluster").
            opcode, *modifiers = name.split(".")
            split = self.names[name] = (opcode, tuple(modifiers))
        instruction = Instruction(
            *extent,
            self.scope,
            name,
            *split,
            operands,
            predicate,
            negation == "!",
            self.location,
            self.inline_asm,
        )
        self.body.instructions.append(instruction)
        self.body.statements.append(instruction)
        return instruction

    def _label(self, extent: "_Extent", clean: str) -> Statement:
        name = clean[:-1].rstrip()
        label = Label(*extent, self.scope, name, len(self.body.instructions))
        self.body.labels.append(label)
        self.body.scopes[self.scope].labels[name] = label
        return self._keep(label)

    def _open(self, extent: "_Extent", _clean: str) -> Statement:
        if len(self.open) == MAX_SCOPES:
            raise lexer.error_at(self.text, extent[2], f"more than {MAX_SCOPES} nested scopes")
        self.open.append((extent[2], self.scope))
        if self.pending is not None:
            self.body = _Body(self.pending, self.pending_line)
            self.scope = 0
            self.location = ()
            self.locations.start_function()
            self._old_style_parameters(self.pending)
            self.pending = None
        else:
            self.body.scopes.append(Scope(self.scope, {}, {}))
            self.scope = len(self.body.scopes) - 1
        return self._keep(Brace(*extent, self.scope))

    def _close(self, extent: "_Extent", _clean: str) -> Statement:
        if not self.open:
            raise lexer.error_at(self.text, extent[2], "'}' closes nothing")
        brace = self._keep(Brace(*extent, self.scope))
        for group in self.body.scopes[self.scope].registers.values():
            if not group.name.startswith("%"):
                self.operands.forget(group.name)
        _, self.scope = self.open.pop()
        if not self.open and self.body is not self.fragment:
            self.functions.append(self.body.finish(extent[4], self.variables))
            self.body = self.fragment
            self.location = ()
        return brace

    def _loc(self, extent: "_Extent", clean: str) -> Statement:
        """Read where the following instructions come from.

        The LLVM of Triton 3.9 writes a ``.loc`` in front of each line of inline assembly, every
        one a line further down than the last, so that a load of line 30 claims to be of line 33.
        The location before the block is the true one, and applies again after it.
        """
        if not self.inline_asm:
            end = extent[2] + len(extent[1])
            self.location = self.locations.read(clean, self.text, end)
        return self._keep(Loc(*extent, self.scope, self.location))

    def _header(self, extent: "_Extent", clean: str) -> Statement:
        signature = declarations.read_signature(clean.removesuffix(";").strip())
        if signature is None or self.open:
            return self._unknown(extent, clean)
        if extent[1].endswith(";"):
            self.declared.append(signature)
        else:
            self.pending, self.pending_line = signature, extent[3]
        return FunctionHeader(*extent, self.scope, signature)

    def _old_style_parameters(self, signature: Signature) -> None:
        """Parameters of a ``.func`` may be registers, as all were before PTX ISA 2.0."""
        named = (*signature.returns, *signature.parameters)
        groups = (RegisterGroup(d.name, None, d.type, 0) for d in named if d.space == "reg")
        self._declare(tuple(groups))

    def _registers(self, extent: "_Extent", clean: str) -> Statement:
        groups = declarations.read_registers(clean, self.scope)
        if groups is None:
            return self._unknown(extent, clean)
        self._declare(groups)
        return self._keep(RegisterDeclaration(*extent, self.scope, groups))

    def _declare(self, groups: tuple[RegisterGroup, ...]) -> None:
        known = self.body.scopes[self.scope].registers
        for group in groups:
            if not group.name.startswith("%") and (group.name, False) not in known:
                self.operands.declare(group.name)
        self.body.declare(groups, self.scope)

    def _variable(self, extent: "_Extent", clean: str) -> Statement:
        variables = declarations.read_variables(clean)
        if variables is None:
            return self._unknown(extent, clean)
        if not self.open:
            self.variables.extend(variables)
        return self._keep(Variable(*extent, self.scope, variables))

    def _section(self, extent: "_Extent", clean: str) -> Statement:
        name = clean.removeprefix(".section").partition("{")[0].partition(",")[0].strip()
        return self._keep(Section(*extent, self.scope, name))

    def _directive(self, extent: "_Extent", clean: str) -> Statement:
        match = _DIRECTIVE.fullmatch(clean)
        if match is None:
            return self._unknown(extent, clean)
        name, arguments = match.groups()
        if name == ".branchtargets" and self.body.labels:
            table = (self.scope, self.body.labels[-1].name)
            self.body.branch_targets[table] = tuple(_LIST_ITEM.findall(arguments))
        return self._keep(Directive(*extent, self.scope, name, arguments))


#: The fields of ``Statement`` before the scope: trivia, text, start, line, end line.
_Extent = tuple[str, str, int, int, int]
