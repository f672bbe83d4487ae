"""SASS code sections as the engines see them, and the disassembly that holds them."""

from collections.abc import Iterator
from typing import ClassVar

import msgspec

from irlens.isa.dialect import ControlFlow, RegisterUse, Spill
from irlens.isa.sass import control, registers
from irlens.isa.sass.records import SectionBody

#: Bytes of an access to local memory, by its modifier; 4 without one.
_BYTES = {"8": 1, "16": 2, "U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}


class Section(SectionBody, frozen=True, kw_only=True):
    """A code section: a kernel and its subroutines (``irlens.isa.dialect.Function``)."""

    stage: ClassVar[str] = "sass"

    def control_flow(self) -> ControlFlow:
        """Return where basic blocks end and begin, reconvergence barriers and calls aside."""
        return control.control_flow(self)

    def register_use(self) -> RegisterUse:
        """Return what each instruction reads, writes and certainly overwrites, calls aside."""
        return registers.register_use(self)

    def spills(self) -> Iterator[Spill]:
        """Yield the instructions that access local memory: STL stores, LDL loads.

        Stack arrays are there too: in a kernel whose PTX declares none, all accesses are spills.
        """
        for index, each in enumerate(self.instructions):
            if each.opcode in ("STL", "LDL"):
                widths = [_BYTES[modifier] for modifier in each.modifiers if modifier in _BYTES]
                yield Spill(index, each.opcode == "STL", "memory", widths[0] if widths else 4)


class Sass(msgspec.Struct, frozen=True):
    """A disassembly.

    Attributes:
        sections: The code sections.
        unknown: Lines in code sections that are not understood, by 1-based line number.
    """

    sections: tuple[Section, ...]
    unknown: dict[int, str]
