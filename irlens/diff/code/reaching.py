"""Reaching definitions of machine registers: the values that a register may hold where it is read.

The number of a physical register is up to the allocator and is no difference, as long as each
value is read from where it was written. So a register that is read stands for the instructions
that may have written what it holds, along any path: reaching definitions (Aho, Lam, Sethi, Ullman,
"Compilers", section 9.2.4). A write that may not happen, or not in all lanes, keeps the previous
values as well.

Where that is unknown (after a call, after an instruction whose operands are not understood, in
code with unknown branch targets) a register stands for itself: another number is a difference
then, unless it is another everywhere.
"""

from collections.abc import Hashable, Sequence
from operator import or_
from typing import NamedTuple, TypeAlias

from irlens.analyze.graph import FlowGraph, Successors
from irlens.analyze.solver import solve
from irlens.isa.bitsets import members
from irlens.isa.dialect import OperandUse

#: File and number.
Register: TypeAlias = tuple[str, int]
#: The values of each operand of an instruction, register by register: those read, those written.
Values: TypeAlias = list[tuple[list[Hashable], list[Hashable]]]


class Step(NamedTuple):
    """What an instruction does with registers.

    Attributes:
        line: Its 1-based line, which identifies the values that it writes.
        uses: Its operands, as the text names them; ``None`` where they are not understood.
        hidden: Registers that it uses without naming them.
        guard: The predicate under which it writes, and whether that is negated.
        clobbers: Whether every register is unknown after it.
    """

    line: int
    uses: Sequence[OperandUse] | None
    hidden: Sequence[OperandUse] = ()
    guard: tuple[Register, bool] | None = None
    clobbers: bool = False

    @property
    def operands(self) -> tuple[OperandUse, ...]:
        """The operands, hidden ones last."""
        return (*(self.uses or ()), *self.hidden)

    @property
    def loses(self) -> bool:
        """Whether nothing is known of any register after it."""
        return self.clobbers or self.uses is None


class Written(NamedTuple):
    """A value: what an instruction writes to a register.

    Attributes:
        operand: Index of the operand; hidden ones count on.
    """

    line: int
    operand: int
    part: int


class Entry(NamedTuple):
    """A value: what a register holds when a function begins."""

    function: str
    register: Register


class Itself(NamedTuple):
    """A register of unknown value.

    Attributes:
        register: The register, or the operand as written.
    """

    function: str
    register: Hashable


class Traced(NamedTuple):
    """The values of the operands of instructions.

    Attributes:
        values: By line, an entry per operand, hidden ones last. Instructions that are not
            understood and unreachable code have none.
        lost: Number of instructions after which nothing is known of any register.
    """

    values: dict[int, Values]
    lost: int


class _Held(NamedTuple):
    """The values that a register may hold within a block.

    Attributes:
        before: Whether it may hold what it held at the block's beginning.
        values: The other values, as bits.
        guard: The guard under which some of them were written, or ``None``.
    """

    before: bool
    values: int
    guard: Hashable = None
    guarded: int = 0


class _Numbering:
    """Numbers values, so that a set of them is the bits of an integer.

    Attributes:
        written: The bit of each value that an instruction writes.
        of: For each register all values that it ever holds.
        entry: The values of all registers at the beginning of the function.
    """

    def __init__(self, function: str, steps: Sequence[Step]) -> None:
        self.values: list[Hashable] = []
        self.written: dict[Written, int] = {}
        entry, unknown, of = [], [], dict[Register, list[int]]()
        for step in steps:
            for operand, use in enumerate(step.operands):
                for part, register in enumerate(use.registers):
                    if register not in of:
                        of[register] = [len(self.values), len(self.values) + 1]
                        entry.append(len(self.values))
                        unknown.append(len(self.values) + 1)
                        self.values += [Entry(function, register), Itself(function, register)]
                    if use.writes:
                        value = Written(step.line, operand, part)
                        of[register].append(len(self.values))
                        self.written[value] = 1 << len(self.values)
                        self.values.append(value)
        self.of = {register: _bits(numbers) for register, numbers in of.items()}
        self.entry = _bits(entry)
        self.unknown = _bits(unknown)
        self.all = (1 << len(self.values)) - 1


def _bits(numbers: Sequence[int]) -> int:
    packed = bytearray(max(numbers, default=0) // 8 + 1)
    for number in numbers:
        packed[number >> 3] |= 1 << (number & 7)
    return int.from_bytes(packed, "little")


class _BlockWalk:
    """Walks a block's instructions without knowing what registers hold at its beginning."""

    def __init__(self, numbering: _Numbering) -> None:
        self._numbering = numbering
        self._held: dict[Register, _Held] = {}
        self._versions: dict[Register, int] = {}
        self._lost = False

    def step(self, step: Step) -> list[list[_Held]]:
        """Return what each operand that is read holds, then apply the instruction's writes."""
        guard = self._guard(step)
        held = [
            [self._read(each, guard) for each in use.registers] if use.reads else []
            for use in step.operands
        ]
        for operand, use in enumerate(step.operands):
            if use.writes:
                for part, register in enumerate(use.registers):
                    bit = self._numbering.written[Written(step.line, operand, part)]
                    self._write(register, bit, guard, use.kills)
        if step.loses:
            self._held.clear()
            self._lost = True
        return held

    def transfer(self) -> tuple[int, int]:
        """Return the values that the block generates, and those that it kills."""
        numbering = self._numbering
        generated = numbering.unknown if self._lost else 0
        killed = numbering.all if self._lost else 0
        for register, held in self._held.items():
            if not held.before:
                killed |= numbering.of[register]
            if self._lost:
                generated &= ~(numbering.of[register] & numbering.unknown)
            generated |= held.values
        return generated, killed

    def _guard(self, step: Step) -> Hashable:
        if step.guard is None:
            return None
        register, negated = step.guard
        return register, self._versions.get(register, 0), negated

    def _at(self, register: Register) -> _Held:
        numbering = self._numbering
        lost = numbering.of[register] & numbering.unknown if self._lost else 0
        return self._held.get(register, _Held(not self._lost, lost))

    def _read(self, register: Register, guard: Hashable) -> _Held:
        held = self._at(register)
        # What is written and read under one guard is that value and no older one.
        if guard is not None and held.guard == guard:
            return _Held(False, held.guarded)
        return held

    def _write(self, register: Register, bit: int, guard: Hashable, kills: bool) -> None:
        self._versions[register] = self._versions.get(register, 0) + 1
        old = self._at(register)
        if kills:
            self._held[register] = _Held(False, bit)
        elif guard is not None and old.guard == _opposite(guard):
            self._held[register] = _Held(False, old.guarded | bit)
        else:
            same = guard is not None and old.guard == guard
            values = old.values & ~old.guarded if same else old.values
            self._held[register] = _Held(old.before, values | bit, guard, bit)


def _opposite(guard: Hashable) -> Hashable:
    if not isinstance(guard, tuple):
        return None
    register, version, negated = guard
    return register, version, not negated


def trace_blocks(
    function: str, blocks: Sequence[range], successors: Successors, steps: Sequence[Step]
) -> Traced:
    """Return the values of the operands of each instruction of a function.

    Args:
        blocks: For each basic block the indices of its instructions; the first is the entry.
    """
    numbering = _Numbering(function, steps)
    walked = []
    transfers = []
    for block in blocks:
        walk = _BlockWalk(numbering)
        walked.append([(steps[index], walk.step(steps[index])) for index in block])
        transfers.append(walk.transfer())
    values: dict[int, Values] = {}
    for number, entering in _entering(successors, transfers, numbering.entry).items():
        for step, held in walked[number]:
            if step.uses is not None:
                values[step.line] = _values(step, held, entering, numbering, function)
    return Traced(values, sum(step.loses for step in steps))


def _entering(
    successors: Successors, transfers: Sequence[tuple[int, int]], entry: int
) -> dict[int, int]:
    """Return the values that may be held at the beginning of each reachable block."""

    def after(block: int, held: int) -> int:
        generated, killed = transfers[block]
        return generated | held & ~killed

    return solve(FlowGraph(successors), {0: entry} if transfers else {}, after, or_)


def _values(
    step: Step, held: list[list[_Held]], entering: int, numbering: _Numbering, function: str
) -> Values:
    return [
        (
            [
                _value(each, entering & numbering.of[register] if each.before else 0, numbering)
                or Itself(function, register)
                for each, register in zip(read, use.registers, strict=False)
            ],
            [Written(step.line, operand, part) for part in range(len(use.registers))]
            if use.writes
            else [],
        )
        for operand, (use, read) in enumerate(zip(step.operands, held, strict=True))
    ]


def _value(held: _Held, before: int, numbering: _Numbering) -> Hashable:
    """Return one value, several as a set, ``None`` where it is unknown."""
    possible = held.values | before
    if not possible or possible & numbering.unknown:
        return None
    if possible & (possible - 1) == 0:
        return numbering.values[possible.bit_length() - 1]
    # On a path without a write, what is read there cannot matter.
    written = possible & ~numbering.entry
    if written & (written - 1) == 0:
        return numbering.values[written.bit_length() - 1]
    return frozenset(numbering.values[number] for number in members(written))


def by_register(function: str, steps: Sequence[Step]) -> Traced:
    """Return the same for code with unknown control flow: each register stands for itself."""
    values: dict[int, Values] = {
        step.line: [
            (
                _themselves(function, use) if use.reads else [],
                _themselves(function, use) if use.writes else [],
            )
            for use in step.operands
        ]
        for step in steps
        if step.uses is not None
    }
    return Traced(values, len(steps))


def _themselves(function: str, use: OperandUse) -> list[Hashable]:
    return [Itself(function, each) for each in use.registers]
