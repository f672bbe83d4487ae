"""Registers, variables and function headers (PTX ISA, State Spaces, Types, and Variables).

All functions take a statement without comments, and return ``None`` where it has another form
than the one they read.
"""

import re

from irlens.isa.ptx.operands import split_operands
from irlens.isa.ptx.records import Declaration, RegisterGroup, Signature

_SPACES = frozenset({"global", "shared", "const", "local", "param", "reg"})
_LINKAGES = frozenset({"visible", "extern", "weak", "common"})
# A sub-space as in ".param::entry" is left aside.
_DOTTED = re.compile(r"\.(\w++)(?:::\w++)?")
_ALIGN = re.compile(r"\.align\s++([0-9]{1,9}+)")
_NAME = r"[%A-Za-z_$][\w$%]*+"
_REGISTERS = re.compile(r"\.reg\b\s*+((?:\.\w++\s*+)++)([^;]*+);")
_REGISTER = re.compile(rf"({_NAME})(?:<\s*+([0-9]{{1,9}}+)\s*+>)?")
_VARIABLE = re.compile(rf"({_NAME})\s*+((?:\[[^\]]*+\]\s*+)*+)")
_DIMENSION = re.compile(r"\[\s*+([^\]]*+)\]")
_HEADER = re.compile(
    r"((?:\.(?!entry|func)\w++\s*+)*+)\.(entry|func)\b\s*+"
    r"(?:\.attribute\s*+\([^()]*+(?:\([^()]*+\))?[^()]*+\)\s*+)?"
    rf"(?:\(([^()]*+)\)\s*+)?({_NAME})\s*+(?:\(([^()]*+)\))?(.*+)",
    re.DOTALL,
)
_LIMIT = re.compile(r"\.([A-Za-z_]\w*+)((?:[\s,]*+[0-9]{1,9}+)*+)")


def read_registers(text: str, scope: int) -> tuple[RegisterGroup, ...] | None:
    """Read ``.reg .b32 %r<4>, x;``."""
    match = _REGISTERS.fullmatch(text)
    if match is None:
        return None
    kind = ".".join(_DOTTED.findall(match.group(1)))
    groups = []
    for piece in match.group(2).split(","):
        register = _REGISTER.fullmatch(piece.strip())
        if register is None:
            return None
        name, count = register.groups()
        groups.append(RegisterGroup(name, None if count is None else int(count), kind, scope))
    return tuple(groups)


def read_variables(text: str) -> tuple[Declaration, ...] | None:
    """Read ``.extern .shared .align 16 .b8 a[], b[4] = {1, 2};``."""
    return _declarations(text.removesuffix(";"))


def _declarations(text: str) -> tuple[Declaration, ...] | None:
    declarations: list[Declaration] = []
    for piece in split_operands(text):
        shared = declarations[-1] if declarations else None
        declaration = _declaration(piece, shared)
        if declaration is None:
            return None
        declarations.append(declaration)
    return tuple(declarations)


def _declaration(text: str, before: Declaration | None) -> Declaration | None:
    """One declaration; a bare name takes everything but its own part from the one before."""
    head, equals, value = text.partition("=")
    align = _ALIGN.search(head)
    bare = _ALIGN.sub(" ", head)
    words = _DOTTED.findall(bare)
    match = _VARIABLE.fullmatch(_DOTTED.sub(" ", bare).strip())
    if match is None:
        return None
    initializer = value.strip() if equals else None
    dimensions = tuple(
        int(size) if size.strip().isdecimal() and len(size) < 19 else None
        for size in _DIMENSION.findall(match.group(2))
    )
    if not words and before is not None:
        return Declaration(
            linkage=before.linkage,
            space=before.space,
            type=before.type,
            align=before.align,
            name=match.group(1),
            dimensions=dimensions,
            pointer=before.pointer,
            initializer=initializer,
        )
    spaces = [w for w in words if w in _SPACES]
    return Declaration(
        linkage=next((w for w in words if w in _LINKAGES), None),
        space=spaces[0] if spaces else "",
        type=".".join(w for w in words if w not in _SPACES | _LINKAGES | {"ptr"}),
        align=int(align.group(1)) if align else None,
        name=match.group(1),
        dimensions=dimensions,
        pointer=(spaces[1] if len(spaces) > 1 else "generic") if "ptr" in words else None,
        initializer=initializer,
    )


def read_signature(text: str) -> Signature | None:
    """Read a function's header, without the brace that opens its body."""
    match = _HEADER.fullmatch(text)
    if match is None:
        return None
    _, kind, returned, name, parameters, tail = match.groups()
    returns, accepts = _parameters(returned), _parameters(parameters)
    if returns is None or accepts is None:
        return None
    limits = {
        word: tuple(int(n) for n in re.findall("[0-9]+", numbers))
        for word, numbers in _LIMIT.findall(tail)
    }
    return Signature(
        kind="entry" if kind == "entry" else "func",
        name=name,
        returns=returns,
        parameters=accepts,
        limits=limits,
    )


def _parameters(text: str | None) -> tuple[Declaration, ...] | None:
    return _declarations(text) if text and text.strip() else ()
