"""NVIDIA's machine code as statements, as nvdisasm prints it."""

import re
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from irlens.diff.code import sass_steps
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
from irlens.diff.code.steps import Values
from irlens.isa import sass

_LEXICON = Lexicon(
    # Offsets, comments, what nvdisasm says of indirect branches, the hint that a register will be
    # read again, scheduling.
    noise=r"//.*|/\*[0-9a-fx]++\*/|\(\*\".*?\"\*\)|\.reuse\b|\s++[&?]\w[^;]*+",
    name=r"\b(?:U?[RP]|B)[0-9]{1,3}+\b(?!:)|\.L_x_[0-9]++|\$[\w$]*\$\$[\w$]++",
    placeholder=lambda name: name.rstrip("0123456789"),
)
_SECTION = re.compile(r"\s*+\.section\s++\.text\.(?P<name>[^,\s]++)")
_OTHER_SECTION = re.compile(r"\s*+\.section\s++(?P<name>[^,\s]++)")
_LABEL = re.compile(r"(?P<name>\.L_x_[0-9]++):")
_NO_CODE = re.compile(r"\s*+(?:\.align|\.size)\b")
_JUMPS = frozenset({"BRA", "BRX", "BRXU", "JMP", "JMX", "JMXU", "EXIT", "RET", "KILL"})


def read(text: str) -> Code:
    """Read a disassembly. Offsets, source lines, scheduling and ``.reuse`` are noise."""
    cuts = {number: _LEXICON.cut(line) for number, line in numbered(text)}
    named = {number: len(_registers(cut.words)) for number, cut in cuts.items()}
    instructions: dict[int, sass.Instruction] = {}
    values: dict[int, Values] = {}
    lost = 0
    for section in sass_steps.sections(text):
        instructions |= {each.line: each for each in section.instructions}
        followed = sass_steps.values(section, named)
        values |= followed.values
        lost += followed.lost
    functions = list(_functions(text))
    inside = Inside(functions)
    statements = [
        _statement(number, cut, instructions.get(number), values.get(number), inside.at(number))
        for number, cut in cuts.items()
        if cut.skeleton and not _NO_CODE.match(cut.text)
    ]
    return Code(statements, functions, [], count_lines(text), lost)


def _functions(text: str) -> Iterator[Scope]:
    """Yield the sections that hold code, each up to where the next section begins."""
    open_section: Scope | None = None
    number = 0
    for number, line in numbered(text):
        if _OTHER_SECTION.match(line):
            if open_section is not None:
                yield replace(open_section, last=number - 1)
            section = _SECTION.match(line)
            open_section = Scope("function", section["name"], number, number) if section else None
    if open_section is not None:
        yield replace(open_section, last=number)


def _statement(
    number: int,
    cut: Line,
    instruction: sass.Instruction | None,
    values: Values | None,
    function: str,
) -> Statement:
    registers = _registers(cut.words)
    if instruction is not None:
        found = list(names(registers, values, function))
        labels = [word for word in cut.words if word not in registers]
    else:
        found, labels = [], cut.words
    found += [Name((function, w.text), w.columns, w.columns[0] == 0) for w in labels]
    flow: Flow = "label" if _LABEL.match(cut.text) else _flow(instruction)
    return Statement(
        number,
        cut.text,
        " ".join(cut.skeleton.split()),
        tuple(sorted(found, key=lambda name: name.columns)),
        flow,
        noise=cut.noise,
    )


def _registers(words: Sequence[Word]) -> list[Word]:
    """The registers among what a line names; the others are labels."""
    return [word for word in words if word.text[0] not in ".$"]


def _flow(instruction: sass.Instruction | None) -> Flow:
    if instruction is None or instruction.opcode not in _JUMPS:
        return ""
    guarded = instruction.guard is not None or any(
        register.index is not None
        for operand in instruction.operands
        for register in operand.registers
        if register.file in ("P", "UP")
    )
    return "branch" if guarded else "jump"
