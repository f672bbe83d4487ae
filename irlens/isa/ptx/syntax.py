"""The lexical facts of PTX, one statement a line as compilers print it (PTX ISA)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from irlens.isa.ptx.function import BRANCHES, EXITS
from irlens.isa.syntax import COMMENTS, Lexicon, Scope, Syntax, Word, numbered, single_blanks

_DEBUG_SECTION = re.compile(r"\s*+\.section\s++\.debug_")
_COMMENT = re.compile(r"//.*|/\*.*?\*/")
_HEAD = re.compile(r"(?:\.(?!entry|func)\w++ )*+\.(?:entry|func)\b")
_SYMBOL = re.compile(
    r"\.entry\s++(?P<entry>[\w$]++)|\.func\s*+(?:\([^)]*+\)\s*+)?(?P<func>[\w$]++)"
)
#: The end of a body or a declaration. An entry's pragmas stand before its body.
_END = re.compile(r"\}$|^(?!\.pragma).*;$")
_LABEL = re.compile(r"\$L__BB[0-9_]++:")
_BRANCH = re.compile(rf"\s*+(?:@!?%\w++\s++)?(?:{'|'.join(sorted(BRANCHES | EXITS))})\b")
#: The destination stands first, unless it is memory.
_DESTINATION = re.compile(r"\s*+(?:@!?%\w++\s++)?[a-z][\w.:]*+\s++(?:\{[^}]*+\}|%\w++(?:\|%\w++)?)")


class PtxSyntax(Syntax):
    """PTX."""

    lexer = "ptx"
    #: Opcodes are keywords to Pygments' lexer.
    token_kinds: ClassVar[Mapping[str, str]] = {
        "Keyword": "operation",
        "Keyword.Reserved": "keyword",
    }
    dotted_kind = "type"
    word = re.compile(r"%[\w$]+|(?<![\w$.])\.?[\w$]+(?:(?:\.|::)\w+)*")
    spanning = re.compile(COMMENTS, re.DOTALL)
    spanning_sign = "/*"
    debug = re.compile(r"^\s*\.(?:loc|file)\b.*")
    folded = (".loc\t", ".loc ", "$L__tmp", "// begin inline asm", "// end inline asm")
    #: Debug information, and the number of virtual registers, which follows from the code.
    no_code = re.compile(r"\s*+(?:\.loc\b|\.file\b|\.reg\s+\.\w+\s+%\w+<|\$L__(?!BB)\w++:)")
    lexicon = Lexicon(
        noise=r"//.*|/\*.*?\*/",
        # Not every % is a register's: %tid.x and %pm0 are read from the machine.
        name=r"%(?:r[sdqhl]?|fd?|hh?|p|b)[0-9]++\b|\$L__BB[0-9_]++",
        placeholder=lambda name: name.rstrip("0123456789_"),
        fold=single_blanks,
    )

    def lines(self, text: str) -> Iterator[tuple[int, str]]:
        """Yield the lines outside of debug sections."""
        in_debug = False
        for number, line in numbered(text):
            if in_debug or _DEBUG_SECTION.match(line):
                in_debug = "}" not in line
            else:
                yield number, line

    def scopes(self, text: str) -> list[Scope]:
        """Return the functions, declared ones included."""
        functions: list[Scope] = []
        name: str | None = None
        first = depth = 0
        for number, line in self.lines(text):
            if name is None and _HEAD.match(line):
                symbol = _SYMBOL.search(line)
                name = (symbol["entry"] or symbol["func"] if symbol else None) or ""
                first, depth = number, 0
            if name is None or self.no_code.match(line):
                continue
            code = (_COMMENT.sub("", line) if "/" in line else line).strip()
            # Inline assembly has blocks of its own, in the first column too.
            depth += code.count("{") - code.count("}")
            if depth <= 0 and _END.search(code):
                functions.append(Scope("function", name, first, number))
                name = None
        return functions

    def definitions(self, line: str, words: Sequence[Word]) -> list[bool]:
        """Return for each name whether it is a label or a destination."""
        if _LABEL.match(line):
            return [True] * len(words)
        written = None if _BRANCH.match(line) else _DESTINATION.match(line)
        end = written.end() if written else 0
        # The predicate in front of the opcode is read.
        return [
            word.columns[1] <= end and not line[: word.columns[0]].rstrip().endswith(("@", "@!"))
            for word in words
        ]
