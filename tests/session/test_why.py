"""Why kernels have their findings: a table checked by hand against the IR and ptxas's output.

Each row was confirmed in the dumps: what the pass leaves undone, and that Triton's source names the
condition (``AccelerateMatmul.cpp``, ``AssignLatencies.cpp``, ``Coalesce.cpp``), or ptxas says it.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import pytest
import triton
from msgspec.structs import replace

from irlens.analyze import counterfactuals
from irlens.analyze.counterfactuals import Change, Symptom
from irlens.compiler import Request
from irlens.model.capture import Capture
from irlens.model.errors import IrlensError, UnknownNameError
from irlens.model.why import Explanation
from irlens.rules import converted_tile
from irlens.session import Configurations
from irlens.session.configuration_choice import single_request
from irlens.session.outcomes import Outcome
from irlens.session.reports import complete_report
from irlens.session.session import Session
from irlens.session.why import why

ROOT = Path(__file__).parents[2]
FINDINGS = str(ROOT / "tests/data/findings")
RAGGED = {"n_cols": "781", "input_row_stride": "781", "output_row_stride": "781"}
COLUMN = {"row_stride": "1", "column_stride": "4096"}
ROW = {"row_stride": "4096", "column_stride": "1"}
PRINTS = {"PRINT": "True"}
# Tiles are as small as the findings allow: the compiler prints its IR before each of 80 passes.
IEEE = {"N": "16", "BLOCK_K": "16", "PRECISION": "'ieee'"}
HALVES = {"a_ptr": "fp16[M, K]", "b_ptr": "fp16[K, N]"}
DOUBLES = {"a": "fp64[M, K]", "b": "fp64[K, N]", "c": "fp64[M, N]"}
CROWDED = {"BM": "128", "BN": "128", "BK": "32", "waves_per_eu": "8"}
TF32 = {**IEEE, "PRECISION": "'tf32'"}
SMALL = {"BM": "32", "BN": "32", "BK": "32"}
DEEP = {**SMALL, "EARLY": "True", "num_stages": "8"}
LIMITED = {"BM": "64", "BN": "64", "BK": "32", "EARLY": "True", "maxnreg": "64"}
SMALL_BLOCKS = {"BLOCK_SIZE_M": "32", "BLOCK_SIZE_N": "32", "BLOCK_SIZE_K": "32"}
LOW = {"BM": "32"}
FLAT = {"BN": "16", "BK": "32"}
FLATTEST = {**FLAT, "BM": "16"}
NARROW = {"BN": "32", "BK": "32"}
LONG_ROWS = {"SIZE": "16384", "num_warps": "8"}
ALIGNED = {"n_cols": "784", "input_row_stride": "784", "output_row_stride": "784"}
BY_DOT = {"STAGES": "None", "num_stages": "3"}
WIDE_TILE = {
    "BLOCK_SIZE_M": "128", "BLOCK_SIZE_N": "256", "BLOCK_SIZE_K": "16", "GROUP_SIZE_M": "8",
    "num_warps": "4", "num_stages": "3",
}  # fmt: skip
PLANS_CTAS = (
    "TritonGPUPlanCTAPass" if triton.__version__ < "3.7" else "TritonNvidiaGPUAssignCGALayoutsPass"
)
BYTES = {"x_ptr": "int8[n_rows, n_cols]"}
MULTIPLES, MULTIPLE = "known to be multiples of 16", "known to be a multiple of 16"
SECTORS, USERS = f"{FINDINGS}/sectors.py", f"{FINDINGS}/users.py"
SHIFTED = f"{FINDINGS}/shifted.py"
CARRIED = f"{FINDINGS}/carried_operand.py"
TWO_PRODUCTS = f"{FINDINGS}/two_products.py"
SCALES = f"{FINDINGS}/scales.py"
SPECIALIZED = f"{FINDINGS}/warp_specialized.py"
WARPS = f"{SPECIALIZED}:ws_matmul"
JOINED = f"{FINDINGS}/joined_weights.py"
HELD = f"{FINDINGS}/held_back.py"
CAUSES = f"{FINDINGS}/causes.py"
OTHERS = f"{FINDINGS}/other_causes.py"
NO_BARRIER = {"BARRIER": "False"}
GLUONS = str(ROOT / "tests/data/gluon")
GLUON = f"{GLUONS}/turning.py"
SWIZZLED = {"shared": "SwizzledSharedLayout(vec=1, per_phase=1, max_phase=32, order=[1, 0])"}
POINTERS = {**FLAT, "TMA": "False", "WS": "False"}
E4M3 = {"a_ptr": "fp8e4nv[M, K]", "b_ptr": "fp8e4nv[K, N]"}
AMDS_FP8 = {"a": "fp8e4b8[M, K]", "b": "fp8e4b8[K, N]"}
LONG_ROW = {"BLOCK_SIZE": "16384"}
TOTAL, MANY = f"{FINDINGS}/atomics.py:total", {"n": "4194304"}
SQUARE = f"{FINDINGS}/square_tiles.py"
OF_AMD = f"{FINDINGS}/amd.py"
WIDER, OF_32 = {"BM": "128", "BN": "128"}, {"matrix_instr_nonkdim": "32"}
LARGE = {"M": "2097152"}
AMD_LOOPS = "TritonAMDGPUScheduleLoops"
LLVM, AMD = "ConvertTritonGPUToLLVM", "ConvertTritonAMDGPUToLLVM"

Row: TypeAlias = tuple[str, str, dict[str, str], dict[str, str], str, str, str, str]

#: Kernel, target, settings, arguments, finding, line's code, pass, what was changed.
TABLE: list[Row] = [
    ("softmax", "sm_80", {}, RAGGED, "IRL301", "tl.load(", "TritonGPUCoalesce", MULTIPLES),
    ("softmax", "sm_90", {}, RAGGED, "IRL301", "tl.store(", "TritonGPUCoalesce", MULTIPLES),
    ("softmax", "sm_100", {}, RAGGED, "IRL301", "tl.load(", "TritonGPUCoalesce", MULTIPLES),
    ("softmax", "gfx942", {}, RAGGED, "IRL301", "tl.store(", "TritonGPUCoalesce", MULTIPLES),
    ("softmax", "gfx950", {}, RAGGED, "IRL301", "tl.load(", "TritonGPUCoalesce", MULTIPLES),
    ("softmax", "sm_75", {"num_stages": "4"}, {}, "IRL203", "tl.load(",
     "TritonGPUAssignLatencies", "sm_80"),
    ("softmax", "sm_100", {"num_stages": "2"}, {}, "IRL202", "for row_idx", "TritonGPUPipeline",
     "num_stages=3"),
    (f"{FINDINGS}/loads.py:biased_dot", "sm_90", BY_DOT, {}, "IRL203", "bias_ptr",
     "TritonGPUAssignLatencies", "on the loop itself"),
    (f"{FINDINGS}/loads.py:biased_dot", "gfx942", BY_DOT, {}, "IRL203", "bias_ptr",
     "TritonAMDGPUScheduleLoops", "on the loop itself"),
    (f"{FINDINGS}/loads.py:biased_dot", "gfx942", {**BY_DOT, "num_stages": "2"}, {}, "IRL203",
     "bias_ptr", AMD_LOOPS, "num_stages=2 on the loop itself"),
    (f"{SHIFTED}:rotated", "sm_80", {}, {}, "IRL302", "tl.load(x", "TritonGPUCoalesce",
     "a step of 1 element in place of 2 "),
    (f"{SHIFTED}:rotated", "sm_100", {}, {}, "IRL302", "tl.store(", "TritonGPUCoalesce",
     "a step of 1 element in place of 2 "),
    (f"{SHIFTED}:convolved", "sm_100", {}, {}, "IRL301", "value =", LLVM, "and the mask equal"),
    (CARRIED, "sm_80", {}, {}, "IRL203", "keys = tl.load(k + place)",
     "TritonGPUAssignLatencies", "a load for each product"),
    (TWO_PRODUCTS, "gfx942", {}, {}, "IRL203", "tile =", AMD_LOOPS, "a load for each product"),
    (TWO_PRODUCTS, "gfx950", {}, {}, "IRL203", "tile =", AMD_LOOPS, "a load for each product"),
    (f"{SCALES}:scaled_rows", "sm_80", {}, {}, "IRL203", "scale + row)", "TritonGPUAssignLatencies",
     "a value of 4 bytes"),
    (f"{SCALES}:scaled_rows", "gfx942", {}, {}, "IRL203", "scale + row)", AMD_LOOPS,
     "a value of 4 bytes"),
    (f"{SCALES}:scaled_dot", "sm_100", {}, {}, "IRL203", "factor", "TritonGPUAssignLatencies",
     "on the loop itself"),
    (f"{FINDINGS}/loads.py:row_sum", "sm_90", {"STAGES": "3"}, {"n_cols": "1023"}, "IRL203",
     "tl.load(", "TritonGPUCoalesce", "stride known"),
    (f"{FINDINGS}/loaded_pointers.py:listed_rows", "sm_90", {}, {}, "IRL203", "tl.load(",
     "TritonGPUCoalesce", "loaded at lines 25, 26 known"),
    (f"{FINDINGS}/loads.py:row_sum", "sm_90", {"STAGES": "3", "num_warps": "16"}, BYTES, "IRL203",
     "tl.load(", "TritonGPUAssignLatencies", "num_warps=8"),
    (f"{FINDINGS}/dots.py:dots", "h100", {"num_ctas": "2"}, {}, "IRL309", "a = tl.load(",
     PLANS_CTAS, "num_ctas=1"),
    (f"{FINDINGS}/dots.py:dots", "sm_80", IEEE, {}, "IRL401", "tl.dot(",
     "TritonGPUAccelerateMatmul", "tf32"),
    (f"{FINDINGS}/dots.py:dots", "sm_90", IEEE, {}, "IRL401", "tl.dot(",
     "TritonGPUAccelerateMatmul", "tf32"),
    ("matmul", "sm_90", WIDE_TILE, {}, "IRL404", "tl.dot(", "ptxas", "num_warps=8"),
    (f"{SECTORS}:every_other", "sm_90", {}, {}, "IRL302", "tl.load(", LLVM, "a step of 1 element"),
    (f"{SECTORS}:untold_columns", "gfx942", {}, {}, "IRL302", "tl.load(", "TritonGPUCoalesce",
     "sm known to be 1"),
    (f"{SECTORS}:channels_last", "sm_100", {}, {}, "IRL302", "tl.load(", LLVM, "1 in place of C"),
    (f"{FINDINGS}/columns.py:columns", "sm_80", {}, COLUMN, "IRL302", "tl.load(", LLVM,
     "1 in place of column_stride"),
    (f"{FINDINGS}/columns.py:strip", "sm_90", {}, {}, "IRL302", "tl.load(", "the tile", "WIDTH=8"),
    (f"{USERS}:transposed_copy", "sm_80", {}, {}, "IRL302", "tl.load(", LLVM, "1 in place of n"),
    (f"{SECTORS}:mixed_types", "sm_90", {}, {}, "IRL302", "tl.load(x", "TritonGPUCoalesce",
     "no more than 8 neighbours"),
    (JOINED, "sm_80", {}, {}, "IRL303", "right =", "TritonGPUCoalesce", "contiguous along K"),
    (JOINED, "sm_90", {}, {}, "IRL303", "right =", "TritonGPUCoalesce", "contiguous along K"),
    (f"{GLUONS}/vector.py", "h100", {}, {}, "IRL302", "buffer.store", "the layout of the vector",
     "size_per_thread=[4]"),
    (f"{GLUONS}/vector.py", "sm_90", {}, {}, "IRL303", "buffer.store", "the layout of the vector",
     "size_per_thread=[4]"),
    (f"{SPECIALIZED}:ws_scores", "sm_100", {}, {}, "IRL303", "tl.dot(",
     "TritonGPUPartitionScheduling", "without warp_specialize"),
    (f"{SPECIALIZED}:ws_tiles", "sm_90", {}, {}, "IRL205", "warp_specialize=True",
     "NVGPUWarpSpecialization", "without flatten=True"),
    (f"{SPECIALIZED}:ws_sparse", "sm_90", {}, {}, "IRL205", "tl.range(",
     "NVGPUWarpSpecialization", "always taken"),
    (f"{FINDINGS}/grouped_weights.py", "sm_80", {}, {}, "IRL309", "packed =", "",
     "1 in place of the divisor 8"),
    (f"{FINDINGS}/transpose.py:transpose", "sm_90", {}, {}, "IRL303", "tl.load(",
     "TritonGPUAssignLatencies", "num_stages=1"),
    (f"{FINDINGS}/memory.py:unmasked", "h100", {}, {}, "IRL304", "tl.load(", "the addresses",
     "a mask of the 1,000 elements"),
    (f"{FINDINGS}/memory.py:before", "gfx942", {}, {}, "IRL304", "tl.load(", "the addresses",
     "a mask of the 1,024 elements"),
    ("flash_attention", "gfx942", {}, {}, "IRL303", "tl.dot(q, k.T)", AMD_LOOPS, "num_stages=1"),
    (f"{SQUARE}:turned", "h100", {}, {}, "IRL302", "tl.store(", "the tile", "BN=8"),
    (f"{SQUARE}:alternating", "sm_90", {}, {}, "IRL203", "total +=", "TritonGPUAssignLatencies",
     "without an exchange"),
    (f"{SQUARE}:alternating", "gfx950", {}, {}, "IRL203", "total +=", AMD_LOOPS,
     "without an exchange"),
    (f"{FINDINGS}/misaligned.py:rows", "sm_90", {}, {}, "IRL307", "tl.load(", "", "stride=1024"),
    (f"{FINDINGS}/misaligned.py:shifted", "sm_80", {}, {}, "IRL307", "tl.load(", LLVM,
     "0 in place of 1"),
    (f"{USERS}:split_k", "sm_80", SMALL, {}, "IRL308", "tl.atomic_add", LLVM, "relaxed"),
    (f"{SECTORS}:few_elements", "sm_90", {}, {}, "IRL309", "tl.load(", LLVM, "num_warps=2"),
    (f"{SECTORS}:few_elements", "gfx942", {}, {}, "IRL309", "tl.load(", AMD, "num_warps=1"),
    (f"{SECTORS}:spread", "sm_90", {}, {}, "IRL309", "tl.load(",
     "TritonGPURemoveLayoutConversions", "M=128"),
    (f"{SECTORS}:upsample", "sm_90", {}, {}, "IRL309", "tl.load(", LLVM, "divisor 2"),
    (f"{USERS}:embedding_bag", "gfx942", {}, {}, "IRL309", "ids +", "", "num_warps=1"),
    (f"{FINDINGS}/short_rows.py:short_rows", "sm_90", {}, {}, "IRL403", "tl.sum(", LLVM,
     "num_warps=1"),
    (f"{FINDINGS}/short_rows.py:short_rows", "gfx950", {}, {}, "IRL403", "tl.sum(", AMD,
     "num_warps=1"),
    (f"{FINDINGS}/running_sums.py", "gfx942", {}, {}, "IRL403", "tl.cumsum(", AMD,
     "num_warps=1"),
    (f"{FINDINGS}/running_sums.py", "gfx1201", {"N": "128"}, {}, "IRL403", "tl.cumsum(",
     AMD, "num_warps=1"),
    (f"{FINDINGS}/running_sums.py", "sm_90", {"N": "128"}, {}, "IRL403", "tl.cumsum(",
     LLVM, "num_warps=1"),
    (f"{USERS}:embedding_bag", "sm_80", {"D": "256"}, {}, "IRL403", "tl.sum(", LLVM, "num_warps=2"),
    (f"{USERS}:fp8_matmul", "sm_90", FLATTEST, {}, "IRL405", "tl.dot(",
     "TritonGPUAccelerateMatmul", "BM=64"),
    (f"{USERS}:fp8_matmul", "gfx942", FLATTEST, {}, "IRL405", "tl.dot(",
     "TritonAMDGPUAccelerateMatmul", "f8E4M3FNUZ"),
    (f"{USERS}:fp8_matmul", "gfx942", FLATTEST, {"b": "fp8e5[K, N]"}, "IRL405", "tl.dot(",
     "TritonAMDGPUAccelerateMatmul", "f8E4M3FNUZ and f8E5M2FNUZ in place of"),
    (f"{USERS}:fp8_matmul", "gfx942", FLATTEST, {"a": "fp8e4b8[M, K]", "b": "fp8e5[K, N]"},
     "IRL401", "tl.dot(", "TritonAMDGPUAccelerateMatmul", "operands of f8E5M2FNUZ"),
    (f"{USERS}:fp8_matmul", "gfx1100", FLATTEST, {}, "IRL405", "tl.dot(",
     "TritonAMDGPUAccelerateMatmul", "gfx950, which multiplies 8-bit floats"),
    (f"{USERS}:fp8_matmul", "sm_90", {**FLAT, "num_warps": "2"}, {}, "IRL405", "tl.dot(",
     "TritonGPUAccelerateMatmul", "num_warps=4"),
    (f"{USERS}:fp8_matmul", "sm_90", FLAT, {}, "IRL203", "tl.load(b", "TritonGPUCoalesce",
     "contiguous along K"),
    (f"{SECTORS}:halves", "sm_90", {}, {}, "IRL301", "tl.load(", LLVM, "contiguous and aligned"),
    (f"{SECTORS}:constant_bound", "sm_80", {}, {}, "IRL301", "tl.load(", LLVM, "the mask known"),
    (f"{SECTORS}:stencil", "sm_90", {}, {}, "IRL301", "i - 1", LLVM, "and the mask equal"),
    ("flash_attention", "gfx950", {"num_stages": "4"}, {}, "IRL201", "for start in",
     "TritonAMDGPUPipeline", "num_stages=3 on the loop"),
    (f"{SECTORS}:wrapped", "gfx942", {}, {}, "IRL301", "tl.load(",
     "TritonAMDGPUConvertToBufferOps", "cols known"),
    (f"{USERS}:masked_softmax", "gfx950", {}, {}, "IRL301", "tl.load(keep", "TritonGPUCoalesce",
     MULTIPLES),
    (f"{USERS}:causal_sum", "sm_90", {}, {}, "IRL203", "tl.load(x", "TritonGPUAssignLatencies",
     "before the condition"),
    (f"{USERS}:causal_sum", "gfx942", {}, {}, "IRL203", "tl.load(x", "TritonAMDGPUScheduleLoops",
     "before the condition"),
    (f"{USERS}:row_norm", "sm_100", {}, {}, "IRL204", "in range(", "TritonGPUAssignLatencies",
     "on the loop itself"),
    (f"{USERS}:w8a8", "sm_90", {}, {}, "IRL203", "tl.load(b", "TritonGPUCoalesce",
     "contiguous along K"),
    (f"{USERS}:persistent", "sm_90", PRINTS, {}, "IRL203", "tl.load(", "TritonGPUScheduleLoops",
     "without tl.device_print"),
    (f"{USERS}:persistent", "gfx942", {**PRINTS, **SMALL}, {}, "IRL203", "tl.load(",
     "TritonAMDGPUScheduleLoops", "without tl.device_print"),
    (f"{USERS}:persistent", "sm_90", PRINTS, {}, "IRL404", "tl.dot(", "ptxas",
     "without tl.device_print"),
    (f"{FINDINGS}/warp_specialized.py:ws_sum", "sm_90", {}, {}, "IRL203", "tl.load(",
     "TritonGPUAssignLatencies", "without warp_specialize"),
    (f"{USERS}:moved_line", "sm_80", SMALL, {}, "IRL201", "in range(", "TritonGPUAssignLatencies",
     "in the iteration that uses it"),
    (f"{USERS}:turning", "sm_90", FLAT, {}, "IRL203", "tl.load(x", "TritonGPUPipeline",
     "always taken"),
    (f"{USERS}:turning", "sm_80", SMALL, {}, "IRL202", "in range(", "TritonGPUPipeline",
     "always taken"),
    (f"{FINDINGS}/scaled_product.py", "sm_90", {}, {}, "IRL310", "sums",
     "TritonGPURemoveLayoutConversions", "num_warps=8"),
    (f"{FINDINGS}/scaled_product.py", "gfx942", {"num_warps": "2"}, {}, "IRL310",
     "sums", "TritonGPURemoveLayoutConversions", "num_warps=4"),
    (f"{FINDINGS}/transposed_sum.py", "h100", {}, {}, "IRL314", "x = ",
     "TritonGPUAssignLatencies", "num_stages=3"),
    (f"{FINDINGS}/right_operand.py", "h100", {}, {}, "IRL314", "acc += tl.dot(ww, p)",
     "the order of operands", "both products transposed"),
    (f"{FINDINGS}/transposed_sum.py", "sm_100", {}, {}, "IRL314", "x = ",
     "TritonGPUAssignLatencies", "num_stages=3"),
    ("layer_norm", "b200", {}, {}, "IRL102", "", "ptxas", "maxnreg=64"),
    (f"{FINDINGS}/tile_sum.py", "h100", {**LONG_ROWS, "STAGES": "3"}, {}, "IRL103", "",
     "TritonGPUPipeline", "num_stages=2"),
    (f"{FINDINGS}/memory.py:scaled", "mi300x", {}, {}, "IRL305", "factors =",
     "TritonLoopInvariantCodeMotion", "before the loop"),
    (f"{USERS}:moved_line", "h100", {}, {}, "IRL502", "", "the launch", "BM=32"),
    (f"{USERS}:moved_line", "h100", {}, {"N": "256"}, "IRL502", "", "the launch", "BM=8"),
    (f"{FINDINGS}/atomics.py:histogram", "h100", {}, MANY, "IRL312", "tl.atomic_add",
     "the addresses", "for each program"),
    (f"{FINDINGS}/indirect.py:pages", "sm_90", {"STAGES": "4"}, {}, "IRL201", "for i in",
     "TritonGPUAssignLatencies",
     "other values in place of what is loaded at line `page = tl.load`"),
    (f"{FINDINGS}/indirect.py:gather", "gfx942", {}, {}, "IRL201", "for i in", "LLVM",
     "loaded at line `rows = tl.load`"),
    (f"{FINDINGS}/paged.py", "gfx950", {}, {}, "IRL201", "for i in", AMD_LOOPS,
     "loaded at line `page = tl.load`"),
    (f"{FINDINGS}/paged.py", "gfx950", {"STAGES": "5"}, {}, "IRL202", "for i in", AMD_LOOPS,
     "loaded at line `page = tl.load`"),
    (f"{FINDINGS}/paged.py", "gfx950", {"STAGES": "5"}, {}, "IRL203", "tl.load(k", AMD_LOOPS,
     "loaded at line `page = tl.load`"),
    (f"{FINDINGS}/indirect.py:pages", "sm_80", {"STAGES": "3"}, {}, "IRL202", "for i in",
     "TritonGPUPipeline", "num_stages=5"),
    (f"{USERS}:transposed_operand", "sm_90", NARROW, {}, "IRL303", "b + ", "TritonGPUCoalesce",
     "contiguous along K"),
    (f"{USERS}:transposed_operand", "h100", {}, {}, "IRL301", "b + ", "TritonGPUAssignLatencies",
     "num_stages=1"),
    (GLUON, "h100", {}, {}, "IRL303", "buffer.load", LLVM, "max_phase=32"),
    (GLUON, "sm_80", {}, {}, "IRL303", "buffer.load", LLVM, "max_phase=32"),
    (WARPS, "sm_90", {**FLAT, "num_warps": "8"}, {}, "IRL205", "tl.range(",
     "NVGPUWarpSpecialization", "num_warps=4"),
    (WARPS, "sm_90", {**FLAT, "num_stages": "1"}, {}, "IRL205", "tl.range(",
     "NVGPUWarpSpecialization", "num_stages="),
    (WARPS, "sm_100", {**FLAT, "WS": "False"}, {}, "IRL205", "tl.range(",
     "TritonGPUPartitionScheduling", "warp_specialize=True"),
    (WARPS, "sm_100", POINTERS, {}, "IRL205", "tl.range(", "TritonGPUPartitionScheduling",
     "tensor descriptors in place of pointers"),
    (WARPS, "sm_90", {**POINTERS, "num_warps": "8"}, {}, "IRL205", "tl.range(",
     "NVGPUWarpSpecialization", "tensor descriptors in place of pointers, num_warps=4"),
    (WARPS, "sm_90", POINTERS, {}, "IRL311", "tl.load(", "the source", "a tensor descriptor"),
    (WARPS, "sm_100", POINTERS, {}, "IRL311", "tl.load(", "the source", "a tensor descriptor"),
    ("matmul_tma", "sm_80", SMALL_BLOCKS, {}, "IRL311", ".load(",
     "TritonRewriteTensorDescriptorToPointer", "sm_90"),
    (f"{FINDINGS}/scattered_atomics.py:bins", "h100", {}, {}, "IRL313", "tl.atomic_add", "the data",
     "consecutive indices in place of those loaded at line `BLOCK + tl.arange`"),
    (f"{FINDINGS}/scattered_atomics.py:rows", "h100", {}, {}, "IRL313", "tl.atomic_add", "the data",
     "consecutive indices in place of those loaded at line `row = tl.load`"),
    (f"{FINDINGS}/promoted.py", "sm_90", {}, {}, "IRL406", "x * half", "the front end", "fp32"),
    (f"{FINDINGS}/promoted.py", "gfx942", {}, {}, "IRL406", "x * half", "the front end", "fp32"),
    (f"{USERS}:biased_attention", "sm_90", {}, {}, "IRL203", "bias", "TritonGPUAssignLatencies",
     "on the loop itself"),
    (f"{USERS}:biased_attention", "gfx942", LOW, {}, "IRL203", "bias", "TritonAMDGPUScheduleLoops",
     "on the loop itself"),
    (f"{USERS}:biased_attention", "sm_80", LOW, {}, "IRL314", "bias", "TritonGPUAssignLatencies",
     "on the loop itself"),
    ("softmax", "a100", {**LONG_ROW, "num_stages": "4"}, {}, "IRL101", "", "TritonGPUPipeline",
     "num_stages=3"),
    ("layer_norm_looped", "sm_100", {}, {}, "IRL305", "tl.load(", "the loops", "at lines 49, 57"),
    (TOTAL, "h100", {}, MANY, "IRL312", "tl.atomic_add", "the addresses", "for each program"),
    (f"{USERS}:moved_line", "sm_80", LIMITED, {}, "IRL105", "", "ptxas", "maxnreg=255"),
    (f"{USERS}:moved_line", "sm_80", DEEP, {"K": "128"}, "IRL206", "in range(",
     "TritonGPUPipeline", "num_stages=5 on the loop"),
    (f"{USERS}:moved_line", "sm_90", DEEP, {"K": "128"}, "IRL206", "in range(",
     "TritonGPUPipeline", "num_stages=5 on the loop"),
    (f"{HELD}:nested", "sm_120", {}, {}, "IRL203", "weights =", "TritonGPUAssignLatencies",
     "one iteration of the loop at line"),
    (f"{HELD}:nested", "gfx942", {}, {}, "IRL203", "weights =", AMD_LOOPS,
     "one iteration of the loop at line"),
    (f"{HELD}:skipped", "gfx942", {"SKIP": "False"}, {"K": "1000", "first": "250"}, "IRL203",
     "tl.load(", AMD_LOOPS, "K known to be a multiple of 16"),
    (f"{HELD}:skipped", "gfx942", {}, {}, "IRL204", "in range(", AMD_LOOPS,
     "the condition at line"),
    (f"{FINDINGS}/dots.py:dots", "sm_75", {}, HALVES, "IRL401", "tl.dot(",
     "TritonGPUAccelerateMatmul", "sm_80"),
    (f"{FINDINGS}/dots.py:dots", "gfx1100", IEEE, {}, "IRL401", "tl.dot(",
     "TritonAMDGPUAccelerateMatmul", "fp16 operands in place of fp32"),
    (f"{HELD}:skipped", "sm_120", {"SKIP": "False"}, DOUBLES, "IRL401", "tl.dot(",
     "TritonGPUAccelerateMatmul", "fp16 operands in place of fp64"),
    (f"{ROOT}/tests/data/products/kernels.py:mxfp8", "gfx1201", {**SMALL, "BK": "64"}, {},
     "IRL405", "dot_scaled", "TritonAMDGPUAccelerateMatmul", "gfx950, which multiplies scaled"),
    (f"{USERS}:moved_line", "gfx942", CROWDED, {}, "IRL105", "", "LLVM", "waves_per_eu=1"),
    (f"{HELD}:differences", "sm_90", {}, {}, "IRL203", "value =", "TritonGPUAssignLatencies",
     "last iteration's value in place of older"),
    (f"{HELD}:differences", "gfx942", {}, {}, "IRL203", "value =", "TritonAMDGPUScheduleLoops",
     "last iteration's value in place of older"),
    (f"{HELD}:differences", "gfx942", {}, {}, "IRL202", "in tl.range", "TritonAMDGPUScheduleLoops",
     "last iteration's value in place of older"),
    (f"{HELD}:synchronized", "sm_80", {}, {}, "IRL203", "tl.load(", "TritonGPUScheduleLoops",
     "without tl.debug_barrier"),
    (f"{HELD}:synchronized", "sm_100", {}, {}, "IRL203", "tl.load(", "TritonGPUScheduleLoops",
     "without tl.debug_barrier"),
    (f"{HELD}:synchronized", "gfx950", {}, {}, "IRL203", "tl.load(", "TritonAMDGPUScheduleLoops",
     "without tl.debug_barrier"),
    (f"{HELD}:synchronized", "sm_100", {**NO_BARRIER, "SPECIALIZE": "True"}, {}, "IRL203",
     "tl.load(", "TritonGPUPipeline", "without warp_specialize"),
    (f"{HELD}:until", "sm_90", {}, {}, "IRL203", "value =", "TritonGPUCoalesce",
     "without its mask"),
    (f"{HELD}:until", "gfx950", {}, {}, "IRL203", "value =", "TritonGPUCoalesce",
     "without its mask"),
    (f"{HELD}:counted", "sm_90", {}, {}, "IRL204", "while first", "TritonGPUAssignLatencies",
     "a for loop in its place"),
    (f"{HELD}:counted", "gfx950", {}, {}, "IRL204", "while first", "TritonAMDGPUScheduleLoops",
     "a for loop in its place"),
    (f"{HELD}:described", "sm_80", {}, {}, "IRL203", "x.load(", "TritonGPUCoalesce",
     "the last stride of each descriptor known to be 1"),
    (f"{HELD}:described", "gfx942", {}, {}, "IRL203", "x.load(", "TritonGPUCoalesce",
     "the last stride of each descriptor known to be 1"),
    (f"{FINDINGS}/loads.py:row_sum", "gfx942", {"STAGES": "3", "num_warps": "16"}, BYTES, "IRL203",
     "tl.load(", "TritonAMDGPUScheduleLoops", "num_warps="),
    (f"{CAUSES}:skipping", "sm_80", {}, {}, "IRL204", "for i in", "TritonGPUAssignLatencies",
     "the condition at line `if i % 256` always taken"),
    (f"{CAUSES}:normalized", "sm_90", {}, {}, "IRL404", "tl.dot(", "ptxas", "K=2048 as"),
    (f"{CAUSES}:backwards", "sm_90", {}, {}, "IRL302", "tl.load(", LLVM, "ascending addresses"),
    (f"{CAUSES}:ragged", "sm_100", {}, {}, "IRL301", "tl.load(", LLVM,
     "loaded at line `length = tl.load` known"),
    (f"{CAUSES}:two_strides", "sm_80", {}, {}, "IRL301", "tl.load(", LLVM, MULTIPLE),
    (WARPS, "sm_80", FLAT, {}, "IRL205", "tl.range(", "NVGPUWarpSpecialization", "sm_90"),
    (f"{FINDINGS}/loads.py:row_sum", "sm_90", {"STAGES": "1"}, {}, "IRL203", "tl.load(",
     "TritonGPUAssignLatencies", "num_stages=3 on the loop itself"),
    (f"{FINDINGS}/loads.py:row_sum", "sm_80", {"STAGES": "2", "num_stages": "4"}, {}, "IRL201",
     "tl.range(", "TritonGPUAssignLatencies", "num_stages=4 on the loop itself"),
    (f"{CAUSES}:decayed", "sm_90", {}, {}, "IRL404", "tl.dot(", "TritonGPUPipeline",
     "added to the sum as it is"),
    (f"{CAUSES}:decayed", "sm_80", {"WIDE": "True"}, {}, "IRL405", "tl.dot(",
     "the operands' types", "before they are widened"),
    (f"{CAUSES}:decayed", "sm_100", {"BM": "32"}, {}, "IRL405", "tl.dot(",
     "TritonGPUAccelerateMatmul", "BM=64"),
    (f"{CAUSES}:decayed", "sm_90", {"num_warps": "2"}, {}, "IRL405", "tl.dot(",
     "TritonGPUAccelerateMatmul", "num_warps=4"),
    (f"{CAUSES}:kept", "sm_80", {}, {}, "IRL303", "tl.load(x", "TritonGPUCoalesce", "num_warps=8"),
    (f"{CAUSES}:turned", "sm_90", {}, {}, "IRL203", "tl.trans(tl.load(a", "TritonGPUCoalesce",
     "contiguous along K"),
    (f"{CAUSES}:turned", "sm_90", {}, {}, "IRL303", "tl.trans(", "TritonGPUCoalesce",
     "contiguous along K"),
    (f"{CAUSES}:helped", "sm_80", {}, {"K": "2056"}, "IRL203", "return tl.load(",
     "TritonGPUAssignLatencies", "K known to be a multiple of 16"),
    (f"{CAUSES}:decayed", "sm_90", {"DECAY": "1.0"}, {"b": "fp32[K, N]"}, "IRL404", "tl.dot(",
     "TritonGPUPipeline", "b of fp16"),
    (f"{CAUSES}:decayed", "sm_80", {"EACH": "True"}, {}, "IRL314", "tl.store(",
     "TritonGPUCoalesce", "without tt.store"),
    (f"{OF_AMD}:tiles", "gfx942", {"BM": "16", **OF_32}, {}, "IRL402", "tl.dot(",
     "TritonAMDGPUAccelerateMatmul", "matrix_instr_nonkdim=0"),
    (f"{OF_AMD}:gathered", "gfx942", {"num_warps": "1", "D": "64"}, {}, "IRL309", "tl.load(ids",
     "TritonGPURemoveLayoutConversions", "ROWS=64"),
    (f"{OF_AMD}:scaled_blocks", "gfx942", {}, {}, "IRL203", "x_scale =", AMD_LOOPS,
     "num_warps=1, and the addresses known"),
    (f"{OF_AMD}:ragged", "gfx942", {}, LARGE, "IRL315", "x =", "TritonAMDGPUConvertToBufferOps",
     "a known to have less than 2 GB"),
    (f"{OF_AMD}:ragged", "gfx950", {}, LARGE, "IRL315", "x =", "TritonAMDGPUConvertToBufferOps",
     "a known to have less than 2 GB"),
    (f"{FINDINGS}/dots.py:dots", "gfx942", {"BLOCK_K": "16", "PRECISION": "ieee"}, HALVES, "IRL316",
     "tl.dot(", "ConvertTritonAMDGPUToLLVM", "num_warps="),
    (f"{OF_AMD}:tiles", "gfx1201", {}, LARGE, "IRL315", "x =", "TritonAMDGPUConvertToBufferOps",
     "a known to have less than 2 GB"),
    (f"{OF_AMD}:depthwise", "gfx942", {}, {}, "IRL302", "value =", "the tile", "BL=32"),
    (f"{OF_AMD}:added", "gfx942", {}, {}, "IRL103", "", "AllocateAMDGPUSharedMemory", "BM=32"),
    (f"{CAUSES}:decayed", "gfx942", {"WIDE": "True"}, {}, "IRL405", "tl.dot(",
     "the operands' types", "before they are widened"),
    (f"{SECTORS}:halves", "gfx942", {}, {}, "IRL301", "tl.load(",
     "TritonAMDGPUConvertToBufferOps", "contiguous and aligned"),
    (f"{SECTORS}:stencil", "gfx942", {}, {}, "IRL301", "i - 1", "TritonAMDGPUConvertToBufferOps",
     "0 in place of -1"),
    (f"{OTHERS}:in_parts", "h100", {}, {}, "IRL404", "tl.dot(", "ptxas",
     "max_num_imprecise_acc beyond K"),
    (f"{OTHERS}:beyond", "h100", {}, {}, "IRL304", "tl.load(left)", "the addresses",
     "a mask of the 64,000 elements"),
    (f"{OTHERS}:striding", "h100", {}, {}, "IRL204", "while", "TritonGPUAssignLatencies",
     "a for loop in its place"),
    (f"{OTHERS}:pixels", "sm_80", {}, {}, "IRL302", "tl.store(", "TritonGPUCoalesce",
     "width=54 known to the compiler"),
    (f"{OTHERS}:factors", "sm_90", {}, {}, "IRL309", "scale =", "", "moves along dimension 0"),
    (f"{OTHERS}:halves", "sm_90", {}, {}, "IRL404", "tl.dot(", "TritonGPUPipeline", "in fp32"),
    (f"{OTHERS}:halves", "sm_90", {"SCALE": "0.5"}, {}, "IRL404", "SCALE", "TritonGPUPipeline",
     "in fp32"),
    (f"{OTHERS}:outlined", "sm_90", {}, {}, "IRL404", "total = tl.dot(", "ptxas", "inlined"),
    (f"{OTHERS}:outlined_rows", "h100", {}, {}, "IRL301", "total +=", LLVM, "the mask equal"),
    (f"{OTHERS}:segments", "sm_80", {}, {}, "IRL309", "place =",
     "TritonGPURemoveLayoutConversions", "ROWS=128"),
    (f"{OTHERS}:persistent_rows", "h100", {}, {}, "IRL502", "", "the launch",
     "PROGRAMS=132 in place of 108"),
]  # fmt: skip

#: The same of explanations that no experiment proves: asked for less, the loop lacks nothing; or
#: the change is one of several causes at once, or another GPU.
LIKELY: list[Row] = [
    ("softmax", "gfx942", {"num_stages": "4"}, {}, "IRL201", "for row_idx", "LLVM",
     "num_stages=2 on the loop"),
    ("softmax", "gfx950", {"num_stages": "3"}, {}, "IRL201", "for row_idx", "LLVM",
     "num_stages=2 on the loop"),
    (f"{USERS}:w8a16", "gfx942", {**SMALL, "num_stages": "3"}, {}, "IRL201", "in range(",
     "TritonAMDGPUPipeline", "num_stages=2 on the loop, as deep as it is now"),
    (f"{OF_AMD}:gathered", "gfx942", {}, {}, "IRL309", "tl.load(ids",
     "TritonGPURemoveLayoutConversions", "ROWS=64, num_warps=1"),
    (f"{OF_AMD}:tiles", "gfx1100", WIDER, {}, "IRL202", "in range(", "LLVM",
     "num_stages=3 on the loop"),
    (f"{OF_AMD}:tiles", "gfx1100", {"num_stages": "3"}, {}, "IRL201", "in range(", "LLVM",
     "compiled for gfx942"),
]  # fmt: skip

#: What was changed by hand, in the source or the launch, so that the finding is gone.
BY_HAND = [
    ("softmax", "sm_80", {}, ALIGNED, "IRL301"),
    ("softmax", "sm_90", {}, ALIGNED, "IRL301"),
    ("softmax", "sm_100", {}, ALIGNED, "IRL301"),
    ("softmax", "gfx942", {}, ALIGNED, "IRL301"),
    ("softmax", "gfx950", {}, ALIGNED, "IRL301"),
    ("softmax", "sm_80", {"num_stages": "4"}, {}, "IRL203"),
    ("softmax", "sm_100", {"num_stages": "3"}, {}, "IRL202"),
    (f"{FINDINGS}/loads.py:biased_dot", "sm_90", {"STAGES": "3"}, {}, "IRL203"),
    (f"{FINDINGS}/loads.py:biased_dot", "gfx942", {"STAGES": "3"}, {}, "IRL203"),
    (f"{FINDINGS}/loads.py:row_sum", "sm_90", {"STAGES": "3"}, {"n_cols": "1024"}, "IRL203"),
    (f"{FINDINGS}/loads.py:row_sum", "sm_90", {"STAGES": "3", "num_warps": "8"}, BYTES, "IRL203"),
    (f"{SHIFTED}:rotated", "sm_80", {"STEP": "1"}, {}, "IRL302"),
    (f"{SHIFTED}:rotated", "sm_100", {"STEP": "1"}, {}, "IRL302"),
    (f"{SHIFTED}:convolved", "sm_100", {"W": "1"}, {}, "IRL301"),
    (CARRIED, "sm_80", {"AGAIN": "True"}, {}, "IRL203"),
    (TWO_PRODUCTS, "gfx942", {"AGAIN": "True"}, {}, "IRL203"),
    (TWO_PRODUCTS, "gfx950", {"AGAIN": "True"}, {}, "IRL203"),
    (f"{SCALES}:scaled_rows", "sm_80", {}, {"scale": "fp32[n]"}, "IRL203"),
    (f"{SCALES}:scaled_rows", "gfx942", {}, {"scale": "fp32[n]"}, "IRL203"),
    (f"{SCALES}:scaled_dot", "sm_100", {"STAGES": "3"}, {}, "IRL203"),
    (f"{FINDINGS}/dots.py:dots", "h100", {"num_ctas": "1"}, {}, "IRL309"),
    (f"{FINDINGS}/dots.py:dots", "sm_80", TF32, {}, "IRL401"),
    (f"{FINDINGS}/dots.py:dots", "sm_90", TF32, {}, "IRL401"),
    ("matmul", "sm_90", {**WIDE_TILE, "num_warps": "8"}, {}, "IRL404"),
    (f"{SECTORS}:few_elements", "gfx942", {"num_warps": "1"}, {}, "IRL309"),
    (f"{SECTORS}:spread", "sm_90", {"M": "128"}, {}, "IRL309"),
    (f"{USERS}:embedding_bag", "gfx942", {"num_warps": "1"}, {}, "IRL309"),
    (f"{USERS}:embedding_bag", "sm_80", {"D": "256", "num_warps": "2"}, {}, "IRL403"),
    (f"{FINDINGS}/short_rows.py:short_rows", "sm_90", {"num_warps": "1"}, {}, "IRL403"),
    (f"{USERS}:fp8_matmul", "sm_90", {**FLAT, "num_warps": "4"}, {}, "IRL405"),
    (f"{USERS}:persistent", "gfx942", {**SMALL, "PRINT": "False"}, {}, "IRL203"),
    (f"{FINDINGS}/scaled_product.py", "sm_90", {"num_warps": "8"}, {}, "IRL310"),
    (f"{FINDINGS}/scaled_product.py", "gfx942", {"num_warps": "4"}, {}, "IRL310"),
    (f"{FINDINGS}/transposed_sum.py", "h100", {"STAGES": "3"}, {}, "IRL314"),
    (f"{FINDINGS}/right_operand.py", "h100", {"TRANSPOSED": "True"}, {}, "IRL314"),
    (f"{FINDINGS}/transposed_sum.py", "sm_100", {"STAGES": "3"}, {}, "IRL314"),
    (JOINED, "sm_80", {"ALONG_K": "True"}, {}, "IRL303"),
    (JOINED, "sm_90", {"ALONG_K": "True"}, {}, "IRL303"),
    (f"{GLUONS}/vector.py", "h100", {"along": "BlockedLayout([4], [32], [4], [0])"}, {}, "IRL302"),
    (f"{GLUONS}/vector.py", "sm_90", {"along": "BlockedLayout([4], [32], [4], [0])"}, {}, "IRL303"),
    (f"{SPECIALIZED}:ws_scores", "sm_100", {"WS": "False"}, {}, "IRL303"),
    (f"{SPECIALIZED}:ws_tiles", "sm_90", {"FLAT": "False"}, {}, "IRL205"),
    (f"{SPECIALIZED}:ws_sparse", "sm_90", {"SKIP": "False"}, {}, "IRL205"),
    (f"{FINDINGS}/grouped_weights.py", "sm_80", {"TOGETHER": "1"}, {}, "IRL309"),
    (f"{FINDINGS}/tile_sum.py", "h100", {**LONG_ROWS, "STAGES": "1"}, {}, "IRL103"),
    (f"{USERS}:moved_line", "h100", {"BM": "32"}, {}, "IRL502"),
    (f"{FINDINGS}/indirect.py:pages", "sm_80", {"STAGES": "5"}, {}, "IRL202"),
    (f"{FINDINGS}/paged.py", "gfx950", {"PAGED": "False"}, {}, "IRL201"),
    (f"{FINDINGS}/paged.py", "gfx950", {"PAGED": "False", "STAGES": "5"}, {}, "IRL202"),
    (f"{FINDINGS}/paged.py", "gfx950", {"PAGED": "False", "STAGES": "5"}, {}, "IRL203"),
    (f"{USERS}:transposed_operand", "sm_90", NARROW, {"a": "fp16[M, K]", "b": "fp16[K, N]"},
     "IRL303"),
    (f"{USERS}:transposed_operand", "h100", {"num_stages": "1"}, {}, "IRL301"),
    ("softmax", "gfx942", {"num_stages": "2"}, {}, "IRL201"),
    ("softmax", "gfx950", {"num_stages": "2"}, {}, "IRL201"),
    (f"{USERS}:turning", "sm_90", {**FLAT, "TURN": "False"}, {}, "IRL203"),
    (f"{USERS}:turning", "sm_80", {**SMALL, "TURN": "False"}, {}, "IRL202"),
    (f"{SECTORS}:pairs", "sm_90", {}, {}, "IRL302"),
    (f"{SECTORS}:told_columns", "gfx942", {}, {}, "IRL302"),
    (f"{SECTORS}:channels_last", "sm_100", {}, {"C": "1"}, "IRL302"),
    (f"{FINDINGS}/columns.py:columns", "sm_80", {}, ROW, "IRL302"),
    (f"{FINDINGS}/columns.py:strip", "sm_90", {"WIDTH": "8"}, {}, "IRL302"),
    (f"{FINDINGS}/transpose.py:transpose", "sm_90", {"STAGES": "1"}, {}, "IRL303"),
    ("flash_attention", "gfx942", {"num_stages": "1"}, {}, "IRL303"),
    (f"{SQUARE}:turned", "h100", {"BN": "8"}, {}, "IRL302"),
    (f"{SQUARE}:alternating", "sm_90", {"SWAP": "False"}, {}, "IRL203"),
    (f"{SQUARE}:alternating", "gfx950", {"SWAP": "False"}, {}, "IRL203"),
    (f"{FINDINGS}/misaligned.py:rows", "sm_90", {}, {"stride": "1024"}, "IRL307"),
    (f"{SECTORS}:few_elements", "sm_90", {"num_warps": "2"}, {}, "IRL309"),
    (f"{SECTORS}:doubled", "sm_90", {}, {}, "IRL309"),
    (f"{FINDINGS}/short_rows.py:short_rows", "gfx950", {"num_warps": "1"}, {}, "IRL403"),
    (f"{FINDINGS}/dots.py:dots", "sm_90", {"M": "64"}, E4M3, "IRL405"),
    (f"{USERS}:fp8_matmul", "gfx942", FLATTEST, AMDS_FP8, "IRL405"),
    (f"{USERS}:fp8_matmul", "sm_90", FLAT, {"a": "fp16[M, K]", "b": "fp16[K, N]"}, "IRL203"),
    (f"{SECTORS}:hinted_halves", "sm_90", {}, {}, "IRL301"),
    (f"{SECTORS}:constant_bound", "sm_80", {"N": "1024"}, {}, "IRL301"),
    (f"{USERS}:masked_softmax", "gfx950", {}, {"stride": "1008", "cols": "1008"}, "IRL301"),
    (f"{USERS}:w8a8", "sm_90", {"ALONG_K": "True"}, {}, "IRL203"),
    (f"{USERS}:persistent", "sm_90", {"PRINT": "False"}, {}, "IRL203"),
    (f"{USERS}:persistent", "sm_90", {"PRINT": "False"}, {}, "IRL404"),
    (GLUON, "h100", SWIZZLED, {}, "IRL303"),
    (GLUON, "sm_80", SWIZZLED, {}, "IRL303"),
    (f"{USERS}:moved_line", "sm_80", {**SMALL, "EARLY": "True"}, {}, "IRL201"),
    (WARPS, "sm_90", FLAT, {}, "IRL205"),
    (WARPS, "sm_100", FLAT, {}, "IRL205"),
    (WARPS, "sm_90", FLAT, {}, "IRL311"),
    (WARPS, "sm_100", FLAT, {}, "IRL311"),
    (f"{FINDINGS}/promoted.py", "sm_90", {"WIDE": "False"}, {}, "IRL406"),
    (f"{FINDINGS}/promoted.py", "gfx942", {"WIDE": "False"}, {}, "IRL406"),
    (f"{USERS}:biased_attention", "sm_90", {"STAGES": "2"}, {}, "IRL203"),
    (f"{USERS}:biased_attention", "gfx942", {**LOW, "STAGES": "3"}, {}, "IRL203"),
    (f"{USERS}:biased_attention", "sm_80", {**LOW, "STAGES": "2"}, {}, "IRL314"),
    ("softmax", "a100", {**LONG_ROW, "num_stages": "3"}, {}, "IRL101"),
    ("layer_norm", "sm_100", {}, {}, "IRL305"),
    (TOTAL, "h100", {"BLOCK": "4096"}, MANY, "IRL312"),
    (f"{USERS}:moved_line", "sm_80", {**LIMITED, "maxnreg": "255"}, {}, "IRL105"),
    (f"{USERS}:moved_line", "sm_80", {**DEEP, "num_stages": "5"}, {"K": "128"}, "IRL206"),
    (f"{HELD}:nested", "gfx942", {"EACH": "False"}, {}, "IRL203"),
    (f"{FINDINGS}/dots.py:dots", "gfx1100", IEEE, HALVES, "IRL401"),
    (f"{USERS}:moved_line", "gfx942", {**CROWDED, "waves_per_eu": "1"}, {}, "IRL105"),
    (f"{HELD}:differences", "sm_90", {"SECOND": "False"}, {}, "IRL203"),
    (f"{HELD}:differences", "gfx942", {"SECOND": "False"}, {}, "IRL202"),
    (f"{HELD}:synchronized", "sm_80", NO_BARRIER, {}, "IRL203"),
    (f"{HELD}:synchronized", "sm_100", NO_BARRIER, {}, "IRL203"),
    (f"{HELD}:synchronized", "gfx950", NO_BARRIER, {}, "IRL203"),
    (f"{HELD}:until", "sm_90", {"LIMIT": "False"}, {}, "IRL203"),
    (f"{HELD}:until", "gfx950", {"LIMIT": "False"}, {}, "IRL203"),
    (f"{HELD}:counted", "sm_90", {"FOR": "True"}, {}, "IRL204"),
    (f"{HELD}:described", "sm_90", {}, {}, "IRL203"),
    (f"{FINDINGS}/loads.py:row_sum", "sm_80", {"STAGES": "4", "num_stages": "4"}, {}, "IRL201"),
    (f"{CAUSES}:decayed", "sm_90", {"DECAY": "1.0"}, {}, "IRL404"),
    (f"{CAUSES}:kept", "sm_80", {"num_warps": "8"}, {}, "IRL303"),
    (f"{CAUSES}:turned", "sm_90", {"ALONG_K": "True"}, {}, "IRL203"),
    (f"{CAUSES}:turned", "sm_90", {"ALONG_K": "True"}, {}, "IRL303"),
    (f"{CAUSES}:helped", "sm_80", {}, {"K": "2064"}, "IRL203"),
    (f"{CAUSES}:decayed", "sm_80", {}, {}, "IRL314"),
    (f"{CAUSES}:decayed", "sm_80", {}, {}, "IRL405"),
    (f"{CAUSES}:decayed", "sm_90", {}, {}, "IRL405"),
    (f"{CAUSES}:decayed", "sm_100", {}, {}, "IRL405"),
    (f"{CAUSES}:skipping", "sm_80", {"SKIP": "False"}, {}, "IRL204"),
    (f"{CAUSES}:normalized", "sm_90", {"LENGTH": "2048"}, {}, "IRL404"),
    (f"{CAUSES}:backwards", "sm_90", {"TURN": "False"}, {}, "IRL302"),
    (f"{CAUSES}:ragged", "sm_100", {"TOLD": "True"}, {}, "IRL301"),
    (f"{CAUSES}:two_strides", "sm_80", {}, {"n": "1008", "m": "1008"}, "IRL301"),
    (f"{FINDINGS}/loads.py:row_sum", "gfx942", {"STAGES": "3"}, BYTES, "IRL203"),
    (f"{OF_AMD}:tiles", "gfx942", WIDER, {}, "IRL202"),
    (f"{OF_AMD}:tiles", "gfx942", {"BM": "16"}, {}, "IRL402"),
    (f"{OF_AMD}:gathered", "gfx942", {"ROWS": "64", "num_warps": "1"}, {}, "IRL309"),
    (f"{OF_AMD}:added", "gfx942", {"BM": "32"}, {}, "IRL103"),
    (f"{OF_AMD}:ragged", "gfx942", {}, {"M": "1024"}, "IRL315"),
    (f"{OF_AMD}:ragged", "gfx950", {}, {"M": "1024"}, "IRL315"),
    (f"{CAUSES}:decayed", "gfx942", {}, {}, "IRL405"),
    (f"{SECTORS}:hinted_halves", "gfx942", {}, {}, "IRL301"),
]  # fmt: skip


def _configurations(target: str, settings: dict[str, str], args: dict[str, str]) -> Configurations:
    return Configurations(
        targets=(target,),
        settings=tuple((name, (value,)) for name, value in settings.items()),
        args=tuple((name, (value,)) for name, value in args.items()),
    )


def _explained(
    kernel: str, target: str, settings: dict[str, str], args: dict[str, str], code: str
) -> list[Explanation]:
    configurations = _configurations(target, settings, args)
    return why(kernel, configurations, Session(), (code,)).explanations


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kernel", "target", "settings", "args", "code", "line", "decided_by", "change"),
    [*TABLE, *LIKELY],
    ids=[f"{row[0].rpartition(':')[2]}-{row[1]}-{row[4]}" for row in (*TABLE, *LIKELY)],
)
def test_the_table(
    kernel: str, target: str, settings: dict[str, str], args: dict[str, str], code: str,
    line: str, decided_by: str, change: str,
) -> None:  # fmt: skip
    if code == "IRL205" and "num_warps" not in settings and triton.__version__ < "3.7":
        pytest.skip("Triton 3.6 takes one stage, and specializes warps in other passes")
    explained = _explained(kernel, target, settings, args, code)
    found = [each for each in explained if line in _code(kernel, each)]
    assert found, [each.finding.message for each in explained]
    row = (kernel, target, settings, args, code, line, decided_by, change)
    for each in found:
        assert each.proof == ("relieved" if row in LIKELY else "proved")
        assert each.decided_by == decided_by
        assert _numbered(change, kernel) in each.experiments[0].change
        assert each.experiments[0].gone
        assert "requests" not in each.experiments[0].instead, "the change itself asks for less"
    if decided_by == "TritonGPUAccelerateMatmul" and target == "sm_90":
        assert any("MMA version 3 acceleration not applied" in each for each in found[0].said)
    if change == "always taken" and code != "IRL205":
        assert any("Pipelining will be disabled" in each for each in found[0].said)
    if code == "IRL405" and target == "sm_90" and settings == FLATTEST:
        assert "wgmma does not take it: the tile has 16 rows" in found[0].cause
    if code == "IRL404" and decided_by == "ptxas":
        called = settings == PRINTS or "outlined" in kernel
        words = "C7510" if called else "insufficient register resources"
        words = "non wgmma instructions defining accumulator" if "normalized" in kernel else words
        assert any(words in each for each in found[0].said)
        assert "normalized" not in kernel or words in found[0].cause


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kernel", "target", "settings", "args", "code"),
    BY_HAND,
    ids=[f"{row[0].rpartition(':')[2]}-{row[1]}-{row[4]}" for row in BY_HAND],
)
def test_what_is_changed_by_hand_goes(
    kernel: str, target: str, settings: dict[str, str], args: dict[str, str], code: str
) -> None:
    session = Session()
    request = single_request(kernel, _configurations(target, settings, args), session)
    (capture,) = session.compile(request)
    assert Outcome(capture).findings(code) == []


def _code(kernel: str, explanation: Explanation) -> str:
    """Return the line of Python that a finding is about."""
    source = explanation.finding.source
    return "" if source is None else _lines(kernel)[source.line - 1]


def _numbered(change: str, kernel: str) -> str:
    """Return a change with the number of a line in place of the code that it quotes."""
    before, quote, after = change.partition("`")
    if not quote:
        return change
    code, _, after = after.partition("`")
    (number,) = (at for at, line in enumerate(_lines(kernel), 1) if code in line)
    return f"{before}{number}{after}"


def _lines(kernel: str) -> list[str]:
    """Return the lines of the file that a kernel is in."""
    path = ROOT / (kernel.rpartition(":")[0] or f"kernels/{kernel}.py")
    path = Path(kernel) if kernel.endswith(".py") else path
    return path.read_text("utf-8").splitlines()


@pytest.mark.slow
def test_stages_do_not_remove_the_conversion_of_what_a_condition_guards() -> None:
    """The rule was silent about a loop with stages, which pipelines no such load."""
    session = Session()
    for settings, codes in (({}, ["IRL204"]), ({"STAGES": "3"}, ["IRL203"])):
        request = single_request(
            f"{OTHERS}:guarded", _configurations("sm_80", settings, {}), session
        )
        (capture,) = session.compile(request)
        found = {each.code for each in complete_report(capture).findings}
        assert "IRL314" not in found
        assert found.issuperset(codes)


@pytest.mark.slow
def test_a_conversion_stays_where_stages_pipeline_no_load(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With stages the rule asks for more than stages, and the tile is converted as before."""
    monkeypatch.setenv("IRLENS_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(converted_tile, "_is_in_loop_itself", lambda module, load: True)
    explained = _explained(f"{OTHERS}:guarded", "sm_80", {}, {}, "IRL314")
    stages = [
        one
        for each in explained
        for one in each.experiments
        if one.change.startswith("num_stages=3")
    ]
    assert stages
    assert not any(each.gone for each in stages)
    assert all("not pipelined" in each.instead for each in stages)


@pytest.mark.slow
def test_fewer_columns_of_the_result_are_no_remedy_of_a_full_tensor_memory() -> None:
    """Half of the extent D computes half of the result."""
    (explained,) = _explained(f"{OTHERS}:projected", "b200", {}, {}, "IRL107")
    assert not any(each.change.startswith("D=") for each in explained.experiments)
    first = explained.experiments[0]
    assert first.gone
    assert "num_stages=" in first.change
    assert explained.proof == "relieved"


@pytest.mark.slow
def test_a_limit_of_registers_that_spills_them_is_said() -> None:
    (found,) = _explained(f"{FINDINGS}/heavy_row.py", "h100", {}, {}, "IRL102")
    (first, *_) = found.experiments
    assert first.gone
    assert "maxnreg=" in first.change
    assert "spilled" in first.instead


def test_a_remark_on_loads_says_nothing_of_the_registers_that_are_needed() -> None:
    """Of its weights the pipeliner says that they are pipelined in registers."""
    (found,) = _explained(JOINED, "sm_80", {}, {}, "IRL102")
    assert found.said
    assert all("ptxas" in each or "stack frame" in each for each in found.said)


def test_a_wrong_explanation_is_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    """The experiment changes the kernel, and the finding stays."""

    def warps(_: Symptom) -> Iterator[Change]:
        yield Change("num_warps=4", {"num_warps": "4"})

    monkeypatch.setitem(counterfactuals._MAKERS, "IRL301", warps)
    for each in _explained("softmax", "sm_90", {}, RAGGED, "IRL301"):
        assert each.proof == "refuted"
        assert each.decided_by == ""
        assert [one.gone for one in each.experiments] == [False]


def test_a_stride_is_changed_in_the_address_alone() -> None:
    """The argument also bounds the loop, which has as many iterations as before."""
    (found,) = _explained(f"{FINDINGS}/columns.py:heads", "h100", {}, {}, "IRL302")
    assert found.proof == "proved"
    first = found.experiments[0]
    assert first.change == "1 in place of n in its address"
    assert first.before_us is not None
    assert first.after_us is not None
    # A loop of one iteration would read 16 KB: all columns alone take memory 20 µs.
    assert first.after_us > 64 * 2**20 / 3.35e6


def test_a_load_of_another_address_in_each_iteration_stays_in_its_loop() -> None:
    """Three loops read the same row, and no load is the same in each iteration."""
    (found,) = _explained("layer_norm_looped", "sm_80", {}, {}, "IRL305")
    assert not any("before the loop" in each.change for each in found.experiments)


def test_loads_left_out_take_less_time() -> None:
    (found,) = _explained("layer_norm_looped", "h100", {}, {}, "IRL305")
    (only,) = found.experiments
    assert only.before_us is not None
    assert only.after_us is not None
    assert only.after_us < 0.9 * only.before_us


def test_each_resource_that_is_exceeded_is_explained_alone() -> None:
    """64 warps are more than a CTA may have, and so are its 196,608 bytes."""
    configurations = {"BM": "64", "BN": "128", "BK": "128", "num_stages": "5", "num_warps": "64"}
    explained = _explained(f"{USERS}:split_k", "a100", configurations, {}, "IRL101")
    changed = {each.finding.blame.kind: each for each in explained if each.finding.blame}
    assert set(changed) == {"shared_memory", "threads"}
    assert changed["threads"].experiments[0].change == "num_warps=32"
    assert changed["threads"].decided_by == "the configuration"
    assert "num_stages" in changed["shared_memory"].experiments[0].change
    assert all(each.proof == "proved" for each in explained)


def test_what_does_not_compile_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(symptom: Symptom) -> Iterator[Change]:
        yield Change("a broken ttir", ttir=symptom.module.text.replace("tt.load", "tt.lod"))

    monkeypatch.setitem(counterfactuals._MAKERS, "IRL301", broken)
    for each in _explained("softmax", "sm_90", {}, RAGGED, "IRL301"):
        assert each.proof == "untested"
        (only,) = each.experiments
        assert only.gone is None
        assert only.error


def test_a_finding_that_is_not_there_is_named() -> None:
    with pytest.raises(IrlensError, match="softmax_kernel has no finding IRL401"):
        _explained("softmax", "sm_90", {}, {}, "IRL401")
    with pytest.raises(UnknownNameError, match="unknown finding 'IRL999'"):
        _explained("softmax", "sm_90", {}, {}, "IRL999")


@pytest.mark.parametrize(
    ("stages", "blamed"),
    [("2", "IRL301 at softmax.py:50"), ("4", "softmax.py:49 holds ")],
)
def test_spills_are_explained_by_a_narrow_access_before_more_warps(
    stages: str, blamed: str
) -> None:
    """More warps prove what holds the registers at the peak, if nothing else removes the spills."""
    args = dict.fromkeys(("n_cols", "input_row_stride", "output_row_stride"), "4095")
    settings = {"num_warps": "1", "num_stages": stages}
    (found,) = _explained("softmax", "sm_90", settings, args, "IRL105")
    assert found.proof == "proved"
    assert found.cause.startswith(blamed)
    first = found.experiments[0]
    assert first.gone
    assert first.is_cause
    assert ("IRL301 at" in first.change) == (stages == "2")
    assert any("num_warps" in each.change for each in found.experiments) == (stages == "4")


@pytest.mark.parametrize("code", ["IRL104", "IRL105"])
def test_half_of_a_row_proves_nothing(code: str) -> None:
    """The tile is the whole row: a smaller one leaves the other half to nobody."""
    (found,) = _explained("spill", "a100", {}, {}, code)
    assert found.proof in ("relieved", "refuted")
    assert found.cause.startswith("spill.py:44 and spill.py:45 hold ")
    assert found.experiments
    assert all(each.change.startswith("num_warps=") for each in found.experiments)


def test_more_rows_than_the_problem_has_prove_nothing() -> None:
    """The product has 16 rows, which its only tile covers: wgmma takes 64."""
    (found,) = _explained(f"{FINDINGS}/dots.py:dots", "sm_90", {"M": "16"}, E4M3, "IRL405")
    assert (found.proof, found.experiments) == ("untested", [])
    assert "wgmma does not take it: the tile has 16 rows" in found.cause


def test_what_holds_the_registers_is_likely_where_more_warps_free_others() -> None:
    (found,) = _explained(f"{FINDINGS}/two_rows.py", "gfx942", {}, {}, "IRL102")
    assert found.proof == "relieved"
    assert found.cause.startswith("two_rows.py:")
    assert "registers that are live at once" in found.cause
    assert found.experiments[0].change == "num_warps=8"


def test_a_tile_that_leaves_work_to_nobody_is_no_remedy_of_the_last_wave() -> None:
    kernel = f"{FINDINGS}/first_columns.py"
    (explained,) = _explained(kernel, "h100", {}, {}, "IRL501")
    assert explained.proof != "proved"
    assert not any(each.gone for each in explained.experiments)


def test_a_tile_that_reads_other_bytes_is_no_remedy_either() -> None:
    """It stores as many bytes of each row as before, and has seen half of them."""
    (explained,) = _explained(f"{FINDINGS}/first_maximum.py", "h100", {}, {}, "IRL501")
    for each in explained.experiments:
        assert "SEEN" not in each.change or (not each.gone and each.after_us is None)


def test_fewer_warps_remove_spills_of_vectors_that_more_warps_do_not_divide() -> None:
    (explained,) = _explained(f"{FINDINGS}/many_vectors.py", "sm_90", {"COUNT": "72"}, {}, "IRL105")
    first = explained.experiments[0]
    assert (first.change, first.gone) == ("num_warps=16", True)
    assert "fewer warps, which leave each thread more registers" in (explained.finding.hint or "")


def test_what_is_not_looked_for_is_not_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """An architecture has no number of SMs, so that the waves of the launch are unknown."""

    def architecture(_: Symptom) -> Iterator[Change]:
        yield Change("compiled for sm_90", {"target": "sm_90"})

    monkeypatch.setitem(counterfactuals._MAKERS, "IRL501", architecture)
    (explained,) = _explained(f"{FINDINGS}/first_maximum.py", "h100", {}, {}, "IRL501")
    assert explained.proof == "untested"
    assert explained.experiments == []


def test_widths_of_copies_are_not_those_in_the_order_of_the_assembly() -> None:
    """LLVM moves the wide load, of the tap that is not shifted, before others of its line."""
    explained = _explained(f"{OF_AMD}:depthwise", "gfx942", {}, {}, "IRL301")
    assert len(explained) == 3
    for each in explained:
        assert "moves 4 B per lane" in each.finding.message
        assert each.finding.blame is not None
        assert each.finding.blame.kind == "shift"
        assert each.proof == "refuted", "one shift of several taken away leaves the others"


def test_a_tile_is_not_explained_by_registers() -> None:
    for each in _explained(f"{SQUARE}:turned", "gfx942", {}, {}, "IRL302"):
        assert each.proof == "proved"
        assert "registers" not in each.cause


def test_a_change_that_removes_a_finding_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, compiled = [], Session.compile

    def noted(session: Session, request: Request) -> Sequence[Capture]:
        asked.append(request.ttir)
        return compiled(session, request)

    monkeypatch.setattr(Session, "compile", noted)
    (found,) = _explained("softmax", "sm_90", {"num_stages": "2"}, {}, "IRL202")
    assert found.decided_by == "TritonGPUPipeline"
    assert len([each for each in asked if each]) == 1


@pytest.mark.slow
def test_a_gpu_of_an_unknown_name_has_explanations(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = Session.compile

    def of_unknown(session: Session, request: Request) -> list[Capture]:
        captures = compiled(session, request)
        targets = (each.target and replace(each.target, product="no such") for each in captures)
        return [replace(each, target=at) for each, at in zip(captures, targets, strict=True)]

    monkeypatch.setattr(Session, "compile", of_unknown)
    (first, *_) = _explained("softmax", "sm_80", {}, RAGGED, "IRL301")
    assert first.proof == "proved"


@pytest.mark.slow
def test_a_fence_before_one_of_two_loads_is_not_why_both_are_awaited() -> None:
    """The other load is used at once, without a barrier between."""
    settings = {**WIDER, "num_stages": "3"}
    (found,) = _explained(f"{OF_AMD}:tiles", "gfx1201", settings, {}, "IRL202")
    assert "fence" not in found.cause
    assert found.proof == "refuted"
    assert not any("gfx942" in each.change for each in found.experiments)


def test_a_larger_tile_is_tried_no_further_where_it_is_in_vain(tmp_path: Path) -> None:
    """Some constexprs are no dimension of the tile, or options of the compiler."""
    file = tmp_path / "k.py"
    file.write_text(
        "import triton\nimport triton.language as tl\n\n@triton.jit\n"
        "def k(x, y, n, ROWS: tl.constexpr, K: tl.constexpr, TOTAL: tl.constexpr,\n"
        "      matrix_instr_nonkdim: tl.constexpr):\n"
        "    i, j = tl.arange(0, ROWS), tl.arange(0, K // 32)\n"
        "    at = i[:, None] * n + j[None, :]\n"
        "    tl.store(y + at, tl.load(x + at) * TOTAL)\n"
    )
    settings = {"ROWS": "64", "K": "256", "TOTAL": "64", "matrix_instr_nonkdim": "16"}
    args = {"x": "int8[64, 4096]", "y": "int8[64, 4096]", "n": "4096"}
    found, *_ = _explained(f"{file}:k", "gfx942", settings, args, "IRL302")
    tried = [each.change for each in found.experiments]
    assert {"K=512", "K=1024", "TOTAL=128"} <= set(tried)
    assert not {"TOTAL=256", "TOTAL=512", "ROWS=256", "ROWS=512"} & set(tried)
    assert not any("nonkdim" in each for each in tried)


def test_a_still_larger_tile_is_not_tried_where_the_launch_solves_another_problem(
    tmp_path: Path,
) -> None:
    """The grid is a number here, so that a longer tile reads and writes more."""
    file = tmp_path / "k.py"
    file.write_text(
        "import triton\nimport triton.language as tl\n\n@triton.jit\n"
        "def k(x, y, n, COLUMNS: tl.constexpr):\n"
        "    i, j = tl.arange(0, 64), tl.arange(0, COLUMNS)\n"
        "    at = i[:, None] * n + tl.program_id(0) * COLUMNS + j[None, :]\n"
        "    tl.store(y + at, tl.load(x + at) + 1)\n"
    )
    args = {"x": "int8[64, 4096]", "y": "int8[64, 4096]", "n": "4096"}
    launch = replace(_configurations("gfx942", {"COLUMNS": "8"}, args), grid=("64",))
    tried = list[str]()
    why(f"{file}:k", launch, Session(), ("IRL302",), lambda done, total, now: tried.append(now))
    assert {each for each in tried if "COLUMNS=" in each} == {"IRL302: trying COLUMNS=16"}
