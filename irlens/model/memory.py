"""The records of shared memory and of loads in loops, both read from ttgir."""

from typing import Literal, TypeAlias

import msgspec

from irlens.model.source import SourceLocation

BufferPurpose: TypeAlias = Literal["data", "barrier"]


class SharedBuffer(msgspec.Struct, frozen=True, kw_only=True):
    """One ``ttg.local_alloc`` of a ttgir.

    Attributes:
        line: 1-based line in the ttgir.
        source: The line of Python it belongs to.
        purpose: "barrier" for mbarriers, "data" for everything else.
        shape: As allocated; the first dimension of a pipelined buffer counts its copies.
        element: "f16".
        copies: Number of tiles it holds for different iterations; 1 without multi-buffering.
        bytes: Size per CTA; ``None`` where the layout's size is not known exactly.
        last_line: Last line of the ttgir that may need its contents.
        at_peak: Whether it is live where the most bytes are live.
    """

    line: int
    source: SourceLocation | None
    purpose: BufferPurpose
    shape: tuple[int, ...]
    element: str
    copies: int
    bytes: int | None
    last_line: int
    at_peak: bool


class ScratchUse(msgspec.Struct, frozen=True, kw_only=True):
    """An operation that may use scratch in shared memory while it runs.

    Attributes:
        operation: "tt.reduce".
        line: 1-based line in the ttgir.
        source: The user's line of Python.
    """

    operation: str
    line: int
    source: SourceLocation | None


class SharedMemory(msgspec.Struct, frozen=True, kw_only=True):
    """Use of the dynamic shared memory of a CTA.

    ``total_bytes = peak_bytes + remainder_bytes``. Buffers that are never live together share
    space, so ``buffers_bytes`` may exceed the total and ``peak_bytes`` never does.

    Attributes:
        total_bytes: Allocated at launch, according to Triton's metadata.
        buffers: In the order of the ttgir.
        buffers_bytes: Sum of the buffers; ``None`` if the size of one is unknown.
        peak_bytes: The most bytes of buffers live at once; ``None`` if a size is unknown.
        peak_line: First line of the ttgir with that many; ``None`` without buffers.
        remainder_bytes: Memory beyond the peak: scratch of operations that run while the buffers
            are live, and gaps from alignment and reuse.
        scratch: Operations that may use scratch, where there is a remainder.
        reason: Why a figure is missing; empty if none is.
    """

    total_bytes: int | None
    buffers: tuple[SharedBuffer, ...]
    buffers_bytes: int | None
    peak_bytes: int | None
    peak_line: int | None
    remainder_bytes: int | None
    scratch: tuple[ScratchUse, ...]
    reason: str


LoadState: TypeAlias = Literal["asynchronous", "registers", "in place"]


class LoopLoad(msgspec.Struct, frozen=True, kw_only=True):
    """One read of global memory in a loop of a ttgir.

    Attributes:
        operation: "tt.load", "ttg.async_copy_global_to_local", ...
        line: 1-based line in the ttgir.
        source: The user's line of Python.
        loop_line: Line of the innermost loop around it in the ttgir.
        loop_source: The user's line of that loop.
        state: "asynchronous": copied to shared memory ahead of its use; "registers": loaded ahead
            and carried around the loop in registers; "in place": each iteration reads its own.
        iterations_ahead: The iteration that first uses the tile of iteration i issues the read of
            iteration i + this; 0 if it is read in place, ``None`` where the ttgir does not show it
            (producers in a ``ttg.warp_specialize`` run ahead as far as their buffer has room).
        shape: Shape of the tile; empty for a single value.
        element: "f16".
        bytes_per_iteration: Bytes of the tile per CTA, as if nothing were masked off; ``None`` for
            an element of unknown width, or in a cluster where the layout does not say.
        widest_access_bytes: Upper bound of one thread's access, by layout and contiguity; the
            machine code has the actual width. ``None`` where the layout does not say, and for
            bulk copies.
        buffer_line: Line of the ``ttg.local_alloc`` that it fills.
        buffer_copies: Number of tiles that the buffer holds.
        reason: Why it is read in place, as far as the ttgir shows; empty otherwise.
    """

    operation: str
    line: int
    source: SourceLocation | None
    loop_line: int
    loop_source: SourceLocation | None
    state: LoadState
    iterations_ahead: int | None
    shape: tuple[int, ...]
    element: str
    bytes_per_iteration: int | None
    widest_access_bytes: int | None
    buffer_line: int | None
    buffer_copies: int | None
    reason: str
