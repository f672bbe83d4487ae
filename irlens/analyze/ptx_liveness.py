"""Register pressure of PTX: virtual registers that hold a value some path still reads.

The assembler allocates the real registers: it keeps some values in uniform registers, computes
others again where they are needed, and reorders. What PTX gives is the pressure that the program
itself brings along, and the place where it does.
"""

import re
from collections.abc import Iterator, Sequence

import msgspec

from irlens.analyze import liveness
from irlens.analyze.cfg import Cfg
from irlens.analyze.graph import predecessors
from irlens.analyze.ptx_registers import Declared, access, resolve
from irlens.model.pressure import LinePressure, LiveGroup, StagePressure
from irlens.model.source import SourceLocation
from irlens.parse.ptx import Function, Instruction, Unknown

_TYPE = re.compile(r"(?:v([248])\.)?(?:[bsuf]|bf)(8|16|32|64|128)(x2)?")


class Registers(msgspec.Struct, frozen=True):
    """What each instruction reads and writes, as sets of registers: bits of an integer.

    Attributes:
        names: The registers by bit.
        weights: 32-bit registers that each takes; 0 for a predicate.
        reads: Per instruction.
        writes: Per instruction.
        kills: Per instruction what it certainly overwrites.
    """

    names: tuple[Declared, ...]
    weights: tuple[int, ...]
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    kills: tuple[int, ...]


class Unreadable(msgspec.Struct, frozen=True):
    """Why a function has no pressure."""

    reason: str


class _Point(msgspec.Struct, frozen=True, gc=False):
    """The fullest moment of one instruction.

    Attributes:
        live: The registers.
        weight: In 32-bit registers.
        predicates: The most predicates live before or behind it.
        behind: Whether that moment is behind the instruction, and not before it.
    """

    live: int
    weight: int
    predicates: int
    behind: bool


def analyze(function: Function, cfg: Cfg) -> StagePressure:
    """Return the pressure at every instruction of a function, the peak, and what makes it up.

    A register counts where a value was written to it on some path that leads here, and some path
    from here reads it. An instruction counts what is live before it or what is live behind it
    with its own results, whichever is more: a result may take the place of an operand.

    A ``b64`` register takes two 32-bit registers and a ``b16`` one as much as a ``b32``;
    predicates have a file of their own and are counted apart.
    """
    registers = collect(function)
    if isinstance(registers, Unreadable):
        return StagePressure(peak=None, line=None, source=None, reason=registers.reason)
    points = _points(function, cfg, registers)
    if not points:
        return StagePressure(peak=0, line=None, source=None)
    peak = max(range(len(points)), key=lambda index: (points[index].weight, -index))
    instruction = function.instructions[peak]
    return StagePressure(
        peak=points[peak].weight,
        line=instruction.line,
        source=_place(instruction.locations[-1:]),
        chain=instruction.locations,
        lines=_by_line(function.instructions, points, -1),
        innermost=_by_line(function.instructions, points, 0),
        curve=tuple(point.weight for point in points),
        predicates=max(point.predicates for point in points),
        live=_groups(function, cfg, registers, peak, points[peak]),
    )


def collect(function: Function) -> Registers | Unreadable:
    """Number a function's registers, and find what each instruction does with them."""
    for statement in function.statements:
        if isinstance(statement, Unknown):
            return Unreadable(f"the statement on line {statement.line} is not understood")
    if function.kind == "fragment" and not function.registers:
        return Unreadable("the text declares no registers: it is a part of a function")
    numbers: dict[Declared, int] = {}
    bits: dict[tuple[str, int], int] = {}
    reads, writes, kills = [], [], []
    for instruction in function.instructions:
        found = access(instruction)
        if found is None:
            return Unreadable(f"what '{instruction.name}' does is not known")
        sets = []
        for names in (found.reads, found.writes):
            total = 0
            for name in names:
                key = (name, instruction.scope)
                if key not in bits:
                    register = resolve(function, *key)
                    bits[key] = 1 << numbers.setdefault(register, len(numbers)) if register else 0
                total |= bits[key]
            sets.append(total)
        reads.append(sets[0])
        writes.append(sets[1])
        kills.append(0 if instruction.predicate is not None else sets[1])
    weights = []
    for register in numbers:
        weight = _weight(register.group.type)
        if weight is None:
            kind = register.group.type
            return Unreadable(f"how wide a register of type '.{kind}' is, is not known")
        weights.append(weight)
    return Registers(tuple(numbers), tuple(weights), tuple(reads), tuple(writes), tuple(kills))


def _weight(kind: str) -> int | None:
    """32-bit registers that a virtual register of a type takes."""
    if kind == "pred":
        return 0
    match = _TYPE.fullmatch(kind)
    if match is None:
        return None
    elements, bits, twice = match.groups()
    width = int(bits) * (2 if twice else 1)
    return int(elements or 1) * max(width // 32, 1)


def _points(function: Function, cfg: Cfg, registers: Registers) -> list[_Point]:
    """The fullest moment of each instruction."""
    reads, writes, kills = registers.reads, registers.writes, registers.kills
    blocks = [range(block.start, block.stop) for block in cfg.blocks]
    after = liveness.live_out(blocks, cfg.successors, reads, kills)
    written = _written_before(blocks, cfg, writes)
    scale = _Scale(registers.weights)
    points = [_Point(0, 0, 0, False)] * len(function.instructions)
    for block, leaving, known in zip(blocks, after, written, strict=True):
        steps = list(liveness.walk(block, leaving, reads, kills))
        for index, before, behind in reversed(steps):
            entering = before & known
            known |= writes[index]
            points[index] = scale.point(entering, behind & known | writes[index])
    return points


def _written_before(blocks: Sequence[range], cfg: Cfg, writes: Sequence[int]) -> list[int]:
    """What some path has written when a block begins.

    The same data flow the other way around: on the reversed graph a write is what a read is to
    liveness. Without it a register that is only ever written under a predicate, as by a masked
    load, would count from the start of the kernel on.
    """
    last = len(blocks) - 1
    before = predecessors(cfg.successors)
    reversed_edges = [tuple(last - source for source in before[last - n]) for n in range(last + 1)]
    nothing = [0] * len(writes)
    found = liveness.live_out(list(reversed(blocks)), reversed_edges, writes, nothing)
    return list(reversed(found))


class _Scale:
    """Weighs sets of registers."""

    def __init__(self, weights: Sequence[int]) -> None:
        self._masks: dict[int, int] = {}
        for bit, weight in enumerate(weights):
            self._masks[weight] = self._masks.get(weight, 0) | 1 << bit

        self._predicates = self._masks.pop(0, 0)

    def point(self, before: int, behind: int) -> _Point:
        """The fuller of two moments."""
        entering, resulting = self._weight(before), self._weight(behind)
        predicates = max((live & self._predicates).bit_count() for live in (before, behind))
        if resulting > entering:
            return _Point(behind, resulting, predicates, True)
        return _Point(before, entering, predicates, False)

    def _weight(self, live: int) -> int:
        return sum(weight * (live & mask).bit_count() for weight, mask in self._masks.items())


def _place(locations: Sequence[SourceLocation]) -> SourceLocation | None:
    """The line of a frame; instructions of one line differ in their columns."""
    return SourceLocation(locations[0].file, locations[0].line) if locations else None


def _by_line(
    instructions: Sequence[Instruction], points: Sequence[_Point], frame: int
) -> tuple[LinePressure, ...]:
    """Peak per source line, of the innermost (0) or outermost (-1) frame."""
    peaks: dict[SourceLocation, tuple[int, int]] = {}
    for instruction, point in zip(instructions, points, strict=True):
        if instruction.locations:
            source = instruction.locations[frame]
            source = SourceLocation(source.file, source.line)
            peak, count = peaks.get(source, (0, 0))
            peaks[source] = max(peak, point.weight), count + 1
    return tuple(
        LinePressure(source=source, peak=peak, instructions=count)
        for source, (peak, count) in sorted(peaks.items())
    )


def _groups(
    function: Function, cfg: Cfg, registers: Registers, index: int, point: _Point
) -> tuple[LiveGroup, ...]:
    """What is live at an instruction, by the source line that computed it; most first."""
    totals: dict[SourceLocation | None, tuple[int, int]] = {}
    for bit, definition in _definitions(cfg, registers, index, point).items():
        weight = registers.weights[bit]
        if weight:
            source = _place(function.instructions[definition].locations[-1:])
            taken, values = totals.get(source, (0, 0))
            totals[source] = taken + weight, values + 1
    ordered = sorted(totals.items(), key=lambda item: (-item[1][0], str(item[0])))
    return tuple(
        LiveGroup(source=source, registers=taken, values=values)
        for source, (taken, values) in ordered
    )


def _definitions(cfg: Cfg, registers: Registers, index: int, point: _Point) -> dict[int, int]:
    """For each live register the last instruction, in the text, whose result it may hold.

    Once more liveness, of a program in which one instruction reads all of them and no other
    reads anything: who writes to a register that is live then may have written what is read.
    """
    reads = [0] * len(registers.reads)
    reads[index] = point.live
    found: dict[int, int] = {}
    if point.behind:
        reads[index] &= ~registers.kills[index]
        found = dict.fromkeys(_bits(registers.writes[index] & point.live), index)
    blocks = [range(block.start, block.stop) for block in cfg.blocks]
    after = liveness.live_out(blocks, cfg.successors, reads, registers.kills)
    for block, leaving in zip(blocks, after, strict=True):
        for writer, _, behind in liveness.walk(block, leaving, reads, registers.kills):
            for bit in _bits(registers.writes[writer] & behind):
                found[bit] = max(found.get(bit, writer), writer)
    return found


def _bits(value: int) -> Iterator[int]:
    while value:
        lowest = value & -value
        yield lowest.bit_length() - 1
        value ^= lowest
