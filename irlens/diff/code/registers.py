"""Which value a register of the machine holds where it is named.

The number of a physical register is the allocator's choice and no difference, as long as each
value is read from where it was put. So a register that is read stands for the instructions that
may have written what it holds, along any path: reaching definitions (Aho, Lam, Sethi, Ullman,
"Compilers", section 9.2.4). A write that may not happen, or not in all lanes, leaves what was
there before as well.

Where that is not known (behind a call, behind an instruction whose operands are not understood,
in code whose branches lead nobody knows where) a register stands for itself: another number is a
difference then unless it is another everywhere.
"""

from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

from irlens.analyze.graph import Successors, predecessors, reverse_postorder
from irlens.diff.code.statements import Itself, Name, Word
from irlens.diff.code.steps import Followed, Found, Register, Step, Use, Values, Written
from irlens.isa.bitsets import members


class _Held(NamedTuple):
    """What a register may hold within a block.

    Attributes:
        before: Whether it may be what the block began with.
        values: What else, as bits.
        under: The guard under which a part of that was written, or ``None``.
        since: That part.
    """

    before: bool
    values: int
    under: Hashable = None
    since: int = 0


class _Block:
    """Goes through a block of instructions, not knowing yet what is held where it begins."""

    def __init__(self, bits: "_Bits") -> None:
        self._bits = bits
        self._held: dict[Register, _Held] = {}
        self._versions: dict[Register, int] = {}
        self._lost = False

    def step(self, step: Step) -> list[list[_Held]]:
        """Return what each operand holds that is read, then do what the instruction does."""
        guard = self._guard(step)
        uses = (*(step.uses or ()), *step.hidden)
        held = [
            [self._read(each, guard) for each in use.registers] if use.reads else [] for use in uses
        ]
        for operand, use in enumerate(uses):
            if use.writes:
                for part, register in enumerate(use.registers):
                    bit = self._bits.written[Written(step.line, operand, part)]
                    self._write(register, bit, guard, use.kills)
        if step.loses or step.uses is None:
            self._held.clear()
            self._lost = True
        return held

    def transfer(self) -> tuple[int, int]:
        """Return what the block adds to what may be held, and what it takes away."""
        adds = self._bits.all_lost if self._lost else 0
        takes = self._bits.all if self._lost else 0
        for register, held in self._held.items():
            if not held.before:
                takes |= self._bits.of[register]
            if self._lost:
                adds &= ~(self._bits.of[register] & self._bits.all_lost)
            adds |= held.values
        return adds, takes

    def _guard(self, step: Step) -> Hashable:
        if step.guard is None:
            return None
        register, negated = step.guard
        return register, self._versions.get(register, 0), negated

    def _at(self, register: Register) -> _Held:
        lost = self._bits.of[register] & self._bits.all_lost if self._lost else 0
        return self._held.get(register, _Held(not self._lost, lost))

    def _read(self, register: Register, guard: Hashable) -> _Held:
        held = self._at(register)
        # What is written and read under one condition is that and nothing older.
        if guard is not None and held.under == guard:
            return _Held(False, held.since)
        return held

    def _write(self, register: Register, bit: int, guard: Hashable, kills: bool) -> None:
        self._versions[register] = self._versions.get(register, 0) + 1
        old = self._at(register)
        if kills:
            self._held[register] = _Held(False, bit)
        elif guard is not None and old.under == _opposite(guard):
            self._held[register] = _Held(False, old.since | bit)
        else:
            same = guard is not None and old.under == guard
            values = old.values & ~old.since if same else old.values
            self._held[register] = _Held(old.before, values | bit, guard, bit)


def _opposite(guard: Hashable) -> Hashable:
    if not isinstance(guard, tuple):
        return None
    register, version, negated = guard
    return register, version, not negated


class _Bits:
    """Numbers of values, so that a set of them is the bits of an integer.

    Attributes:
        values: By number.
        written: The bit of each value that an instruction makes.
        of: For each register all that it ever holds.
        found: What all registers hold at first.
        all_lost: What they hold where nothing is known of them.
        all: Every value.
    """

    def __init__(self, function: str, steps: Sequence[Step]) -> None:
        self.values: list[Hashable] = []
        self.written: dict[Written, int] = {}
        self.of: dict[Register, int] = {}
        found, lost, of = [], [], dict[Register, list[int]]()
        for step in steps:
            for operand, use in enumerate((*(step.uses or ()), *step.hidden)):
                for part, register in enumerate(use.registers):
                    if register not in of:
                        of[register] = [len(self.values), len(self.values) + 1]
                        found.append(len(self.values))
                        lost.append(len(self.values) + 1)
                        self.values += [Found(function, register), Itself(function, register)]
                    if use.writes:
                        value = Written(step.line, operand, part)
                        of[register].append(len(self.values))
                        self.written[value] = 1 << len(self.values)
                        self.values.append(value)
        self.of = {register: _bits(numbers) for register, numbers in of.items()}
        self.found = _bits(found)
        self.all_lost = _bits(lost)
        self.all = (1 << len(self.values)) - 1


def _bits(numbers: Sequence[int]) -> int:
    packed = bytearray(max(numbers, default=0) // 8 + 1)
    for number in numbers:
        packed[number >> 3] |= 1 << (number & 7)
    return int.from_bytes(packed, "little")


def follow(
    function: str, blocks: Sequence[range], successors: Successors, steps: Sequence[Step]
) -> Followed:
    """Return what the operands of each instruction of a function stand for.

    Args:
        function: Its name.
        blocks: For each basic block the indices of its instructions; the first is the entry.
        successors: For each block those that can follow it.
        steps: The instructions.
    """
    bits = _Bits(function, steps)
    walked = []
    transfers = []
    for block in blocks:
        walk = _Block(bits)
        walked.append([(steps[index], walk.step(steps[index])) for index in block])
        transfers.append(walk.transfer())
    found: dict[int, Values] = {}
    for number, entering in _entering(successors, transfers, bits.found).items():
        for step, held in walked[number]:
            if step.uses is not None:
                found[step.line] = _values(step, held, entering, bits, function)
    return Followed(found, sum(step.loses or step.uses is None for step in steps))


def _entering(
    successors: Successors, transfers: Sequence[tuple[int, int]], first: int
) -> dict[int, int]:
    """Return what may be held where each block begins; of those that control reaches."""
    order = reverse_postorder(successors)
    before = predecessors(successors)
    leaving = dict.fromkeys(order, 0)
    entering = dict.fromkeys(order, 0)
    moved = True
    while moved:
        moved = False
        for block in order:
            held = first if block == 0 else 0
            for source in before[block]:
                held |= leaving.get(source, 0)
            adds, takes = transfers[block]
            after = adds | held & ~takes
            entering[block] = held
            if after != leaving[block]:
                leaving[block] = after
                moved = True
    return entering


def _values(
    step: Step, held: list[list[_Held]], entering: int, bits: _Bits, function: str
) -> Values:
    uses = (*(step.uses or ()), *step.hidden)
    return [
        (
            [
                _value(each, entering & bits.of[register] if each.before else 0, bits)
                or Itself(function, register)
                for each, register in zip(read, use.registers, strict=False)
            ],
            [Written(step.line, operand, part) for part in range(len(use.registers))]
            if use.writes
            else [],
        )
        for operand, (use, read) in enumerate(zip(uses, held, strict=True))
    ]


def _value(held: _Held, before: int, bits: _Bits) -> Hashable:
    """One value; several as a set; ``None`` where it is not known."""
    there = held.values | before
    if not there or there & bits.all_lost:
        return None
    if there & (there - 1) == 0:
        return bits.values[there.bit_length() - 1]
    # A path along which nothing was written: what is read there is of no use to anybody.
    written = there & ~bits.found
    if written & (written - 1) == 0:
        return bits.values[written.bit_length() - 1]
    return frozenset(bits.values[number] for number in members(written))


def by_name(function: str, steps: Sequence[Step]) -> Followed:
    """Return the same as ``follow`` for code whose control flow is not known."""
    values: dict[int, Values] = {
        step.line: [
            (
                _themselves(function, use) if use.reads else [],
                _themselves(function, use) if use.writes else [],
            )
            for use in (*step.uses, *step.hidden)
        ]
        for step in steps
        if step.uses is not None
    }
    return Followed(values, len(steps))


def _themselves(function: str, use: Use) -> list[Hashable]:
    return [Itself(function, each) for each in use.registers]


def names(words: Sequence[Word], values: Values | None, function: str) -> Iterator[Name]:
    """Yield the names of an instruction, for each register of an operand one.

    Args:
        words: The operands in the text.
        values: What they stand for, those that are hidden behind them; ``None`` if unknown.
        function: Where it is.
    """
    if values is None:
        for word in words:
            yield Name(Itself(function, word.text), word.columns, False)
        return
    for index, (read, written) in enumerate(values if words else ()):
        columns = words[min(index, len(words) - 1)].columns
        for value in read:
            yield Name(value, columns, False)
        for value in written:
            yield Name(value, columns, True)
