"""Where a kernel puts registers away that it has no room for, and fetches them back."""

from typing import Literal, TypeAlias

import msgspec

from irlens.model.source import SourceLocation

SpillPlace: TypeAlias = Literal["memory", "AGPR", "VGPR lane"]


class SpillSite(msgspec.Struct, frozen=True, kw_only=True):
    """One instruction that spills or reloads.

    In machine code a stack array is accessed as a spilled register is. The compiler's own count
    of spills, where there is one, tells whether there are any.

    Attributes:
        stage: "amdgcn" or "sass".
        kind: "store" puts away, "load" fetches back.
        place: Where to: "memory" is private memory (NVIDIA: local, AMD: scratch).
        line: 1-based line in the stage's text.
        source: The line of Python it belongs to, in the outermost function: the kernel itself.
        loop_depth: Loops around it; 0 outside of any.
        bytes: Per thread; of a "VGPR lane" per wave. ``None`` where the instruction does not say.
    """

    stage: str
    kind: Literal["store", "load"]
    place: SpillPlace
    line: int
    source: SourceLocation | None
    loop_depth: int
    bytes: int | None
