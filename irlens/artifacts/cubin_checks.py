"""Which figures of a cubin contradict another place of it, so that a damaged file shows.

Most figures stand in two places: the size of the code in the section table and in the symbol table,
the barriers in an attribute and in the code. The rules hold in every cubin seen, by ptxas of CUDA
12.4 to 13.4 for sm_75 to sm_121.
"""

import re
import struct
from collections.abc import Iterator

from irlens.artifacts import elf

#: What the sections of a kernel say.
SIZES = (
    "code_bytes", "constant_bytes", "static_shared_bytes", "reserved_shared_bytes",
    "local_section_bytes", "barriers",
)  # fmt: skip
#: What the shared ``.nv.info`` says, by the number of the kernel's symbol.
NUMBERS = ("registers", "frame_bytes", "stack_bytes")

_OF_A_KERNEL = (".nv.info.", ".nv.shared.", ".nv.local.", ".nv.constant")
_SYMBOL_BITS = 24
#: From it on, the section of the code does not repeat the number of registers.
_WITHOUT_REGISTERS = 90
_MOST_REGISTERS = 255

_INSTRUCTION = struct.Struct("<Q8x")
_FIRST_OF_16_BYTES = 70
_BAR = 0x11D  # the low nine bits, of any form
_BAR_LOW_BYTE = re.compile(rb"\x1d")
_BAR_OF_A_REGISTER = 0x800  # is not set where the barrier's number is in a register
_BARRIERS = 16


def doubted_layout(file: elf.Elf) -> str:
    """Return where the tables of a cubin contradict each other; empty if nowhere."""
    found = elf.contradiction(file)
    if found or not file.segments:
        return found
    reserved = sum(
        each.size
        for each in file.sections
        if each.type == elf.SHT_NOBITS and each.flags & elf.SHF_ALLOC
    )
    loaded = sum(each.memory_size - each.file_size for each in file.segments)
    if reserved != loaded:
        return f"sections reserve {reserved:,} B of memory, segments {loaded:,} B"
    return ""


def doubted_sections(file: elf.Elf, kernel: elf.Symbol) -> str:
    """Return what makes the sections of a kernel doubtful; empty if nothing does."""
    if kernel.section >= len(file.sections):
        return f"its code is in section {kernel.section}, which does not exist"
    text = file.sections[kernel.section]
    if text.name != f".text.{kernel.name}":
        return f"its code is in a section named {text.name}"
    if (kernel.value, kernel.size) != (0, text.size):
        return f"its symbol has {kernel.size:,} B of code, its section {text.size:,} B"
    own = [each for each in file.sections if each.name.startswith(_OF_A_KERNEL)]
    named = {each.name for each in own if each.name.endswith(f".{kernel.name}")}
    linked = {
        each.name for each in _linked(file, kernel.section) if not each.name.startswith(".rel")
    }
    if odd := sorted(named ^ linked):
        return f"section {odd[0]} belongs to it by its name or by its number, but not by both"
    return ""


def _linked(file: elf.Elf, code: int) -> Iterator[elf.Section]:
    """Yield the sections that name a section of code as theirs."""
    for section in file.sections:
        links = section.flags & elf.SHF_INFO_LINK and not section.flags & elf.SHF_MASKPROC
        if links and section.info == code:
            yield section


def doubted_numbers(
    file: elf.Elf, kernel: elf.Symbol, arch: int | None, registers: int | None
) -> dict[str, str]:
    """Return why figures of the shared attributes are in doubt, by field."""
    if kernel.section >= len(file.sections):
        return {}
    text = file.sections[kernel.section]
    number, counted = text.info & ((1 << _SYMBOL_BITS) - 1), text.info >> _SYMBOL_BITS
    if number != kernel.index:
        reason = f"its code belongs to symbol {number}, and its name to symbol {kernel.index}"
        return dict.fromkeys(NUMBERS, reason)
    if registers is None:
        return {}
    if registers > _MOST_REGISTERS:
        return {"registers": f"EIATTR_REGCOUNT says {registers}, more than a thread can have"}
    if registers != counted and (counted or arch is None or arch < _WITHOUT_REGISTERS):
        return {"registers": f"EIATTR_REGCOUNT says {registers}, the section of the code {counted}"}
    return {}


def barriers_in(code: bytes, arch: int | None) -> int | None:
    """Return how many named barriers machine code uses: the highest one, plus one.

    ``None`` before sm_70, whose instructions have 8 bytes. The bits are those of nvdisasm's
    listings of sm_75 to sm_121.
    """
    if arch is None or arch < _FIRST_OF_16_BYTES:
        return None
    used = 0
    for found in _BAR_LOW_BYTE.finditer(code[:: _INSTRUCTION.size]):
        at = found.start() * _INSTRUCTION.size
        if at + _INSTRUCTION.size > len(code):
            break
        (word,) = _INSTRUCTION.unpack_from(code, at)
        if word & 0x1FF == _BAR:
            number = word >> 54 & 0xF if word & _BAR_OF_A_REGISTER else _BARRIERS - 1
            used = max(used, number + 1)
    return used
