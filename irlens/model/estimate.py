"""The record of a launch's estimated time."""

from typing import Annotated, Final, Literal, TypeAlias

import msgspec

#: A time, of at most 30 years: a saved report may hold any number.
Microseconds: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=1e15)]
#: What a launch's time may be bound by: a unit that is busy, what is waited for, or its overhead.
Bound: TypeAlias = Literal[
    "dram", "l2", "l1", "shared", "tensor", "fma", "alu", "xu", "issue", "latency", "launch",
]  # fmt: skip

#: What people call them.
BOUND_NAMES: Final = {
    "dram": "DRAM", "l2": "L2", "l1": "L1", "shared": "shared", "tensor": "tensor", "fma": "FMA",
    "alu": "ALU", "xu": "XU", "issue": "issue", "latency": "latency", "launch": "launch",
}  # fmt: skip

#: Share of a time within which two estimates do not tell which of two configurations is the
#: faster: on an H200 the estimate is right in little more than half of such pairs
#: (``benchmarks/time_model.py``).
RESOLUTION = 0.03
#: Changes that an estimate of a time keeps, those that save the most.
MOST_STEPS = 3

#: What a change of a launch is about: a resource that limits its occupancy, spilled registers, the
#: sectors of its accesses, bytes that it reads from memory again, bank conflicts, or its number of
#: CTAs.
Cause: TypeAlias = Literal[
    "registers",
    "shared_memory",
    "barriers",
    "spills",
    "coalescing",
    "rereads",
    "bank_conflicts",
    "grid",
]

#: The mark of a configuration in a list.
Mark: TypeAlias = Literal["fastest", "as fast"]


class TimeStep(msgspec.Struct, frozen=True, kw_only=True):
    """A change of one cause, everything else being equal, and the time that is left.

    Attributes:
        cause: What changes.
        change: By how much; negative is fewer.
        unit: Unit of ``change``: "registers/thread", "bytes/CTA", "barriers/CTA", "sectors",
            "bytes", "wavefronts", "CTAs".
        estimate_us: The time that the launch is then estimated to take, in microseconds.
    """

    cause: Cause
    change: int
    unit: str
    estimate_us: float


class TimeEstimate(msgspec.Struct, frozen=True, kw_only=True):
    """Estimated time of a launch with cold caches. ``None`` is "unknown", see ``reason``.

    Attributes:
        estimate_us: The time, in microseconds.
        low_us: It takes at least so long in nine of ten cases, together with ``high_us``.
        high_us: It takes at most so long.
        bound: The unit with the largest part; where none is busy for 60 % of the time that CTAs
            run, the largest of all parts. On the H100 "l2" takes the place of "dram" where the way
            between the L2's halves is the busier one while the launch runs: what it writes last
            stays in the L2.
        parts: What each unit alone would take, in microseconds; "latency" is what the CTAs take
            one after the other with nothing else in their way, "launch" the launch itself and
            that of its CTAs. "l2" is the largest of three: the bytes between the SMs and the L2,
            on the H100 those between its halves, and updates of atomic operations, which meet at
            their addresses. Parts overlap.
        steps: At most three changes that save the most, the largest first: each saves more than
            ``RESOLUTION`` of the time. Empty if nothing that irlens can compute does.
        reason: Why the time is unknown, or the range wide; empty for neither.
    """

    estimate_us: Microseconds | None = None
    low_us: Microseconds | None = None
    high_us: Microseconds | None = None
    bound: Bound | None = None
    parts: dict[str, Microseconds] = {}
    steps: list[TimeStep] = []
    reason: str = ""


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """Place of a configuration among those that solve the same problem.

    Attributes:
        time_us: Its time, in microseconds; ``None`` if unknown.
        measured: Whether that was measured; otherwise it is estimated.
        over_fastest: Its time over that of the fastest: 1 is the fastest. ``None`` where the times
            do not compare: one is unknown, one is measured and the other estimated, or it reads
            fewer bytes.
        mark: "fastest" for one of the problem, "as fast" where the time is within the noise of
            that; ``None`` for all others.
        partial: Whether it reads fewer bytes than others, and so leaves out a part of the problem.
    """

    time_us: float | None
    measured: bool = False
    over_fastest: float | None = None
    mark: Mark | None = None
    partial: bool = False

    @property
    def is_marked(self) -> bool:
        """Whether it is the fastest, or as fast."""
        return self.mark is not None
