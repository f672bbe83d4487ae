"""Memory accesses of AMDGPU instructions, and spills.

Spills go to scratch, which is private memory, or to AGPRs, scalar registers to lanes of VGPRs. From
gfx940 on scratch instructions reach scratch; before, buffer instructions do, which LLVM marks with
a comment. It marks moves to AGPRs that spill likewise. A scalar register is spilled by
``v_writelane``, one of many that a VGPR has room for.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

import msgspec

from irlens.isa.amdgcn.records import Instruction, Operation
from irlens.isa.amdgcn.units import classify, may_access_memory
from irlens.isa.dialect import StackAccess

#: A queue of operations that complete in order: vmcnt or LOADcnt, ASYNCcnt, TENSORcnt.
Counter: TypeAlias = Literal["load", "async", "tensor"]

_TO_REGISTERS = frozenset({"buffer load", "flat load", "global load"})
_SCALAR_LOADS = frozenset({"scalar load"})
STORES = frozenset({"buffer store", "flat store", "global store", "scratch store"})

#: LLVM's comment on a spill, or on a clause of them.
_FOLDED = "-byte Folded "
#: Of a spilled register.
_REGISTER_BYTES = 4
_LITERAL = re.compile(r"0x[0-9a-f]{1,8}|\d{1,9}")
_DWORDS = re.compile(r"_dword(?:x(2|3|4|8|16))?(?:_|$)")
_BITS = re.compile(r"_[bfiu](8|16|32|64|96|128|256|512)(?:_|$)")
_NARROW = re.compile(r"_[us]?(byte|short)(?:_|$)")
#: Two accesses of the named width at two addresses.
_TWICE = re.compile(r"ds_(?:(?:read|write|wrxchg)2|\w+_2addr)")
#: A pair of 16-bit numbers, and until gfx10 atomics without a type.
_PACKED = re.compile(r"_pk_add(?:_rtn)?_b?f16$")
_UNTYPED = re.compile(r"_atomic_[a-z]+(?:_(x2))?$")
#: In LDS: counters of a wave, and what no lane addresses.
_NO_WIDTH = re.compile(r"ds_(?:add|sub)_gs_reg|ds_bvh_stack|image_|_prefetch_")


class Transfer(msgspec.Struct, frozen=True, gc=False):
    """A read of global memory by the vector memory unit.

    Attributes:
        to_lds: Whether the data goes to LDS and not to registers.
        bytes: Per lane; ``None`` where the mnemonic does not say.
    """

    to_lds: bool
    counter: Counter
    bytes: int | None


def transfer(instruction: Instruction) -> Transfer | None:
    """Return the vector read of global memory of an instruction; ``None`` if it has none."""
    operation = instruction.operations[0]
    kind = classify(operation)
    if kind == "global to LDS":
        counter: Counter = "load"
        if "async" in operation.mnemonic:
            counter = "async"
        elif operation.mnemonic.startswith("tensor_"):
            counter = "tensor"
        return Transfer(True, counter, access_bytes(operation.mnemonic))
    if kind in _TO_REGISTERS and not is_spill(instruction):
        return Transfer(False, "load", _loaded_bytes(operation))
    return None


def _loaded_bytes(operation: Operation) -> int | None:
    """Return the bytes per lane that a load to registers brings.

    A load that transposes a matrix names what a lane of 32 gets; 64 lanes share the same matrix.
    """
    registers = operation.operands[0].registers if operation.operands else ()
    if "_load_tr" in operation.mnemonic and registers:
        return _REGISTER_BYTES * sum(each.count for each in registers)
    return access_bytes(operation.mnemonic)


def global_access(
    instruction: Instruction,
) -> tuple[Literal["load", "store", "unknown"], int | str] | None:
    """Return the direction of a vector access to global memory, and its bytes per lane.

    Instead of the bytes it is the mnemonic, where that does not say. ``None`` for atomics, spills
    and all other instructions.
    """
    operation = instruction.operations[0]
    read, mnemonic = transfer(instruction), operation.mnemonic
    if read is not None:
        return "load", mnemonic if read.bytes is None else read.bytes
    if may_access_memory(operation):
        return "unknown", mnemonic
    kind = classify(operation)
    stores = kind in STORES or kind == "LDS to global"
    if not stores or kind == "scratch store" or is_spill(instruction):
        return None
    return "store", access_bytes(mnemonic) or mnemonic


def has_unknown_width(instruction: Instruction) -> bool:
    """Whether it is a vector access to global memory whose mnemonic does not say how many bytes."""
    operation = instruction.operations[0]
    kind = classify(operation)
    is_access = transfer(instruction) is not None or (
        kind in STORES and kind != "scratch store" and not is_spill(instruction)
    )
    return is_access and access_bytes(operation.mnemonic) is None


def is_scalar_load(instruction: Instruction) -> bool:
    """Whether it reads memory into scalar registers, the same for all lanes."""
    return classify(instruction.operations[0]) in _SCALAR_LOADS


def is_spill(instruction: Instruction) -> bool:
    """Whether it accesses scratch, as spills and stack arrays do.

    Before gfx940 these are buffer instructions, recognisable by LLVM's comment only.
    """
    kind = classify(instruction.operations[0])
    return kind in ("scratch load", "scratch store") or _FOLDED in instruction.text


def accesses_spill(instruction: Instruction) -> bool:
    """Whether it is the access to scratch itself, and not the clause in front of several.

    LLVM's comment on a spill may stand beside the clause.
    """
    return is_spill(instruction) and instruction.mnemonic != "s_clause"


def reads_lds(instruction: Instruction) -> bool:
    """Whether it loads from LDS."""
    return classify(instruction.operations[0]) == "LDS load"


def writes_lds(instruction: Instruction) -> bool:
    """Whether it stores to LDS, from registers or from global memory."""
    return classify(instruction.operations[0]) in ("LDS store", "global to LDS")


def immediate(operation: Operation) -> int | None:
    """Return the number that is an operation's last operand; ``None`` if that is no number."""
    text = operation.operands[-1].text if operation.operands else ""
    if not _LITERAL.fullmatch(text):
        return None
    return int(text, 0) if text.startswith("0x") else int(text)


def access_bytes(mnemonic: str) -> int | None:
    """Return the bytes per lane that a memory instruction moves; ``None`` if it does not say.

    Of an atomic they are those in memory. Accesses that convert formats, and those of images,
    tensors and blocks of registers, do not say.
    """
    if _NO_WIDTH.search(mnemonic):
        return None
    if _PACKED.search(mnemonic):
        return 4
    if match := _DWORDS.search(mnemonic):
        return 4 * int(match[1] or 1)
    if match := _NARROW.search(mnemonic):
        return 1 if match[1] == "byte" else 2
    if match := _BITS.search(mnemonic):
        return int(match[1]) // 8 * (2 if _TWICE.match(mnemonic) else 1)
    match = _UNTYPED.search(mnemonic)
    return None if match is None else 8 if match[1] else 4


def stack_accesses(instructions: Sequence[Instruction]) -> Iterator[StackAccess]:
    """Yield the instructions that spill or reload, or access arrays in scratch.

    The bytes of the stores that spill to memory and AGPRs, over 4, are what the metadata counts as
    ``.vgpr_spill_count``, for the kernel without the functions that it calls.
    """
    lanes, commented = _spill_registers(instructions), -1
    for index, instruction in enumerate(instructions):
        operation = instruction.operations[0]
        mnemonic, operands = operation.mnemonic, operation.operands
        if mnemonic == "s_clause":
            # LLVM's comment on a clause is on each of the instructions that it counts, less one.
            spilled = _FOLDED in instruction.text
            commented = index + 1 + (immediate(operation) or 0) if spilled else commented
        elif is_spill(instruction):
            stores = (classify(operation) or "").endswith("store")
            known = _FOLDED in instruction.text or index <= commented
            yield StackAccess(index, stores, "memory", access_bytes(mnemonic), spills=known)
        elif mnemonic.startswith("v_accvgpr") and "Reload Reuse" in instruction.text:
            stores = mnemonic.startswith("v_accvgpr_write")
            yield StackAccess(index, stores, "AGPR", _REGISTER_BYTES, spills=True)
        elif mnemonic.startswith("v_writelane") and operands[0].text in lanes:
            yield StackAccess(index, True, "VGPR lane", _REGISTER_BYTES, spills=True)
        elif mnemonic.startswith("v_readlane") and operands[1].text in lanes:
            yield StackAccess(index, False, "VGPR lane", _REGISTER_BYTES, spills=True)


def _spill_registers(instructions: Sequence[Instruction]) -> frozenset[str]:
    """VGPRs whose lanes are written from scalar registers and read back to such, by number.

    A reduction reads a lane too, but does not write single lanes.
    """
    written, read = set(), set()
    names = {each.mnemonic for each in instructions}
    if not any(name.startswith("v_writelane") for name in names):
        return frozenset()
    for instruction in instructions:
        operation = instruction.operations[0]
        if len(operation.operands) != 3 or not operation.operands[2].text.isdigit():
            continue
        if operation.mnemonic.startswith("v_writelane"):
            written.add(operation.operands[0].text)
        elif operation.mnemonic.startswith("v_readlane"):
            read.add(operation.operands[1].text)
    return frozenset(written & read)
