"""What the matrix instructions of PTX multiply (PTX ISA, ``mma``, ``wgmma``, ``tcgen05.mma``)."""

import re

from irlens.gpus.rates import Dtype
from irlens.isa.events import MatrixInstruction
from irlens.isa.ptx.copies import is_tcgen05_mma, is_wgmma
from irlens.isa.ptx.records import Instruction

#: Types of operands: how kernels call them, and by which type's rate they are multiplied.
_TYPES: dict[str, tuple[str, Dtype]] = {
    "f64": ("fp64", "fp64"),
    "tf32": ("tf32", "tf32"),
    "f32": ("fp32", "fp32"),
    "bf16": ("bf16", "bf16"),
    "f16": ("fp16", "fp16"),
    "e4m3": ("e4m3", "fp8"),
    "e5m2": ("e5m2", "fp8"),
    "e3m2": ("e3m2", "fp8"),
    "e2m3": ("e2m3", "fp8"),
    "e2m1": ("e2m1", "fp8"),
    "s8": ("int8", "int8"),
    "u8": ("uint8", "int8"),
    "s32": ("int32", "int8"),
}
#: The kinds of tcgen05, which leave the operands' types to a descriptor.
_KINDS: dict[str, Dtype] = {
    "f16": "fp16",
    "tf32": "tf32",
    "f8f6f4": "fp8",
    "i8": "int8",
    "mxf8f6f4": "fp8",
    "mxf4": "fp4",
    "mxf4nvf4": "fp4",
}
_SHAPE = re.compile(r"m\d+n\d+k\d+")


def matrix_instruction(instruction: Instruction) -> MatrixInstruction | None:
    """Return what an instruction multiplies; ``None`` if it is no matrix product."""
    is_sync = instruction.opcode == "mma" and instruction.modifiers[:1] == ("sync",)
    if is_tcgen05_mma(instruction):
        kind = _kind(instruction)
        rate = _KINDS.get(kind)
        return MatrixInstruction(f"tcgen05.mma.kind::{kind}", "", "", rate) if rate else None
    if not is_sync and not is_wgmma(instruction):
        return None
    # Result, left and right; mma.sync names the accumulator's type and that of scales, too.
    types = [name for name in instruction.modifiers if name in _TYPES]
    shape = next(filter(_SHAPE.fullmatch, instruction.modifiers), "")
    if len(types) < 3 or not shape:
        return None
    (left, rate), (right, other) = _TYPES[types[1]], _TYPES[types[2]]
    if _KINDS.get(_kind(instruction)) == "fp4":
        rate = other = "fp4"
    name = f"mma.sync.{shape}" if is_sync else f"wgmma.{shape}"
    sums = "" if _kind(instruction).startswith("mx") else _TYPES[types[0]][0]
    return MatrixInstruction(name, left, right, rate, sums) if rate == other else None


def _kind(instruction: Instruction) -> str:
    kinds = (name for name in instruction.modifiers if name.startswith("kind::"))
    return next(kinds, "").removeprefix("kind::")
