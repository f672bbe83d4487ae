"""Where the names of a stage are defined and used: SSA values, registers, labels.

A name can mean different things at different places: MLIR's regions use the same SSA names side
by side, PTX declares a register anew in a nested ``{ }``, functions number their values alike. So
each place is kept with what the name means there.
"""

import re
from collections.abc import Callable, Hashable, Iterator
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from irlens.model.listing import Occurrences

if TYPE_CHECKING:  # each stage's parser is loaded only for it
    from irlens.isa import ptx

#: What stands at a place; labels and values that an instruction reads are used there.
Deed: TypeAlias = Literal["defines", "uses"]

_LLVM_TOKEN = re.compile(r'%(?P<name>"[^"\n]*"|[\w$.-]+)|"[^"\n]*"')
_LLVM_LABEL = re.compile(r'(?P<name>"[^"\n]*"|[\w$.-]+):')
_LLVM_RESULT = re.compile(r'\s+%(?:"[^"\n]*"|[\w$.-]+)\s*=')
_SASS_REGISTER = re.compile(r"(?P<file>UR|R|UP|P)(?P<index>\d{1,3})(?:\.\w+)*")
_AMD_REGISTER = re.compile(
    r"(?P<file>[vas])(?:(?P<one>\d{1,4})|\[(?P<first>\d{1,4}):(?P<last>\d{1,4})\])(?:\.[lh])?"
)


class Place(msgspec.Struct, frozen=True, gc=False):
    """A line with a name on it.

    Attributes:
        line: 1-based.
        deed: What the line does.
        meaning: Equal where the name means the same.
    """

    line: int
    deed: Deed
    meaning: Hashable


#: Answers with the places of a name as it is written somewhere in the stage.
Finder: TypeAlias = Callable[[str], Iterator[Place]]


def occurrences(stage: str, text: str, name: str, line: int | None = None) -> Occurrences:
    """Return where a name stands.

    Args:
        stage: The stage's name; ttir, ttgir, llir, ptx, sass and amdgcn have names.
        text: Its text.
        name: An SSA value, a register or a label, as written. Of machine code a register found
            in any wider one counts: R5 is in ``R4.64``.
        line: 1-based line on which it was found, to tell what it means from what the same name
            means elsewhere; without it all of them are told.

    Raises:
        ArtifactError: The stage is broken.
    """
    places = list(_finder(stage, text)(name)) if stage in _FINDERS else []
    meanings = {place.meaning for place in places if place.line == line}
    chosen = [place for place in places if not meanings or place.meaning in meanings]

    def lines(deed: Deed) -> tuple[int, ...]:
        return tuple(sorted({place.line for place in chosen if place.deed == deed}))

    return Occurrences(name=name, definitions=lines("defines"), uses=lines("uses"))


# The next name is as a rule asked of the same stage, and reading a large one takes a second.
@lru_cache(maxsize=1)
def _finder(stage: str, text: str) -> Finder:
    return _FINDERS[stage](text)


class _Index:
    """Places by name, for stages in which a name is one thing from end to end."""

    def __init__(self) -> None:
        self._places: dict[str, list[Place]] = {}

    def add(self, name: str, line: int, deed: Deed, meaning: Hashable) -> None:
        self._places.setdefault(name, []).append(Place(line, deed, meaning))

    def __call__(self, name: str) -> Iterator[Place]:
        yield from self._places.get(name, ())


def _mlir(stage: str, text: str) -> Finder:
    from irlens.isa import mlir
    from irlens.isa.mlir.values import Values

    module = mlir.parse(text, stage=stage)
    values = Values(module).operands
    index = _Index()
    for operation in module.operations:
        line = operation.span.line
        for name, value in zip(operation.operands, values[operation.index], strict=True):
            base = name.partition("#")[0]
            if value is not None:
                index.add(base, line, "uses", (value.operation, value.region))
        for name, _ in operation.results:
            index.add(name, line, "defines", (operation.index, None))
        for number, region in enumerate(operation.regions):
            for argument in (each for block in region.blocks for each in block.arguments):
                at = _first(text, argument.name, operation.start, operation.stop)
                defined = line + text.count("\n", operation.start, at)
                index.add(argument.name, defined, "defines", (operation.index, number))
    return lambda name: index(name.partition("#")[0])


def _first(text: str, name: str, start: int, stop: int) -> int:
    """Offset of the first time that a name stands between two offsets; the first if it does not."""
    found = re.compile(re.escape(name) + r"(?![\w$.-])").search(text, start, stop)
    return found.start() if found else start


def _llir(text: str) -> Finder:
    index = _Index()
    function = 0
    for number, line in enumerate(text.split("\n"), 1):
        header = line.startswith("define")
        function += header
        if not header and not line.startswith((" ", "\t")):
            label = _LLVM_LABEL.match(line)
            if label:
                index.add(label["name"], number, "defines", function)
            continue
        result = _LLVM_RESULT.match(line)
        for token in _LLVM_TOKEN.finditer(line):
            if token["name"] is not None:
                defines = header or (result is not None and token.start() < result.end())
                index.add(token["name"], number, "defines" if defines else "uses", function)
    # A label is written "12:" where it stands and "%12" where it is branched to.
    return lambda name: index(name.removeprefix("%").removesuffix(":"))


def _ptx(text: str) -> Finder:
    from irlens.isa import ptx
    from irlens.isa.ptx.registers import access

    index = _Index()
    for function in ptx.parse(text).functions:
        for label in function.labels:
            index.add(label.name, label.line, "defines", (function.line, label.line))
        for each in function.instructions:
            for operand in each.operands:
                if isinstance(operand, ptx.Symbol):
                    target = function.label(operand.name, each.scope)
                    if target is not None:
                        meaning = (function.line, target.line)
                        index.add(operand.name, each.line, "uses", meaning)
            found = access(each)
            if found is None:
                continue
            for name in found.reads:
                index.add(name, each.line, "uses", _declared(function, name, each.scope))
            for name in found.writes:
                index.add(name, each.line, "defines", _declared(function, name, each.scope))
    return lambda name: index(name.removesuffix(":"))


def _declared(function: "ptx.Function", name: str, scope: int) -> Hashable:
    """Which declaration a register's name means; a special register is the same everywhere."""
    group = function.register(name, scope)
    return (function.line, group.scope) if group is not None else None


def _sass(text: str) -> Finder:
    from irlens.isa import sass
    from irlens.isa.sass import registers as sass_registers

    files: dict[str, sass.RegisterFile] = {"R": "R", "UR": "UR", "P": "P", "UP": "UP"}
    labels = _Index()
    deeds: list[tuple[int, int, int, int]] = []
    sections: dict[str, int] = {}
    for section in sass.parse(text).sections:
        sections.update(dict.fromkeys(section.labels, section.line))
        for each in section.instructions:
            for target in each.targets:
                labels.add(target, each.line, "uses", section.line)
            found = sass_registers.access(each)
            if found is not None:
                deeds.append((each.line, found.reads, found.writes, section.line))
    for number, line in enumerate(text.split("\n"), 1):
        name = line.strip().removesuffix(":")
        if name in sections and line.rstrip().endswith(":"):
            labels.add(name, number, "defines", sections[name])

    def find(name: str) -> Iterator[Place]:
        register = _SASS_REGISTER.fullmatch(name)
        if register is None:
            yield from labels(name.removesuffix(":"))
        else:
            asked = sass.Register(files[register["file"]], int(register["index"]))
            yield from _touching(sass_registers.bits(asked), deeds)

    return find


def _amdgcn(text: str) -> Finder:
    from irlens.isa import amdgcn
    from irlens.isa.amdgcn.registers import access, bits

    labels = _Index()
    deeds: list[tuple[int, int, int, int]] = []
    for number, function in enumerate(amdgcn.parse(text).functions):
        lanes = 32 if function.directives.get("wavefront_size32") else 64
        for statement in function.statements:
            if isinstance(statement, amdgcn.Label):
                labels.add(statement.name, statement.line, "defines", number)
            elif isinstance(statement, amdgcn.Instruction):
                for operand in statement.operations[0].operands[-1:]:
                    if statement.mnemonic.startswith("s_") and not operand.registers:
                        labels.add(operand.text, statement.line, "uses", number)
                found = access(statement, lanes)
                if found is not None:
                    deeds.append((statement.line, found.reads, found.writes, number))

    def find(name: str) -> Iterator[Place]:
        register = _AMD_REGISTER.fullmatch(name)
        if name == "vcc":
            yield from _touching(bits(amdgcn.RegisterRange("vcc", 0, 2)), deeds)
        elif register is None:
            yield from labels(name.removesuffix(":"))
        else:
            first = int(register["one"] or register["first"])
            count = int(register["one"] or register["last"]) - first + 1
            asked = amdgcn.RegisterRange(register["file"], first, max(count, 0))
            yield from _touching(bits(asked), deeds)

    return find


def _touching(registers: int, deeds: list[tuple[int, int, int, int]]) -> Iterator[Place]:
    """The places that read or write some of a set of machine registers."""
    for line, reads, writes, function in deeds:
        if writes & registers:
            yield Place(line, "defines", function)
        if reads & registers:
            yield Place(line, "uses", function)


#: How to read each stage's names; what it takes to is loaded only for it.
_FINDERS: dict[str, Callable[[str], Finder]] = {
    "source": partial(_mlir, "source"),
    "ttir": partial(_mlir, "ttir"),
    "ttgir": partial(_mlir, "ttgir"),
    "llir": _llir,
    "ptx": _ptx,
    "sass": _sass,
    "amdgcn": _amdgcn,
}
