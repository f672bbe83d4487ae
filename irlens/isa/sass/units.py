"""Which unit of an SM each machine instruction occupies, and for how long.

The classes are those of Nsight Compute's ``smsp__inst_executed_pipe_*`` counters, which they
reproduce to the instruction on an H200 (``benchmarks/time_model.py``).
"""

import re
from typing import Literal, TypeAlias

from irlens.isa.sass.records import Instruction, Mnemonic

#: Units that instructions occupy. "other" is what no figure follows: branches, barriers, votes.
Unit: TypeAlias = Literal["alu", "fma", "xu", "lsu", "tensor", "uniform", "other"]

_OPCODES: dict[Unit, str] = {
    "alu": "BREAK CS2R ELECT F2FP FMNMX FMNMX3 FSEL FSETP FSET HMNMX2 HSETP2 HSET2 I2FP IABS IADD "
    "IADD3 IMNMX ISETP LEA LOP3 MOV P2R PLOP3 PRMT R2P R2UR SEL SGXT SHF VIADDMNMX VIMNMX VIMNMX3 "
    "VABSDIFF VABSDIFF4 BMSK FCHK",
    "fma": "FADD FADD2 FFMA FFMA2 FMUL FMUL2 HADD2 HFMA2 HMUL2 IMAD IDP IDP4A VIADD FSWZADD",
    "xu": "MUFU F2I I2F F2F FRND BREV FLO POPC",
    "lsu": "LD LDG LDGSTS LDGDEPBAR LDL LDS LDSM ST STG STL STS STSM SHFL ATOM ATOMG ATOMS RED "
    "REDG LDGMC QSPC",
    "tensor": "HMMA QMMA IMMA DMMA BMMA OMMA HGMMA QGMMA IGMMA BGMMA",
}
_UNITS = {name: unit for unit, names in _OPCODES.items() for name in names.split()}

#: Opcodes that access shared memory.
SHARED = frozenset({"LDS", "LDSM", "STS", "STSM", "ATOMS"})
#: Opcodes that access global memory through the LSU.
GLOBAL_LOADS = frozenset({"LDG", "LD", "LDGSTS", "ATOMG", "ATOM"})
GLOBAL_STORES = frozenset({"STG", "ST", "RED", "REDG"})
#: Opcodes that access local memory.
LOCAL_LOADS = frozenset({"LDL"})
LOCAL_STORES = frozenset({"STL"})
LOCAL = LOCAL_LOADS | LOCAL_STORES
#: Opcodes whose lanes' addresses decide how long shared memory is occupied. What ATOMS takes
#: depends on its data.
ADDRESSED = frozenset({"LDS", "STS", "LDSM", "STSM", "LDGSTS"})


def moves_matrices(instruction: Instruction | Mnemonic) -> bool:
    """Whether each lane gives the address of a row of a matrix."""
    return instruction.opcode in ("LDSM", "STSM")


def copies(instruction: Instruction) -> bool:
    """Whether an instruction of a warp copies from global to shared memory."""
    return instruction.opcode == "LDGSTS"


def bypasses_l1(instruction: Instruction) -> bool:
    """Whether it takes from the L2 what it loads, also where the L1 holds that.

    ``cp.async.cg`` does, and so do ``ld.global.cg`` and loads that other CTAs' stores may precede.
    """
    return "BYPASS" in instruction.modifiers or (
        instruction.opcode == "LDG" and "STRONG" in instruction.modifiers
    )


def calls_driver(instruction: Instruction) -> bool:
    """Whether it calls what is not in the binary: a function of the driver, such as vprintf."""
    in_binary = any(operand.kind == "label" for operand in instruction.operands)
    return instruction.opcode == "CALL" and "ABS" in instruction.modifiers and not in_binary


#: What an instruction does in shared memory, or with its data path.
SharedAccess: TypeAlias = Literal["load", "store", "copy", "shuffle"]
_SHARED_ACCESSES: dict[str, SharedAccess] = {
    "LDS": "load", "LDSM": "load", "STS": "store", "STSM": "store", "ATOMS": "store",
    "LDGSTS": "copy", "SHFL": "shuffle",
}  # fmt: skip


def shared_access(instruction: Instruction) -> SharedAccess | None:
    """Return what an instruction does in shared memory; ``None`` for nothing.

    ptxas puts ``@!PT LDS RZ, [RZ]`` in front of asynchronous copies, which accesses nothing.
    """
    if instruction.guard is not None and instruction.guard.never:
        return None
    return _SHARED_ACCESSES.get(instruction.opcode)


def shuffles(instruction: Instruction | Mnemonic) -> bool:
    """Whether lanes exchange registers, which takes the data path of shared memory."""
    return instruction.opcode == "SHFL"


def is_warpgroup_product(instruction: Instruction | Mnemonic) -> bool:
    """Whether it is a product of a warp group: HGMMA, IGMMA, BGMMA or QGMMA."""
    return instruction.opcode.endswith("GMMA")


def access_slots(instruction: Instruction | Mnemonic) -> int:
    """Return how often an access occupies the LSU."""
    return shared_wavefronts(instruction) if instruction.opcode in SHARED else 1


def unit(instruction: Instruction | Mnemonic) -> Unit:
    """Return the unit that an instruction occupies."""
    opcode = instruction.opcode
    known = _UNITS.get(opcode)
    if known is not None:
        return "tensor" if "MMA" in instruction.modifiers else known
    if opcode.startswith("UTC"):
        return "tensor" if opcode.endswith("MMA") else "other"
    return "uniform" if opcode.startswith("U") and not opcode.startswith("UTMA") else "other"


#: Opcodes that take twice as long as others of their unit: conversions to an integer, and those
#: that compute two floats a lane, which ptxas issues every other cycle on sm_100.
_TWICE = frozenset({"F2I", "FADD2", "FFMA2", "FMUL2"})


def issues(instruction: Instruction | Mnemonic) -> int:
    """Return how often an instruction occupies its unit."""
    return 2 if instruction.opcode in _TWICE else 1


def integer_cycles(instruction: Instruction | Mnemonic) -> int:
    """Return the cycles for which an integer product occupies its half of the FMA unit.

    Only 16 lanes multiply integers ("CUDA C++ Programming Guide", throughput of native arithmetic
    instructions: 64 a clock and SM), and a product of 64 bits, or its upper half, takes twice as
    long: dropout's random numbers, ten rounds of them, take an H200 108 µs.
    """
    if instruction.opcode != "IMAD" or {"MOV", "SHL", "IADD"} & set(instruction.modifiers):
        return 0
    return 4 if {"HI", "WIDE"} & set(instruction.modifiers) else 2


def is_compare_and_swap(instruction: Instruction | Mnemonic) -> bool:
    """Whether an access to memory compares and swaps."""
    return "CAS" in instruction.modifiers


#: Floats that a lane adds with one atomic: "F32x4", "BF16x2".
_PACKED = re.compile(r"B?F(?P<bits>16|32)x(?P<count>[248])")


def lane_bytes(instruction: Instruction | Mnemonic) -> int:
    """Return the bytes that a lane of a load, a store or an atomic moves."""
    for name in instruction.modifiers:
        if packed := _PACKED.fullmatch(name):
            return int(packed["bits"]) * int(packed["count"]) // 8
        if name in ("128", "64", "32"):
            return int(name) // 8
        if name in ("U16", "S16", "16"):
            return 2
        if name in ("U8", "S8", "8"):
            return 1
    return 4


#: Bytes that shared memory delivers or takes in a cycle.
WAVEFRONT = 128
#: Bytes of a row of A and of a column of B that a product of a warp group takes, of any type.
_DEPTH = 32


def shared_cycles(instruction: Instruction, wavefronts: float | None = None) -> float:
    """Return the cycles that shared memory is occupied by a warp's instruction.

    Besides accesses these are copies to it, and operands that products of a warp group take from
    it: B always, and A unless it is in registers. A warp counts a quarter of its group's.

    Args:
        wavefronts: Those that an access takes, where its lanes' addresses are known.
    """
    if wavefronts is not None:
        return wavefronts
    if instruction.opcode in SHARED:
        return shared_wavefronts(instruction)
    if copies(instruction):
        return 32 * lane_bytes(instruction) / WAVEFRONT
    if is_warpgroup_product(instruction):
        shape = next((name for name in instruction.modifiers if name[:1].isdigit()), "")
        rows, columns, _ = _sizes(shape)
        sources = [each.text for each in instruction.operands[1:]]
        in_registers = bool(sources) and not sources[0].startswith("gdesc")
        return (columns + (0 if in_registers else rows)) * _DEPTH / WAVEFRONT / 4
    return 0.0


def shared_wavefronts(instruction: Instruction | Mnemonic) -> int:
    """Return the cycles that an access occupies shared memory for, without bank conflicts."""
    modifiers = instruction.modifiers
    if moves_matrices(instruction):
        return int(modifiers[-1]) if modifiers and modifiers[-1] in ("2", "4") else 1
    return max(1, lane_bytes(instruction) // 4)


#: Bits of an element of A and B, by opcode unless a modifier says otherwise.
_BITS = {"IMMA": 8, "QMMA": 8, "BMMA": 1, "OMMA": 4, "IGMMA": 8, "QGMMA": 8, "BGMMA": 1}


def multiply_adds(instruction: Instruction | Mnemonic) -> float:
    """Return the multiply-adds of a warp's matrix instruction, in those of 16 bits.

    Tensor cores do as many bits a cycle whatever the type, but for fp64, whose multiply-adds count
    one each. A product of a warp group counts a quarter for each of its four warps. Other
    instructions do none.
    """
    shape = next((name for name in instruction.modifiers if name[:1].isdigit()), "")
    if unit(instruction) != "tensor" or not shape:
        return 0.0
    bits = 32 if "TF32" in instruction.modifiers else _BITS.get(instruction.opcode, 16)
    warps = 4 if is_warpgroup_product(instruction) else 1
    rows, columns, depth = _sizes(shape)
    return rows * columns * depth * bits / 16 / warps


_FP64 = frozenset({"DADD", "DFMA", "DMUL", "DSETP", "DMNMX"})


def computes_fp64(instruction: Instruction | Mnemonic) -> bool:
    """Whether it occupies the unit of fp64, which products of fp64 do not."""
    return instruction.opcode in _FP64


def multiplies_fp64(instruction: Instruction | Mnemonic) -> bool:
    """Whether it is a product of fp64."""
    return instruction.opcode == "DMMA"


def sums_in_fp32(instruction: Instruction | Mnemonic) -> bool:
    """Whether it is a product of fp16, bf16, tf32 or fp8 whose sums are fp32.

    Block-scaled products (QMMA.SF, OMMA.SF) do not count: NVIDIA gives those of fp4 one rate.
    """
    modifiers = instruction.modifiers
    return instruction.opcode in ("HMMA", "QMMA") and "F32" in modifiers and "SF" not in modifiers


def _sizes(shape: str) -> tuple[int, int, int]:
    """Read "64x128x16" or "16816"."""
    sizes = [int(size) for size in shape.split("x") if size.isdecimal()]
    if len(sizes) == 3:
        return sizes[0], sizes[1], sizes[2]
    rows = 16 if shape.startswith("16") else 8
    rest = shape.removeprefix(str(rows))
    return (rows, int(rest[0]), int(rest[1:])) if rest[1:].isdecimal() else (0, 0, 0)
