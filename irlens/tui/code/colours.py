"""The colours of a text, found line by line as lines are looked at."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property

from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, _TokenType
from textual.cache import LRUCache

from irlens.highlight import lexer_for

#: A piece of a line and what it is, one of ``KINDS``; empty for plain text.
Piece = tuple[str, str]

KINDS = (
    "comment", "keyword", "type", "operation", "value", "function", "label", "number", "string",
    "punctuation",
)  # fmt: skip

_KIND: dict[_TokenType, str] = {
    Comment: "comment",
    Keyword: "keyword",
    Keyword.Type: "type",
    Keyword.Pseudo: "type",
    Name.Builtin: "operation",
    Name.Variable: "value",
    Name.Function: "function",
    Name.Class: "function",
    Name.Decorator: "function",
    Name.Label: "label",
    Number: "number",
    String: "string",
    Operator: "punctuation",
    Punctuation: "punctuation",
}
# What these lexers call otherwise: PTX's and LLVM's opcodes are keywords to Pygments.
_KIND_IN: dict[str, dict[_TokenType, str]] = {
    "ptx": {Keyword: "operation", Keyword.Reserved: "keyword"},
    "llir": {Keyword: "operation"},
    "ttir": {Name.Decorator: "type"},
    "ttgir": {Name.Decorator: "type"},
    "source": {Name.Decorator: "type"},
}

#: What names are; SASS's predicates and labels are keywords to its lexer.
_NAMES = frozenset({"", "value", "function", "label"})
_NAMES_IN = {"sass": _NAMES | {"keyword"}}
#: How names begin wherever they stand, in debug information too.
_SIGNS = tuple("%@^#!$")

# Debug information stands on every line of IR, and is what the panes' links are made of: shown
# like a comment it does not hide the code.
_DEBUG_INFORMATION = re.compile(
    r"^\s*\.(?:loc|file|cfi_\w+)\b.*"
    r"|, !dbg !\d+"
    r"|\sloc\((?:[^()]|\([^()]*\))*\)$"
    r"|^#loc\d*\b.*"
)

# Constructs that go over several lines, and those that hide the beginning of one.
_C_LIKE = re.compile(r'//[^\n]*|"(?:[^"\\\n]|\\.)*"|/\*.*?\*/', re.DOTALL)
_AMDGCN = re.compile(r'(?:;|//)[^\n]*|"(?:[^"\\\n]|\\.)*"|/\*.*?\*/', re.DOTALL)
_PYTHON = re.compile(
    r"#[^\n]*"
    r"|(?P<quotes>\"\"\"|''')(?:\\.|.)*?(?P=quotes)"
    r"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'",
    re.DOTALL,
)
_CONSTRUCTS = {
    "ptx": (_C_LIKE, "/*"),
    "sass": (_C_LIKE, "/*"),
    "amdgcn": (_AMDGCN, "/*"),
    "python": (_PYTHON, ""),
}

# The part of a line that is coloured: the lexers take 25 µs per token, and no one reads further.
_COLOURED = 2_000


class Colours:
    """What the pieces of each line are.

    Args:
        stage: Whose language it is.
        lines: The lines as they are drawn.
        joined: Whether each line follows the one before, so that a comment may go on in it.
    """

    def __init__(self, stage: str, lines: list[str], *, joined: bool = True) -> None:
        self._lines = lines
        self._joined = joined
        self._lexer = lexer_for(stage)
        self._stage = stage
        self._kinds = {**_KIND, **_KIND_IN.get(stage, {})}
        self._found: LRUCache[int, list[Piece]] = LRUCache(2048)

    def pieces(self, index: int) -> list[Piece]:
        """Return a line (from 0) in pieces; joined they are the line."""
        known = self._found.get(index)
        if known is not None:
            return known
        first, last = self._together(index)
        for line, pieces in enumerate(self._coloured(first, last), first):
            self._found[line] = pieces
            if line == index:
                known = pieces
        return known or []

    def is_name(self, word: str, index: int, column: int) -> bool:
        """Whether a word on a line (both from 0) names something: an opcode does not."""
        if word.startswith(_SIGNS):
            return True
        for text, kind in self.pieces(index):
            column -= len(text)
            if column < 0:
                return bool(word) and kind in _NAMES_IN.get(self._stage, _NAMES)
        return False

    def _together(self, index: int) -> tuple[int, int]:
        """Return the lines that have to be read together to understand one, both inclusive."""
        if not self._joined:
            return index, index
        before = bisect_right(self._constructs, (index, len(self._lines))) - 1
        if before >= 0 and self._constructs[before][1] >= index:
            return self._constructs[before]
        return index, index

    @cached_property
    def _constructs(self) -> list[tuple[int, int]]:
        """The runs of lines that are joined by comments or strings, in ascending order."""
        pattern, sign = _CONSTRUCTS.get(self._stage, (None, ""))
        text = "\n".join(self._lines)
        if pattern is None or sign not in text:
            return []
        runs: list[tuple[int, int]] = []
        line = position = 0
        for match in pattern.finditer(text):
            height = match[0].count("\n")
            if not height:
                continue
            line += text.count("\n", position, match.start())
            position = match.start()
            if runs and runs[-1][1] >= line:
                runs[-1] = (runs[-1][0], line + height)
            else:
                runs.append((line, line + height))
        return runs

    def _coloured(self, first: int, last: int) -> Iterator[list[Piece]]:
        if first == last:
            line = self._lines[first]
            yield self._quiet(self._read(line[:_COLOURED])[0] + _piece(line[_COLOURED:], ""))
            return
        pattern, _ = _CONSTRUCTS[self._stage]
        text = "\n".join(self._lines[first : last + 1])
        lines: list[list[Piece]] = [[]]
        position = 0
        for match in pattern.finditer(text):
            _append(lines, self._read(text[position : match.start()]))
            kind = "string" if match[0][0] in "\"'" else "comment"
            _append(lines, [_piece(line, kind) for line in match[0].split("\n")])
            position = match.end()
        _append(lines, self._read(text[position:]))
        yield from lines

    def _read(self, text: str) -> list[list[Piece]]:
        lines: list[list[Piece]] = [[]]
        # Pygments' PTX lexer knows a comment by the newline behind it.
        for _, kind, value in self._lexer.get_tokens_unprocessed(text + "\n"):
            name = self._name(kind, value)
            _append(lines, [_piece(part, name) for part in value.split("\n")])
        return lines[:-1]

    def _name(self, kind: _TokenType, value: str) -> str:
        if self._stage == "ptx" and value.startswith("."):
            return "type"
        name = self._kinds.get(kind)
        while name is None and kind.parent is not None:
            kind = kind.parent
            name = self._kinds.get(kind)
        return name or ""

    def _quiet(self, pieces: list[Piece]) -> list[Piece]:
        if self._stage == "python":
            return pieces
        line = "".join(text for text, _ in pieces)
        match = _DEBUG_INFORMATION.search(line, 0, _COLOURED)
        if match is None:
            return pieces
        before, after = [], []
        position = 0
        for text, kind in pieces:
            end = position + len(text)
            before.append((text[: max(match.start() - position, 0)], kind))
            after.append((text[max(match.end() - position, 0) :], kind))
            position = end
        whole = [*before, (match[0], "comment"), *after]
        return [piece for piece in whole if piece[0]]


def _piece(text: str, kind: str) -> list[Piece]:
    return [(text, kind)] if text else []


def _append(lines: list[list[Piece]], more: list[list[Piece]]) -> None:
    """Go on where some lines end: the first of the others belongs to the last of them."""
    lines[-1] += more[0]
    lines += more[1:]
