"""The records of global-memory traffic: the bytes that a launch moves."""

import msgspec

from irlens.model.source import SourceLocation


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """One operation of the ttir that accesses global memory, over all programs of a launch.

    Attributes:
        line: 1-based line of the ttir.
        source: The line of Python it belongs to; ``None`` if unknown.
        operation: "tt.load", "tt.store", "tt.atomic_rmw", ...
        argument: Name of the kernel's argument that it accesses memory through.
        bytes: Bytes that the lanes which are not masked off access, re-reads included.
        distinct_bytes: The same with each byte counted once over the whole grid.
        masked: Lanes that are masked off, or outside the tensor of a descriptor.
    """

    line: int
    source: SourceLocation | None
    operation: str
    argument: str
    bytes: int
    distinct_bytes: int
    masked: int


class Traffic(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes of global memory that a launch requests. ``None`` is "unknown", see ``reason``.

    An atomic operation reads and writes. Arguments count as tensors that do not overlap.

    Attributes:
        read_bytes: Bytes read, each as often as it is read.
        written_bytes: Bytes written, each as often as it is written.
        distinct_read_bytes: Bytes read, each counted once over the whole grid.
        distinct_written_bytes: Bytes written, each counted once over the whole grid.
        accesses: The operations that access memory, in the order of the ttir.
        reason: Why the figures are unknown; empty where they are known.
    """

    read_bytes: int | None = None
    written_bytes: int | None = None
    distinct_read_bytes: int | None = None
    distinct_written_bytes: int | None = None
    accesses: list[Access] = []
    reason: str = ""
