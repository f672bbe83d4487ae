"""Parses tokens into operations, without knowing any by name.

An operation ends with its ``loc(...)`` or before a token that can only begin another statement:
``%x =``, a name with a dialect (``tt.load``), ``"quoted"(``, a block label, the end of the region.
Line breaks have no meaning. Everything is a loop with a stack of unfinished operations, so deep
nesting costs memory and no Python frames, and each token is looked at a fixed number of times.

Written by hand, because tree-sitter-mlir 0.2.0 reads ``{tt.num_stages = 3 : i32}`` as a region
that holds an operation ``tt.num_stages``, gives ``%x =`` of the following operation to the one
before where no location stands between them, and takes minutes for 200 KB of malformed text.
"""

import msgspec

from irlens.isa.mlir.locations import Chain, Locations
from irlens.isa.mlir.module import Module, Unknown
from irlens.isa.mlir.normalization import balanced, is_excerpt, translate
from irlens.isa.mlir.tokens import Tokens, is_location
from irlens.isa.mlir.tree import UnfinishedArgument, UnfinishedBlock, UnfinishedOperation

#: Separators of operand and result types: casts print ``arith.extf %x : f16 to f32``.
_ARROWS = frozenset({"->", "to"})
# After these a name with a dot in it is not an operation's.
_EXPECTS_MORE = frozenset({",", "=", ":", "->", "to"})
#: Tokens that begin no statement.
_NEVER_FIRST = frozenset({"(", ")", "[", "]", "{", "<", ">", ",", ":", "=", "->"})
_TYPES_FOLLOW = _ARROWS | {":"}
_ENDS = frozenset({"", ")", "]", "}"})


def parse(text: str, *, stage: str = "ttgir") -> Module:
    """Parse MLIR text: a module, or a part of one.

    Args:
        text: The content of a ``.ttir`` or ``.ttgir`` file; old dialects are read as the new ones.

    Raises:
        ParseError: A bracket closes the wrong one, or no operation is in the text; or a module is
            cut off (an open bracket or string, a location that is used and never defined), which
            is no error where the text is part of one.
    """
    text = translate(text)
    if not is_excerpt(text):
        return _Parser(text, stage, undefined=None).module()
    module = _Parser(balanced(text), stage, undefined=()).module()
    return msgspec.structs.replace(module, text=text)


class _Parser:
    def __init__(self, text: str, stage: str, *, undefined: Chain | None) -> None:
        self._tokens = Tokens(text, stage)
        self._values = self._tokens.values
        self._locations = Locations(self._tokens, undefined)
        self._at = 0
        self._operations: list[UnfinishedOperation] = []
        self._open: UnfinishedOperation | None = None
        self._aliases: dict[str, str] = {}
        self._unknown: list[Unknown] = []

    def module(self) -> Module:
        end = len(self._values) - 1
        while self._at < end or self._open is not None:
            operation = self._open
            if operation is not None and not operation.region_closer:
                self._read_head(operation)
            elif operation is not None and self._at == operation.region_closer:
                operation.region_closer = 0
                self._at += 1
            else:
                self._read_statement()
        if not self._operations:
            raise self._tokens.error("no operation is in this text", 0)
        operations = tuple(op.finish(self._tokens, self._locations) for op in self._operations)
        return Module(
            stage=self._tokens.stage,
            text=self._tokens.text,
            attributes=next((op.attributes for op in operations if op.name == "module"), {}),
            aliases=self._aliases,
            operations=operations,
            unknown=tuple(self._unknown),
        )

    # Statements

    def _read_statement(self) -> None:
        first = self._at
        kind = self._values[first][0]
        if kind == "^" and self._open is not None and _begins_statement(self._tokens, first):
            self._read_label(self._open)
        elif kind in "#!" and _is_alias(self._tokens, first):
            self._read_alias()
        elif (name := _name_after_results(self._tokens, first)) is not None:
            self._begin_operation(first, name)
        else:
            self._skip_statement()
            start = self._tokens.starts[first]
            text = self._tokens.text[start : self._tokens.stop(self._at - 1)]
            self._unknown.append(Unknown(text, self._tokens.line(start)))

    def _skip_statement(self) -> None:
        """Skip to the next statement, past at least one token."""
        end = self._open.region_closer if self._open else len(self._values) - 1
        self._at = self._tokens.after(self._at)
        while self._at < end and not _begins_statement(self._tokens, self._at):
            self._at = self._tokens.after(self._at)

    def _read_alias(self) -> None:
        """Read ``#name = value``; aliases of locations are kept apart, to be resolved later."""
        name, first = self._values[self._at], self._at + 2
        if is_location(name):  # "#name = loc(...)" in one token, and mostly a block of them
            self._locations.define_token(self._at)
            while (following := self._values[self._at + 1])[:1] == "#" and is_location(following):
                self._at += 1
                self._locations.define_token(self._at)
            self._skip_statement()
            return
        self._at += 1
        self._skip_statement()
        if is_location(self._values[first]):
            self._locations.define(name, first, first + 1)
        elif self._values[first : first + 2] == ["loc", "("]:
            self._locations.define(name, first + 2, self._tokens.match[first + 1])
        else:
            self._aliases[name] = self._tokens.slice(first, self._at)

    def _read_label(self, operation: UnfinishedOperation) -> None:
        label = self._values[self._at]
        arguments: list[UnfinishedArgument] = []
        self._at += 1
        if self._values[self._at] == "(":
            arguments = _arguments(self._tokens, self._at)
            self._at = self._tokens.match[self._at] + 1
        self._at += 1
        blocks = operation.regions[-1]
        if len(blocks) == 1 and blocks[0].label is None and not blocks[0].operations:
            blocks.clear()  # the entry block has a label after all
        blocks.append(UnfinishedBlock(label, arguments))

    def _begin_operation(self, first: int, name: int) -> None:
        operation = UnfinishedOperation(len(self._operations), self._open, first)
        for index in range(first, name, 2):  # a comma or the equals sign between them
            base, _, count = self._values[index].partition(":")
            operation.results.append((base, int(count or 1)))
        operation.name = self._values[name].strip('"')
        self._operations.append(operation)
        if self._open is not None:
            self._open.regions[-1][-1].operations.append(operation.index)
        self._open = operation
        self._at = name + 1

    def _end_operation(self, operation: UnfinishedOperation) -> None:
        if operation.name == "module" and not operation.regions:
            start = self._tokens.starts[operation.first]
            raise self._tokens.error("a module has no body; is the end of the text missing?", start)
        operation.last = self._at - 1
        operation.end = len(self._operations)
        self._open = operation.parent

    # The head of an operation: everything after its name but the regions

    def _read_head(self, operation: UnfinishedOperation) -> None:
        """Read until a region begins or the operation ends."""
        values = self._values
        while self._open is operation and not operation.region_closer:
            value = values[self._at]
            if value == ",":  # one of three tokens
                self._at += 1
            elif value[:4] == "loc(" or (value == "loc" and values[self._at + 1] == "("):
                location = self._read_location()
                if not operation.depth:
                    operation.location = location
                    self._end_operation(operation)
            elif (
                value not in _NEVER_FIRST
                and not operation.depth
                and _begins_statement(self._tokens, self._at)
            ):
                self._end_operation(operation)
            elif value[0] == "%":
                self._read_value(operation)
            elif value in "([":
                self._read_bracket(operation)
            elif value in ")]":
                operation.depth -= 1
                self._at += 1
            elif value == "{":
                self._read_brace(operation)
            elif value in _TYPES_FOLLOW:
                self._read_types(operation)
            else:
                self._read_word(operation)

    def _read_location(self) -> tuple[int, int]:
        first = self._at
        if self._values[first] != "loc":  # "loc(#loc1)" in one token
            self._at += 1
            return first, self._at
        self._at = self._tokens.after(first + 1)
        return first + 2, self._at - 1

    def _read_value(self, operation: UnfinishedOperation) -> None:
        value = self._values[self._at]
        if self._values[self._at + 1] == "=":
            argument = UnfinishedArgument(value)
            if self._values[self._at + 2][:1] == "%":
                argument.initial = self._values[self._at + 2]
            operation.arguments.append(argument)
        else:
            operation.operands.append(value)
        self._at += 1

    def _read_bracket(self, operation: UnfinishedOperation) -> None:
        values = self._values
        if values[self._at + 1][0] == "%" and values[self._at + 2] == ":":
            operation.arguments += _arguments(self._tokens, self._at)
            self._at = self._tokens.after(self._at)
        else:
            operation.depth += 1
            self._at += 1

    def _read_brace(self, operation: UnfinishedOperation) -> None:
        if _is_dictionary(self._tokens, self._at):
            operation.attributes.update(_dictionary(self._tokens, self._at))
            self._at = self._tokens.after(self._at)
            return
        operation.region_closer = self._tokens.match[self._at]
        operation.regions.append([UnfinishedBlock(None, operation.arguments)])
        operation.arguments = []
        self._at += 1

    def _read_word(self, operation: UnfinishedOperation) -> None:
        """Read a keyword, symbol or literal, ``keyword = value``, or a successor's operands."""
        tokens, values = self._tokens, self._values
        first = self._at
        self._at = tokens.after(first)
        if values[first] == "<":
            if values[first + 1] == "{":  # properties: <{axis = 0 : i32}>
                operation.attributes.update(_dictionary(self._tokens, first + 1))
            return
        if values[self._at] == "=" and values[self._at + 1] not in _ENDS:
            value = self._at + 1
            self._at = tokens.after(value)
            if values[value][:1] in ("%", "["):  # operands with a name: stride = %n
                self._at = value
            else:
                operation.attributes[values[first]] = tokens.slice(value, self._at)
            return
        if values[self._at] == "<":  # dense<0.0>
            self._at = tokens.after(self._at)
        operation.words.append(tokens.slice(first, self._at))
        if values[first][0] == "^" and values[self._at] == "(":
            closer = tokens.match[self._at]
            passed = values[self._at : closer]
            operation.operands += (value for value in passed if value[0] == "%")
            self._at = closer + 1

    def _read_types(self, operation: UnfinishedOperation) -> None:
        """Read ``: type, type`` or ``-> (type, type)``, if these are types."""
        into = operation.operand_types
        if self._values[self._at] in _ARROWS:
            into = operation.result_types
            if self._values[self._at] == "to" and not operation.operand_types:  # scf.for's
                self._at += 1
                return
        while True:
            self._at += 1
            first = self._at
            if self._values[first] == "(":
                closer = self._tokens.match[first]
                parts = self._tokens.split(first + 1, closer)
                into += (self._tokens.slice(*part) for part in parts)
                self._at = closer + 1
            else:
                self._at = _after_type(self._tokens, first)
                if self._at > first:
                    into.append(self._tokens.slice(first, self._at))
                    if self._values[self._at] == "[":
                        self._read_offsets_type(into)
            if self._values[self._at] not in (",", "*"):
                return

    def _read_offsets_type(self, into: list[str]) -> None:
        """Read the type that AMD's buffer copies put in brackets after the pointer's."""
        after = _after_type(self._tokens, self._at + 1)
        if after > self._at + 1 and self._values[after] == "]":
            into.append(self._tokens.slice(self._at + 1, after))
            self._at = after + 1


def _begins_statement(tokens: Tokens, index: int) -> bool:
    """Whether a token outside the brackets of a head begins the next statement."""
    values = tokens.values
    value, before = values[index], values[index - 1] if index else ""
    kind = value[:1]
    if kind in ("", "}"):
        return True
    if kind in "#!":
        return _is_alias(tokens, index)
    if kind == "^":
        following = index + 1
        if values[following] == "(":
            following = tokens.after(following)
        return values[following] == ":"
    if before in _EXPECTS_MORE:
        return False
    if kind == "%":
        return _name_after_results(tokens, index) is not None
    return _is_name(tokens, index)


def _is_alias(tokens: Tokens, index: int) -> bool:
    """Whether a token that begins with ``#`` or ``!`` begins the definition of an alias."""
    return is_location(tokens.values[index]) or tokens.values[index + 1] == "="


def _is_name(tokens: Tokens, index: int) -> bool:
    """Whether a token can be the name of an operation."""
    value = tokens.values[index]
    if value[:1] == '"':
        return tokens.values[index + 1] == "("
    if "." not in value or value[-1] == ">":  # "tensor<4x!tt.ptr<f32>>"
        return value == "module"
    return value[0].isalpha() or value[0] == "_"


def _name_after_results(tokens: Tokens, index: int) -> int | None:
    """Return the token that names an operation whose text begins at ``index``, if one does.

    The value bound in ``scf.for %i = %low`` is not a result: no name follows it.
    """
    values = tokens.values
    if values[index][:1] == "%":
        while values[index][:1] == "%" and values[index + 1] == ",":
            index += 2
        if values[index][:1] != "%" or values[index + 1] != "=":
            return None
        index += 2
    return index if _is_name(tokens, index) else None


def _is_dictionary(tokens: Tokens, brace: int) -> bool:
    """Whether a brace opens an attribute dictionary, and not a region.

    A lone name is a unit attribute, unless it ends a region ("tt.return", "scf.yield").
    """
    name, following = tokens.values[brace + 1], tokens.values[brace + 2]
    if not (name[0] == '"' or name[0].isalpha() or name[0] == "_"):
        return False
    if following == "}":
        return not name.endswith(("return", "yield"))
    return following in ("=", ",")


def _dictionary(tokens: Tokens, brace: int) -> dict[str, str]:
    """Read ``{name = value, "quoted.name" = value, unit}``."""
    attributes: dict[str, str] = {}
    for first, end in tokens.split(brace + 1, tokens.match[brace]):
        value = tokens.slice(first + 2, end) if end - first > 2 else "unit"
        attributes[tokens.values[first].strip('"')] = value
    return attributes


def _arguments(tokens: Tokens, opener: int) -> list[UnfinishedArgument]:
    """Read ``(%x: type {attributes} loc(...), ...)``."""
    values = tokens.values
    block_arguments: list[UnfinishedArgument] = []
    for first, end in tokens.split(opener + 1, tokens.match[opener]):
        if values[first][0] != "%":
            continue
        index = first + 2
        while index < end and values[index] not in ("{", "loc") and not is_location(values[index]):
            index = tokens.after(index)
        argument = UnfinishedArgument(values[first])
        argument.type = tokens.slice(first + 2, index)
        if index < end and values[index] == "{":
            argument.attributes.update(_dictionary(tokens, index))
            index = tokens.after(index)
        if index < end and is_location(values[index]):
            argument.location = (index, index + 1)
        elif index < end and values[index] == "loc" and tokens.match[index + 1]:
            argument.location = (index + 2, tokens.match[index + 1])
        block_arguments.append(argument)
    return block_arguments


def _after_type(tokens: Tokens, index: int) -> int:
    """Return the token after a type, or ``index`` where there is none.

    Types are ``!tt.ptr<f32>``, ``i32``, ``tensor<...>`` and, where the rest is implied, ``<...>``.
    """
    value = tokens.values[index]
    if value[:1] == "!" or value[:1].isalpha():
        index += 1
    return tokens.after(index) if tokens.values[index] == "<" else index
