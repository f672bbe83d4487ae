"""The PTX that SASS was assembled from: source lines of instructions, and origins of loops.

The line table of machine code has two faults that the PTX does not have. Up to Triton 3.7 it lacks
the calls that code was inlined through, which stand only in comments of the PTX. From 3.9 on it
inherits the line numbers LLVM gives inside inline assembly, so that the load of line 30 claims to
be of line 33. The debug information also names the line of PTX each instruction was made from, and
the PTX has the right source.

A loop's ``for`` is found there too: in machine code the line table gives a branch back any line of
the body, and what ptxas peels, unrolls or turns into a loop of its own has no ``for`` at all.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, TypeAlias

import msgspec
from msgspec.structs import replace

from irlens.analyze.loops import Loops
from irlens.isa import ptx
from irlens.isa.ptx.function import BRANCHES
from irlens.isa.sass import Instruction, Section
from irlens.model.source import SourceLocation

if TYPE_CHECKING:  # loading the pipelines takes longer than all the rest
    from irlens.analyze.pipelines.ptx_loops import FunctionLoops

Chain: TypeAlias = tuple[SourceLocation, ...]

#: Triton up to 3.7 keeps a PTX from which it took lines after the assembler had seen it.
_MOST_SHIFT = 40
#: Part of the instructions that must agree on their line for the two texts to be the same.
_AGREEMENT = 0.6


class PtxLines(msgspec.Struct, frozen=True):
    """The lines of PTX that hold instructions.

    Attributes:
        assembled: The line of the innermost file that the assembler takes each to be of: LLVM's
            line numbers inside of inline assembly go on after it.
    """

    chains: Mapping[int, Chain]
    assembled: Mapping[int, int] = {}


def lines_of(functions: Iterable[ptx.Function]) -> PtxLines:
    """Return the lines of functions in PTX; of a kernel, with those of what it calls.

    Code of a function that several lines call has the frames that all calls have in common.
    """
    chains: dict[int, Chain] = {}
    assembled: dict[int, int] = {}
    for function in functions:
        for each in function.instructions:
            known = chains.get(each.line)
            chains[each.line] = each.locations if known is None else _common(known, each.locations)
        line = None
        for statement in function.statements:
            if isinstance(statement, ptx.Loc):
                line = ptx.assembled_line(statement)
            elif isinstance(statement, ptx.Instruction) and line is not None:
                assembled[statement.line] = line
    return PtxLines(chains, assembled)


def _common(one: Chain, other: Chain) -> Chain:
    same = takewhile(lambda frames: frames[0] == frames[1], zip(one, other, strict=False))
    return tuple(frame for frame, _ in same)


def trace(section: Section, original: PtxLines) -> Section:
    """Return a section whose instructions have the source of the PTX they were made from.

    Returns:
        Instructions that name no line of PTX, or all of them where the PTX is another, keep what
        the line table says, completed by the callers if in the PTX only one chain of them leads
        to that line. ``ptx_line`` is that of the PTX as it is now, ``None`` where it is another.
    """
    shift = _shift(section, original)
    callers = _callers(original.chains)
    traced = []
    for instruction in section.instructions:
        chain = instruction.locations
        line = _moved(instruction.ptx_line, shift)
        if line is not None:
            none = original.assembled.get(line) == 0  # the compiler's own: of no line
            chain = original.chains.get(line) or (() if none else chain)
        if chain == instruction.locations and len(chain) == 1:
            known = callers.get(_line(chain[0]), set())
            chain = next(iter(known)) if len(known) == 1 else chain
        same = chain == instruction.locations and line == instruction.ptx_line
        traced.append(instruction if same else replace(instruction, locations=chain, ptx_line=line))
    return replace(section, instructions=tuple(traced))


def _moved(line: int | None, shift: int | None) -> int | None:
    return line + shift if line is not None and shift is not None else None


def _shift(section: Section, original: PtxLines) -> int | None:
    """Return what to add to a line of PTX as the machine code counts; ``None`` if nothing fits."""
    traceable = [
        each for each in section.instructions if each.ptx_line is not None and each.locations
    ]
    if not traceable:
        return None
    enough = _AGREEMENT * len(traceable)
    shifts = sorted(range(-_MOST_SHIFT, _MOST_SHIFT + 1), key=abs)
    return next((s for s in shifts if _agreeing(traceable, original, s) >= enough), None)


def _agreeing(instructions: list[Instruction], original: PtxLines, shift: int) -> int:
    """Count the instructions whose line of Python is that of their line of PTX."""
    count = 0
    for each in instructions:
        line, stated = (each.ptx_line or 0) + shift, _line(each.locations[0])
        if chain := original.chains.get(line):
            same_file = chain[0].file == stated.file
            numbers = (chain[0].line, original.assembled.get(line))
            count += same_file and stated.line in numbers
    return count


def _callers(ptx_chains: Mapping[int, Chain]) -> dict[SourceLocation, set[Chain]]:
    callers: dict[SourceLocation, set[Chain]] = {}
    for chain in ptx_chains.values():
        if chain:
            callers.setdefault(_line(chain[0]), set()).add(tuple(map(_line, chain)))
    return callers


def _line(frame: SourceLocation) -> SourceLocation:
    """Drop the column, which machine code's line table does not have."""
    return SourceLocation(frame.file, frame.line)


def match_loops(loops: Loops[Instruction], original: "FunctionLoops | None") -> list[int | None]:
    """Return for each loop of a section the index of the loop in the PTX it was made from.

    Args:
        loops: The kernel's, whose instructions are traced to the PTX they were made from.

    Returns:
        ``None`` for a loop that has no counterpart, or may be one of several.
    """
    if original is None:
        return [None] * len(loops.forest.loops)
    ptx = _Ptx(original)
    return [
        ptx.loop([loops.block(latch)[-1] for latch in loop.latches], loops.own(index))
        for index, loop in enumerate(loops.forest.loops)
    ]


class _Ptx:
    """The loops of the PTX, by the lines of their instructions."""

    def __init__(self, original: "FunctionLoops") -> None:
        self._forest = original.forest
        self._innermost: dict[int, int] = {}
        self._back: dict[int, int] = {}
        for number, loop in enumerate(self._forest.loops):
            for block in loop.own:
                self._innermost |= dict.fromkeys((i.line for i in original.block(block)), number)
            for latch in loop.latches:
                last = original.block(latch)[-1:]
                self._back |= {each.line: number for each in last if each.opcode in BRANCHES}

    def loop(self, back: Sequence[Instruction], own: Iterable[Instruction]) -> int | None:
        """Return the loop that the branches back and a loop's own instructions were made from."""
        origins = {self._back.get(each.ptx_line or 0) for each in back}
        if len(origins) == 1 and None not in origins:
            return origins.pop()
        # The branch may have been made from another loop. The instructions in the loop come from
        # it, or from inner loops that were unrolled; those moved in come from around it.
        lines = (each.ptx_line or 0 for each in own)
        counted = Counter(self._innermost[line] for line in lines if line in self._innermost)
        if not counted:
            return None
        most, number = counted.most_common(1)[0]
        inside = all(self._is_inside(each, most) for each in counted)
        return most if inside and 2 * number > counted.total() else None

    def _is_inside(self, loop: int | None, outer: int) -> bool:
        while loop is not None and loop != outer:
            loop = self._forest.loops[loop].parent
        return loop == outer
