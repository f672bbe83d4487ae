"""NVIDIA's machine code as statements, as nvdisasm prints it."""

import re

from irlens.analyze import sass_widths
from irlens.comparison.code.registers import Registers, Use
from irlens.comparison.code.statements import (
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
from irlens.model.errors import ParseError
from irlens.parse import sass

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
    """Read a disassembly. Offsets, source lines, scheduling and ``.reuse`` are noise.

    Where the parser knows an instruction's operands not, its registers are not compared.
    """
    instructions = _instructions(text)
    statements: list[Statement] = []
    functions: list[Scope] = []
    registers = Registers()
    function: Scope | None = None
    number = 0
    for number, line in numbered(text):
        if _OTHER_SECTION.match(line):
            if function is not None:
                functions.append(Scope("function", function.name, function.first, number - 1))
            section = _SECTION.match(line)
            function = Scope("function", section["name"], number, number) if section else None
            registers.arrive()
        cut = _LEXICON.cut(line)
        if not cut.skeleton or _NO_CODE.match(line):
            continue
        inside = "" if function is None else function.name
        instruction = instructions.get(number)
        if instruction is not None:
            names = _names(instruction, cut.words, registers, inside)
        else:
            if _LABEL.match(line):
                registers.arrive()
            names = tuple(Name((inside, w.text), w.columns, w.columns[0] == 0) for w in cut.words)
        flow: Flow = "label" if _LABEL.match(line) else _flow(instruction)
        skeleton = " ".join(cut.skeleton.split())
        statements.append(Statement(number, cut.text, skeleton, names, flow, noise=cut.noise))
    if function is not None:
        functions.append(Scope("function", function.name, function.first, number))
    return Code(statements, functions, [], count_lines(text))


def _instructions(text: str) -> dict[int, sass.Instruction]:
    try:
        sections = sass.parse(text).sections
    except ParseError:
        return {}
    return {each.line: each for section in sections for each in section.instructions}


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


def _names(
    instruction: sass.Instruction, words: list[Word], registers: Registers, function: str
) -> tuple[Name, ...]:
    labels = [word for word in words if word.text[0] in ".$"]
    named = [word for word in words if word.text[0] not in ".$"]
    uses = _uses(instruction)
    if uses is None or len(uses) != len(named):
        registers.forget()
        found = [Name(None, word.columns, False) for word in named]
    else:
        found = list(registers.names(instruction.line, named, uses))
    if instruction.opcode == "CALL":
        registers.forget()
    found += [Name((function, word.text), word.columns, False) for word in labels]
    return tuple(sorted(found, key=lambda name: name.columns))


def _uses(instruction: sass.Instruction) -> list[Use] | None:
    """Return the registers that an instruction names, from left to right."""
    widths = sass_widths.widths(instruction)
    if widths is None:
        return None
    guard = instruction.guard
    uses = []
    if guard is not None and guard.register.index is not None:
        uses.append(Use((guard.register.file, guard.register.index), 1, False))
    written = sass_widths.written(instruction)
    for position, (operand, width) in enumerate(zip(instruction.operands, widths, strict=True)):
        for register in operand.registers:
            if register.index is not None:
                writes = position in written and operand.kind == "register"
                count = width.of(operand, register)
                uses.append(Use((register.file, register.index), count, writes))
    return uses
