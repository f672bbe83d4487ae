"""Reads AMDGPU assembly line by line (LLVM, User Guide for AMDGPU Backend, "Assembler")."""

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache

from irlens.isa.amdgcn.function import Function, Program
from irlens.isa.amdgcn.records import (
    Comment,
    Directive,
    Instruction,
    Label,
    Loc,
    Metadata,
    Operand,
    Operation,
    RegisterRange,
    Statement,
    Unknown,
)
from irlens.isa.source_frames import base_name, frame_of, outer_frames
from irlens.model.errors import ParseError
from irlens.model.several import all_known
from irlens.model.source import SourceLocation

STAGE = "amdgcn"

_STRING = r'"(?:[^"\\]++|\\.)*+"'
# A comment in /* */ stays with the code: LLVM writes a register's real number in one.
_CODE = re.compile(rf'(?:[^;"/]++|{_STRING}|/\*(?:[^*]++|\*(?!/))*+\*/|/(?![/*]))*+')
_LABEL = re.compile(rf"({_STRING}|[\w.$@]++):")
_DIRECTIVE = re.compile(r"(\.\w++)(?:[ \t]++(.*))?", re.DOTALL)
_TYPE = re.compile(rf"({_STRING}|[^,\s]++)[ \t]*+,[ \t]*+[@%]function")
_LOC = re.compile(r"(\d{1,9})[ \t]++(\d{1,9})(?:[ \t]++(\d{1,9}))?")
_FILE = re.compile(rf"(\d{{1,9}})[ \t]++({_STRING})(?:[ \t]++({_STRING}))?")
_INFO = re.compile(r"([\w:]*\w) ?[:=] (-?\d++)(?:\s.*)?")
_INTEGER = re.compile(r"-?\d{1,18}")

#: Directives that another one must close.
_CLOSED_BY = {
    ".amdgpu_metadata": ".end_amdgpu_metadata",
    ".amdhsa_kernel": ".end_amdhsa_kernel",
    ".cfi_startproc": ".cfi_endproc",
}

_GROUP = r"\((?:[^()]++|\([^()]*+\))*+\)|\[[^\[\]]*+\]"
_OPERATION = re.compile(r"([a-z][a-z0-9]*+(?:_[a-z0-9]++)++|exp)(?:[ \t]++(.*))?", re.DOTALL)
_PIECES = re.compile(rf"(?:[^,()\[\]]++|{_GROUP})++")
_WORDS = re.compile(rf"(?:[^\s()\[\]]++|{_GROUP})++")
_MODIFIER = re.compile(r"[a-z]\w*+(?::\S+)?")
_NAMED_MODIFIER = re.compile(r"[a-z]\w*+:\S+")
#: Modifiers that may follow a mnemonic without an operand.
_CACHE_MODIFIERS = frozenset({"dlc", "glc", "nt", "sc0", "sc1", "slc"})

_RENAMED = re.compile(r"\b[vsa](?:\d++|\[[\d:]++\])(?:\.[lh])?\s*+/\*([vsa][\d\[\]:.lh]++)\*/")
_COMMENT = re.compile(r"/\*.*?\*/")
_REGISTER = re.compile(
    r"(?<![\w$.@])(?:"
    r"(?P<file>v|s|a|ttmp)(?:(?P<number>\d{1,4})|\[(?P<first>\d{1,4})(?::(?P<last>\d{1,4}))?\])"
    r"(?:\.(?P<half>[lh]))?"
    r"|(?P<pair>vcc|exec|flat_scratch|xnack_mask)(?:_(?P<part>lo|hi))?"
    r"|(?P<single>m0|scc)"
    r")(?![\w$.@:])"
)


def parse(text: str) -> Program:
    """Read a file of AMDGPU assembly.

    Raises:
        ParseError: A string is not terminated, or the text ends inside of a function, a kernel
            descriptor or the metadata.
    """
    reader = _Reader()
    statements = tuple(reader.read(text))
    return Program(reader.target, statements, tuple(_functions(statements)))


class _Reader:
    """Turns lines into statements, keeping the state that earlier lines set for later ones."""

    def __init__(self) -> None:
        self.target: str | None = None
        self._files: dict[int, str] = {}
        self._locations: tuple[SourceLocation, ...] = ()
        self._operations: dict[str, tuple[Operation, ...] | None] = {}
        self._open: dict[str, tuple[int, str]] = {}

    def read(self, text: str) -> Iterator[Statement]:
        lines = text.split("\n")
        ends = ["\n"] * (len(lines) - 1) + [""]
        if not lines[-1]:
            lines.pop()
        metadata: list[str] = []
        for number, (line, end) in enumerate(zip(lines, ends, strict=False), start=1):
            if ".amdgpu_metadata" in self._open:
                metadata.append(line + end)
                if line.strip() == ".end_amdgpu_metadata":
                    first, _ = self._open.pop(".amdgpu_metadata")
                    yield Metadata("".join(metadata), first, number, "".join(metadata[1:-1]))
                    metadata.clear()
            else:
                statement = self._line(line, line + end, number)
                if ".amdgpu_metadata" in self._open:
                    metadata.append(line + end)
                else:
                    yield statement
        for directive, (number, line) in self._open.items():
            column = line.index(directive) + 1
            message = f"the text ends before {_CLOSED_BY[directive]}"
            raise ParseError(message, stage=STAGE, line=number, column=column, text=line)

    def _line(self, line: str, text: str, number: int) -> Statement:
        match = _CODE.match(line)
        end = match.end() if match else 0
        if line.startswith('"', end):
            message = "string is not terminated"
            raise ParseError(message, stage=STAGE, line=number, column=end + 1, text=line)
        code, comment = line[:end].strip(), line[end:].lstrip("/; \t").rstrip()
        if not code:
            return Comment(text, number, number, comment)
        if label := _LABEL.match(code):
            if label.end() == len(code):
                return Label(text, number, number, label[1].strip('"'))
            return Unknown(text, number, number)
        if code.startswith("."):
            return self._directive(code, comment, line, text, number)
        if code not in self._operations:
            self._operations[code] = _read_operations(code)
        operations = self._operations[code]
        if operations is None:
            return Unknown(text, number, number)
        return Instruction(text, number, number, operations, self._locations)

    def _directive(self, code: str, comment: str, line: str, text: str, number: int) -> Statement:
        match = _DIRECTIVE.fullmatch(code)
        if match is None:
            return Unknown(text, number, number)
        name, arguments = match[1], match[2] or ""
        if name == ".loc":
            self._locations = self._chain(arguments, comment)
            return Loc(text, number, number, self._locations)
        if name in _CLOSED_BY:
            self._open[name] = (number, line)
        for opening, closing in _CLOSED_BY.items():
            if name == closing:
                self._open.pop(opening, None)
        if name == ".cfi_startproc":
            self._locations = ()
        elif name == ".amdgcn_target":
            self.target = arguments.strip('"')
        elif name == ".file" and (file := _FILE.match(arguments)):
            self._files[int(file[1])] = base_name((file[3] or file[2]).strip('"'))
        return Directive(text, number, number, name, arguments)

    def _chain(self, arguments: str, comment: str) -> tuple[SourceLocation, ...]:
        """Return the frames of a ``.loc``: its own, and the outer ones from LLVM's comment."""
        match = _LOC.match(arguments)
        if match is None or not int(match[2]):
            return ()
        file = self._files.get(int(match[1]))
        if file is None:
            frame = frame_of(comment.partition(" @[ ")[0])
            if frame is None:
                return ()
            file = frame.file
        location = SourceLocation(file, int(match[2]), int(match[3] or 0))
        return (location, *outer_frames(comment))


def _functions(statements: tuple[Statement, ...]) -> list[Function]:
    """Cut the statements into functions; LLVM states their figures after their ends."""
    outline = _Outline()
    for statement in statements:
        outline.add(statement)
    return [
        Function(
            name=name,
            is_kernel=name in outline.descriptors,
            statements=tuple(body),
            instructions=tuple(each for each in body if isinstance(each, Instruction)),
            directives=outline.descriptors.get(name, {}),
            info=outline.info[name],
        )
        for name, body in outline.bodies.items()
    ]


class _Outline:
    """Assigns statements and figures to functions: LLVM writes figures after a function's end."""

    def __init__(self) -> None:
        self.bodies: dict[str, list[Statement]] = {}
        self.descriptors: dict[str, dict[str, int]] = {}
        self.info: defaultdict[str, dict[str, int]] = defaultdict(dict)
        self._declared: set[str] = set()
        self._latest = ""
        self._body: list[Statement] | None = None
        self._descriptor: dict[str, int] | None = None
        self._figures: dict[str, int] | None = None

    def add(self, statement: Statement) -> None:
        match statement:
            case Comment(comment=comment):
                if comment in ("Kernel info:", "Function info:"):
                    self._figures = self.info[self._latest]
                elif self._figures is not None and (match := _INFO.fullmatch(comment)):
                    self._figures[match[1]] = int(match[2])
            case Label(name=name):
                self._label(name)
            case Directive():
                self._directive(statement)
        if not isinstance(statement, Comment):
            self._figures = None
        if self._body is not None:
            self._body.append(statement)

    def _label(self, name: str) -> None:
        if name in self._declared and name not in self.bodies:
            self._body = self.bodies[name] = []
            self._latest = name
        elif name.startswith(".Lfunc_end"):
            self._body = None

    def _directive(self, directive: Directive) -> None:
        name, arguments = directive.name, directive.arguments
        if name == ".type":
            if match := _TYPE.match(arguments):
                self._declared.add(match[1].strip('"'))
        elif name == ".amdhsa_kernel":
            self._descriptor = self.descriptors.setdefault(arguments.strip('"'), {})
        elif name == ".end_amdhsa_kernel":
            self._descriptor = None
        elif self._descriptor is not None and _INTEGER.fullmatch(arguments):
            self._descriptor[name.removeprefix(".amdhsa_")] = int(arguments)


def _read_operations(code: str) -> tuple[Operation, ...] | None:
    """Read an instruction without its comment; ``None`` if it has no known form."""
    if "/*" in code:
        code = _COMMENT.sub(" ", _RENAMED.sub(r"\1", code))
    operations = all_known(_operation(part.strip()) for part in code.split(" :: "))
    return None if operations is None else tuple(operations)


def _operation(code: str) -> Operation | None:
    match = _OPERATION.fullmatch(code)
    if match is None:
        return None
    mnemonic, rest = match.groups()
    if not rest:
        return Operation(mnemonic)
    pieces = _PIECES.findall(rest)
    if sum(map(len, pieces)) + len(pieces) - 1 != len(rest):
        return None  # an unclosed bracket or an empty operand
    operands: list[Operand] = []
    modifiers: list[str] = []
    for piece in pieces:
        read, named = _short_piece(piece) if len(piece) < _SHORT else _piece(piece)
        operands += read
        modifiers += named
    return Operation(mnemonic, tuple(operands), tuple(modifiers))


def _piece(piece: str) -> tuple[tuple[Operand, ...], tuple[str, ...]]:
    """Return the operands and the modifiers between two commas."""
    if (number := piece.strip()).isdecimal() and number.isascii():
        return (Operand(number, ()),), ()
    operands: list[Operand] = []
    modifiers: list[str] = []
    for index, word in enumerate(_WORDS.findall(piece)):
        if word in ("|", "&"):  # between the counters of s_waitcnt, s_delay_alu
            continue
        if _is_modifier(word, leads=index == 0):
            modifiers.append(word)
        else:
            operands.append(Operand(word, register_ranges(word)))
    return tuple(operands), tuple(modifiers)


#: Characters of pieces that are read once: a kernel writes few, many times.
_SHORT = 32
_short_piece = lru_cache(maxsize=1 << 14)(_piece)


def _is_modifier(word: str, *, leads: bool) -> bool:
    """Whether a word is a modifier; the first word of an operand rarely is."""
    if leads:
        return word in _CACHE_MODIFIERS or _NAMED_MODIFIER.fullmatch(word) is not None
    register = _REGISTER.fullmatch(word)
    return _MODIFIER.fullmatch(word) is not None and not (register and register["file"])


def register_ranges(text: str) -> tuple[RegisterRange, ...]:
    """Return the registers that a text names, in order."""
    return tuple(_range(match) for match in _REGISTER.finditer(text))


def _range(match: "re.Match[str]") -> RegisterRange:
    if match["pair"]:
        if match["part"]:
            return RegisterRange(match["pair"], int(match["part"] == "hi"), 1)
        return RegisterRange(match["pair"], 0, 2)
    if match["single"]:
        return RegisterRange(match["single"], 0, 1)
    first = int(match["number"] or match["first"])
    last = int(match["last"] or first)
    return RegisterRange(match["file"], first, max(last - first + 1, 0), match["half"] or "")
