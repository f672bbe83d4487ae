"""The operands of a SASS instruction, read and written for one thread.

A register holds 32 bits, an unsigned number. ``None`` is a value that is not known: data that was
loaded, or the result of an instruction that is not understood.
"""

import re
import struct
from collections.abc import Callable, Iterable, Mapping
from math import isfinite
from typing import TypeAlias

import msgspec

from irlens.isa.sass import Instruction, Operand, Register
from irlens.isa.sass.records import Guard
from irlens.isa.sass.registers import FILES

#: The registers of one thread by their position in ``FILES``: numbers, and predicates as booleans.
#: The special registers of ``SPECIAL`` follow.
State: TypeAlias = list[int | None]
Read: TypeAlias = Callable[[State], int | None]
Step: TypeAlias = Callable[[State], None]

WORD = (1 << 32) - 1
#: Special registers that tell threads apart, by their position in a state.
SPECIAL = {
    name: FILES.shift("UP") + 8 + number
    for number, name in enumerate((
        "SR_CTAID.X", "SR_CTAID.Y", "SR_CTAID.Z", "SR_TID.X", "SR_TID.Y", "SR_TID.Z",
        "SR_LANEID", "SR_CgaCtaId",
    ))
}  # fmt: skip
LANE = SPECIAL["SR_LANEID"]
#: How many barriers of the whole CTA a thread has passed, by its position in a state.
PASSED = FILES.shift("UP") + 8 + len(SPECIAL)
#: Positions of all registers in a state.
REGISTERS = PASSED + 1
_CONSTANT = re.compile(r"-?cx?\[(?:0x0|UR\d+)\]\[(?P<offset>0x[0-9a-f]+)\]")
#: Where the words of constant bank 2, which holds where indexed jumps lead, follow in
#: ``ThreadInputs.constants``.
TABLES = 1 << 20
_TABLE = re.compile(r"cx?\[0x2\]\[(?P<file>U?R)(?P<index>\d+)(?:\+(?P<offset>0x[0-9a-f]+))?\]")
_HALVES = {"H0_H0", "H1_H1"}
_TERM = re.compile(r"(?P<sign>-?)(?:(?P<file>UR|R)(?P<index>\d+|Z)(?:\.X(?P<scale>\d+))?[.\w]*"
                   r"|(?P<number>0x[0-9a-f]+))$")  # fmt: skip


class ThreadInputs(msgspec.Struct, frozen=True):
    """What a thread can read of its launch.

    Attributes:
        constants: 32-bit words of constant bank 0 by their offset in bytes: those of the launch;
            from ``TABLES`` on those of bank 2.
        special: Special registers by name ("SR_CTAID.X"): those of the thread.
        memory: Parts of global memory whose contents are known, by the address where they begin.
        shared: Bytes of shared memory by their address: what other warps write there, each time
            with the barriers of the CTA that the writer had passed before.
    """

    constants: Mapping[int, int]
    special: Mapping[str, int]
    memory: tuple[tuple[int, bytes], ...] = ()
    shared: Mapping[int, tuple[tuple[int, int], ...]] = {}

    def is_of_launch(self, other: "ThreadInputs") -> bool:
        """Whether another thread is of the same launch."""
        if self.constants is not other.constants and self.constants != other.constants:
            return False
        if self.memory is not other.memory and self.memory != other.memory:
            return False
        return self.shared is other.shared or self.shared == other.shared

    def state(self, size: int, others: int | None) -> State:
        """Return the state of a thread that begins; ``others`` is what other registers hold."""
        state = [others] * REGISTERS + [None] * (size - REGISTERS)
        for name, at in SPECIAL.items():
            state[at] = self.special.get(name)
        state[PASSED] = 0
        return state


def signed(value: int, bits: int = 32) -> int:
    """Return the number that bits stand for in two's complement."""
    half = 1 << (bits - 1)
    return (value ^ half) - half


def position(file: str, index: int) -> int:
    """Return a register's position in a state."""
    return FILES.shift(file) + index


def register_bits(registers: Iterable[Register]) -> int:
    """Return registers as bits, those that are constants left out."""
    bits = 0
    for each in registers:
        if each.index is not None:
            bits |= FILES.bits(each.file, each.index, 1)
    return bits


class Form:
    """An instruction's operands, as results, sources and predicates."""

    def __init__(self, instruction: Instruction, launch: ThreadInputs) -> None:
        self.launch = launch
        self.instruction = instruction
        self.name = instruction.opcode
        self.modifiers = frozenset(instruction.modifiers)
        operands = [each for each in instruction.operands if each.kind != "label"]
        self.target = operands[0] if operands else None
        rest = operands[1:]
        self.carries: list[Operand] = []
        while rest and rest[0].is_predicate and not rest[0].text.startswith("!"):
            self.carries.append(rest.pop(0))
        self.sources = [each for each in rest if not each.is_predicate]
        self.predicates = [each for each in rest if each.is_predicate]
        self.all = operands

    @property
    def result(self) -> int | None:
        """Position of the result; ``None`` if there is none, and for RZ and PT."""
        return None if self.target is None else self.put(self.target)

    def number(self, word: int) -> int:
        """Return the number that the instruction takes a word for, with a sign unless .U32."""
        return word if "U32" in self.modifiers else signed(word)

    def values(self) -> list[Read]:
        """Readers of the sources as 32-bit words."""
        return [read_word(each, self.launch) for each in self.sources]

    def pair(self, operand: Operand) -> Read:
        """Return a reader of 64 bits."""
        return read_pair(operand, self.launch)

    def put(self, operand: Operand) -> int | None:
        """Position that a result goes to; ``None`` for RZ and PT."""
        return place_of(operand)


def place_of(operand: Operand) -> int | None:
    """Return the position of the register that an operand names first; ``None`` without one."""
    register = operand.registers[0] if operand.registers else None
    if register is None or register.index is None:
        return None
    return position(register.file, register.index)


def read_word(operand: Operand, launch: ThreadInputs) -> Read:
    """Return a reader of one operand as 32 unsigned bits."""
    text = operand.text
    if operand.kind == "register":
        return _read_register(operand)
    if operand.kind == "constant":
        if (table := _TABLE.fullmatch(text)) is not None:
            return _read_table(table, launch)
        match = _CONSTANT.match(text)
        word = launch.constants.get(int(match["offset"], 16)) if match else None
        if word is not None and text.startswith("-"):
            word = -word & WORD
        return lambda _: word
    if operand.kind == "special":
        at = SPECIAL.get(text)
        return lambda state: None if at is None else state[at]
    number = immediate(text)
    return lambda _: number


def _read_table(table: re.Match[str], launch: ThreadInputs) -> Read:
    at = position(table["file"], int(table["index"]))
    begin = TABLES + int(table["offset"] or "0", 16)

    def read(state: State) -> int | None:
        value = state[at]
        return None if value is None else launch.constants.get(begin + value)

    return read


def immediate(text: str) -> int | None:
    """Return the bits of a number as written, those of a 32-bit float included."""
    try:
        return int(text, 0) & WORD
    except ValueError:
        pass
    try:
        number = float(text.replace("INF", "inf").replace("QNAN", "nan"))
    except ValueError:
        return None
    return struct.unpack("<I", struct.pack("<f", number))[0] if isfinite(number) else None


def _read_register(operand: Operand) -> Read:
    register, text = operand.registers[0], operand.text
    if _HALVES.intersection(register.suffixes) or "|" in text:
        return lambda _: None
    negative, inverted = text.startswith("-"), text.startswith("~")
    if register.index is None:
        zero = WORD if inverted else 0
        return lambda _: zero
    at = position(register.file, register.index)
    if not negative and not inverted:
        return lambda state: state[at]

    def read(state: State) -> int | None:
        value = state[at]
        if value is None:
            return None
        return (-value if negative else ~value) & WORD

    return read


def read_pair(operand: Operand, launch: ThreadInputs) -> Read:
    """Return a reader of one operand as 64 unsigned bits."""
    if operand.kind == "constant":
        match = _CONSTANT.match(operand.text)
        offset = int(match["offset"], 16) if match else -8
        low, high = launch.constants.get(offset), launch.constants.get(offset + 4)
        whole = None if low is None or high is None else high << 32 | low
        return lambda _: whole
    if operand.kind != "register":
        number = immediate(operand.text)
        wide = None if number is None else signed(number) & (1 << 64) - 1
        return lambda _: wide
    register = operand.registers[0]
    if register.index is None:
        return lambda _: 0
    at = position(register.file, register.index)
    negative = operand.text.startswith("-")

    def read(state: State) -> int | None:
        low, high = state[at], state[at + 1]
        if low is None or high is None:
            return None
        value = high << 32 | low
        return -value & (1 << 64) - 1 if negative else value

    return read


def read_predicate(operand: Operand) -> Read:
    """Return a reader of a predicate, its negation applied."""
    return read_guard(Guard(operand.registers[0], operand.text.startswith("!")))


def read_guard(guard: Guard) -> Read:
    """Return a reader of whether a guard holds."""
    register, negated = guard.register, guard.negated
    if register.index is None:
        constant = int(not negated)
        return lambda _: constant
    at = position(register.file, register.index)

    def read(state: State) -> int | None:
        value = state[at]
        return None if value is None else int(bool(value) != negated)

    return read


def unknown(values: Iterable[object]) -> bool:
    """Whether any value is ``None``; others are not compared, and may be arrays."""
    return type(None) in map(type, values)


def compute(form: Form, reads: list[Read], function: Callable[..., int]) -> Step | None:
    """Return a step that writes one 32-bit result."""
    if form.target is None:
        return None
    at = form.put(form.target)
    if at is None:
        return lambda _: None
    if len(reads) == 1:
        (only,) = reads

        def single(state: State) -> None:
            value = only(state)
            state[at] = None if value is None else function(value) & WORD

        return single

    def run(state: State) -> None:
        values = [read(state) for read in reads]
        state[at] = None if unknown(values) else function(*values) & WORD

    return run


def wide(form: Form, reads: list[Read], function: Callable[..., int]) -> Step | None:
    """Return a step that writes a pair."""
    at = form.result
    if at is None:
        return None

    def run(state: State) -> None:
        values = [read(state) for read in reads]
        known = not unknown(values)
        total = function(*values) if known else 0
        state[at] = total & WORD if known else None
        state[at + 1] = total >> 32 & WORD if known else None

    return run


def looked_up(table: int, a: int, b: int, c: int) -> int:
    """Return a bitwise function of three words, by its table of eight results."""
    result = 0
    for row in range(8):
        if table >> row & 1:
            result |= (a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c)
    return result & WORD


def address_terms(address: str) -> tuple[tuple[tuple[int, int], ...], int] | None:
    """Return the positions that an address adds up, with their factors, and a number."""
    terms: list[tuple[int, int]] = []
    number = 0
    for text in address.strip("[]").replace("+-", "+ -").split("+"):
        match = _TERM.match(text.strip())
        if match is None:
            return None
        sign = -1 if match["sign"] else 1
        if match["number"]:
            number += sign * int(match["number"], 16)
        elif match["index"] != "Z":
            at = position(match["file"], int(match["index"]))
            terms.append((at, sign * int(match["scale"] or 1)))
    return tuple(terms), number


def read_address(address: str) -> Read:
    """Return a reader of an address: "[R75+UR4+0x10]", "[R2.X4]"."""
    found = address_terms(address)
    if found is None:
        return lambda _: None
    terms, number = found

    def read(state: State) -> int | None:
        total = number
        for at, scale in terms:
            value = state[at]
            if value is None:
                return None
            total += scale * value
        return total & WORD

    return read
