"""What PTX instructions do with memory, values and control, for engines that follow them."""

from collections.abc import Iterable
from typing import Literal

from irlens.isa.ptx.copies import is_bulk_load, is_cp_async, is_tcgen05_mma, is_wgmma
from irlens.isa.ptx.operands import Immediate, Register, Vector
from irlens.isa.ptx.records import Instruction

_SPACES = frozenset({"const", "global", "local", "param", "shared"})
_DIRECTIONS: dict[str, Literal["load", "store"]] = {"ld": "load", "ldu": "load", "st": "store"}
_BYTES = (("b8",), ("u8",), ("s8",))
_PAIRS = (("b64",), ("b128",))
#: Opcodes of arithmetic that hides the latency of loads.
_COMPUTES = frozenset({"dp4a", "fma", "mad", "mma", "wmma"})
#: Opcodes that compute addresses.
_ADDRESSING = frozenset({"add", "cvta", "mad", "mov", "selp", "sub"})
#: Opcodes that only move or repack a value: the compute is what uses their result.
_REPACKING = frozenset({"mov", "cvt", "prmt", "and", "or", "xor", "lop3", "shl", "shr", "shf"})
#: Opcodes between reading the number of a partition and its code.
_DISPATCHING = frozenset({"add", "and", "bra", "brx", "cvt", "mov", "setp", "sub"})
#: Opcodes that do not occur in a loop that only polls a barrier.
_WORK = frozenset(
    {
        "atom", "bar", "barrier", "call", "cp", "ld", "ldmatrix", "mma", "red", "st", "tcgen05",
        "wgmma",
    }
)  # fmt: skip


def spaces(instruction: Instruction) -> set[str]:
    """Return the modifiers without their scopes, state spaces among them."""
    return {modifier.partition("::")[0] for modifier in instruction.modifiers}


def direction(instruction: Instruction) -> Literal["load", "store"] | None:
    """Return the direction of a plain access to memory; ``None`` for other instructions."""
    return _DIRECTIONS.get(instruction.opcode)


def loads(instruction: Instruction) -> bool:
    """Whether it is a plain load."""
    return direction(instruction) == "load"


def reads_global(instruction: Instruction) -> bool:
    """Whether it reads data from global memory, or may: a generic load can."""
    if instruction.opcode in ("ld", "ldu"):
        return _may_be_in(instruction, "global")
    return is_cp_async(instruction) or is_bulk_load(instruction)


def updates_global(instruction: Instruction) -> bool:
    """Whether it is an atomic operation on global memory, whatever it returns."""
    return instruction.opcode in ("atom", "red") and "global" in spaces(instruction)


def loads_shared(instruction: Instruction) -> bool:
    """Whether it loads registers from shared memory."""
    return instruction.opcode in ("ld", "ldmatrix") and "shared" in spaces(instruction)


def loads_shared_byte(instruction: Instruction) -> bool:
    """Whether it loads one byte from shared memory."""
    width = instruction.modifiers[-1:]
    return instruction.opcode == "ld" and loads_shared(instruction) and width in _BYTES


def stores_shared(instruction: Instruction) -> bool:
    """Whether it stores registers to shared memory."""
    return instruction.opcode == "st" and "shared" in spaces(instruction)


def may_read_shared(instruction: Instruction) -> bool:
    """Whether it may read shared memory: a generic load can, and the tensor core does."""
    if instruction.opcode in ("call", "tcgen05", "wgmma"):
        return True
    if instruction.opcode == "ld":
        return _may_be_in(instruction, "shared")
    return instruction.opcode != "st" and "shared" in spaces(instruction)


def may_access_local(instruction: Instruction) -> bool:
    """Whether it accesses local memory, or may: a generic access can."""
    return instruction.opcode in ("ld", "st") and _may_be_in(instruction, "local")


def _may_be_in(instruction: Instruction, space: str) -> bool:
    """Whether what an instruction accesses may be in a state space: in any, if it names none."""
    named = _SPACES & spaces(instruction)
    return not named or space in named


def multiplies_from_shared(instruction: Instruction) -> bool:
    """Whether it is a product whose operands the tensor core reads from shared memory."""
    return is_wgmma(instruction) or is_tcgen05_mma(instruction)


def computes(instruction: Instruction) -> bool:
    """Whether it is arithmetic that a double buffer hides its loads behind."""
    return instruction.opcode in _COMPUTES


def repacks(instruction: Instruction) -> bool:
    """Whether it only moves or repacks a value."""
    return instruction.opcode in _REPACKING


def moves(instruction: Instruction) -> bool:
    """Whether it only copies whole registers, or takes one apart.

    Packing two of them into a pair is free; packing halves of one is work. ptxas reads halves in
    place, or splits them off in front of the branch back, after the compute.
    """
    if instruction.opcode != "mov" or instruction.predicate is not None:
        return False
    match instruction.operands:
        case (Vector(), Register()):
            return True
    allowed = (Register, Vector) if instruction.modifiers[-1:] in _PAIRS else (Register,)
    return all(isinstance(operand, allowed) for operand in instruction.operands)


def computes_address(instruction: Instruction) -> bool:
    """Whether addresses are computed by such instructions."""
    return instruction.opcode in _ADDRESSING


def only_polls(instructions: Iterable[Instruction]) -> bool:
    """Whether a loop does nothing but poll a barrier."""
    return not any(
        each.opcode in _WORK or each.modifiers[:1] in (("init",), ("arrive",))
        for each in instructions
    )


def dispatches(instruction: Instruction) -> bool:
    """Whether it may stand between reading the number of a partition and the partition's code."""
    return instruction.opcode in _DISPATCHING


def branches(instruction: Instruction) -> bool:
    """Whether it branches to a label."""
    return instruction.opcode == "bra"


def chooses(instruction: Instruction) -> bool:
    """Whether it branches to one of a list of labels."""
    return instruction.opcode == "brx"


def calls(instruction: Instruction) -> bool:
    """Whether it calls a function."""
    return instruction.opcode == "call"


def sets_registers(instruction: Instruction) -> bool:
    """Whether it changes the number of registers of a warp group's threads."""
    return instruction.opcode == "setmaxnreg"


def barrier(instruction: Instruction) -> int | None:
    """Return the number of the barrier of a CTA that an instruction waits at, if it is known."""
    if instruction.opcode in ("bar", "barrier") and instruction.modifiers[:1] == ("sync",):
        match instruction.operands:
            case (Immediate(value=int() as number),):
                return number
    return None
