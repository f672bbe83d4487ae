"""Which class an AMDGPU instruction is of, which unit executes it, and for how many cycles.

Classes follow the structure of the mnemonics (AMD's instruction set manuals for RDNA and CDNA;
LLVM, "AMDGPU Instruction Syntax"): what executes the instruction, what it does, and its type. Units
are those that AMD's ROCm Compute Profiler counts instructions of ("Pipeline descriptions",
"Instruction mix"). An instruction that none of them executes, such as a wait, is "other".

LLVM counts the passes of CDNA's matrix instructions, AMD the cycles: a pass is four. Shapes with a
small k, and several small blocks, do not reach the peak of their type.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

from irlens.isa.amdgcn.records import Instruction, Operation

#: Instructions of each class, by the prefix of the mnemonic that decides it; the longest counts.
_MNEMONICS = {
    "scalar arithmetic": "s_abs s_absdiff s_add s_addc s_addk s_and s_andn1 s_andn2 s_ashr s_bcnt0"
    " s_bcnt1 s_bfe s_bfi s_bfm s_bitcmp0 s_bitcmp1 s_bitreplicate s_bitset0 s_bitset1 s_brev"
    " s_ceil s_cls s_clz s_cmp s_cmpk s_cselect s_ctz s_cvt s_ff0 s_ff1 s_flbit s_floor s_fmaak"
    " s_fmac s_fmamk s_lshl s_lshl1 s_lshl2 s_lshl3 s_lshl4 s_lshr s_max s_maximum s_min"
    " s_minimum s_mul s_mulk s_nand s_nor s_not s_or s_orn1 s_orn2 s_pack s_quadmask s_rndne"
    " s_sext s_sub s_subb s_trunc s_wqm s_xnor s_xor",
    "scalar move": "s_cmov s_cmovk s_get_pc s_getpc s_getreg s_mov s_movk s_movreld s_movrels"
    " s_setreg s_version s_set_vgpr_msb",
    "execution mask": "s_and_saveexec s_and_not0_saveexec s_and_not1_saveexec s_and_not0_wrexec"
    " s_and_not1_wrexec s_andn1_saveexec s_andn2_saveexec s_andn1_wrexec s_andn2_wrexec"
    " s_nand_saveexec s_nor_saveexec s_or_not0_saveexec s_or_not1_saveexec s_or_saveexec"
    " s_orn1_saveexec s_orn2_saveexec s_xnor_saveexec s_xor_saveexec",
    "scalar load": "s_buffer_load s_load s_scratch_load",
    "scalar store": "s_buffer_store s_scratch_store s_store s_atomic s_buffer_atomic",
    "wait": "s_delay_alu s_nop s_sleep s_wait s_waitcnt v_nop ds_nop",
    "barrier": "s_barrier",
    "control": "s_branch s_call s_cbranch s_clause s_code_end s_decperflevel s_denorm_mode"
    " s_endpgm s_icache s_incperflevel s_inst_prefetch s_rfe s_round_mode s_sendmsg"
    " s_sendmsghalt s_set_gpr_idx s_set_inst_prefetch_distance s_sethalt s_setkill s_set_pc"
    " s_setpc s_setprio s_swap_pc s_swappc s_trap s_ttracedata s_monitor_sleep s_wakeup s_memtime"
    " s_memrealtime s_alloc_vgpr s_dealloc_vgpr s_get_shader_cycles_u64 ds_add_gs_reg ds_gws"
    " ds_ordered_count ds_sub_gs_reg tensor_save tensor_stop",
    "cache control": "s_atc_probe s_buffer_prefetch s_dcache s_gl1_inv s_prefetch buffer_gl0_inv"
    " buffer_gl1_inv buffer_inv buffer_wbinvl1 buffer_wbl2 buffer_invl2 global_inv global_wb"
    " global_wbinv global_prefetch flat_prefetch",
    # Split further by the type in the rest of the mnemonic.
    "vector arithmetic": "v_add v_add3 v_add_lshl v_addc v_ceil v_div v_floor v_fma v_fmaak v_fmac"
    " v_fmamk v_fract v_frexp v_ldexp v_lerp v_lshl_add v_mac v_mad v_madak v_madmk v_max"
    " v_max3 v_maximum v_maximum3 v_maximumminimum v_maxmin v_med3 v_min v_min3"
    " v_minimum v_minimum3 v_minimummaximum v_minmax v_mqsad v_msad v_mul v_mullit v_pk"
    " v_qsad v_rndne v_sad v_sub v_subb v_subbrev v_subrev v_trig v_trunc v_xad",
    "matrix core": "v_mfma v_smfmac v_swmmac v_wmma",
    "dot product": "v_dot2 v_dot2c v_dot4 v_dot4c v_dot8 v_dot8c v_dual_dot2acc",
    "accumulation register move": "v_accvgpr",
    "compare & select": "v_cmp v_cmpx v_cndmask",
    "conversion": "v_cvt v_cvt_pk v_cvt_sr v_cvt_scalef32 v_pack",
    "special function": "v_cos v_exp v_log v_rcp v_rsq v_sin v_sqrt v_tanh v_s_exp v_s_log v_s_rcp"
    " v_s_rsq v_s_sqrt v_prng",
    "logic & shift": "v_alignbit v_alignbyte v_and v_ashr v_ashrrev v_bcnt v_bfe v_bfi v_bfm"
    " v_bfrev v_bitop2 v_bitop3 v_cls v_clz v_ctz v_ffbh v_ffbl v_lshl v_lshlrev v_lshr v_lshrrev"
    " v_mbcnt v_not v_or v_or3 v_perm v_pk_ashrrev v_pk_lshlrev v_pk_lshrrev v_xnor v_xor v_xor3",
    "move": "v_mov v_pk_mov v_swap v_movreld v_movrels v_movrelsd",
    "cross-lane": "v_permlane16 v_permlane32 v_permlane64 v_permlanex16 v_permlane v_readfirstlane"
    " v_readlane v_writelane ds_bpermute ds_permute ds_swizzle",
    "LDS load": "ds_read ds_read2 ds_read2st64 ds_load ds_consume ds_direct_load ds_param_load"
    " lds_direct_load lds_param_load",
    "LDS store": "ds_write ds_write2 ds_write2st64 ds_store ds_append",
    "LDS atomic": "ds_add ds_and ds_atomic ds_bvh_stack ds_cmpst ds_cmpstore ds_cond ds_condxchg32"
    " ds_dec ds_inc ds_max ds_min ds_mskor ds_or ds_pk ds_rsub ds_storexchg ds_sub ds_wrap"
    " ds_wrxchg ds_wrxchg2 ds_wrxchg2st64 ds_xor",
    "global to LDS": "global_load_lds global_load_async_to_lds buffer_load_lds"
    " cluster_load_async_to_lds tensor_load_to_lds",
    "LDS to global": "global_store_async_from_lds tensor_store_from_lds",
    "image": "image_atomic image_bvh image_bvh8 image_bvh64 image_gather4 image_gather4h image_get"
    " image_load image_msaa_load image_sample image_store",
    "buffer load": "buffer_load tbuffer_load",
    "buffer store": "buffer_store tbuffer_store",
    "buffer atomic": "buffer_atomic",
    "global load": "global_load cluster_load",
    "global store": "global_store",
    "global atomic": "global_atomic",
    "flat load": "flat_load",
    "flat store": "flat_store",
    "flat atomic": "flat_atomic",
    "scratch load": "scratch_load",
    "scratch store": "scratch_store",
}
#: Families of instructions that access memory; LLVM may name more of them.
_MEMORY = ("buffer_", "cluster_", "flat_", "global_", "image_", "scratch_", "tbuffer_", "tensor_")
_CLASS_OF = {name: kind for kind, names in _MNEMONICS.items() for name in names.split()}

_FLOAT = re.compile(r"_(?:b?f16|f32|f64|legacy)\b|_b?f(?:16|32|64)_")
_DUAL = re.compile(r"^v_dual_(?!dot2acc)")
_ENCODING = re.compile(r"(?:_e32|_e64|_e64_dpp|_dpp|_dpp8|_e64_dpp8|_sdwa)$")


def may_access_memory(operation: Operation) -> bool:
    """Whether an operation is a vector access to memory whose effects are not known."""
    kind = classify(operation)
    return kind == "image" or (kind is None and operation.mnemonic.startswith(_MEMORY))


def classify(operation: Operation) -> str | None:
    """Return an operation's class; ``None`` where its mnemonic is not known."""
    kind = _class_named(operation.mnemonic)
    return "global to LDS" if kind == "buffer load" and "lds" in operation.modifiers else kind


@lru_cache(maxsize=4096)
def _class_named(written: str) -> str | None:
    if written.startswith("v_mov_b") and written.endswith(("_dpp", "_dpp8")):
        return "cross-lane"
    mnemonic = _ENCODING.sub("", _DUAL.sub("v_", written))
    parts = mnemonic.split("_")
    for count in range(len(parts), 1, -1):
        name = "_".join(parts[:count])
        kind = _CLASS_OF.get(name)
        if kind == "vector arithmetic":
            return "vector floating point" if _FLOAT.search(mnemonic) else "vector integer"
        if kind is not None:
            return kind
    return None


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
CYCLES_OF_16_LANES = 4
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


def vector_cycles(instruction: Instruction, passes: int) -> int:
    """Return the least cycles for which an instruction occupies its SIMD's vector ALU.

    Some take longer: products of integers, for example, and on RDNA transcendental functions.

    Args:
        passes: Cycles in which the ALU takes a wave: ``CYCLES_OF_16_LANES`` for the waves of 64 of
            CDNA; 1 for RDNA, whose ALUs are as wide as a wave.
    """
    occupied = unit(instruction)
    if occupied not in ("valu", "transcendental"):
        return 0
    if passes == 1:
        return 1
    return passes * (_QUARTER_RATE if occupied == "transcendental" else 1)


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
