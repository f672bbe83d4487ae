"""Spills in AMDGPU assembly: vector registers to scratch or AGPRs, scalar ones to lanes of VGPRs.

Scratch is private memory. From gfx940 on scratch instructions reach it; before, buffer
instructions do, which LLVM marks with a comment. It marks moves to AGPRs that spill likewise. A
scalar register is spilled by ``v_writelane``, one of many that a VGPR has room for.
"""

from collections.abc import Iterator, Sequence

from irlens.isa.amdgcn.classes import classify
from irlens.isa.amdgcn.memory import access_bytes, is_spill
from irlens.isa.amdgcn.records import Instruction
from irlens.isa.dialect import Spill

_REGISTER_BYTES = 4


def spills(instructions: Sequence[Instruction]) -> Iterator[Spill]:
    """Yield the instructions that spill or reload.

    The bytes of the stores to memory and AGPRs, over 4, are what the metadata counts as
    ``.vgpr_spill_count``, unless the kernel has stack arrays too.
    """
    lanes = _spill_registers(instructions)
    for index, instruction in enumerate(instructions):
        operation = instruction.operations[0]
        mnemonic, operands = operation.mnemonic, operation.operands
        if is_spill(instruction):
            stores = (classify(operation) or "").endswith("store")
            yield Spill(index, stores, "memory", access_bytes(mnemonic))
        elif mnemonic.startswith("v_accvgpr") and "Reload Reuse" in instruction.text:
            stores = mnemonic.startswith("v_accvgpr_write")
            yield Spill(index, stores, "AGPR", _REGISTER_BYTES)
        elif mnemonic.startswith("v_writelane") and operands[0].text in lanes:
            yield Spill(index, True, "VGPR lane", _REGISTER_BYTES)
        elif mnemonic.startswith("v_readlane") and operands[1].text in lanes:
            yield Spill(index, False, "VGPR lane", _REGISTER_BYTES)


def _spill_registers(instructions: Sequence[Instruction]) -> frozenset[str]:
    """VGPRs whose lanes are written from scalar registers and read back to such, by number.

    A reduction reads a lane too, but nothing writes single lanes there.
    """
    written, read = set(), set()
    for instruction in instructions:
        operation = instruction.operations[0]
        if len(operation.operands) != 3 or not operation.operands[2].text.isdigit():
            continue
        if operation.mnemonic.startswith("v_writelane"):
            written.add(operation.operands[0].text)
        elif operation.mnemonic.startswith("v_readlane"):
            read.add(operation.operands[1].text)
    return frozenset(written & read)
