"""Values of an AMDGPU loop that pass through scratch: spilled, and reloaded later."""

from collections.abc import Iterable, Sequence

import msgspec

from irlens.isa.amdgcn import Instruction
from irlens.isa.amdgcn.memory import access_bytes, accesses_spill
from irlens.isa.amdgcn.registers import FILES
from irlens.isa.amdgcn.units import classify

#: Bytes of a register.
_REGISTER = 4
_OFFSET = "offset:"


class Slots(msgspec.Struct, frozen=True):
    """A store to scratch, or a load from it, at a constant address.

    Attributes:
        registers: By the address of each four bytes the register, as a set of one.
    """

    stores: bool
    registers: dict[int, int]

    def move(self, holders: int, filled: frozenset[int]) -> tuple[int, frozenset[int]]:
        """Return the registers and the addresses that hold a value after the instruction."""
        if self.stores:
            held = {at for at, register in self.registers.items() if register & holders}
            return holders, filled - self.registers.keys() | held
        for at, register in self.registers.items():
            holders = holders | register if at in filled else holders & ~register
        return holders, filled


def spill_slots(body: Iterable[Instruction]) -> dict[int, Slots]:
    """Return the accesses to scratch of an iteration by their positions.

    Returns:
        Empty where one has an address that is not constant, or moves less than a register: then
        nothing is known of any.
    """
    slots = {}
    for position, instruction in enumerate(body):
        if accesses_spill(instruction):
            accessed = _slots(instruction)
            if accessed is None:
                return {}
            slots[position] = accessed
    return slots


def _slots(instruction: Instruction) -> Slots | None:
    operation = instruction.operations[0]
    kind, size = classify(operation), access_bytes(operation.mnemonic)
    stores = kind == "scratch store"
    texts = [operand.text for operand in operation.operands]
    if kind not in ("scratch load", "scratch store") or len(texts) != 3:
        return None
    data = operation.operands[1 if stores else 0].registers
    constant = texts.count("off") == 2
    if not constant or len(data) != 1 or size != data[0].count * _REGISTER:
        return None
    first = _offset(operation.modifiers)
    if first is None:
        return None
    return Slots(
        stores,
        {
            first + n * _REGISTER: FILES.bits(data[0].file, data[0].first + n, 1)
            for n in range(data[0].count)
        },
    )


def _offset(modifiers: Sequence[str]) -> int | None:
    """Return the address that an access's modifiers name; ``None`` if it is not a plain number."""
    written = [each.removeprefix(_OFFSET) for each in modifiers if each.startswith(_OFFSET)]
    if not written:
        return 0
    return int(written[0]) if len(written) == 1 and written[0].isdecimal() else None
