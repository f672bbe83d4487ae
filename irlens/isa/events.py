"""Events of asynchronous copies: an instruction starts a copy, commits a group or waits.

Every dialect translates its instructions into these, and the analyses of pipelines follow them
without knowing the instructions.
"""

from collections.abc import Hashable
from typing import TypeAlias

import msgspec

from irlens.gpus.rates import Dtype

#: No bound: larger than any count of groups or bytes.
UNBOUNDED = 1 << 62


class Copy(msgspec.Struct, frozen=True):
    """One copy instruction.

    Every event has its line and its offset in the text (``at``), which orders events.

    Attributes:
        bytes: Per thread; ``None`` where they are not a literal.
        amount: A quantity that is summed up instead, such as the bytes of all threads; if any.
    """

    line: int
    bytes: int | None
    at: int = 0
    amount: int | None = None


class Commit(msgspec.Struct, frozen=True):
    """Closes a group.

    Attributes:
        certain: Whether it is unconditional, having no predicate.
        implicit: Whether it belongs to a ``wait_all``, where an empty group has no effect.
        copies: Whether the instruction is itself the copy, which nothing else commits.
        in_order: Whether the group completes in the order of the commits.
    """

    line: int
    certain: bool
    implicit: bool = False
    at: int = 0
    copies: bool = False
    in_order: bool = True


class Wait(msgspec.Struct, frozen=True):
    """Blocks until at most ``limit`` groups are outstanding.

    Attributes:
        certain: Whether it is unconditional, having no predicate.
        origin: Identifies the wait in the source: unrolled copies share it.
    """

    line: int
    limit: int
    certain: bool
    origin: Hashable = None
    at: int = 0


Event: TypeAlias = Copy | Commit | Wait


class MatrixInstruction(msgspec.Struct, frozen=True):
    """The types that an instruction multiplies.

    Attributes:
        name: The instruction with its shape: "mma.sync.m16n8k16", "v_mfma_f32_32x32x8_f16".
        left: Type of the left operand's elements: "fp16", "e4m3", "tf32". "" where the instruction
            does not say it.
        rate: The type by whose rate it multiplies: products of 4-bit types may run at that of 8.
        sums: The type that it sums them up in; "" where the instruction does not say it, or scales
            the operands.
    """

    name: str
    left: str
    right: str
    rate: Dtype
    sums: str = ""
