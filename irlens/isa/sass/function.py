"""SASS code sections as the engines see them, and the disassembly they stand in."""

from collections.abc import Iterator
from typing import ClassVar

import msgspec

from irlens.isa.dialect import ControlFlow, RegisterUse, Spill
from irlens.isa.sass import control, registers, spills
from irlens.isa.sass.records import SectionBody


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
        """Yield the instructions that access local memory."""
        return spills.spills(self)


class Sass(msgspec.Struct, frozen=True):
    """A disassembly.

    Attributes:
        sections: The code sections.
        unknown: Lines inside of code sections that are not understood, by 1-based line number.
    """

    sections: tuple[Section, ...]
    unknown: dict[int, str]
