"""A stage's text as statements whose names are resolved to values.

A name (of an SSA value, a register, a label, an attribute alias) means nothing by itself: the
comparison is about its value. So a statement's ``skeleton`` has a placeholder for each name, and
each name has its ``value``.
"""

import re
from bisect import bisect_right
from collections.abc import Hashable, Iterator, Mapping, Sequence

import msgspec

from irlens.analyze.capture_code import StageCode
from irlens.diff.code.machine_registers import trace
from irlens.diff.code.reaching import Itself, Traced, Values
from irlens.isa.dialects import syntax_of
from irlens.isa.syntax import Line, Scope, Syntax, Word
from irlens.model import files
from irlens.model.code import Columns
from irlens.model.errors import ParseError

#: Keys of Triton's metadata that change with any input.
_UNSTABLE_METADATA = frozenset({"hash"})

_OPERATION = re.compile(
    r"(?:(?:%(?::\d+)?(?:, )?)+ = )?(?:@!?\S+ )?(?:tail |musttail |notail )?(\S+)"
)
_SYMBOL = re.compile(r"@[\w$.]+")


class Name(msgspec.Struct, frozen=True, gc=False):
    """A name in a statement.

    Attributes:
        value: Its value, equal wherever this value is named on one side of the comparison;
            ``None`` if unknown.
    """

    value: Hashable
    columns: Columns
    defines: bool


class Statement(msgspec.Struct, frozen=True, gc=False):
    """A line that holds code.

    Attributes:
        line: Its 1-based number.
        text: The line up to where only noise (a location, a comment) follows.
        skeleton: The text that is compared: without noise, a placeholder for each name.
        names: From left to right, one per placeholder.
        ordered: Whether its position means anything; that of an attribute alias does not.
        noise: Columns of the noise that remains in ``text``.
    """

    line: int
    text: str
    skeleton: str
    names: tuple[Name, ...] = ()
    ordered: bool = True
    noise: tuple[Columns, ...] = ()

    def looks_like(self, other: "Statement") -> bool:
        """Whether two statements differ at most in the values that they name."""
        return self.skeleton == other.skeleton and len(self.names) == len(other.names)


class Code(msgspec.Struct, frozen=True):
    """A stage.

    Attributes:
        loops: Those that the text itself nests; the others follow from the control flow.
        lines: Number of lines, those without code included.
        lost: Number of instructions after which the registers' values are unknown.
    """

    statements: list[Statement]
    functions: list[Scope]
    loops: list[Scope]
    lines: int
    lost: int = 0


def read_code(stage: StageCode) -> Code:
    """Return a stage's statements, functions and nested loops.

    Raises:
        ParseError: Metadata that is no JSON object.
    """
    text = stage.text
    if stage.name == "metadata":
        return _read_metadata(text)
    syntax = syntax_of(stage.name)
    scopes = syntax.scopes(text)
    functions = [scope for scope in scopes if scope.kind == "function"]
    traced = Traced({}, 0)
    if syntax.is_machine_code:
        traced = trace(stage, _register_counts(syntax, text))
    enclosing = Enclosing(functions)
    names = _Names(syntax, traced.values)
    statements = [
        Statement(
            number,
            cut.text,
            cut.skeleton,
            names.of(number, line, cut, enclosing.name_at(number)),
            not syntax.is_declaration(line),
            cut.noise,
        )
        for number, line in syntax.code_lines(text)
        if (cut := syntax.cut(line)).skeleton
    ]
    if syntax.unused is not None:
        statements = _without_unused(statements, syntax.unused)
    loops = [scope for scope in scopes if scope.kind == "loop"]
    return Code(statements, functions, loops, _count_lines(text), traced.lost)


def _register_counts(syntax: Syntax, text: str) -> dict[int, int]:
    """Return how many registers each line names."""
    return {
        number: sum(syntax.is_register(word.text) for word in syntax.cut(line).words)
        for number, line in syntax.code_lines(text)
    }


def operation(skeleton: str) -> tuple[str, str]:
    """Return a statement's opcode, and the symbol that it names (a callee)."""
    opcode, symbol = _OPERATION.match(skeleton), _SYMBOL.search(skeleton)
    return opcode[1] if opcode else "", symbol.group() if symbol else ""


class _Names:
    """Resolves the names of each line to values, in the order of the lines.

    Where regions side by side define the same names, a name means its latest definition. A name
    that is used before its definition (only a block's may be) stands for itself.
    """

    def __init__(self, syntax: Syntax, registers: Mapping[int, Values]) -> None:
        self._syntax = syntax
        self._registers = registers
        self._function = ""
        self._latest: dict[str, Hashable] = {}
        self._definitions = 0

    def of(self, number: int, line: str, cut: Line, function: str) -> tuple[Name, ...]:
        """Return the names of a line."""
        if not cut.words:
            return ()
        if function != self._function:
            self._function, self._latest = function, {}
        if not self._syntax.is_machine_code:
            return self._symbols(line, cut.words)
        is_register = self._syntax.is_register
        registers = [word for word in cut.words if is_register(word.text)]
        names = list(_register_names(registers, self._registers.get(number), function))
        names += self._symbols(line, [word for word in cut.words if not is_register(word.text)])
        return tuple(sorted(names, key=lambda name: name.columns))

    def _symbols(self, line: str, words: Sequence[Word]) -> tuple[Name, ...]:
        """Return the names that are no machine registers'."""
        defines = self._syntax.definitions(line, words)
        if not self._syntax.reuses_names:
            function = self._function
            # Attributes and metadata belong to the module.
            return tuple(
                [
                    Name(text if text[0] in "#!" else (function, text), word.columns, makes)
                    for word, makes in zip(words, defines, strict=True)
                    for text in [word.text]
                ]
            )
        # The right side of a line is read before its left side is defined.
        values = [self._latest_value(word.text) for word in words]
        return tuple(
            Name(
                self._define(word.text) if makes and word.text[0] == "%" else value,
                word.columns,
                makes,
            )
            for word, value, makes in zip(words, values, defines, strict=True)
        )

    def _latest_value(self, name: str) -> Hashable:
        return name if name[0] == "#" else self._latest.get(name, (self._function, name))

    def _define(self, name: str) -> Hashable:
        self._definitions += 1
        self._latest[name] = self._definitions
        return self._definitions


def _register_names(words: Sequence[Word], values: Values | None, function: str) -> Iterator[Name]:
    """Yield a name for each machine register of each operand.

    Args:
        values: The values of the operands, hidden ones last; ``None`` if unknown.
    """
    if values is None:
        for word in words:
            yield Name(Itself(function, word.text), word.columns, False)
        return
    for index, (read, written) in enumerate(values if words else ()):
        columns = words[min(index, len(words) - 1)].columns
        for value in read:
            yield Name(value, columns, False)
        for value in written:
            yield Name(value, columns, True)


class Enclosing:
    """Finds the innermost scope around a line."""

    def __init__(self, scopes: Sequence[Scope]) -> None:
        self._starts: list[int] = []
        self._scopes: list[Scope | None] = []
        around: list[Scope] = []
        for scope in [*nested(scopes), None]:
            while around and (scope is None or around[-1].last < scope.first):
                self._add(around.pop().last + 1, around[-1] if around else None)
            if scope is not None:
                around.append(scope)
                self._add(scope.first, scope)

    def _add(self, line: int, scope: Scope | None) -> None:
        self._starts.append(line)
        self._scopes.append(scope)

    def at(self, line: int) -> Scope | None:
        """Return the innermost scope, ``None`` outside of all."""
        index = bisect_right(self._starts, line) - 1
        return self._scopes[index] if index >= 0 else None

    def name_at(self, line: int) -> str:
        """Return the name of the innermost scope, empty outside of all."""
        scope = self.at(line)
        return scope.name if scope is not None else ""


def nested(scopes: Sequence[Scope]) -> list[Scope]:
    """Return the scopes, outer ones first, without those that partly overlap another."""
    kept: list[Scope] = []
    around: list[Scope] = []
    for scope in sorted(scopes, key=lambda each: (each.first, -each.last)):
        while around and around[-1].last < scope.first:
            around.pop()
        if not around or scope.last <= around[-1].last:
            kept.append(scope)
            around.append(scope)
    return kept


def _without_unused(statements: list[Statement], unused: str) -> list[Statement]:
    """Remove the declarations with a certain skeleton that no statement names."""
    used = {name.value for each in statements for name in each.names if not name.defines}
    return [
        each
        for each in statements
        if not (each.skeleton.startswith(unused) and each.names[0].value not in used)
    ]


def _read_metadata(text: str) -> Code:
    """Return Triton's metadata as one statement a key, sorted; lines count keys."""
    try:
        values = msgspec.json.decode(text, type=dict[str, object])
    except files.DECODE_ERRORS as error:
        raise ParseError(
            f"no JSON object: {error}", stage="metadata", line=1, column=1, text=text[:80]
        ) from error
    statements = []
    for number, (key, value) in enumerate(sorted(values.items()), 1):
        if key not in _UNSTABLE_METADATA:
            entry = f'"{key}": {msgspec.json.encode(value, order="sorted").decode()}'
            statements.append(Statement(number, entry, entry))
    return Code(statements, [], [], len(values))


def _count_lines(text: str) -> int:
    """Return the number of lines, including a last one without a line break."""
    return text.count("\n") + bool(text and not text.endswith("\n"))
