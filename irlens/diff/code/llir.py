"""LLVM IR as statements, one a line (LLVM Language Reference)."""

import re
from operator import itemgetter

from irlens.diff.code.statements import (
    STRING,
    Code,
    Flow,
    Lexicon,
    Name,
    Scope,
    Statement,
    Word,
    count_lines,
    numbered,
)

_LEXICON = Lexicon(
    noise=r";.*|, !dbg !\d++|!dbg !\d++|#dbg_\w++.*",
    name=rf"%{STRING}|%[\w$.-]++|![0-9]++\b|(?<![\w\"])#[0-9]++\b",
    placeholder=itemgetter(0),
    first=";,!#%",
)
_LABEL = re.compile(rf"(?P<name>{STRING}|[\w$.-]++):")
_DEFINE = re.compile(rf"define\b[^@]*+@(?P<name>{STRING}|[\w$.-]++)")
_FREE = re.compile(r"declare |attributes #\d++ = |!\d++ = ")
#: Nodes that only debug information uses, and what else names files and the module.
_NOISE = re.compile(
    r"!\d++ = (?:distinct )?!DI\w++\(|!llvm\.dbg\.|source_filename = |declare void @llvm\.dbg\."
)
_TERMINATOR = re.compile(r"\s++(?:(?:br|ret|unreachable|indirectbr)\b|\])")
#: The cases of a switch stand on lines of their own, between brackets.
_CASE = re.compile(r"\s++(?:switch\b|i\d++ -?\d++, label )")
_RESULT = re.compile(rf"\s*+(?:%{STRING}|%[\w$.-]++) = ")


def read(text: str) -> Code:
    """Read a module. Debug information and comments are noise."""
    statements: list[Statement] = []
    functions: list[Scope] = []
    function: Scope | None = None
    for number, line in numbered(text):
        if function is None and (defined := _DEFINE.match(line)):
            function = Scope("function", defined["name"].strip('"'), number, number)
        # Nearly all lines are instructions, indented, and none of the others is.
        if line[0] != " " and _NOISE.match(line):
            continue
        statement = _statement(number, line, function)
        if statement is not None:
            statements.append(statement)
        if function is not None and line.rstrip() == "}":
            functions.append(Scope("function", function.name, function.first, number))
            function = None
    return Code(_without_debug(statements), functions, [], count_lines(text))


def _without_debug(statements: list[Statement]) -> list[Statement]:
    """Leave out the metadata that only debug information uses."""
    used = {name.value for each in statements for name in each.names if not name.defines}
    return [
        each
        for each in statements
        if not (each.skeleton.startswith("! = ") and each.names[0].value not in used)
    ]


def _statement(number: int, line: str, function: Scope | None) -> Statement | None:
    cut = _LEXICON.cut(line)
    if not cut.skeleton:
        return None
    inside = "" if function is None else function.name
    indented = line[0] == " "
    label = _LABEL.match(line) if inside and not indented else None
    if label is not None:
        name = Name((inside, f"%{label['name']}"), label.span("name"), True)
        return Statement(number, cut.text, "%:", (name,), "label", noise=cut.noise)
    result = _RESULT.match(line)
    # In the head of a function every value is a parameter.
    made_before = result.end() if result else len(line) * line.startswith("define ")
    free = not indented and _FREE.match(line) is not None
    names = tuple(_name(word, inside, made_before, free) for word in cut.words)
    flow: Flow = ""
    if inside and result is None and indented:
        flow = "branch" if _CASE.match(line) else "jump" if _TERMINATOR.match(line) else ""
    return Statement(number, cut.text, cut.skeleton, names, flow, not free, cut.noise)


def _name(word: Word, function: str, made_before: int, free: bool) -> Name:
    start, _ = word.columns
    if word.text[0] != "%":
        return Name(word.text, word.columns, free and (start == 0 or start == len("attributes ")))
    return Name((function, word.text), word.columns, start < made_before)
