"""The lexical facts of LLVM IR, one instruction a line (LLVM Language Reference)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import ClassVar

from irlens.isa.syntax import STRING, Lexicon, Line, Scope, Syntax, Word, numbered

#: The name of a value, a block or a function, without its sign.
IDENTIFIER = rf"{STRING}|[\w$.-]++"
LABEL = re.compile(rf"(?P<name>{IDENTIFIER}):")
_DEFINE = re.compile(rf"define\b[^@]*+@(?P<name>{IDENTIFIER})")
_DECLARATION = re.compile(r"declare |attributes #\d++ = |!\d++ = ")
#: Nodes that only debug information uses, and what else names files and the module.
_NO_CODE = re.compile(
    r"!\d++ = (?:distinct )?!DI\w++\(|!llvm\.dbg\.|source_filename = |declare void @llvm\.dbg\."
)
RESULT = re.compile(rf"\s*+%(?:{IDENTIFIER}) = ")
#: A value, or a string, which holds none.
VALUE = re.compile(rf"%(?P<name>{IDENTIFIER})|{STRING}")
#: Columns at which a declaration names what it declares: "!7 = ", "attributes #0 = ".
_DECLARED = frozenset({0, len("attributes ")})


class LlirSyntax(Syntax):
    """LLVM IR."""

    lexer = "llvm"
    #: Opcodes are keywords to Pygments' lexer.
    token_kinds: ClassVar[Mapping[str, str]] = {"Keyword": "operation"}
    word = re.compile(r"[%@!#][\w$.-]*\w|\w[\w.]*")
    debug = re.compile(r", !dbg !\d+")
    lexicon = Lexicon(
        noise=r";.*|, !dbg !\d++|!dbg !\d++|#dbg_\w++.*",
        name=rf"%(?:{IDENTIFIER})|![0-9]++\b|(?<![\w\"])#[0-9]++\b",
        placeholder=itemgetter(0),
        first=";,!#%",
    )
    #: Metadata that only debug information uses.
    unused = "! = "

    def code_lines(self, text: str) -> Iterator[tuple[int, str]]:
        """Yield the lines outside of debug information."""
        for number, line in numbered(text):
            # Nearly all lines are instructions, which are indented; debug information is not.
            if line[0] == " " or not _NO_CODE.match(line):
                yield number, line

    def cut(self, line: str) -> Line:
        """Split a line; a label, written "12:", gets the name by which it is branched to."""
        cut = self.lexicon.cut(line)
        label = LABEL.match(line) if line[0] != " " else None
        if label is None or not cut.skeleton:
            return cut
        return cut._replace(skeleton="%:", words=[Word(f"%{label['name']}", label.span("name"))])

    def scopes(self, text: str) -> list[Scope]:
        """Return the functions with a body."""
        functions: list[Scope] = []
        name: str | None = None
        first = 0
        for number, line in numbered(text):
            if line[0] == " ":
                continue
            if name is None and (defined := _DEFINE.match(line)):
                name, first = defined["name"].strip('"'), number
            if name is not None and line.rstrip() == "}":
                functions.append(Scope("function", name, first, number))
                name = None
        return functions

    def definitions(self, line: str, words: Sequence[Word]) -> list[bool]:
        """Return for each name whether it is a label, a result, a parameter or a declaration."""
        if line[0] in " %":
            first = RESULT.match(line) is not None
            return [first, *[False] * (len(words) - 1)]
        if LABEL.match(line):
            return [True] * len(words)
        if line.startswith("define "):
            return [word.text[0] == "%" for word in words]
        declares = _DECLARATION.match(line) is not None
        return [declares and word.text[0] != "%" and word.columns[0] in _DECLARED for word in words]

    def is_declaration(self, line: str) -> bool:
        """Whether a line declares a function, attributes or metadata."""
        return line[0] != " " and _DECLARATION.match(line) is not None
