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
from irlens.analyze.line_pressure import by_line, by_origin, line_of
from irlens.isa.ptx import Function, Unknown
from irlens.isa.ptx.registers import Declared, access, resolve
from irlens.model.pressure import StagePressure
from irlens.model.source import SourceLocation

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
    chains = [each.locations for each in function.instructions]
    weights = [point.weight for point in points]
    return StagePressure(
        peak=peak.point.weight,
        line=instruction.line,
        source=line_of(instruction.locations),
        chain=instruction.locations,
        lines=by_line(chains, weights),
        innermost=by_line(chains, weights, 0),
        curve=tuple(weights),
        predicates=max(point.predicates for point in points),
        live=by_origin(_origins(function, cfg, registers, peak)),
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
    blocks = cfg.ranges
    after = liveness.live_out(blocks, cfg.successors, reads, kills)
    written = liveness.written_before(blocks, cfg.successors, writes)
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
            first[index] = tuple(liveness.members(fresh))
            known |= fresh
    return first


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


def _origins(
    function: Function, cfg: Cfg, registers: Registers, peak: _Peak
) -> Iterator[tuple[SourceLocation | None, int]]:
    """For each value that is live at the peak, the line that computed it and its weight."""
    writers = liveness.last_writers(
        cfg.ranges,
        cfg.successors,
        registers.writes,
        registers.kills,
        peak.live,
        peak.index,
        behind=peak.point.behind,
    )
    for bit, writer in writers.items():
        if registers.weights[bit]:
            yield line_of(function.instructions[writer].locations), registers.weights[bit]
