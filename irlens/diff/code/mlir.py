"""ttir and ttgir as statements: one a line, as MLIR prints them."""

import re
from collections.abc import Hashable, Iterator

from irlens.diff.code.statements import (
    STRING,
    Code,
    Lexicon,
    Name,
    Scope,
    Statement,
    Word,
    count_lines,
    numbered,
)

_NESTED = (
    rf"(?:[^()\"]|{STRING}|\((?:[^()\"]|{STRING}|\((?:[^()\"]|{STRING}|\([^()]*+\))*+\))*+\))*+"
)
_LEXICON = Lexicon(
    noise=r"//.*",
    # %12 of "%12:5" and "%12#2": the number is no part of the name. A name with a dot behind #
    # is a dialect's ("#ttg.blocked"), one without an alias.
    name=r"%[\w$.]++(?:-[\w$.]++)*+|\^[\w$.]++|#(?!loc\d*+\b)[A-Za-z_][\w$-]*+(?![\w.<])",
    placeholder=lambda name: name[0],
)
#: Locations stand at the end of a line, and behind each argument of a function.
_LOCATED = re.compile(rf"({STRING})|\s*+\bloc\({_NESTED}\)")
_ALIAS = re.compile(r"(?P<name>[#!][\w$-]+) = ")
_LOCATION = re.compile(r"#loc\d*+ = ")
_FUNCTION = re.compile(r'\s*+(?:tt|llvm|func)\.func\b[^@]*+@(?P<name>"[^"]*+"|[\w$.-]++)')
_LOOP = re.compile(r"\s*+(?:%[^=]*+= )?(?P<name>scf\.(?:for|while))\b")
_BRACE = re.compile(rf"{STRING}|//.*|[{{}}]")
_RESULTS = re.compile(r"\s*+%[^=]*+ = ")


def read(text: str) -> Code:
    """Read a module. Locations, their table and comments are noise."""
    statements: list[Statement] = []
    blocks = _Blocks()
    values = _Values()
    for number, line in numbered(text):
        if _LOCATION.match(line):
            continue
        blocks.read(number, line)
        if "loc(" in line:
            line = _LOCATED.sub(lambda found: found[1] or "", line)
        cut = _LEXICON.cut(line)
        if not cut.skeleton:
            continue
        alias = _ALIAS.match(line)
        if function := _FUNCTION.match(line):
            values.start(function["name"])
        names = tuple(values.names(line, cut.words))
        statements.append(
            Statement(number, cut.text, cut.skeleton, names, ordered=alias is None, noise=cut.noise)
        )
    return Code(statements, blocks.functions, blocks.loops, count_lines(text))


class _Values:
    """Which value a name means.

    Regions side by side may use a name each for itself, so that it means what the latest line
    above made of it. What is used above where it is made (only a block may be) goes by its name.
    """

    def __init__(self) -> None:
        self._function = ""
        self._known: dict[str, Hashable] = {}
        self._made = 0

    def start(self, function: str) -> None:
        self._function = function
        self._known = {}

    def names(self, line: str, words: list[Word]) -> Iterator[Name]:
        results = _RESULTS.match(line)
        made_before = results.end() if results else 0
        # What is on the right of the line is read before what is on its left is made.
        found = [(word, _defines(line, word, made_before)) for word in words]
        read = {i: self._value(word.text) for i, (word, makes) in enumerate(found) if not makes}
        for index, (word, makes) in enumerate(found):
            value = read[index] if not makes else self._make(word.text)
            yield Name(value, word.columns, makes)

    def _value(self, name: str) -> Hashable:
        if name[0] == "#":
            return name
        return self._known.get(name, (self._function, name))

    def _make(self, name: str) -> Hashable:
        if name[0] in "#^":
            return self._value(name)
        self._made += 1
        self._known[name] = self._made
        return self._made


def _defines(line: str, word: Word, made_before: int) -> bool:
    start, stop = word.columns
    if start < made_before or (word.text[0] == "#" and start == 0):
        return True
    if word.text[0] == "^":
        return not line[:start].strip()
    # "(%x: i32" of a function or a block, "%i = %low" of a loop.
    return line.startswith((": ", " = "), stop) and word.text[0] == "%"


class _Blocks:
    """Where functions and loops begin and end, by their braces."""

    def __init__(self) -> None:
        self.functions: list[Scope] = []
        self.loops: list[Scope] = []
        self._open: list[Scope | None] = []

    def read(self, number: int, line: str) -> None:
        opens = _opened(number, line)
        for found in _BRACE.finditer(line):
            if found.group() == "{":
                self._open.append(None)
            elif found.group() == "}" and self._open:
                self._close(self._open.pop(), number)
        if opens is not None and self._open:
            self._open[-1] = opens  # the region's brace is the one that the line leaves open

    def _close(self, scope: Scope | None, number: int) -> None:
        if scope is not None:
            kept = self.functions if scope.kind == "function" else self.loops
            kept.append(Scope(scope.kind, scope.name, scope.first, number))


def _opened(number: int, line: str) -> Scope | None:
    if function := _FUNCTION.match(line):
        return Scope("function", function["name"].strip('"'), number, number)
    if loop := _LOOP.match(line):
        return Scope("loop", loop["name"], number, number)
    return None
