"""Which registers a SASS instruction reads and writes.

NVIDIA documents the names of the opcodes ("CUDA Binary Utilities", section "Instruction Set
Reference") and nothing of their operands. The rules below were read off what nvdisasm marks as
used and assigned in its life-range tables (``-plr -lrm narrow``), on some 300,000 instructions
for sm_75 to sm_120. An opcode, or a form of one, that was not seen there and does not follow
from its family is not guessed at: ``access`` answers ``None``.

Sets of registers are bits of an integer, see ``bits``.
"""

import re

import msgspec

from irlens.isa.sass import results as sass_results
from irlens.isa.sass import widths as sass_widths
from irlens.isa.sass.records import Instruction, Register

#: First bit and number of registers of each file. Indices end where RZ or PT would be.
_LAYOUT = {"R": (0, 255), "UR": (256, 255), "P": (512, 7), "UP": (520, 7)}

#: Bits of each register file within a set.
FILES = {name: ((1 << count) - 1) << first for name, (first, count) in _LAYOUT.items()}

#: Every register there is.
ALL = sum(FILES.values())

#: The stack pointer. It is never free for anything else.
STACK_POINTER = 1 << 1


class Access(msgspec.Struct, frozen=True, gc=False):
    """Sets of registers, as bits.

    Attributes:
        reads: Those an instruction reads, its predicate included.
        writes: Those it writes, or may write if it is predicated.
    """

    reads: int
    writes: int


def bits(register: Register, count: int = 1) -> int:
    """Return ``count`` registers from ``register`` on; none for RZ, URZ, PT, UPT and barriers."""
    if register.index is None or register.file not in _LAYOUT:
        return 0
    first, _ = _LAYOUT[register.file]
    return ((1 << count) - 1) << (first + register.index) & FILES[register.file]


def numbers(registers: int, file: str) -> list[int]:
    """Return the numbers of a file's registers in a set."""
    first, count = _LAYOUT[file]
    found = registers >> first & ((1 << count) - 1)
    return [number for number in range(found.bit_length()) if found >> number & 1]


def access(instruction: Instruction) -> Access | None:
    """Return what an instruction reads and writes; ``None`` where that is not known.

    A call is answered for its operands alone: what the callee does is not in it.
    """
    guard = instruction.guard
    if guard is not None and guard.never:
        return Access(0, 0)
    widths = sass_widths.widths(instruction)
    if widths is None:
        return None
    reads = bits(guard.register) if guard is not None else 0
    writes = 0
    written = sass_results.written(instruction)
    for position, (operand, width) in enumerate(zip(instruction.operands, widths, strict=True)):
        if position in written and operand.kind == "register":
            register = operand.registers[0]
            writes |= bits(register, width.of(operand, register))
        else:
            for register in operand.registers:
                reads |= bits(register, width.of(operand, register))
    if instruction.opcode in ("P2R", "UP2UR"):
        reads |= _masked_predicates(instruction)
    elif instruction.opcode in ("R2P", "UR2UP"):
        writes |= _masked_predicates(instruction)
    return Access(reads, writes)


def hides_descriptor(instruction: Instruction) -> bool:
    """Whether it accesses global memory through a descriptor that nvdisasm does not print.

    From sm_90 on it prints ``desc[UR4][R2.64]``. For sm_80 to sm_89 the same access reads
    ``[R2.64]``, and the pair of uniform registers is to be seen in the encoding only.
    """
    return any(
        operand.kind == "memory"
        and any("64" in register.suffixes for register in operand.registers)
        and all(register.file != "UR" for register in operand.registers)
        for operand in instruction.operands
    )


def _masked_predicates(instruction: Instruction) -> int:
    """Predicates that a move between PR or UPR and a register moves: the last operand's bits."""
    file = "UP" if instruction.opcode.startswith("U") else "P"
    mask = instruction.operands[-1].text if instruction.operands else ""
    if not re.fullmatch(r"0x[0-9a-f]{1,8}", mask):
        return FILES[file]
    return int(mask, 16) << _LAYOUT[file][0] & FILES[file]
