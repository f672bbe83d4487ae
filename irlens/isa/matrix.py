"""What an instruction of a tensor core (AMD: matrix core) multiplies."""

import msgspec

from irlens.gpus.rates import Dtype


class MatrixInstruction(msgspec.Struct, frozen=True):
    """The types that an instruction multiplies.

    Attributes:
        name: The instruction with its shape: "mma.sync.m16n8k16", "v_mfma_f32_32x32x8_f16".
        left: Type of the left operand's elements: "fp16", "e4m3", "tf32". "" where the instruction
            does not say it.
        right: The same of the right operand.
        rate: The type by whose rate it multiplies: products of 4-bit types may run at that of 8.
    """

    name: str
    left: str
    right: str
    rate: Dtype
