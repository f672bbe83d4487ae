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
    reads: liveness.Sets
    writes: liveness.Sets
    kills: liveness.Sets


class Unreadable(msgspec.Struct, frozen=True):
    """Why a function has no pressure."""

    reason: str


class _Point(msgspec.Struct, frozen=True, gc=False):
    """The fullest moment of one instruction.

    Attributes:
        weight: Live 32-bit registers.
        predicates: The most predicates live before or behind it.
        behind: Whether that moment is behind the instruction, and not before it.
    """

    weight: int
    predicates: int
    behind: bool


class _Peak(msgspec.Struct, frozen=True):
    """The instruction with the most live registers, its point, and these registers."""

    index: int
    point: _Point
    live: int


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
    points, peak = _points(function, cfg, registers)
    if peak is None:
        return StagePressure(peak=0, line=None, source=None)
    instruction = function.instructions[peak.index]
    return StagePressure(
        peak=peak.point.weight,
        line=instruction.line,
        source=_place(instruction.locations[-1:]),
        chain=instruction.locations,
        lines=_by_line(function.instructions, points, -1),
        innermost=_by_line(function.instructions, points, 0),
        curve=tuple(point.weight for point in points),
        predicates=max(point.predicates for point in points),
        live=_groups(function, cfg, registers, peak),
    )


def collect(function: Function) -> Registers | Unreadable:
    """Number a function's registers, and find what each instruction does with them."""
    for statement in function.statements:
        if isinstance(statement, Unknown):
            return Unreadable(f"the statement on line {statement.line} is not understood")
    if function.kind == "fragment" and not function.registers:
        return Unreadable("the text declares no registers: it is a part of a function")
    numbers: dict[Declared, int] = {}
    known: dict[tuple[str, int], int | None] = {}
    reads: list[tuple[int, ...]] = []
    writes: list[tuple[int, ...]] = []
    kills: list[tuple[int, ...]] = []
    for instruction in function.instructions:
        found = access(instruction)
        if found is None:
            return Unreadable(f"what '{instruction.name}' does is not known")
        for names, sets in ((found.reads, reads), (found.writes, writes)):
            members = []
            for name in names:
                key = (name, instruction.scope)
                if key not in known:
                    register = resolve(function, *key)
                    known[key] = numbers.setdefault(register, len(numbers)) if register else None
                number = known[key]
                if number is not None:
                    members.append(number)
            sets.append(tuple(members))
        kills.append(() if instruction.predicate is not None else writes[-1])
    weights = []
    for register in numbers:
        weight = _weight(register.group.type)
        if weight is None:
            kind = register.group.type
            return Unreadable(f"how wide a register of type '.{kind}' is, is not known")
        weights.append(weight)
    return Registers(
        tuple(numbers),
        tuple(weights),
        liveness.Sets(reads),
        liveness.Sets(writes),
        liveness.Sets(kills),
    )


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


def _points(
    function: Function, cfg: Cfg, registers: Registers
) -> tuple[list[_Point], _Peak | None]:
    """The fullest moment of each instruction, and of these the first that is the fullest."""
    reads, writes, kills = registers.reads, registers.writes, registers.kills
    blocks = [range(block.start, block.stop) for block in cfg.blocks]
    after = liveness.live_out(blocks, cfg.successors, reads, kills)
    written = _written_before(blocks, cfg, writes)
    scale = _Scale(registers.weights)
    points = [_Point(0, 0, False)] * len(function.instructions)
    peak: _Peak | None = None
    for block, leaving, entered in zip(blocks, after, written, strict=True):
        # Backwards, as the walk goes: a register is known behind the first write to it.
        first = _first_writes(block, entered, writes)
        known = entered
        for index in block:
            known |= writes[index]
        for index, before, behind in liveness.walk(block, leaving, reads, kills):
            resulting = behind & known | writes[index]
            for number in first.get(index, ()):
                known &= ~(1 << number)
            live, points[index] = scale.point(before & known, resulting)
            if peak is None or (points[index].weight, -index) > (peak.point.weight, -peak.index):
                peak = _Peak(index, points[index], live)
    return points, peak


def _first_writes(block: range, entered: int, writes: liveness.Sets) -> dict[int, tuple[int, ...]]:
    """For instructions of a block, the registers that nothing on the way there has written."""
    known = entered
    first: dict[int, tuple[int, ...]] = {}
    for index in block:
        fresh = writes[index] & ~known
        if fresh:
            first[index] = tuple(_bits(fresh))
            known |= fresh
    return first


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

    def point(self, before: int, behind: int) -> tuple[int, _Point]:
        """The fuller of two moments, and what is live then."""
        entering, resulting = self._weight(before), self._weight(behind)
        predicates = max((live & self._predicates).bit_count() for live in (before, behind))
        if resulting > entering:
            return behind, _Point(resulting, predicates, True)
        return before, _Point(entering, predicates, False)

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
    function: Function, cfg: Cfg, registers: Registers, peak: _Peak
) -> tuple[LiveGroup, ...]:
    """What is live at an instruction, by the source line that computed it; most first."""
    totals: dict[SourceLocation | None, tuple[int, int]] = {}
    for bit, definition in _definitions(cfg, registers, peak).items():
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


def _definitions(cfg: Cfg, registers: Registers, peak: _Peak) -> dict[int, int]:
    """For each live register the last instruction, in the text, whose result it may hold.

    Once more liveness, of a program in which one instruction reads all of them and no other
    reads anything: who writes to a register that is live then may have written what is read.
    """
    reads = [0] * len(registers.reads)
    reads[peak.index] = peak.live
    found: dict[int, int] = {}
    if peak.point.behind:
        reads[peak.index] &= ~registers.kills[peak.index]
        written = registers.writes[peak.index] & peak.live
        found = dict.fromkeys(_bits(written), peak.index)
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
