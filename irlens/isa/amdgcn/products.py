"""What AMD's matrix instructions multiply.

Sources: AMD, instruction set manuals of CDNA 1 to 4 and of RDNA 3 and 4, "MFMA" and "WMMA"; LLVM,
``VOP3PInstructions.td``, for how mnemonics spell the types.
"""

import re

from irlens.gpus.rates import Dtype
from irlens.isa.amdgcn.records import Instruction, Operation
from irlens.isa.events import MatrixInstruction

_MATRIX = re.compile(
    r"v_(?:mfma|wmma|smfmac|swmmac)_(?:scale(?:16)?_)?[fib]+\d+_(?P<shape>\d+x\d+x\d+)_?(?P<types>\w+)"
)
_ENCODING = re.compile(r"_e64|_1k|_w(?:32|64)|_(?:dpp|twoaddr|threeaddr)$")
#: Types as mnemonics spell them: their names, and by which type's rate they are multiplied.
_TYPES: dict[str, tuple[str, Dtype]] = {
    "f64": ("fp64", "fp64"),
    "xf32": ("tf32", "tf32"),
    "f32": ("fp32", "fp32"),
    "bf16": ("bf16", "bf16"),
    "f16": ("fp16", "fp16"),
    "fp8": ("fp8", "fp8"),
    "bf8": ("bf8", "fp8"),
    "f4": ("e2m1", "fp4"),
    "i8": ("int8", "int8"),
    "iu8": ("int8", "int8"),
}
#: Formats of ``f8f6f4`` by the number in ``cbsz`` and ``blgp``; those of 4 and 6 bits are faster.
_FORMATS: tuple[tuple[str, Dtype], ...] = (
    ("fp8", "fp8"), ("bf8", "fp8"), ("e2m3", "fp4"), ("e3m2", "fp4"), ("e2m1", "fp4"),
)  # fmt: skip
_NAMED = {"FP8": 0, "BF8": 1, "FP6": 2, "BF6": 3, "FP4": 4}
_FORMAT = re.compile(r"(cbsz|blgp|matrix_a_fmt|matrix_b_fmt):(?:MATRIX_FMT_)?(\w+)")
_LEFT, _RIGHT = ("cbsz", "matrix_a_fmt"), ("blgp", "matrix_b_fmt")


def matrix_instruction(instruction: Instruction) -> MatrixInstruction | None:
    """Return what an instruction multiplies; ``None`` if it is no matrix product."""
    found = (_of_operation(each) for each in instruction.operations)
    return next((each for each in found if each is not None), None)


def _of_operation(operation: Operation) -> MatrixInstruction | None:
    match = _MATRIX.fullmatch(_ENCODING.sub("", operation.mnemonic))
    if match is None:
        return None
    if match["types"] == "f8f6f4":
        sides = [_scaled_format(operation, names) for names in (_LEFT, _RIGHT)]
    else:
        written = [name for name in match["types"].split("_") if name in _TYPES]
        sides = [_TYPES[written[0]], _TYPES[written[-1]]] if written else [None, None]
    left, right = sides
    if left is None or right is None:
        return None
    # A product of two formats takes as long as one of the wider.
    rate = left[1] if left[1] == right[1] else "fp8"
    return MatrixInstruction(operation.mnemonic, left[0], right[0], rate)


def _scaled_format(operation: Operation, names: tuple[str, str]) -> tuple[str, Dtype] | None:
    """Return the format of an operand of ``f8f6f4``; without a modifier it is fp8."""
    for modifier in operation.modifiers:
        match = _FORMAT.fullmatch(modifier)
        if match is not None and match[1] in names:
            number = int(match[2]) if match[2].isdecimal() else _NAMED.get(match[2], -1)
            return _FORMATS[number] if 0 <= number < len(_FORMATS) else None
    return _FORMATS[0]
