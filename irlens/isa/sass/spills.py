"""Spills in SASS: stores to local memory (STL) and loads from it (LDL)."""

from collections.abc import Iterator

from irlens.isa.dialect import Spill
from irlens.isa.sass.records import SectionBody

_BYTES = {"8": 1, "16": 2, "U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}


def spills(section: SectionBody) -> Iterator[Spill]:
    """Yield the instructions of a section that access local memory.

    Stack arrays lie there too: in a kernel whose PTX declares none, all of them are spills.
    """
    for index, each in enumerate(section.instructions):
        if each.opcode in ("STL", "LDL"):
            widths = [_BYTES[modifier] for modifier in each.modifiers if modifier in _BYTES]
            yield Spill(index, each.opcode == "STL", "memory", widths[0] if widths else 4)
