"""The records of one program of a launch: which elements each of its accesses touches."""

import msgspec

from irlens.model.report import Multiprocessor
from irlens.model.source import SourceLocation


class ProgramAccess(msgspec.Struct, frozen=True, kw_only=True):
    """One operation of the ttir that accesses global memory, as one program executes it.

    Offsets and strides are in elements.

    Attributes:
        line: 1-based line of the ttir.
        source: The line of Python it belongs to; ``None`` if unknown.
        operation: "tt.load", "tt.store", "tt.atomic_rmw", ...
        argument: Name of the kernel's argument that it accesses memory through.
        shape: The tensor's shape; empty for a scalar.
        executions: How often the program executes it.
        first: Smallest offset of an active lane in the first execution; ``None`` if none is active.
        last: Largest offset of an active lane there; ``None`` if none is active.
        strides: Offset between neighbours along each dimension; ``None`` where it varies.
        active: Lanes that are not masked off in the first execution.
        step: Offset between consecutive executions; ``None`` where it varies, or with only one.
        tile: The range of the tensor's rows, columns, ... that the active lanes of the first
            execution cover, its end excluded; ``None`` where they fill no such range, or the
            tensor's shape is unknown.
        tile_step: How far the tile moves along each dimension from one execution to the next;
            ``None`` where it varies, or with only one.
    """

    line: int
    source: SourceLocation | None
    operation: str
    argument: str
    shape: tuple[int, ...]
    executions: int
    first: int | None
    last: int | None
    strides: tuple[int | None, ...]
    active: int
    step: int | None
    tile: tuple[tuple[int, int], ...] | None = None
    tile_step: tuple[int, ...] | None = None


class Persistence(msgspec.Struct, frozen=True, kw_only=True):
    """How a launch of as many programs as the GPU holds at once fills it.

    Attributes:
        multiprocessor: "SM", "CU" or "WGP".
        sm_count: SMs of the GPU.
        blocks_per_sm: CTAs that an SM holds.
        tutorial_blocks_per_sm: The same by the formula of Triton's softmax tutorial, which knows
            less of the hardware; ``None`` where it has no answer.
    """

    multiprocessor: Multiprocessor
    sm_count: int
    blocks_per_sm: int
    tutorial_blocks_per_sm: int | None = None


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """One program of a launch.

    Attributes:
        kernel: The kernel's name.
        grid: Programs in x, y and z.
        program: Its place in the grid.
        persistence: How a persistent launch fills the GPU; ``None`` for another launch.
        accesses: Its accesses in the order of the ttir.
        reason: Why they are unknown; empty if they are known.
    """

    kernel: str
    grid: tuple[int, int, int]
    program: tuple[int, int, int]
    persistence: Persistence | None = None
    accesses: list[ProgramAccess] = []
    reason: str = ""
