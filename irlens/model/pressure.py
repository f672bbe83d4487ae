"""The records of register pressure: the number of live registers, and the lines behind them.

``None`` is always "unknown".
"""

import msgspec

from irlens.model.source import SourceLocation


class LiveGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Values live at the peak that one line of Python computes.

    Attributes:
        source: The line, in the outermost function; ``None`` without debug information. A value
            carried around a loop belongs to the line inside the loop that computes it.
        registers: 32-bit registers per thread that they occupy.
        values: Number of the stage's registers that hold them, of any width.
    """

    source: SourceLocation | None
    registers: int
    values: int


class LinePressure(msgspec.Struct, frozen=True, kw_only=True):
    """The highest pressure at one line of Python.

    Attributes:
        source: The line; in the outermost function, the kernel itself, unless noted otherwise.
        peak: Live 32-bit registers per thread at the line's worst instruction.
        instructions: Instructions that belong to the line.
    """

    source: SourceLocation
    peak: int
    instructions: int


class StagePressure(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Pressure in one stage.

    Attributes:
        peak: Live 32-bit registers per thread at the instruction with the most; AMD: vector
            registers per lane. PTX registers are virtual: a value that the assembler
            rematerialises or keeps in a uniform register counts, too.
        line: 1-based line of that instruction in the stage's text.
        source: The line of Python it belongs to, in the outermost function that the debug
            information leads to: the kernel itself, except for functions that Triton before 3.8
            inlines (``tl.max``), whose machine code has no inlining chain.
        offset: Its distance in bytes from the start of its function, in machine code.
        chain: All of its source lines, the innermost inlined function first.
        lines: Peak by line of Python, in ascending order.
        curve: Live registers at each instruction, in the order of the text.
        innermost: As ``lines``, but by the line in the innermost inlined function.
        predicates: Live predicates at the instruction with the most.
        live: Values live at the peak by the line that computes them, most registers first.
        reason: Why there is no peak; empty where there is one.
    """

    peak: int | None
    line: int | None
    source: SourceLocation | None
    offset: int | None = None
    chain: tuple[SourceLocation, ...] = ()
    lines: tuple[LinePressure, ...] = ()
    curve: tuple[int, ...] = ()
    innermost: tuple[LinePressure, ...] = ()
    predicates: int | None = None
    live: tuple[LiveGroup, ...] = ()
    reason: str = ""


class Pressure(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Pressure by stage; a stage that the capture does not have is absent."""

    ptx: StagePressure | None = None
    sass: StagePressure | None = None
    amdgcn: StagePressure | None = None
