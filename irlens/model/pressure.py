"""The records of register pressure: the number of live registers, and the lines behind them.

``None`` is always "unknown".
"""

from collections.abc import Iterator

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


#: Stages that registers are counted in, the nearest to the machine first.
PRESSURE_STAGES = ("sass", "amdgcn", "ptx")
#: Those whose registers are the machine's, and comparable with the registers allocated. PTX's are
#: virtual: there may be more of them live than the machine has, without any spill.
_MACHINE_CODE = frozenset({"sass", "amdgcn"})


class Pressure(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Pressure by stage; a stage that the capture does not have is absent."""

    ptx: StagePressure | None = None
    sass: StagePressure | None = None
    amdgcn: StagePressure | None = None

    def stages(self) -> Iterator[tuple[str, StagePressure]]:
        """Yield each stage's name and pressure, the nearest to the machine first."""
        for stage in PRESSURE_STAGES:
            pressure: StagePressure | None = getattr(self, stage)
            if pressure is not None:
                yield stage, pressure

    @property
    def live(self) -> tuple[str, StagePressure] | None:
        """The stage that speaks for the kernel: its machine code, where its peak is known."""
        known = (each for each in self.stages() if each[0] in _MACHINE_CODE)
        return next((each for each in known if each[1].peak is not None), None)
