"""Records of shared memory: conversions between layouts, and the accesses of each line."""

from typing import Literal, TypeAlias

import msgspec

from irlens.model.source import SourceLocation

#: What a conversion moves data through. "registers": they stay in their thread.
Way: TypeAlias = Literal["registers", "shuffles", "shared memory"]
#: What a line's instructions do: "copy" is asynchronous, from global memory.
AccessKind: TypeAlias = Literal["load", "store", "copy", "shuffle"]


class Price(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What instructions cost a launch.

    Attributes:
        requests: Accesses to shared memory and shuffles, one for each warp that issues it.
        wavefronts: Cycles for which they occupy the shared memory of one SM, all CTAs together.
        conflicts: Those of them that bank conflicts add.
        us: Time for which they occupy shared memory, in microseconds of the launch.
        saved_us: What the launch is estimated to take less without them, and without the barriers
            of their line.
    """

    requests: float
    wavefronts: float
    conflicts: float
    us: float
    saved_us: float | None = None


class Conversion(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A ``ttg.convert_layout``.

    Attributes:
        line: Its line in the ttgir.
        source: Its line of Python.
        used_by: The operation that needs the other layout: "tt.dot".
        loop: The line of the innermost loop that it is in.
        depth: Loops around it.
        runs: How often a warp runs it, the mean over the launch; ``None`` if unknown.
        type: "128x64xf16".
        bytes: Of the tensor; ``None`` where its elements have no size.
        before: The layout that it reads, in full.
        after: The layout that it writes.
        before_kind: The first of them in short: "blocked 1×8", "operand 0 of nvidia_mma".
        after_kind: The second.
        is_product: Whether it moves a result of NVIDIA's matrix products: it reads a layout of mma
            or wgmma, or one in which the kernel reads tensor memory.
        through: What the data move through; ``None`` if a layout is not understood.
        price: What it costs the launch; ``None`` if unknown, or if it costs no access.
        least_us: Of an unknown price, the least time for which shared memory moves the tensor, in
            microseconds of the launch: each element is written once and read once, at 4 bytes of
            every bank a cycle, on all SMs. ``None`` where that is unknown, too.
        reason: Why the way or the price is unknown.
    """

    line: int
    source: SourceLocation | None
    used_by: str
    loop: SourceLocation | None = None
    depth: int = 0
    runs: float | None = None
    type: str
    bytes: int | None
    before: str
    after: str
    before_kind: str = ""
    after_kind: str = ""
    is_product: bool = False
    through: Way | None
    price: Price | None = None
    least_us: float | None = None
    reason: str = ""


class SharedAccesses(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The accesses to shared memory of one line of Python, and its shuffles.

    Attributes:
        source: The line; ``None`` for what has none.
        kind: What they do.
        runs: How often a warp runs each instruction, the mean over the launch.
        instructions: Instructions in the machine code.
        price: What they cost.
        unknown: Instructions among them whose lanes' addresses are unknown; they are taken to be
            free of conflicts.
    """

    source: SourceLocation | None
    kind: AccessKind
    runs: float
    instructions: int
    price: Price
    unknown: int = 0
