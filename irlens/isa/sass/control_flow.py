"""What instructions do with control: where a block ends, which barriers threads meet at.

Since Volta the threads of a warp diverge and meet again through barrier registers: ``BSSY B0, L``
names the place L where the threads that take part in B0 continue, ``BSYNC B0`` waits for the
others and goes there, ``BREAK B0`` leaves, and ``BMOV`` saves a barrier to a general register or
restores it.
"""

import re
from collections.abc import Iterator
from typing import Literal, TypeAlias

from irlens.isa.sass.copies import polls_barrier
from irlens.isa.sass.records import (
    INSTRUCTION_BYTES,
    Guard,
    Instruction,
    Register,
    RegisterFile,
    SectionBody,
)
from irlens.isa.sass.registers import FILES

#: What an instruction does with control: "arms" a barrier, "meets" at one, "moves" one.
Effect: TypeAlias = Literal[
    "branches", "chooses", "exits", "returns", "calls", "arms", "meets", "moves", "traps"
]
_EFFECTS: dict[str, Effect] = {
    "BRA": "branches",
    "JMP": "branches",
    "BRX": "chooses",
    "BRXU": "chooses",
    "JMX": "chooses",
    "JMXU": "chooses",
    "EXIT": "exits",
    "KILL": "exits",
    "RET": "returns",
    "CALL": "calls",
    "BSSY": "arms",
    "BSYNC": "meets",
    "BMOV": "moves",
    "BPT": "traps",
}
#: Effects that depend on what an instruction reads.
_DECISIONS = frozenset({"branches", "chooses", "exits", "returns", "meets"})
#: The operand of an indexed jump: "R2 -0x1c0".
_INDEXED = re.compile(r"(?P<file>U?R)(?P<index>\d+) (?P<number>-?0x[0-9a-f]+)")
#: Barrier registers of a thread: B0 to B15.
BARRIERS = 16
#: Opcodes that load a constant: IMAD.MOV, in half of the cases.
_MOVES = frozenset({"IMAD", "MOV", "UMOV"})


def effect(instruction: Instruction) -> Effect | None:
    """Return what an instruction does with control; ``None`` if control just goes on."""
    return _EFFECTS.get(instruction.opcode)


def decides(instruction: Instruction) -> bool:
    """Whether where control goes depends on what the instruction reads."""
    return effect(instruction) in _DECISIONS


def condition_of_call(instruction: Instruction) -> int:
    """Return the predicate under which a call is made, as bits; none for other instructions."""
    guard = instruction.guard
    if effect(instruction) != "calls" or guard is None or guard.register.index is None:
        return 0
    return FILES.bits(guard.register.file, guard.register.index, 1)


def conditions(branch: Instruction) -> Iterator[Guard]:
    """Yield the predicates that must all hold for a branch to be taken."""
    if branch.guard is not None:
        yield branch.guard
    for operand in branch.operands:
        if operand.kind == "register" and operand.registers[0].file in ("P", "UP"):
            yield Guard(operand.registers[0], operand.text.startswith("!"))


def is_for_divergence(branch: Instruction) -> bool:
    """Whether a branch leads to code for a warp that has diverged."""
    return "DIV" in branch.modifiers


def indexed_jump(instruction: Instruction) -> tuple[Register, int] | None:
    """Return the register that a jump adds to a place, and the place; ``None`` if unknown."""
    match = _INDEXED.fullmatch(instruction.operands[0].text) if instruction.operands else None
    if effect(instruction) != "chooses" or match is None:
        return None
    after = instruction.offset + INSTRUCTION_BYTES
    file: RegisterFile = "UR" if match["file"] == "UR" else "R"
    return Register(file, int(match["index"])), after + int(match["number"], 16)


def callee(call: Instruction) -> tuple[str, ...] | None:
    """Return the labels that a call leads to; ``None`` if that is outside of the section."""
    through_register = any(operand.kind == "register" for operand in call.operands)
    return call.targets if "REL" in call.modifiers and not through_register else None


def calls_driver(call: Instruction) -> bool:
    """Whether the driver provides the function that a call runs: its address is in bank 4."""
    return "ABS" in call.modifiers and not call.targets


def barrier(instruction: Instruction) -> int:
    """Return the number of the barrier register that an instruction names; -1 without one."""
    for operand in instruction.operands:
        for register in operand.registers:
            index = register.index
            if register.file == "B" and index is not None and index < BARRIERS:
                return index
    return -1


def saves_barrier(move: Instruction) -> bool:
    """Whether a BMOV goes from a barrier register to a general one."""
    return not move.operands[0].registers or move.operands[0].registers[0].file != "B"


def only_waits(instruction: Instruction) -> bool:
    """Whether an instruction of a loop that polls a barrier may be one that does nothing else."""
    return instruction.opcode in ("BRA", "NOP") or polls_barrier(instruction)


def loaded_constants(section: SectionBody) -> frozenset[int]:
    """Return the constants that a section's moves load, addresses of code among them."""
    return frozenset(
        int(operand.text, 16)
        for each in section.instructions
        if each.opcode in _MOVES
        for operand in each.operands
        if operand.kind == "immediate" and operand.text.startswith("0x")
    )
