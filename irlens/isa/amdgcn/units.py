"""Which unit of a compute unit each AMDGPU instruction occupies, and for how many cycles.

The units are those that AMD's ROCm Compute Profiler counts instructions of ("Pipeline
descriptions", "Instruction mix"). An instruction that none of them executes, such as a wait, is
"other".

LLVM counts the passes of CDNA's matrix instructions, AMD the cycles: a pass is four. Shapes with a
small k, and several small blocks, do not reach the peak of their type.
"""

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from irlens.isa.amdgcn.classes import classify
from irlens.isa.amdgcn.records import Instruction, Operation

#: Units that instructions occupy. Transcendental ones use the vector ALU too.
Unit: TypeAlias = Literal[
    "valu", "transcendental", "salu", "vmem", "lds", "smem", "matrix", "branch", "other"
]

#: The classes of instructions that each unit executes.
_CLASSES: dict[Unit, tuple[str, ...]] = {
    "salu": ("scalar arithmetic", "scalar move", "execution mask"),
    "smem": ("scalar load", "scalar store"),
    "valu": (
        "vector floating point", "vector integer", "dot product", "accumulation register move",
        "compare & select", "conversion", "logic & shift", "move", "cross-lane",
    ),
    "matrix": ("matrix core",),
    "transcendental": ("special function",),
    "lds": ("LDS load", "LDS store", "LDS atomic"),
    "vmem": (
        "global to LDS", "LDS to global", "image",
        *(f"{space} {access}" for space in ("buffer", "global", "flat")
          for access in ("load", "store", "atomic")),
        "scratch load", "scratch store",
    ),
}  # fmt: skip
_UNITS = {kind: unit for unit, kinds in _CLASSES.items() for kind in kinds}
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
        of_16_lanes: Whether the ALUs have 16 lanes for waves of 64, as those of CDNA; RDNA's are as
            wide as a wave.
    """
    occupied = unit(instruction)
    if occupied not in ("valu", "transcendental"):
        return 0
    if not of_16_lanes:
        return 1
    return _CYCLES_OF_16_LANES * (_QUARTER_RATE if occupied == "transcendental" else 1)


#: Of a pass: AMD's matrix instruction calculator has this many times LLVM's passes.
PASS_CYCLES = 4


class _Rule(NamedTuple):
    """Passes of the instructions whose names start like this, after "v_"."""

    name: re.Pattern[str]
    passes: int


def _rules(*rows: tuple[str, int]) -> Sequence[_Rule]:
    return tuple(_Rule(re.compile(name), passes) for name, passes in rows)


_BY_SIZE = ((r"mfma_[fi]32_4x4x", 2), (r"mfma_[fi]32_16x16x", 8), (r"mfma_[fi]32_32x32x", 16))
_CDNA3 = (
    (r"mfma_[fi]32_4x4x", 2),
    (r"mfma_f32_16x16x8_xf32", 4),
    (r"mfma_[fi]32_16x16x(?:16|32)_", 4),
    (r"mfma_[fi]32_16x16x[14]_", 8),
    (r"mfma_[fi]32_32x32x(?:8|16)_", 8),
    (r"mfma_f32_32x32x4_xf32", 8),
    (r"mfma_[fi]32_32x32x[124]_(?!xf32)", 16),
    (r"mfma_f64_4x4x4_", 4),
    (r"smfmac_[fi]32_16x16x", 4),
    (r"smfmac_[fi]32_32x32x", 8),
)
#: LLVM, AMDGPU/SISchedule.td: SIQuarterSpeedModel (gfx908), SIDPFullSpeedModel (gfx90a),
#: SIDPGFX942FullSpeedModel, SIDPGFX950FullSpeedModel. AMD's matrix instruction calculator
#: (github.com/ROCm/amd_matrix_instruction_calculator) agrees, but does not have gfx950.
_PASSES = {
    "gfx908": _rules(*_BY_SIZE),
    "gfx90a": _rules(*_BY_SIZE, (r"mfma_f64_4x4x", 4), (r"mfma_f64_16x16x", 8)),
    "gfx942": _rules(*_CDNA3, (r"mfma_f64_16x16x4_", 8)),
    "gfx950": _rules(
        *(row for row in _CDNA3 if not row[0].endswith("_xf32")),
        (r"mfma_f64_16x16x4_", 16),
        (r"mfma_i32_16x16x64_", 4),
        (r"mfma_i32_32x32x32_", 8),
    ),
}
#: Passes of gfx950's products of 4, 6 and 8 bits, without and with an operand of 8 bits; the
#: modifiers cbsz and blgp name the formats of A and B (SISchedule.td, PredIsF8_MFMA_SCALE).
_F8F6F4 = re.compile(r"mfma_(?:scale_)?f32_(?P<size>16x16x128|32x32x64)_f8f6f4$")
_F8F6F4_PASSES = {"16x16x128": (4, 8), "32x32x64": (8, 16)}
_FORMAT = re.compile(r"(cbsz|blgp):([0-7])")
_FORMATS_OF_8_BITS = (0, 1)

_RDNA3 = _rules((r"wmma_\w+_16x16x16_(?:b?f16|iu8)$", 32), (r"wmma_i32_16x16x16_iu4$", 16))
_RDNA4 = _rules(
    (r"wmma_\w+_16x16x16_b?f16$", 16),
    (r"swmmac_\w+_16x16x32_b?f16$", 16),
    (r"wmma_i32_16x16x16_iu[48]$", 8),
    (r"wmma_i32_16x16x32_iu4$", 8),
    (r"wmma_f32_16x16x16_(?:fp8|bf8)_(?:fp8|bf8)$", 8),
    (r"swmmac_i32_16x16x(?:32_iu[48]|64_iu4)$", 8),
    (r"swmmac_f32_16x16x32_(?:fp8|bf8)_(?:fp8|bf8)$", 8),
)
#: Cycles of a wave of 32 lanes: AMD's matrix instruction calculator, which takes gfx115x for
#: RDNA 3. No document has those of gfx1250.
_CYCLES = {
    **dict.fromkeys(("gfx1100", "gfx1101", "gfx1102", "gfx1150", "gfx1151"), _RDNA3),
    **dict.fromkeys(("gfx1200", "gfx1201"), _RDNA4),
}


def matrix_cycles(operation: Operation, arch: str) -> int | None:
    """Return the cycles for which a matrix instruction occupies a matrix core.

    ``None`` where no public document says.

    Args:
        operation: One of class "matrix core".
        arch: The processor it was compiled for: "gfx942".
    """
    name = operation.mnemonic.removeprefix("v_").removesuffix("_e64")
    mixed = _F8F6F4.match(name) if arch == "gfx950" else None
    if mixed is not None:
        of_8_bits = any(number in _FORMATS_OF_8_BITS for number in _formats(operation))
        return _F8F6F4_PASSES[mixed["size"]][of_8_bits] * PASS_CYCLES
    passes = _first(_PASSES.get(arch, ()), name)
    if passes is not None:
        return passes * PASS_CYCLES
    return _first(_CYCLES.get(arch, ()), name)


def _formats(operation: Operation) -> Sequence[int]:
    """Return the numbers of the formats of A and B; 0 unless a modifier says otherwise."""
    named = dict.fromkeys(("cbsz", "blgp"), 0)
    for modifier in operation.modifiers:
        if found := _FORMAT.fullmatch(modifier):
            named[found[1]] = int(found[2])
    return tuple(named.values())


def _first(rules: Sequence[_Rule], name: str) -> int | None:
    return next((rule.passes for rule in rules if rule.name.match(name)), None)
