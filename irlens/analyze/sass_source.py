"""Which line of Python machine code really belongs to, told by the PTX it was assembled from.

The line table of machine code has two faults that the PTX does not have. Up to Triton 3.7 it lacks
the calls that code was inlined through, which stand only in comments of the PTX. From 3.9 on it
inherits what LLVM numbers inside inline assembly, so that the load of line 30 claims to be of line
33. The debug information also names the line of PTX each instruction was made from, and there the
truth is known.
"""

from collections.abc import Mapping
from typing import TypeAlias

from msgspec.structs import replace

from irlens.isa.sass import Instruction, Section
from irlens.model.source import SourceLocation

Chain: TypeAlias = tuple[SourceLocation, ...]

#: Triton up to 3.7 keeps a PTX from which it took lines after the assembler had seen it.
_MOST_SHIFT = 40
#: Part of the instructions that must agree on their line for the two texts to be the same.
_AGREEMENT = 0.6


def trace(section: Section, ptx_chains: Mapping[int, Chain]) -> Section:
    """Return a section whose instructions have the source of the PTX they were made from.

    Args:
        section: As the disassembler tells it.
        ptx_chains: The source of each line of the PTX that holds an instruction.

    Returns:
        Instructions that name no line of PTX, or all of them where the PTX is another, keep what
        the line table says, completed by the callers if in the PTX only one chain of them leads
        to that line. ``ptx_line`` is that of the PTX as it is now, ``None`` where it is another.
    """
    shift = _shift(section, ptx_chains)
    callers = _callers(ptx_chains)
    traced = []
    for instruction in section.instructions:
        chain = instruction.locations
        line = _moved(instruction.ptx_line, shift)
        if line is not None:
            chain = ptx_chains.get(line) or chain
        if chain == instruction.locations and len(chain) == 1:
            known = callers.get(_line(chain[0]), set())
            chain = next(iter(known)) if len(known) == 1 else chain
        same = chain == instruction.locations and line == instruction.ptx_line
        traced.append(instruction if same else replace(instruction, locations=chain, ptx_line=line))
    return replace(section, instructions=tuple(traced))


def _moved(line: int | None, shift: int | None) -> int | None:
    return line + shift if line is not None and shift is not None else None


def _shift(section: Section, ptx_chains: Mapping[int, Chain]) -> int | None:
    """Return what to add to a line of PTX as the machine code counts; ``None`` if nothing fits."""
    told = [each for each in section.instructions if each.ptx_line is not None and each.locations]
    if not told:
        return None
    enough = _AGREEMENT * len(told)
    shifts = sorted(range(-_MOST_SHIFT, _MOST_SHIFT + 1), key=abs)
    return next((s for s in shifts if _agreeing(told, ptx_chains, s) >= enough), None)


def _agreeing(told: list[Instruction], ptx_chains: Mapping[int, Chain], shift: int) -> int:
    """Count the instructions whose line of Python is that of their line of PTX."""
    return sum(
        1
        for each in told
        if (chain := ptx_chains.get((each.ptx_line or 0) + shift))
        and _line(chain[0]) == _line(each.locations[0])
    )


def _callers(ptx_chains: Mapping[int, Chain]) -> dict[SourceLocation, set[Chain]]:
    callers: dict[SourceLocation, set[Chain]] = {}
    for chain in ptx_chains.values():
        if chain:
            callers.setdefault(_line(chain[0]), set()).add(tuple(map(_line, chain)))
    return callers


def _line(frame: SourceLocation) -> SourceLocation:
    """Drop the column, which machine code's line table does not have."""
    return SourceLocation(frame.file, frame.line)
