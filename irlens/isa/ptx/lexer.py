"""Cuts PTX text into statements without looking inside them (PTX ISA, Syntax)."""

import re
from collections.abc import Iterator
from enum import Enum, auto
from typing import TypeAlias

from irlens.model.errors import ParseError

STAGE = "ptx"


class Kind(Enum):
    """The kind of a statement, by its first characters."""

    INSTRUCTION = auto()
    LABEL = auto()
    OPEN = auto()
    CLOSE = auto()
    LOC = auto()
    HEADER = auto()
    REGISTERS = auto()
    VARIABLE = auto()
    SECTION = auto()
    DIRECTIVE = auto()
    UNKNOWN = auto()


#: A statement: its kind, and offsets of its trivia, its first character and its end.
Token: TypeAlias = tuple[Kind, int, int, int]

COMMENT = r"//.*+|/\*(?s:.*?)\*/"
STRING = r'"(?:[^"\\\n]++|\\[^\n])*+"'
GAP = rf"(?:\s++|{COMMENT})*+"
LINKAGE = r"\.(?:visible|extern|weak|common)\b"

_COMMENT = re.compile(COMMENT)
_TRIVIA = re.compile(GAP)
_WORD = re.compile(r"\.?[\w$%]++")
_LABEL = re.compile(rf"[A-Za-z_$%][\w$%]*+{GAP}:(?!:)")
_PLAIN = re.compile(r'[^;{}"/]*+;')
# An instruction that no comment, string, brace or colon of its own complicates.
_PLAIN_INSTRUCTION = re.compile(rf'{GAP}((?:[A-Za-z_$%]|@(?!@))[^;{{}}"/:]*+;)')
# A location of three numbers that no comma continues.
_PLAIN_LOC = re.compile(rf"{GAP}(\.loc(?:[ \t]++[0-9]++){{3}})(?={GAP}[^,])")
_TO_SEMICOLON = re.compile(rf'(?:[^;"/]++|{STRING}|{COMMENT}|/(?![/*]))*+;')
_TO_BODY = re.compile(
    rf'(?:[^;{{"/.]++|{STRING}|{COMMENT}|\.pragma{GAP}{STRING}{GAP};|\.|/(?![/*]))*+[;{{]'
)
_IS_HEADER = re.compile(rf"(?:{LINKAGE}{GAP})*+\.(?:entry|func)\b")
_SECTION = re.compile(rf'\.section\b[^;{{}}"/]*+{GAP}\{{(?:[^{{}}"/]++|{STRING}|{COMMENT})*+\}}')
_TO_LINE_END = re.compile(rf'(?:[^;\n"/]++|{STRING}|/(?![/*]))*+;?+')
_QUOTED = re.compile(rf"{STRING}|{COMMENT}")
_BRACE = re.compile(r"[{}]")

_NUMBERS = rf"[0-9]++(?:{GAP}[0-9]++){{0,2}}+"
#: Directives that end without a semicolon, by their grammar.
_UNTERMINATED = {
    ".version": re.compile(rf"\.version{GAP}[0-9]++\.[0-9]++"),
    ".target": re.compile(rf"\.target{GAP}\w++(?:{GAP},{GAP}\w++)*+"),
    ".address_size": re.compile(rf"\.address_size{GAP}[0-9]++"),
    ".file": re.compile(
        rf"\.file{GAP}[0-9]++(?:{GAP}{STRING})++(?:{GAP},{GAP}[0-9]++)*+(?:{GAP}md5{GAP}\w++)?+"
    ),
    ".loc": re.compile(
        rf"\.loc{GAP}{_NUMBERS}"
        rf"(?:{GAP},{GAP}function_name{GAP}[\w$.%]++(?:{GAP}\+{GAP}\w++)?+"
        rf"{GAP},{GAP}inlined_at{GAP}{_NUMBERS})?+"
    ),
}
_VARIABLES = ".global .shared .const .local .param .visible .extern .weak .common"
_DIRECTIVES = ".pragma .branchtargets .calltargets .callprototype .alias"
_BY_WORD = {
    ".reg": Kind.REGISTERS,
    **dict.fromkeys(_VARIABLES.split(), Kind.VARIABLE),
    **dict.fromkeys(_DIRECTIVES.split(), Kind.DIRECTIVE),
}


def error_at(text: str, offset: int, message: str) -> ParseError:
    """Return the error for a position in the text, with its line and column."""
    offset = min(offset, len(text))
    begin = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", offset)
    line = text.count("\n", 0, offset) + 1
    shown = text[begin : end if end >= 0 else len(text)]
    return ParseError(message, stage=STAGE, line=line, column=offset - begin + 1, text=shown)


def without_comments(text: str) -> str:
    """Replace every comment by one space; strings stay."""
    if "/" not in text:
        return text
    if '"' not in text:
        return _COMMENT.sub(" ", text)
    return _QUOTED.sub(lambda m: m.group() if m.group()[0] == '"' else " ", text)


def tokenize(text: str) -> Iterator[Token]:
    """Cut the text into statements; what follows the last one is trivia.

    Raises:
        ParseError: A comment, string or statement that does not end.
    """
    position = 0
    while True:
        if plain := _PLAIN_INSTRUCTION.match(text, position):
            start, end = plain.span(1)
            yield Kind.INSTRUCTION, position, start, end
            position = end
            continue
        if plain := _PLAIN_LOC.match(text, position):
            start, end = plain.span(1)
            yield Kind.LOC, position, start, end
            position = end
            continue
        match = _TRIVIA.match(text, position)
        start = match.end() if match else position
        if start == len(text):
            return
        kind, end = _statement(text, start)
        yield kind, position, start, end
        position = end


def _statement(text: str, start: int) -> tuple[Kind, int]:
    """Kind and end of the statement that begins here."""
    first = text[start]
    if first == "{":
        return Kind.OPEN, start + 1
    if first == "}":
        return Kind.CLOSE, start + 1
    if first == ".":
        return _directive(text, start)
    if match := _LABEL.match(text, start):
        return Kind.LABEL, match.end()
    if text.startswith("@@", start):
        # The debug directives of PTX ISA 1.x: a line each.
        return Kind.UNKNOWN, _line_end(text, start)
    return Kind.INSTRUCTION, _semicolon(text, start)


def _directive(text: str, start: int) -> tuple[Kind, int]:
    match = _WORD.match(text, start)
    word = match.group() if match else "."
    if word in _UNTERMINATED:
        match = _UNTERMINATED[word].match(text, start)
        if match:
            return Kind.LOC if word == ".loc" else Kind.DIRECTIVE, match.end()
    elif word == ".section":
        match = _SECTION.match(text, start)
        if match is None:
            raise error_at(text, start, "section is not closed")
        return Kind.SECTION, match.end()
    elif _IS_HEADER.match(text, start):
        match = _TO_BODY.match(text, start)
        if match is None:
            raise error_at(text, start, "function header without '{' or ';'")
        return Kind.HEADER, match.end() - (match.group()[-1] == "{")
    elif word in _BY_WORD:
        return _BY_WORD[word], _semicolon(text, start)
    return Kind.UNKNOWN, _line_end(text, start)


def _line_end(text: str, start: int) -> int:
    """End of a directive that is not known: its semicolon, or else its line."""
    match = _TO_LINE_END.match(text, start)
    end = match.end() if match else start
    if end == len(text):
        raise error_at(text, start, "the text ends in the middle of a statement")
    if text[end] == '"':
        raise error_at(text, end, "string is not terminated")
    return max(end, start + 1)


def _semicolon(text: str, start: int) -> int:
    """End of a statement that a semicolon closes, braces in it balanced."""
    if match := _PLAIN.match(text, start):
        return match.end()
    match = _TO_SEMICOLON.match(text, start)
    if match is None:
        raise _unterminated(text, start)
    depth = 0
    body = _QUOTED.sub(lambda m: " " * len(m.group()), match.group())
    for brace in _BRACE.finditer(body):
        depth += 1 if brace.group() == "{" else -1
        if depth < 0:
            raise error_at(text, start + brace.start(), "expected ';' before '}'")
    if depth:
        raise error_at(text, start, "'{' in this statement is not closed before its ';'")
    return match.end()


_UNTERMINATED_BODY = re.compile(rf'(?:[^;"/]++|{STRING}|{COMMENT}|/(?![/*]))*+')


def _unterminated(text: str, start: int) -> ParseError:
    """Say why no semicolon was found: an open comment or string, or the end of the text."""
    match = _UNTERMINATED_BODY.match(text, start)
    end = match.end() if match else start
    if text.startswith("/*", end):
        return error_at(text, end, "comment is not terminated")
    if text.startswith('"', end):
        return error_at(text, end, "string is not terminated")
    return error_at(text, start, "statement is not terminated by ';'")
