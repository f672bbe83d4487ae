"""AMD's assembly as statements, one a line (LLVM, User Guide for AMDGPU Backend)."""

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from irlens.diff.code import amdgcn_steps
from irlens.diff.code.registers import names
from irlens.diff.code.statements import (
    Code,
    Flow,
    Inside,
    Lexicon,
    Line,
    Name,
    Scope,
    Statement,
    Word,
    count_lines,
    numbered,
)
from irlens.diff.code.steps import Followed, Values
from irlens.isa import amdgcn
from irlens.model.errors import ParseError

_LEXICON = Lexicon(
    noise=r";.*|//.*|/\*.*?\*/",
    name=r"\b[vsa](?:[0-9]++\b|\[[0-9]++(?::[0-9]++)?\])|\.LBB[0-9_]++",
    placeholder=lambda name: _placeholder(name),
)
_NOISE = re.compile(
    r"\s*+(?:\.loc\b|\.file\b|\.cfi_|\.ident\b|\.L(?!BB)\w++:|\.size\s|\.p2align\b"
    r"|\.set\s.*\.L(?!BB))"
)
_DEBUG = re.compile(r"\s*+\.section\s++\"?\.debug_")
_SECTION = re.compile(r"\s*+\.(?:section|text|amdgpu_metadata|amdgpu_info)\b")
_TYPE = re.compile(r"\s*+\.type\s++(?P<name>[^,\s]++),\s*+[@%]function")
_FUNCTION = re.compile(r"(?P<name>[\w.$@]++):")
_END = re.compile(r"\.Lfunc_end\d++:")
_LABEL = re.compile(r"\.LBB[0-9_]++:")
_JUMP = re.compile(r"\s*+(?:s_branch|s_endpgm\w*|s_setpc_b64|s_set_pc_i64)\b")
_BRANCH = re.compile(r"\s*+s_cbranch_")


def _placeholder(name: str) -> str:
    """Return "v" for v3, "v[2]" for v[4:5]: how many registers is no matter of allocation."""
    first, colon, last = name[2:-1].partition(":")
    if name[1] != "[":
        return name[0] if name[0] != "." else ".LBB"
    return f"{name[0]}[{int(last) - int(first) + 1 if colon else 1}]"


def read(text: str) -> Code:
    """Read an assembly file. Debug information, comments and alignment are noise."""
    functions = list(_functions(text))
    inside = Inside(functions)
    cuts = {number: _LEXICON.cut(line) for number, line in _code(text)}
    named = {number: len(_registers(cut.words)) for number, cut in cuts.items()}
    followed = _followed(text, named)
    statements = [
        _statement(number, cut, followed.values, inside.at(number))
        for number, cut in cuts.items()
        if cut.skeleton
    ]
    return Code(statements, functions, [], count_lines(text), followed.lost)


def _functions(text: str) -> Iterator[Scope]:
    """Yield the functions, each up to the label of its end."""
    declared: set[str] = set()
    function: Scope | None = None
    for number, line in _without_debug(text):
        if found := _TYPE.match(line):
            declared.add(found["name"])
        elif (begins := _FUNCTION.match(line)) and begins["name"] in declared:
            function = Scope("function", begins["name"], number, number)
        elif function is not None and _END.match(line):
            yield replace(function, last=number)
            function = None


def _code(text: str) -> Iterator[tuple[int, str]]:
    return ((number, line) for number, line in _without_debug(text) if not _NOISE.match(line))


def _without_debug(text: str) -> Iterator[tuple[int, str]]:
    in_debug = False
    for number, line in numbered(text):
        if _SECTION.match(line):
            in_debug = _DEBUG.match(line) is not None
        if not in_debug:
            yield number, line


def _followed(text: str, named: Mapping[int, int]) -> Followed:
    """What the registers of instructions stand for, where that is known."""
    try:
        functions = amdgcn.parse(text).functions
    except ParseError:
        return Followed({}, 0)
    found = [amdgcn_steps.values(function, named) for function in functions]
    return Followed(
        {line: values for each in found for line, values in each.values.items()},
        sum(each.lost for each in found),
    )


def _statement(number: int, cut: Line, values: Mapping[int, Values], function: str) -> Statement:
    labels = [word for word in cut.words if word.text[0] == "."]
    found = list(names(_registers(cut.words), values.get(number), function))
    found += [Name((function, word.text), word.columns, word.columns[0] == 0) for word in labels]
    return Statement(
        number,
        cut.text,
        " ".join(cut.skeleton.split()),
        tuple(sorted(found, key=lambda name: name.columns)),
        _flow(cut.text),
        noise=cut.noise,
    )


def _registers(words: Sequence[Word]) -> list[Word]:
    """The registers among what a line names; the others are labels."""
    return [word for word in words if word.text[0] != "."]


def _flow(line: str) -> Flow:
    if _LABEL.match(line):
        return "label"
    if _JUMP.match(line):
        return "jump"
    return "branch" if _BRANCH.match(line) else ""
