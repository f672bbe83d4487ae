"""Words of local memory that ptxas spills registers to, followed like registers.

A loop's counter may be spilled like any other register. Where all accesses to local memory go
through the stack pointer, which never changes after the kernel's first block, their offsets name
the words; otherwise local memory is data.
"""

from collections.abc import Mapping, Sequence

import msgspec

from irlens.isa.sass import units
from irlens.isa.sass.function import stack_offset
from irlens.isa.sass.operands import REGISTERS, State, Step, position
from irlens.isa.sass.records import Instruction, SectionBody
from irlens.isa.sass.registers import STACK_POINTER

_WORD = 4


class LocalWords(msgspec.Struct, frozen=True):
    """The words of local memory that a kernel accesses.

    Attributes:
        size: Positions of a state: the registers, then the words.
        words: Positions of the words that an instruction accesses, by its offset.
    """

    size: int
    words: Mapping[int, tuple[int, ...]]


def find_local_words(section: SectionBody, first: range, writes: Sequence[int]) -> LocalWords:
    """Return the words of local memory that a kernel accesses, none where they are not known.

    Args:
        first: The instructions of its first block.
        writes: The registers that each instruction writes, as bits.
    """
    known: dict[int, int] = {}
    words: dict[int, tuple[int, ...]] = {}
    for index, each in enumerate(section.instructions):
        if each.opcode in units.LOCAL:
            offset = stack_offset(each)
            if offset is None:
                return LocalWords(REGISTERS, {})
            last = offset + units.lane_bytes(each) - 1
            words[each.offset] = tuple(
                known.setdefault(word, REGISTERS + len(known))
                for word in range(offset // _WORD, last // _WORD + 1)
            )
        elif writes[index] & STACK_POINTER and (words or index not in first):
            return LocalWords(REGISTERS, {})
    return LocalWords(REGISTERS + len(known), words)


def word_access(instruction: Instruction, words: tuple[int, ...]) -> tuple[int, int, int]:
    """Return the words that an access to them reads, writes and replaces, as bits."""
    bits = sum(1 << word for word in words)
    if instruction.opcode == "LDL":
        return bits, 0, 0
    return 0, bits, 0 if instruction.guard is not None else bits


def as_step(instruction: Instruction, words: tuple[int, ...]) -> Step:
    """Return what an access to words of local memory does to a state."""
    register = next((o.registers[0] for o in instruction.operands if o.kind == "register"), None)
    stores = instruction.opcode == "STL"
    at = None
    if register is not None and register.index is not None:
        at = position(register.file, register.index)
    if at is None and not stores:
        return lambda _: None
    # ptxas also spills values of 16 bits, into either half of a word: such a word is data.
    is_whole = instruction.guard is None and units.lane_bytes(instruction) == len(words) * _WORD

    def run(state: State) -> None:
        for number, word in enumerate(words):
            value: int | None = None
            if is_whole:
                value = state[word] if not stores else 0 if at is None else state[at + number]
            if stores:
                state[word] = value
            elif at is not None:
                state[at + number] = value

    return run
