"""The lexical facts of ttir and ttgir, one statement a line as MLIR prints them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from irlens.isa.syntax import STRING, Lexicon, Scope, Syntax, Word, numbered

_NESTED = (
    rf"(?:[^()\"]|{STRING}|\((?:[^()\"]|{STRING}|\((?:[^()\"]|{STRING}|\([^()]*+\))*+\))*+\))*+"
)
#: Locations stand at the end of a line, and after each argument of a function.
_LOCATED = re.compile(rf"({STRING})|(?<!\s)\s*+\bloc\({_NESTED}\)")
_ALIAS = re.compile(r"[#!][\w$-]+ = ")
_LOCATION = re.compile(r"#loc\d*+ = ")
_FUNCTION = re.compile(r'\s*+(?:tt|llvm|func)\.func\b[^@]*+@(?P<name>"[^"]*+"|[\w$.-]++)')
_LOOP = re.compile(r"\s*+(?:%[^=]*+= )?(?P<name>scf\.(?:for|while))\b")
_BRACE = re.compile(rf"{STRING}|//.*|[{{}}]")
_RESULTS = re.compile(r"\s*+%[^=]*+ = ")


class MlirSyntax(Syntax):
    """MLIR's textual form."""

    lexer = (
        (r"\s+", "Text.Whitespace"),
        (r"//.*", "Comment.Single"),
        (r'"(?:[^"\\\n]|\\.)*"', "String"),
        (r"loc(?=\()", "Comment.Special"),
        (r"#[\w$.-]+", "Name.Decorator"),
        (r"![\w$.-]+", "Keyword.Type"),
        (r"%[\w$.#-]+", "Name.Variable"),
        (r"@[\w$.-]+", "Name.Function"),
        (r"\^[\w$.-]+", "Name.Label"),
        (r"(?:[a-z_]\w*\.)+[\w.]+", "Name.Builtin"),
        (r"\b(?:tensor|memref|vector|tuple|index|none|[su]?i\d+|b?f\d+\w*)\b", "Keyword.Type"),
        (
            r"\b(?:module|func|attributes|private|public|true|false|dense|to|step|iter_args)\b",
            "Keyword",
        ),
        (r"\b(?:0x[0-9a-fA-F]+|\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)", "Number"),
        (r"->|[=:*+?-]", "Operator"),
        (r"[()\[\]{}<>,]", "Punctuation"),
        (r"[A-Za-z_$][\w$]*", "Name"),
        (r".", "Text"),
    )
    #: An attribute alias is a layout, hence part of a type.
    token_kinds: ClassVar[Mapping[str, str]] = {"Name.Decorator": "type"}
    word = re.compile(r"[%@^#!][\w$.-]*\w|\w[\w.$]*")
    debug = re.compile(r"\sloc\((?:[^()]|\([^()]*\))*\)$|^#loc\d*\b.*")
    lexicon = Lexicon(
        noise=r"//.*",
        # %12 of "%12:5" and "%12#2": the number is no part of the name. A name with a dot after
        # "#" is a dialect's ("#ttg.blocked"), one without a dot an alias.
        name=r"%[\w$.]++(?:-[\w$.]++)*+|\^[\w$.]++|#(?!loc\d*+\b)[A-Za-z_][\w$-]*+(?![\w.<])",
        placeholder=lambda name: name[0],
    )
    reuses_names = True

    def code_lines(self, text: str) -> Iterator[tuple[int, str]]:
        """Yield the lines without locations, and none of the table of locations."""
        for number, line in numbered(text):
            if not _LOCATION.match(line):
                if "loc(" in line:
                    line = _LOCATED.sub(lambda found: found[1] or "", line)
                yield number, line

    def scopes(self, text: str) -> list[Scope]:
        """Return the functions and loops, which braces delimit."""
        scopes: list[Scope] = []
        # What each open brace belongs to, with its first line; ``None`` for any other.
        open_braces: list[Scope | None] = []
        for number, line in numbered(text):
            if _LOCATION.match(line):
                continue
            for found in _BRACE.finditer(line):
                if found.group() == "{":
                    open_braces.append(None)
                elif found.group() == "}" and open_braces:
                    scope = open_braces.pop()
                    if scope is not None:
                        scopes.append(Scope(scope.kind, scope.name, scope.first, number))
            if open_braces and (scope := _opened(number, line)):
                open_braces[-1] = scope  # the line leaves the brace of the region open
        return scopes

    def definitions(self, line: str, words: Sequence[Word]) -> list[bool]:
        """Return for each name whether it is a result, an argument, a block or an alias."""
        results = _RESULTS.match(line)
        end = results.end() if results else 0
        return [_defines(line, word, end) for word in words]

    def is_declaration(self, line: str) -> bool:
        """Whether a line defines an alias."""
        return _ALIAS.match(line) is not None


def _defines(line: str, word: Word, results_end: int) -> bool:
    start, stop = word.columns
    if start < results_end or (word.text[0] == "#" and start == 0):
        return True
    if word.text[0] == "^":
        return not line[:start].strip()
    # "(%x: i32" of a function or a block, "%i = %low" of a loop.
    return line.startswith((": ", " = "), stop) and word.text[0] == "%"


def _opened(number: int, line: str) -> Scope | None:
    if function := _FUNCTION.match(line):
        return Scope("function", function["name"].strip('"'), number, number)
    if loop := _LOOP.match(line):
        return Scope("loop", loop["name"], number, number)
    return None
