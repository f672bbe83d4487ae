"""LLVM IR: the instructions of each function and where in the source they come from.

Source: LLVM Language Reference, "Metadata" and "Specialized Metadata Nodes" (``DILocation``,
``DILexicalBlockFile``, ``DISubprogram``, ``DIFile``).
"""

import re
from collections.abc import Mapping
from typing import ClassVar

import msgspec

from irlens.isa.dialect import BlockLabel, ControlFlow, Terminator
from irlens.isa.source_frames import MAX_CHAIN
from irlens.model.errors import ParseError
from irlens.model.source import SourceLocation

_DEFINE = re.compile(r'define\b[^@\n]*@(?:"(?P<quoted>[^"\n]*)"|(?P<name>[\w$.-]+))')
_NAME = r'(?:"[^"\n]*"|[\w$.-]+)'
_LABEL = re.compile(rf"(?P<name>{_NAME}):")
_TARGET = re.compile(rf"label %(?P<name>{_NAME})")
_OPCODE = re.compile(
    r'\s+(?:(?:%"[^"\n]*"|%[\w$.-]+)\s*=\s*)?(?:(?:tail|musttail|notail)\s+)?(?P<opcode>[a-z]\w*)'
)
_DEBUG = re.compile(r"!dbg !(?P<node>\d+)")
_NODE = re.compile(r"!(?P<number>\d+) = (?:distinct )?!(?P<kind>DI\w+)\((?P<fields>.*)\)\s*$")
_FIELD = re.compile(
    r'(?P<name>\w+): (?:"(?P<text>(?:[^"\\]|\\.)*)"|!(?P<node>\d+)|(?P<value>[^,]+))'
)


#: Instructions that end a block (LLVM Language Reference, "Terminator Instructions").
_TERMINATORS = frozenset(
    {"ret", "br", "switch", "indirectbr", "invoke", "callbr", "resume", "unreachable"}
)


class Instruction(msgspec.Struct, frozen=True, gc=False):
    """One instruction.

    Attributes:
        line: 1-based first line.
        end_line: 1-based last line: a ``switch`` spans several.
        locations: Source location, innermost first, then the calls it was inlined through.
        targets: Labels it can branch to; ``None`` where it does not end a block.
    """

    line: int
    end_line: int
    opcode: str
    locations: tuple[SourceLocation, ...]
    targets: tuple[str, ...] | None = None

    @property
    def is_call(self) -> bool:
        """Whether it calls a function."""
        return self.opcode == "call"


class Label(msgspec.Struct, frozen=True, gc=False):
    """A label.

    Attributes:
        position: Index of the instruction after it.
    """

    name: str
    line: int
    position: int


class Function(msgspec.Struct, frozen=True):
    """A function with a body (``irlens.isa.dialect.Function``)."""

    stage: ClassVar[str] = "llir"

    name: str
    line: int
    instructions: tuple[Instruction, ...]
    labels: tuple[Label, ...] = ()

    def control_flow(self) -> ControlFlow:
        """Return where basic blocks end and begin; branches to missing labels lead nowhere."""
        labels = [each for each in self.labels if each.position < len(self.instructions)]
        positions = {label.name: label.position for label in labels}
        return ControlFlow(
            terminators={
                index: Terminator(tuple(positions[n] for n in each.targets if n in positions))
                for index, each in enumerate(self.instructions)
                if each.targets is not None
            },
            labels={each.position: BlockLabel(each.name, each.line) for each in reversed(labels)},
        )


class Module(msgspec.Struct, frozen=True):
    """An LLVM module.

    Attributes:
        unknown: Lines inside functions that are neither instruction, label nor comment.
    """

    functions: tuple[Function, ...]
    unknown: tuple[int, ...]


def parse(text: str) -> Module:
    """Read the functions of an LLVM module.

    Raises:
        ParseError: A function's body does not end.
    """
    lines = text.split("\n")  # lines as a listing and every editor count them
    debug_locations = _DebugLocations(
        {int(m["number"]): m for line in lines if (m := _NODE.match(line))}
    )
    functions: list[Function] = []
    unknown: list[int] = []
    at = 0
    while at < len(lines):
        defined = _DEFINE.match(lines[at])
        if defined:
            end = _end_of_body(lines, at)
            name = defined["quoted"] if defined["quoted"] is not None else defined["name"]
            body = _body(lines, at + 1, end, debug_locations, unknown)
            functions.append(Function(name, at + 1, *body))
            at = end
        at += 1
    return Module(tuple(functions), tuple(unknown))


def _end_of_body(lines: list[str], start: int) -> int:
    """Return the index of the line with the brace that closes a function."""
    for index in range(start, len(lines)):
        if lines[index].rstrip() == "}":
            return index
    raise ParseError(
        "the function that begins here does not end",
        stage="llir",
        line=start + 1,
        column=1,
        text=lines[start],
    )


def _body(
    lines: list[str], start: int, end: int, debug_locations: "_DebugLocations", unknown: list[int]
) -> tuple[tuple[Instruction, ...], tuple[Label, ...]]:
    instructions: list[Instruction] = []
    labels: list[Label] = []
    at = start
    while at < end:
        line = lines[at]
        first, matched = at, _OPCODE.match(line)
        if matched:
            # The cases of a switch are between brackets on separate lines.
            if matched["opcode"] == "switch" and "]" not in line:
                while at < end and "]" not in lines[at]:
                    at += 1
            debug = _DEBUG.search(lines[min(at, end - 1)], 0)
            locations = debug_locations.chain(int(debug["node"])) if debug else ()
            targets = None
            if matched["opcode"] in _TERMINATORS:
                text = "\n".join(lines[first : at + 1])
                targets = tuple(match["name"] for match in _TARGET.finditer(text))
            instructions.append(
                Instruction(first + 1, at + 1, matched["opcode"], locations, targets)
            )
        elif label := _LABEL.match(line):
            labels.append(Label(label["name"], at + 1, len(instructions)))
        elif line.strip() and not line.lstrip().startswith((";", "#dbg_")):
            unknown.append(at + 1)
        at += 1
    return tuple(instructions), tuple(labels)


class _DebugLocations:
    """Resolves ``DILocation`` nodes to chains of source locations."""

    def __init__(self, nodes: Mapping[int, re.Match[str]]) -> None:
        self._nodes = nodes
        self._fields: dict[int, dict[str, str]] = {}
        self._chains: dict[int, tuple[SourceLocation, ...]] = {}

    def chain(self, number: int) -> tuple[SourceLocation, ...]:
        """Return the frames of a location, innermost first; empty where it has no line."""
        if number not in self._chains:
            frames: list[SourceLocation] = []
            following: int | None = number
            while following is not None and len(frames) < MAX_CHAIN:
                fields = self._of(following)
                line = _number(fields.get("line"))
                file = self._file(fields.get("scope"))
                if line and file:
                    frames.append(SourceLocation(file, line, _number(fields.get("column"))))
                following = _node(fields.get("inlinedAt"))
            self._chains[number] = tuple(frames)
        return self._chains[number]

    def _file(self, scope: str | None) -> str | None:
        """Return the base name of the file of a scope, or of one around it."""
        for _ in range(MAX_CHAIN):
            number = _node(scope)
            if number is None:
                return None
            fields = self._of(number)
            if "filename" in fields:
                return fields["filename"].replace("\\5C", "/").rpartition("/")[2]
            scope = fields.get("file") or fields.get("scope")
        return None

    def _of(self, number: int) -> dict[str, str]:
        """Return a node's fields; a reference to another node keeps its ``!``."""
        if number not in self._fields:
            node = self._nodes.get(number)
            fields = _FIELD.finditer(node["fields"]) if node else ()
            self._fields[number] = {
                field["name"]: field["text"]
                if field["text"] is not None
                else f"!{field['node']}"
                if field["node"] is not None
                else field["value"].strip()
                for field in fields
            }
        return self._fields[number]


def _node(reference: str | None) -> int | None:
    number = (reference or "").removeprefix("!")
    return int(number) if number != reference and number.isdecimal() else None


def _number(value: str | None) -> int:
    """Return a line or column; 0, LLVM's own "none", for implausible numbers."""
    return int(value) if value is not None and value.isdecimal() and len(value) < 10 else 0
