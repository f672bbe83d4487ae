"""AMD's assembly as statements, one a line (LLVM, User Guide for AMDGPU Backend)."""

import re

from irlens.analyze import amdgcn_registers
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
from irlens.parse import amdgcn

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
_JUMP = re.compile(r"\s*+(?:s_branch|s_endpgm\w*|s_setpc_b64)\b")
_BRANCH = re.compile(r"\s*+s_cbranch_")
_FILES = frozenset("vsa")


def _placeholder(name: str) -> str:
    """Return "v" for v3, "v[2]" for v[4:5]: how many registers is no matter of allocation."""
    first, colon, last = name[2:-1].partition(":")
    if name[1] != "[":
        return name[0] if name[0] != "." else ".LBB"
    return f"{name[0]}[{int(last) - int(first) + 1 if colon else 1}]"


def read(text: str) -> Code:
    """Read an assembly file. Debug information, comments and alignment are noise.

    Where the parser knows an instruction's operands not, its registers are not compared.
    """
    instructions = _instructions(text)
    declared: set[str] = set()
    statements: list[Statement] = []
    functions: list[Scope] = []
    registers = Registers()
    function: Scope | None = None
    in_debug = False
    for number, line in numbered(text):
        if _SECTION.match(line):
            in_debug = _DEBUG.match(line) is not None
        if in_debug:
            continue
        if found := _TYPE.match(line):
            declared.add(found["name"])
        elif (begins := _FUNCTION.match(line)) and begins["name"] in declared:
            function = Scope("function", begins["name"], number, number)
        elif function is not None and _END.match(line):
            functions.append(Scope("function", function.name, function.first, number))
            function = None
        if _NOISE.match(line):
            continue
        cut = _LEXICON.cut(line)
        if not cut.skeleton:
            continue
        inside = "" if function is None else function.name
        names = _names(instructions.get(number), cut.words, registers, inside)
        skeleton = " ".join(cut.skeleton.split())
        statements.append(
            Statement(number, cut.text, skeleton, names, _flow(line), noise=cut.noise)
        )
    return Code(statements, functions, [], count_lines(text))


def _instructions(text: str) -> dict[int, amdgcn.Instruction]:
    try:
        statements = amdgcn.parse(text).statements
    except ParseError:
        return {}
    return {each.line: each for each in statements if isinstance(each, amdgcn.Instruction)}


def _flow(line: str) -> Flow:
    if _LABEL.match(line):
        return "label"
    if _JUMP.match(line):
        return "jump"
    return "branch" if _BRANCH.match(line) else ""


def _names(
    instruction: amdgcn.Instruction | None,
    words: list[Word],
    registers: Registers,
    function: str,
) -> tuple[Name, ...]:
    labels = [word for word in words if word.text[0] == "."]
    named = [word for word in words if word.text[0] != "."]
    uses = _uses(instruction) if instruction is not None else None
    if instruction is not None and uses is not None and len(uses) == len(named):
        found = list(registers.names(instruction.line, named, uses))
    else:
        if instruction is not None:
            registers.forget()
        elif labels:
            registers.arrive()
        found = [Name(None, word.columns, False) for word in named]
    found += [Name((function, word.text), word.columns, word.columns[0] == 0) for word in labels]
    return tuple(sorted(found, key=lambda name: name.columns))


def _uses(instruction: amdgcn.Instruction) -> list[Use] | None:
    """Return the registers that an instruction names, from left to right."""
    uses = []
    for operation in instruction.operations:
        # VCC, which depends on the number of lanes, is no name here.
        access = amdgcn_registers.operation_access(operation, lanes=64)
        if access is None:
            return None
        left = access.writes
        for operand in operation.operands:
            bits = 0
            for register in operand.registers:
                bits |= amdgcn_registers.bits(register)
            writes = bool(bits & left)
            # Destinations stand first: an operand behind the last of them is read.
            left &= ~bits
            for register in operand.registers:
                if register.file in _FILES:
                    uses.append(Use((register.file, register.first), register.count, writes))
    return uses
