"""Numbers that warps hand to others through shared memory, as to those of another partition.

A warp that works for others waits at a barrier of the whole CTA and loads what it is to do. A load
sees what was written before the last such barrier that its thread has passed.
"""

from collections.abc import Callable, Iterable, Iterator

import msgspec

from irlens.isa.dialect import Access
from irlens.isa.sass.mbarriers import meeting
from irlens.isa.sass.operands import (
    PASSED,
    Form,
    State,
    Step,
    position,
    read_address,
    register_bits,
)
from irlens.isa.sass.records import Instruction
from irlens.isa.sass.registers import FILES
from irlens.isa.sass.units import lane_bytes

#: Bytes of a register.
_WORD = 4


def is_cta_barrier(instruction: Instruction) -> bool:
    """Whether all threads of the CTA wait there."""
    found = meeting(instruction)
    return found is not None and found.waits and found.threads is None


def serves_others(instructions: Iterable[Instruction]) -> bool:
    """Whether warps of the code work for others: the whole CTA meets at a barrier of its own.

    Barrier 0 is that of the default warps alone there, and of the whole CTA in all other code.
    """
    found = filter(None, map(meeting, instructions))
    return any(each.threads is None and each.number for each in found)


def with_barriers(instruction: Instruction, accessed: Access) -> Access:
    """Return what an instruction depends on, with the barriers that its thread has passed."""
    passed = 1 << PASSED
    if instruction.opcode == "LDS":
        return Access(accessed.reads | passed, accessed.writes, accessed.kills)
    if is_cta_barrier(instruction):
        return Access(accessed.reads | passed, accessed.writes | passed, accessed.kills)
    return accessed


def load_shared(form: Form) -> Step | None:
    """LDS; ``None`` where nothing is known of shared memory."""
    place = next((each.text for each in form.all if each.kind == "memory"), "")
    shared, at, size = form.launch.shared, form.result, lane_bytes(form.instruction)
    if not shared or at is None or form.modifiers & {"S8", "S16"}:
        return None
    address = read_address(place)

    def word_at(start: int, passed: int, length: int) -> int | None:
        word = 0
        for n in range(length):
            seen = [byte for before, byte in shared.get(start + n, ()) if before < passed]
            if not seen:
                return None
            word |= seen[-1] << 8 * n
        return word

    def run(state: State) -> None:
        start, passed = address(state), state[PASSED]
        for n in range(-(-size // _WORD)):
            if start is None or passed is None:
                state[at + n] = None
            else:
                state[at + n] = word_at(start + _WORD * n, passed, min(size, _WORD))

    return run


def pass_barrier(form: Form) -> Step | None:
    """BAR.SYNC of the whole CTA."""
    if not is_cta_barrier(form.instruction):
        return None

    def run(state: State) -> None:
        passed = state[PASSED]
        state[PASSED] = None if passed is None else passed + 1

    return run


class Store(msgspec.Struct, frozen=True):
    """A store to shared memory, of a whole register or several.

    Attributes:
        registers: Those that its address and its value are in, as bits.
        written: Yields the bytes that it writes, with their addresses, if both are known.
    """

    registers: int
    written: Callable[[State], Iterator[tuple[int, int]]]


def store_of(instruction: Instruction) -> Store | None:
    """Return what a store that all lanes execute writes; ``None`` for other instructions."""
    if instruction.opcode != "STS" or instruction.guard is not None:
        return None
    place, value = instruction.operands[0], instruction.operands[-1]
    if place.kind != "memory" or value.kind != "register":
        return None
    register, size = value.registers[0], lane_bytes(instruction)
    words = -(-size // _WORD)
    address = read_address(place.text)
    at = None if register.index is None else position(register.file, register.index)

    def written(state: State) -> Iterator[tuple[int, int]]:
        start = address(state)
        values = [0 if at is None else state[at + n] for n in range(words)]
        if start is None:
            return
        for n in range(size):
            if (word := values[n // _WORD]) is not None:
                yield start + n, word >> 8 * (n % _WORD) & 0xFF

    bits = 0 if register.index is None else FILES.bits(register.file, register.index, words)
    return Store(register_bits(place.registers) | bits, written)
