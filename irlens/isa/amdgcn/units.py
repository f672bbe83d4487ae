"""Which unit of a compute unit each AMDGPU instruction occupies, and how long its vector ALU.

The units are those that AMD's ROCm Compute Profiler counts instructions of ("Pipeline
descriptions", "Instruction mix"). An instruction that none of them executes, such as a wait, is
"other".
"""

from typing import Literal, TypeAlias

from irlens.isa.amdgcn.classes import classify
from irlens.isa.amdgcn.records import Instruction

#: Units that instructions occupy. Transcendental ones use the vector ALU too.
Unit: TypeAlias = Literal[
    "valu", "transcendental", "salu", "vmem", "lds", "smem", "matrix", "branch", "other"
]

_UNITS: dict[str, Unit] = {
    "scalar arithmetic": "salu",
    "scalar move": "salu",
    "execution mask": "salu",
    "scalar load": "smem",
    "scalar store": "smem",
    "vector floating point": "valu",
    "vector integer": "valu",
    "matrix core": "matrix",
    "dot product": "valu",
    "accumulation register move": "valu",
    "compare & select": "valu",
    "conversion": "valu",
    "special function": "transcendental",
    "logic & shift": "valu",
    "move": "valu",
    "cross-lane": "valu",
    "LDS load": "lds",
    "LDS store": "lds",
    "LDS atomic": "lds",
    "global to LDS": "vmem",
    "LDS to global": "vmem",
    "buffer load": "vmem",
    "buffer store": "vmem",
    "buffer atomic": "vmem",
    "global load": "vmem",
    "global store": "vmem",
    "global atomic": "vmem",
    "flat load": "vmem",
    "flat store": "vmem",
    "flat atomic": "vmem",
    "scratch load": "vmem",
    "scratch store": "vmem",
}
_CONTROL = ("s_branch", "s_cbranch_", "s_setpc", "s_set_pc", "s_swappc", "s_swap_pc", "s_call")

#: Cycles of a wave of 64 lanes on ALUs of 16 (AMD, ROCm Compute Profiler, "Pipeline descriptions").
_CYCLES_OF_16_LANES = 4
#: Times as many for a transcendental function (LLVM, SISchedule.td, WriteTrans32: "these are
#: quarter rate").
_QUARTER_RATE = 4


def unit(instruction: Instruction) -> Unit:
    """Return the unit that an instruction occupies; that of the first operation of two."""
    operation = instruction.operations[0]
    if operation.mnemonic.startswith(_CONTROL):
        return "branch"
    if operation.mnemonic.startswith("ds_") and classify(operation) == "cross-lane":
        return "lds"
    if operation.mnemonic.startswith("v_prng"):
        return "valu"  # a shift register: no transcendental function
    return _UNITS.get(classify(operation) or "", "other")


def vector_cycles(instruction: Instruction, *, of_16_lanes: bool) -> int:
    """Return the least cycles for which an instruction occupies its SIMD's vector ALU.

    Some take longer: products of integers, for example, and on RDNA transcendental functions.

    Args:
        instruction: Any.
        of_16_lanes: Whether the ALUs have 16 lanes for waves of 64, as those of CDNA; RDNA's are as
            wide as a wave.
    """
    occupied = unit(instruction)
    if occupied not in ("valu", "transcendental"):
        return 0
    if not of_16_lanes:
        return 1
    return _CYCLES_OF_16_LANES * (_QUARTER_RATE if occupied == "transcendental" else 1)
