"""Which registers a SASS instruction reads and writes.

NVIDIA documents the names of the opcodes ("CUDA Binary Utilities", section "Instruction Set
Reference") but not their operands. The rules below were derived from what nvdisasm marks as
used and assigned in its life-range tables (``-plr -lrm narrow``), on some 300,000 instructions
for sm_75 to sm_120. For an opcode, or a form of one, that was not seen there and does not follow
from its family, ``access`` returns ``None``.

Sets of registers are bits of an integer, see ``bits``.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from irlens.isa.bitsets import RegisterFiles
from irlens.isa.dialect import Access, OperandUse, RegisterUse, consecutive
from irlens.isa.sass import widths as sass_widths
from irlens.isa.sass.records import Instruction, Register, SectionBody

#: First bit and number of registers of each file within a set; indices end where RZ or PT would be.
FILES = RegisterFiles({"R": (0, 255), "UR": (256, 255), "P": (512, 7), "UP": (520, 7)})

#: Every register there is.
ALL = sum(FILES.masks.values())

#: The stack pointer. It is never free for anything else.
STACK_POINTER = 1 << 1


#: There are few registers, and instructions name the same ones again and again.
_bits = lru_cache(maxsize=1 << 12)(FILES.bits)


def bits(register: Register, count: int = 1) -> int:
    """Return ``count`` registers from ``register`` on; none for RZ, URZ, PT, UPT and barriers."""
    return 0 if register.index is None else _bits(register.file, register.index, count)


def register_use(section: SectionBody, found: Sequence[Access | None]) -> RegisterUse:
    """Return what each instruction of a section does with registers.

    For a call these are its operands alone, without the effects of the callee.

    Args:
        found: What ``access`` returns of each instruction.
    """
    accesses = []
    for instruction, accessed in zip(section.instructions, found, strict=True):
        if accessed is None:
            name = ".".join((instruction.opcode, *instruction.modifiers))
            where = f"{instruction.offset:#06x}"
            return RegisterUse(unknown=f"which registers {name} at {where} uses")
        accesses.append(accessed)
    return RegisterUse(
        reads=[each.reads for each in accesses],
        writes=[each.writes for each in accesses],
        kills=[each.kills for each in accesses],
        weights={1: FILES.masks["R"]},
    )


def operand_uses(instruction: Instruction) -> list[OperandUse] | None:
    """Return the registers that an instruction names, in order; ``None`` if unknown.

    RZ, URZ, PT and UPT are left out.
    """
    named = _named(instruction)
    if named is None:
        return None
    guard = instruction.guard
    uses = []
    if guard is not None and guard.register.index is not None:
        uses.append(OperandUse(consecutive(guard.register.file, guard.register.index, 1)))
    certain = not uses
    for register, count, writes in named:
        if register.index is not None:
            registers = consecutive(register.file, register.index, count)
            uses.append(OperandUse(registers, not writes, writes, writes and certain))
    return uses


def _named(instruction: Instruction) -> list[tuple[Register, int, bool]] | None:
    """Return the registers of the operands, how many each stands for, and whether it is written."""
    widths = sass_widths.widths(instruction)
    if widths is None:
        return None
    written = sass_widths.written(instruction)
    return [
        (register, width.of(each, register), position in written and each.kind == "register")
        for position, (each, width) in enumerate(zip(instruction.operands, widths, strict=True))
        for register in each.registers
    ]


def access(instruction: Instruction) -> Access | None:
    """Return what an instruction reads and writes; ``None`` where that is not known.

    For a call these are its operands alone, without the effects of the callee.
    """
    guard = instruction.guard
    if guard is not None and guard.never:
        return Access(0, 0, 0)
    named = _named(instruction)
    if named is None:
        return None
    reads, writes = bits(guard.register) if guard is not None else 0, 0
    for register, count, is_written in named:
        if is_written:
            writes |= bits(register, count)
        else:
            reads |= bits(register, count)
    if instruction.opcode in ("P2R", "UP2UR"):
        reads |= _masked_predicates(instruction)
    elif instruction.opcode in ("R2P", "UR2UP"):
        writes |= _masked_predicates(instruction)
    return Access(reads, writes, writes if is_certain(instruction) else 0)


def packs_predicates(instruction: Instruction) -> bool:
    """Whether it moves predicates to a register, or from one, without naming them."""
    return instruction.opcode in ("P2R", "UP2UR", "R2P", "UR2UP")


def is_certain(instruction: Instruction) -> bool:
    """Whether an instruction that is reached takes effect whatever its predicate."""
    guard = instruction.guard
    return guard is None or (guard.register.index is None and not guard.negated)


def _masked_predicates(instruction: Instruction) -> int:
    """Predicates that a move between PR or UPR and a register moves: the last operand's bits."""
    file = "UP" if instruction.opcode.startswith("U") else "P"
    mask = instruction.operands[-1].text if instruction.operands else ""
    if not re.fullmatch(r"0x[0-9a-f]{1,8}", mask):
        return FILES.masks[file]
    return int(mask, 16) << FILES.shift(file) & FILES.masks[file]
