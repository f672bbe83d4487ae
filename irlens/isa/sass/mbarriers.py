"""What instructions do to the barriers in shared memory (``mbarrier``) that warps hand data on by.

A barrier counts down arrivals, and the bytes that arrivals announce, and its phase ends with the
last of both ("PTX ISA", mbarrier). The machine code's forms are inferred from the PTX that ptxas
translates to them: ``SYNCS.EXCH.64`` stores the state of a barrier that expects a number of
arrivals, ``SYNCS.ARRIVE`` arrives once and announces the bytes in its last operand, or as often as
that says (``ART0``), or just once (``A1T0``); ``SYNCS.PHASECHK`` has the parity of the phase in the
highest bit of its last operand; the barrier of a bulk copy is in the register after the first that
it names.
"""

from collections.abc import Callable
from typing import Literal, TypeAlias

import msgspec

from irlens.isa.sass.copies import polls_barrier
from irlens.isa.sass.operands import (
    Read,
    State,
    place_of,
    position,
    read_address,
    read_guard,
    register_bits,
)
from irlens.isa.sass.records import Guard, Instruction, Operand
from irlens.isa.sass.registers import FILES

#: What is done to a barrier: it is made to expect a number of arrivals, arrived at, announced bytes
#: to, waited for, copied for, or signalled by products in tensor memory when they are done. Warps
#: meet at those that are not in shared memory.
Deed: TypeAlias = Literal["expects", "arrives", "announces", "waits", "copies", "commits", "meets"]

#: Instructions that use a barrier in shared memory, in any form.
_USERS = frozenset({"SYNCS", "UTMALDG", "UBLKCP", "ARRIVES", "UTCBAR"})
#: An expected count of arrivals is stored as twice what it lacks of this, in the lower word.
_MOST = 1 << 20
_PARITY = 31


class BarrierUse(msgspec.Struct, frozen=True):
    """What an instruction does to a barrier, as its registers say.

    Attributes:
        registers: Those that it depends on, as bits.
        address: Reads the barrier's address.
        value: Reads the arrivals that are expected or made, or the parity that is waited for.
        runs: Reads whether the instruction takes effect.
    """

    deed: Deed
    registers: int
    address: Read
    value: Read
    runs: Read


def barrier_use(instruction: Instruction) -> BarrierUse | None:
    """Return what an instruction does to a barrier; ``None`` if nothing that is understood."""
    if instruction.guard is not None and meeting(instruction) is not None:
        guard = instruction.guard
        return BarrierUse("meets", _guard_bits(guard), lambda _: 0, lambda _: 0, _runs(guard))
    modifiers = frozenset(instruction.modifiers)
    places = [each for each in instruction.operands if each.kind == "memory"]
    last = instruction.operands[-1] if instruction.operands else None
    if not places or last is None:
        return None
    match instruction.opcode:
        case "UTMALDG":
            return _of_copy(instruction, places[0])
        case "UTCBAR":
            return _use(instruction, "commits", places[0], None, lambda _: 1)
        case "SYNCS" if "EXCH" in modifiers:
            return _use(instruction, "expects", places[0], last, _expected)
        case "SYNCS" if polls_barrier(instruction):
            return _use(instruction, "waits", places[0], last, lambda word: word >> _PARITY & 1)
        case "SYNCS" if "ARRIVE" in modifiers and "ART0" in modifiers:
            return _use(instruction, "arrives", places[0], last, lambda word: word)
        case "SYNCS" if "ARRIVE" in modifiers and "A1T0" in modifiers:
            return _use(instruction, "arrives", places[0], None, lambda _: 1)
        case "SYNCS" if "ARRIVE" in modifiers and "TRANS64" in modifiers:
            return _use(instruction, "announces", places[0], None, lambda _: 1)
    return None


def is_other_use(instruction: Instruction) -> bool:
    """Whether an instruction uses a barrier in a form that ``barrier_use`` does not understand."""
    if instruction.opcode not in _USERS or "CCTL" in instruction.modifiers:  # of one no longer used
        return False
    return barrier_use(instruction) is None


def _expected(word: int) -> int:
    return _MOST - (word >> 1)


def _use(
    instruction: Instruction,
    deed: Deed,
    place: Operand,
    value: Operand | None,
    meaning: Callable[[int], int],
) -> BarrierUse:
    at = place_of(value) if value is not None else None

    def read(state: State) -> int | None:
        word = 0 if at is None else state[at]
        return None if word is None else meaning(word)

    registers = register_bits(place.registers) | _guard_bits(instruction.guard)
    if value is not None:
        registers |= register_bits(value.registers)
    return BarrierUse(deed, registers, read_address(place.text), read, _runs(instruction.guard))


def _of_copy(instruction: Instruction, place: Operand) -> BarrierUse | None:
    register = place.registers[0] if place.registers else None
    if register is None or register.index is None:
        return None
    at = position(register.file, register.index) + 1
    registers = FILES.bits(register.file, register.index + 1, 1) | _guard_bits(instruction.guard)
    runs = _runs(instruction.guard)
    return BarrierUse("copies", registers, lambda state: state[at], lambda _: 1, runs)


def _guard_bits(guard: Guard | None) -> int:
    return 0 if guard is None else register_bits((guard.register,))


def _runs(guard: Guard | None) -> Read:
    return read_guard(guard) if guard is not None else lambda _: 1


class Meeting(msgspec.Struct, frozen=True):
    """A barrier of threads (``BAR``) as an instruction names it.

    Attributes:
        number: Of the barrier, 0 to 15.
        threads: How many meet there; ``None`` for all of the CTA.
        waits: Whether the instruction waits for the others.
    """

    number: int
    threads: int | None
    waits: bool


def meeting(instruction: Instruction) -> Meeting | None:
    """Return the barrier that threads meet at; ``None`` for others, and where it is computed."""
    if instruction.opcode != "BAR" or not {"SYNC", "ARV"}.intersection(instruction.modifiers):
        return None
    numbers = [each.text for each in instruction.operands]
    if not 1 <= len(numbers) <= 2 or any(not each.startswith("0x") for each in numbers):
        return None
    number, *threads = (int(each, 16) for each in numbers)
    return Meeting(number, threads[0] if threads else None, "SYNC" in instruction.modifiers)
