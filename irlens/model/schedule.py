"""What machine code says of its own schedule: by instruction, by wait and by loop."""

from collections.abc import Mapping

import msgspec

SCOREBOARDS = 6


class Control(msgspec.Struct, frozen=True, gc=False):
    """What an instruction of NVIDIA's says of its own schedule.

    Attributes:
        stall: Cycles until the next instruction of the warp may issue, 0 to 15.
        write: Scoreboard that says when the result is there; ``None`` for none.
        read: Scoreboard that says when the operands have been read; ``None`` for none.
        wait: Scoreboards that must be clear before it issues, as bits.
        yields: Whether another warp should issue next, and the operands kept for reuse are lost.
        reuse: Source operands that are kept for the next instruction, as bits by slot.
    """

    stall: int
    write: int | None
    read: int | None
    wait: int
    yields: bool = False
    reuse: int = 0

    @property
    def waits(self) -> tuple[int, ...]:
        """The scoreboards that must be clear before it issues."""
        return tuple(number for number in range(SCOREBOARDS) if self.wait >> number & 1)


class Awaited(msgspec.Struct, frozen=True, kw_only=True):
    """What an AMD wait finds outstanding, on whichever path the wave comes.

    Attributes:
        line: 1-based line of the wait.
        counter: "vmcnt".
        outstanding: The fewest and the most operations before it.
        left: How many may be outstanding after it.
        retired: 1-based lines of those that it waits for, ascending.
    """

    line: int
    counter: str
    outstanding: tuple[int, int]
    left: int
    retired: tuple[int, ...]

    @property
    def waits(self) -> tuple[int, int]:
        """The fewest and the most operations that it waits for."""
        fewest, most = self.outstanding
        return max(0, fewest - self.left), max(0, most - self.left)


class Alone(msgspec.Struct, frozen=True, kw_only=True):
    """The time from one iteration to the next if the warp had its SM to itself.

    Attributes:
        cycles: With loads from global memory that take no longer than ``hidden``.
        hidden: The longest latency of loads that other work hides, in cycles; ``None`` if the
            iteration waits for none.
        exposed: Cycles that each cycle beyond it adds.
    """

    cycles: float
    hidden: float | None = None
    exposed: float = 0.0


class LoopSchedule(msgspec.Struct, frozen=True, kw_only=True):
    """One iteration of a loop by one warp, its inner loops excluded.

    Attributes:
        instructions: Instructions that it issues.
        cycles: Cycles that they take to issue: the sum of their stalls, where the code has any.
        units: Issue slots of each unit.
        occupied: Cycles for which it occupies units of a SIMD at least, as far as the vendor
            documents them: "valu", "matrix".
        unknown: Instructions of which that is unknown.
        requested_bytes: Bytes of global memory that its loads request, masks aside; those of
            bulk copies (TMA) are not in the code.
        wavefronts: Cycles for which its accesses occupy shared memory; the least, where
            ``conflicts`` is unknown.
        conflicts: Those of them that bank conflicts add; ``None`` where the lanes' addresses of
            an access are unknown.
        alone: Its time with all that it waits for; ``None`` where the GPU's latencies or the
            warp's path are unknown.
        branches: Whether an iteration may skip some of it, so that these are upper bounds.
    """

    instructions: int
    cycles: int | None = None
    units: Mapping[str, int]
    occupied: Mapping[str, int] = {}
    unknown: tuple[str, ...] = ()
    requested_bytes: int
    wavefronts: float = 0
    conflicts: float | None = None
    alone: Alone | None = None
    branches: bool
