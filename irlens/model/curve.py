"""How many CTAs fit if one resource changes, as a record."""

from typing import Annotated, Literal, TypeAlias

import msgspec

CurveName: TypeAlias = Literal["registers", "shared_memory"]
#: What a kernel can have more or less of and stay the same kernel.
CURVES: tuple[CurveName, ...] = ("registers", "shared_memory")


class OccupancyCurve(msgspec.Struct, frozen=True, kw_only=True):
    """CTAs per SM over the amount of one resource, everything else as the kernel has it.

    Attributes:
        resource: What changes.
        unit: Of the amounts: "registers/thread" or "bytes/CTA", as in ``NextStep``.
        at: How much the kernel takes.
        steps: The amounts from which on another number of CTAs fits, with that number; ascending,
            the first is the least amount that a kernel can take.
        last: The largest amount the curve tells of: what one CTA may have at most, or ``at``
            where that is more.
    """

    resource: CurveName
    unit: str
    at: int
    steps: Annotated[list[tuple[int, int]], msgspec.Meta(min_length=1)]
    last: int
