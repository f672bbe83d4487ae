"""Definitions and uses of the names in a stage: SSA values, registers, labels.

A name can stand for different values: MLIR's regions use the same SSA names side by side, PTX
declares a register anew in a nested ``{ }``, functions number their values alike. So each
occurrence is kept with the value that the name stands for there.
"""

import re
from collections.abc import Callable, Hashable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from irlens.analyze.capture_code import AmdgcnCode, MlirCode, PtxCode, SassCode, StageCode
from irlens.model.listing import Occurrences

if TYPE_CHECKING:  # each dialect is loaded only for its stage
    from irlens.isa import ptx


class _Occurrence(NamedTuple):
    """A name on a line.

    Attributes:
        line: The line, from 1.
        defines: Whether the line defines or writes it; labels and operands are used.
        value: What the name stands for there, equal for equal values.
    """

    line: int
    defines: bool
    value: Hashable


#: Yields the occurrences of a name as written.
_Finder: TypeAlias = Callable[[str], Iterator[_Occurrence]]


def find_occurrences(code: StageCode, name: str, line: int | None = None) -> Occurrences:
    """Return the lines that define and use a name.

    Args:
        code: The stage; ttir, ttgir, llir, ptx, sass and amdgcn have names.
        name: An SSA value, a register or a label, as written. A register of machine code also
            occurs in any wider one: R5 is in ``R4.64``.
        line: The line, from 1, at which the name was found: only occurrences of the same value
            are returned. Without it, those of every value of this name.

    Raises:
        ArtifactError: The stage is broken.
    """
    found = list(code.once(_FINDERS[code.name])(name)) if code.name in _FINDERS else []
    values = {each.value for each in found if each.line == line}
    chosen = [each for each in found if not values or each.value in values]
    return Occurrences(
        name=name,
        definitions=tuple(sorted({each.line for each in chosen if each.defines})),
        uses=tuple(sorted({each.line for each in chosen if not each.defines})),
    )


class _Index:
    """Occurrences by name."""

    def __init__(self) -> None:
        self._occurrences: dict[str, list[_Occurrence]] = {}

    def define(self, name: str, line: int, value: Hashable) -> None:
        self._occurrences.setdefault(name, []).append(_Occurrence(line, True, value))

    def use(self, name: str, line: int, value: Hashable) -> None:
        self._occurrences.setdefault(name, []).append(_Occurrence(line, False, value))

    def __call__(self, name: str) -> Iterator[_Occurrence]:
        yield from self._occurrences.get(name, ())


def _mlir(code: MlirCode) -> _Finder:
    module, text = code.module, code.text
    values = module.values.operands
    index = _Index()
    for operation in module.operations:
        line = operation.span.line
        for name, value in zip(operation.operands, values[operation.index], strict=True):
            if value is not None:
                index.use(name.partition("#")[0], line, (value.operation, value.region))
        for name, _ in operation.results:
            index.define(name, line, (operation.index, None))
        for number, region in enumerate(operation.regions):
            for argument in (each for block in region.blocks for each in block.arguments):
                at = _offset(text, argument.name, operation.start, operation.stop)
                defined = line + text.count("\n", operation.start, at)
                index.define(argument.name, defined, (operation.index, number))
    return lambda name: index(name.partition("#")[0])


def _offset(text: str, name: str, start: int, stop: int) -> int:
    """Return the offset of a name's first occurrence in a range; ``start`` if there is none."""
    found = re.compile(re.escape(name) + r"(?![\w$.-])").search(text, start, stop)
    return found.start() if found else start


def _llir(code: StageCode) -> _Finder:
    from irlens.isa.llir.syntax import LABEL, RESULT, VALUE

    index = _Index()
    function = 0
    for number, line in enumerate(code.text.split("\n"), 1):
        header = line.startswith("define")
        function += header
        if not header and not line.startswith((" ", "\t")):
            if label := LABEL.match(line):
                index.define(label["name"], number, function)
            continue
        result = RESULT.match(line)
        for value in VALUE.finditer(line):
            if value["name"] is None:  # a string
                continue
            if header or (result is not None and value.start() < result.end()):
                index.define(value["name"], number, function)
            else:
                index.use(value["name"], number, function)
    # A label is written "12:" where it stands and "%12" where it is branched to.
    return lambda name: index(name.removeprefix("%").removesuffix(":"))


def _ptx(code: PtxCode) -> _Finder:
    from irlens.isa import ptx
    from irlens.isa.ptx.registers import access

    index = _Index()
    for function in code.functions:
        for label in function.labels:
            index.define(label.name, label.line, (function.line, label.line))
        for each in function.instructions:
            for operand in each.operands:
                if isinstance(operand, ptx.Symbol):
                    target = function.label(operand.name, each.scope)
                    if target is not None:
                        index.use(operand.name, each.line, (function.line, target.line))
            accessed = access(each)
            if accessed is None:
                continue
            for name in accessed.reads:
                index.use(name, each.line, _declaration(function, name, each.scope))
            for name in accessed.writes:
                index.define(name, each.line, _declaration(function, name, each.scope))
    return lambda name: index(name.removesuffix(":"))


def _declaration(function: "ptx.Function", name: str, scope: int) -> Hashable:
    """Return a register's declaration; a special register has none and is the same everywhere."""
    group = function.register(name, scope)
    return (function.line, group.scope) if group is not None else None


class _MachineIndex:
    """Occurrences of labels by name, and of machine registers by the sets that lines access.

    Args:
        register_set: Returns the registers that a name covers as a set; 0 for a label.
    """

    def __init__(self, register_set: Callable[[str], int]) -> None:
        self.labels = _Index()
        self._register_set = register_set
        self._accesses: list[tuple[int, int, int, int]] = []

    def access(self, line: int, reads: int, writes: int, function: int) -> None:
        self._accesses.append((line, reads, writes, function))

    def __call__(self, name: str) -> Iterator[_Occurrence]:
        registers = self._register_set(name)
        if not registers:
            yield from self.labels(name.removesuffix(":"))
            return
        for line, reads, writes, function in self._accesses:
            if writes & registers:
                yield _Occurrence(line, True, function)
            if reads & registers:
                yield _Occurrence(line, False, function)


def _sass(code: SassCode) -> _Finder:
    from irlens.isa.sass.parser import read_operand
    from irlens.isa.sass.registers import bits

    def register_set(name: str) -> int:
        named = read_operand(name)
        is_register = named.kind == "register" and name[0].isalpha()  # "!P0" is no name
        return bits(named.registers[0]) if is_register else 0

    index = _MachineIndex(register_set)
    sections: dict[str, int] = {}
    for section in code.module.sections:
        sections.update(dict.fromkeys(section.labels, section.line))
        for each in section.instructions:
            for target in each.targets:
                index.labels.use(target, each.line, section.line)
            accessed = each.access
            if accessed is not None:
                index.access(each.line, accessed.reads, accessed.writes, section.line)
    for number, line in enumerate(code.text.split("\n"), 1):
        name = line.strip().removesuffix(":")
        if name in sections and line.rstrip().endswith(":"):
            index.labels.define(name, number, sections[name])
    return index


def _amdgcn(code: AmdgcnCode) -> _Finder:
    from irlens.isa import amdgcn
    from irlens.isa.amdgcn.parser import register_ranges
    from irlens.isa.amdgcn.registers import access, bits

    def register_set(name: str) -> int:
        registers = register_ranges(name)
        return bits(registers[0]) if registers else 0

    index = _MachineIndex(register_set)
    for number, function in enumerate(code.functions):
        for statement in function.statements:
            if isinstance(statement, amdgcn.Label):
                index.labels.define(statement.name, statement.line, number)
            elif isinstance(statement, amdgcn.Instruction):
                for operand in statement.operations[0].operands[-1:]:
                    if statement.mnemonic.startswith("s_") and not operand.registers:
                        index.labels.use(operand.text, statement.line, number)
                accessed = access(statement, function.lanes)
                if accessed is not None:
                    index.access(statement.line, accessed.reads, accessed.writes, number)
    return index


_FINDERS: dict[str, Callable[[Any], _Finder]] = {
    "source": _mlir,
    "ttir": _mlir,
    "ttgir": _mlir,
    "llir": _llir,
    "ptx": _ptx,
    "sass": _sass,
    "amdgcn": _amdgcn,
}
