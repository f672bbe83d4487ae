"""Parses the text of nvdisasm into records, line by line."""

import re
from functools import lru_cache
from typing import NamedTuple

import msgspec

from irlens.isa.sass import registers
from irlens.isa.sass.function import Sass, Section
from irlens.isa.sass.records import (
    Guard,
    Instruction,
    Operand,
    OperandKind,
    Register,
    RegisterFile,
)
from irlens.isa.source_frames import MAX_CHAIN, base_name
from irlens.model.errors import ParseError
from irlens.model.source import SourceLocation
from irlens.model.text import split_list

_OFFSET = re.compile(r"\s*+/\*(?P<offset>[0-9a-f]{4,8})\*/\s++")
_INSTRUCTION = re.compile(
    r"""(?:@(?P<negated>!?)(?P<guard>U?P(?:[0-9]|T))\s++)?
    (?P<opcode>[A-Z][A-Z0-9]*+)(?P<modifiers>(?:\.\w++)*+)
    (?P<rest>[^;]*+);""",
    re.VERBOSE,
)
_SECTION = re.compile(r"\s*+\.section\s++(?P<name>[^,\s]++)")
_FUNCTION = re.compile(r"\s*+\.type\s++(?P<name>[^,\s]++),@function")
_LABEL = re.compile(r"(?P<name>[^\s:;]++):\s*+$")
_DIRECTIVE = re.compile(r"\s*+(?:\.[a-z_]++\s|//|$)")
_FRAME = re.compile(
    r'\s*+//## File "(?P<file>[^"]*+)", line (?P<line>\d{1,9}+)(?P<inlined> inlined at )?'
)
#: The file name that nvdisasm prints for the PTX inside of a cubin.
_PTX = ".nv_debug_ptx_txt"
_SCHEDULE = re.compile(r"\s*+(?P<notes>[&?]\w.*+)$", re.DOTALL)
_INFERRED = re.compile(r'\(\*"(?P<note>[^"]*+)"\*\)')

#: A label that an instruction names.
_TARGET = re.compile(r"`\((?P<label>[^)]*+)\)")
_REGISTER = re.compile(
    r"\b(?P<file>UR|R|UP|P|B)(?P<index>\d{1,3}+|Z|T)(?P<suffixes>\|?(?:\.\w++)*+)"
)
_IMMEDIATE = re.compile(r"[-+]?(?:0x[0-9a-f]++|[\d.]|INF|QNAN|SNAN)", re.IGNORECASE)
_FILES: dict[str, RegisterFile] = {"R": "R", "UR": "UR", "P": "P", "UP": "UP", "B": "B"}


def parse(text: str) -> Sass:
    """Read a disassembly.

    Raises:
        ParseError: There is no code section in it.
    """
    reader = _Reader()
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        reader.read(number, line)
    reader.finish()
    if not reader.sections:
        raise ParseError(
            "no code section", stage="sass", line=1, column=1, text=lines[0].strip()[:80]
        )
    return Sass(tuple(reader.sections), reader.unknown)


class _Frame(NamedTuple):
    """A line of a file; without a place one of the PTX."""

    place: SourceLocation | None
    line: int
    inlined: bool


class _Reader:
    """Reads a disassembly line by line."""

    def __init__(self) -> None:
        self.sections: list[Section] = []
        self.unknown: dict[int, str] = {}
        self._name: str | None = None
        self._line = 0
        self._instructions: list[Instruction] = []
        self._labels: dict[str, int] = {}
        self._declared: set[str] = set()
        self._chain: list[SourceLocation] = []
        self._source: tuple[SourceLocation, ...] = ()
        self._inlined = False
        self._ptx_line: int | None = None

    def read(self, number: int, line: str) -> None:
        offset = _OFFSET.match(line) if self._name is not None else None
        if offset and (read := _read_instruction(line[offset.end() :])):  # most are
            self._instructions.append(self._place(read, int(offset["offset"], 16), number))
        elif self._name is not None and (frame := _read_frame(line)):
            self._frame(frame)
        elif section := _SECTION.match(line):
            self._start(section["name"], number)
        elif self._name is None:
            return
        elif label := _LABEL.match(line):
            self._labels.setdefault(label["name"], len(self._instructions))
        elif function := _FUNCTION.match(line):
            self._declared.add(function["name"])
        elif not _DIRECTIVE.match(line):
            self.unknown[number] = line

    def finish(self) -> None:
        """Finish the current section."""
        if self._name is not None:
            functions = {
                name: index for name, index in self._labels.items() if name in self._declared
            }
            self.sections.append(
                Section(
                    name=self._name,
                    line=self._line,
                    instructions=tuple(self._instructions),
                    labels=self._labels,
                    functions=functions,
                )
            )

    def _start(self, name: str, number: int) -> None:
        self.finish()
        self._name = name.removeprefix(".text.") if name.startswith(".text.") else None
        self._line = number
        self._instructions, self._labels, self._declared = [], {}, set()
        self._source, self._inlined, self._ptx_line = (), False, None

    def _frame(self, frame: _Frame) -> None:
        """``File A, line 1 inlined at B, line 2`` is followed by a line for B."""
        if frame.place is None:
            self._ptx_line = frame.line or None
            return
        if not self._inlined:
            self._chain = []
        if frame.line > 0 and len(self._chain) < MAX_CHAIN:
            self._chain.append(frame.place)
        self._inlined = frame.inlined
        self._source = tuple(self._chain)

    def _place(self, read: Instruction, offset: int, number: int) -> Instruction:
        return Instruction(
            offset=offset,
            line=number,
            guard=read.guard,
            opcode=read.opcode,
            modifiers=read.modifiers,
            operands=read.operands,
            targets=read.targets,
            schedule=read.schedule,
            access=read.access,
            locations=self._source,
            ptx_line=self._ptx_line,
        )


@lru_cache(maxsize=1 << 14)  # kernels and their configurations share many
def _read_instruction(text: str) -> Instruction | None:
    """Read what follows the offset of an instruction, as if it stood at 0."""
    match = _INSTRUCTION.match(text)
    if match is None:
        return None
    rest, schedule = match["rest"], ""
    targets = _TARGET.findall(rest)
    if "(*" in rest:
        for note in _INFERRED.findall(rest):
            targets += re.findall(r"\.L_x_\d+", note)
        rest = _INFERRED.sub("", rest)
    if notes := _SCHEDULE.search(rest):
        rest, schedule = rest[: notes.start()], notes["notes"]
    guard = None
    if match["guard"]:
        guard = Guard(_register(match["guard"]), negated=bool(match["negated"]))
    read = Instruction(
        offset=0,
        line=0,
        guard=guard,
        opcode=match["opcode"],
        modifiers=tuple(match["modifiers"].split(".")[1:]),
        operands=tuple(read_operand(part) for part in _split(rest)),
        targets=tuple(targets),
        schedule=" ".join(schedule.split()),
    )
    return msgspec.structs.replace(read, access=registers.access(read))


@lru_cache(maxsize=1 << 12)  # many instructions come from one line
def _read_frame(line: str) -> _Frame | None:
    """Read a line that says where instructions come from."""
    match = _FRAME.match(line)
    if match is None:
        return None
    number, inlined = int(match["line"]), match["inlined"] is not None
    if match["file"].startswith(_PTX):
        return _Frame(None, number, inlined)
    return _Frame(SourceLocation(base_name(match["file"]), number), number, inlined)


def _split(text: str) -> list[str]:
    """Split at the commas outside of brackets."""
    text = text.strip()
    if "{" in text or "(" in text:
        return split_list(text)
    return [part.strip() for part in text.split(",")] if text else []


@lru_cache(maxsize=1 << 14)
def read_operand(text: str) -> Operand:
    """Read one operand."""
    bare = _TARGET.sub("", text).strip()
    if not bare:
        return Operand("label", text, ())
    registers = tuple(_register(match.group()) for match in _REGISTER.finditer(bare))
    return Operand(_kind(bare.lstrip("-+~!|")), text, registers)


def _kind(bare: str) -> OperandKind:
    before, bracket, _ = bare.partition("[")
    if bracket:
        if before in ("", "desc"):
            return "memory"
        return "constant" if before in ("c", "cx") else "descriptor"
    if _REGISTER.fullmatch(bare):
        return "register"
    if bare.startswith("SR"):
        return "special"
    return "immediate" if _IMMEDIATE.match(bare) else "other"


@lru_cache(maxsize=1 << 12)
def _register(text: str) -> Register:
    """Read a register."""
    match = _REGISTER.match(text)
    if match is None:
        raise ValueError(f"not a register: {text!r}")
    index = int(match["index"]) if match["index"].isdecimal() else None
    suffixes = match["suffixes"].lstrip("|").split(".")[1:]
    return Register(_FILES[match["file"]], index, tuple(suffixes))
