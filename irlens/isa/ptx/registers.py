"""Which registers a PTX instruction reads and writes (PTX ISA, Instruction Set).

PTX writes its destination first, as a register, a vector or a pair. The exceptions: an address
in that position is read, whatever happens to the memory after it; a few instructions have no
destination at all; and ``wgmma`` adds to its destination.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

import msgspec

from irlens.isa.bitsets import bitsets
from irlens.isa.dialect import RegisterUse
from irlens.isa.ptx.classes import classify
from irlens.isa.ptx.operands import (
    Address,
    ArgumentList,
    Expression,
    Negated,
    Operand,
    Pair,
    Register,
    Vector,
)
from irlens.isa.ptx.records import FunctionBody, Instruction, RegisterGroup, Unknown

#: Instructions whose first operand is read though it may be a register: a barrier's or a
#: branch table's number, a time, a stack pointer. Those with an address there need no naming.
_NO_DESTINATION = frozenset({
    "bra", "brx", "cp", "exit", "nanosleep", "pmevent", "ret", "setmaxnreg", "stackrestore", "trap",
})  # fmt: skip

_TYPE = re.compile(r"(?:v([248])\.)?(?:[bsuf]|bf)(8|16|32|64|128)(x2)?")


class Access(msgspec.Struct, frozen=True, gc=False):
    """Names of registers as written, special ones included.

    Attributes:
        reads: Those an instruction reads, its predicate included.
        writes: Those it writes, or may write if it is predicated.
    """

    reads: tuple[str, ...]
    writes: tuple[str, ...]


class Declared(msgspec.Struct, frozen=True, gc=False):
    """One virtual register: the same name in another ``{ }`` can be another register."""

    name: str
    group: RegisterGroup


def access(instruction: Instruction) -> Access | None:
    """Return what an instruction reads and writes; ``None`` where that is not known.

    For a call these are its operands alone, without the effects of the callee.
    """
    if classify(instruction) is None:
        return None
    count = _destinations(instruction)
    written, read = instruction.operands[:count], instruction.operands[count:]
    if (instruction.opcode, instruction.modifiers[:1]) == ("wgmma", ("mma_async",)):
        read = instruction.operands
    guard = () if instruction.predicate is None else (instruction.predicate,)
    reads, writes = [*guard], list[str]()
    for names, operands in ((reads, read), (writes, written)):
        for operand in operands:
            if type(operand) is Register:  # most are
                names.append(operand.name)
                continue
            for register in _registers(operand):
                if register is None:
                    return None
                names.append(register)
    return Access(tuple(reads), tuple(writes))


def resolve(function: FunctionBody, name: str, scope: int) -> Declared | None:
    """Return the register that a name refers to in a scope; ``None`` for a special register."""
    group = function.register(name, scope)
    return None if group is None else Declared(name, group)


def register_use(function: FunctionBody) -> RegisterUse:
    """Number a function's registers, and find what each instruction does with them.

    A ``b64`` register takes two 32-bit registers and a ``b16`` one as much as a ``b32``;
    predicates have a file of their own.
    """
    for statement in function.statements:
        if isinstance(statement, Unknown):
            return RegisterUse(unknown=f"the statement on line {statement.line} is not understood")
    if function.kind == "fragment" and not function.registers:
        return RegisterUse(unknown="the text declares no registers: it is a part of a function")
    numbers: dict[Declared, int] = {}
    known: dict[int, dict[str, int | None]] = {}  # the numbers of names, by scope
    reads: list[tuple[int, ...]] = []
    writes: list[tuple[int, ...]] = []
    kills: list[tuple[int, ...]] = []
    for instruction in function.instructions:
        accessed = access(instruction)
        if accessed is None:
            return RegisterUse(unknown=f"what '{instruction.name}' does is not known")
        here = known.setdefault(instruction.scope, {})
        for names, numbered in ((accessed.reads, reads), (accessed.writes, writes)):
            for name in names:
                if name not in here:
                    register = resolve(function, name, instruction.scope)
                    here[name] = numbers.setdefault(register, len(numbers)) if register else None
            found = [here[name] for name in names]
            numbered.append(tuple([number for number in found if number is not None]))
        kills.append(() if instruction.predicate is not None else writes[-1])
    weights: dict[int, int] = {}
    for bit, register in enumerate(numbers):
        kind = register.group.type
        weight = _weight(kind)
        if weight is None:
            return RegisterUse(unknown=f"the width of a register of type '.{kind}' is not known")
        weights[weight] = weights.get(weight, 0) | 1 << bit
    predicates = weights.pop(0, 0)
    return RegisterUse(
        reads=bitsets(reads, len(numbers)),
        writes=bitsets(writes, len(numbers)),
        kills=bitsets(kills, len(numbers)),
        weights=weights,
        predicates=predicates,
    )


@lru_cache(maxsize=256)
def _weight(kind: str) -> int | None:
    """32-bit registers that a virtual register of a type takes."""
    if kind == "pred":
        return 0
    match = _TYPE.fullmatch(kind)
    if match is None:
        return None
    elements, bits, twice = match.groups()
    width = int(bits) * (2 if twice else 1)
    return int(elements or 1) * max(width // 32, 1)


def _destinations(instruction: Instruction) -> int:
    """Number of operands that are written; they come first."""
    opcode, modifiers, operands = instruction.opcode, instruction.modifiers, instruction.operands
    if not operands:
        return 0
    if opcode == "call":
        # "call (result), f, (a, b)" against "call f, (a, b)".
        return int(isinstance(operands[0], ArgumentList))
    if isinstance(operands[0], Address):
        return 0
    if opcode in ("bar", "barrier"):
        return int("red" in modifiers)
    if opcode == "tcgen05":
        # "ld.red" also returns the minimum or maximum of what it loads.
        return (1 + ("red" in modifiers)) if modifiers[:1] == ("ld",) else 0
    if opcode == "wgmma":
        return int(modifiers[:1] == ("mma_async",))
    return int(opcode not in _NO_DESTINATION)


def _registers(operand: Operand) -> Iterator[str | None]:
    """Registers in an operand; ``None`` for one that is not understood."""
    # Operands nest no deeper than the parser's bound.
    match operand:
        case Register(name=name):
            yield name
        case Address(base=base, rest=rest):
            yield from _registers(base)
            for item in rest:
                yield from _registers(item)
        case Vector(items=items) | ArgumentList(items=items):
            for item in items:
                yield from _registers(item)
        case Pair(first=first, second=second):
            yield from _registers(first)
            yield from _registers(second)
        case Negated(operand=inner):
            yield from _registers(inner)
        case Expression(text=text) if "%" in text or "|" in text:
            yield None
        case _:
            return
