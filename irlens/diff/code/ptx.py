"""PTX as statements, one a line (PTX ISA)."""

import re

from irlens.diff.code.statements import (
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
    noise=r"//.*|/\*.*?\*/",
    # Not every % is a register's: %tid.x and %pm0 are read from the machine.
    name=r"%(?:r[sdqhl]?|fd?|hh?|p|b)[0-9]++\b|\$L__BB[0-9_]++",
    placeholder=lambda name: name.rstrip("0123456789_"),
)
#: Debug information, and how many virtual registers there are: that follows from the code.
_NOISE = re.compile(r"\s*+(?:\.loc\b|\.file\b|\.reg\s+\.\w+\s+%\w+<|\$L__(?!BB)\w++:)")
_SECTION = re.compile(r"\s*+\.section\s++\.debug_")
_HEAD = re.compile(r"(?:\.(?!entry|func)\w++ )*+\.(?:entry|func)\b")
_NAMED = re.compile(r"\.entry\s++(?P<entry>[\w$]++)|\.func\s*+(?:\([^)]*+\)\s*+)?(?P<func>[\w$]++)")
#: What a body or a declaration ends with. The pragmas of an entry stand in front of its body.
_LAST = re.compile(r"\}$|^(?!\.pragma).*;$")
_LABEL = re.compile(r"(?P<name>\$L__BB[0-9_]++):")
_BRANCH = re.compile(r"\s*+(?P<guard>@!?%\w++\s++)?(?:bra|brx|ret|exit|trap)\b")
#: What is written stands first, unless it is memory.
_WRITTEN = re.compile(r"\s*+(?:@!?%\w++\s++)?[a-z][\w.:]*+\s++(?:\{[^}]*+\}|%\w++(?:\|%\w++)?)")


def read(text: str) -> Code:
    """Read a module. Debug information and comments are noise."""
    statements: list[Statement] = []
    functions: list[Scope] = []
    function: Scope | None = None
    depth = 0
    in_debug = False
    for number, line in numbered(text):
        if in_debug or _SECTION.match(line):
            in_debug = "}" not in line
            continue
        if function is None and _HEAD.match(line):
            named = _NAMED.search(line)
            name = named["entry"] or named["func"] if named else ""
            function, depth = Scope("function", name, number, number), 0
        if _NOISE.match(line):
            continue
        statement = _statement(number, line, function)
        if statement is None:
            continue
        statements.append(statement)
        if function is not None:
            # Inline assembly has blocks of its own, in the first column too.
            depth += statement.skeleton.count("{") - statement.skeleton.count("}")
            if depth <= 0 and _LAST.search(statement.skeleton):
                functions.append(Scope("function", function.name, function.first, number))
                function = None
    return Code(statements, functions, [], count_lines(text))


def _statement(number: int, line: str, function: Scope | None) -> Statement | None:
    cut = _LEXICON.cut(line)
    if not cut.skeleton:
        return None
    inside = "" if function is None else function.name
    label, branch = _LABEL.match(line), _BRANCH.match(line)
    flow: Flow = "label" if label else ""
    if branch is not None:
        flow = "branch" if branch["guard"] else "jump"
    written = _WRITTEN.match(line)
    made_before = written.end() if written and branch is None else 0
    names = tuple(_name(word, line, inside, made_before, label is not None) for word in cut.words)
    return Statement(number, cut.text, " ".join(cut.skeleton.split()), names, flow, noise=cut.noise)


def _name(word: Word, line: str, function: str, made_before: int, is_label: bool) -> Name:
    start, stop = word.columns
    # A predicate in front of the opcode is read.
    guards = line[:start].rstrip().endswith(("@", "@!"))
    return Name(
        (function, word.text), word.columns, is_label or (stop <= made_before and not guards)
    )
