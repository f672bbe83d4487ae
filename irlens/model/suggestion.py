"""The record of a suggestion: the fastest configurations near a current one, by estimated time."""

from typing import Literal, TypeAlias

import msgspec

from irlens.model.config import ConstexprValue, Target
from irlens.model.sweep import Trial

SUGGESTION_SCHEMA = 1

#: Why neighbours were left out: the user interrupted, the budget was spent, or the fastest takes no
#: longer than the least that any configuration can take.
Stop: TypeAlias = Literal["interrupted", "budget", "floor"]


class Neighbour(msgspec.Struct, frozen=True, kw_only=True):
    """A configuration near the current one.

    Attributes:
        changed: The settings that differ from the current configuration's, with their values.
        time_ratio: Its estimated time over the current configuration's.
        trial: The configuration.
    """

    changed: dict[str, ConstexprValue]
    time_ratio: float
    trial: Trial


class Suggestion(msgspec.Struct, frozen=True, kw_only=True):
    """The fastest neighbours of a configuration.

    Attributes:
        schema: Version of this interface.
        kernel: The kernel function's name.
        target: The GPU.
        current: The current configuration; of an autotuned kernel the one with the least estimated
            time.
        settings: The values of the current configuration that neighbours vary.
        low_us: The current configuration takes at least so long in nine of ten cases, together
            with ``high_us``.
        high_us: It takes at most so long.
        best: The neighbours with the least estimated time, the fastest first.
        is_better: Whether the first neighbour is faster by more than ``noise``.
        as_fast: Number of the other neighbours that solve the same problem and are within ``noise``
            of the first.
        noise: The share of the time that the estimate does not tell apart.
        compiled: Number of neighbours that were compiled.
        unfit: Those of them that do not compile, or do not fit.
        other_launch: Those that fit and access other bytes: they solve another problem.
        unknown: Those whose time or accessed bytes are unknown.
        left_out: Neighbours that were not compiled.
        unseen: Configurations of an autotuner that were not compiled: one of them may be faster
            than the current one.
        stopped: Why the search ended early; ``None`` if it did not.
        floor_us: The least time that any configuration of the launch can take, in microseconds;
            ``None`` if unknown.
    """

    schema: int
    kernel: str
    target: Target
    current: Trial
    settings: dict[str, int]
    low_us: float | None
    high_us: float | None
    best: list[Neighbour]
    is_better: bool
    noise: float
    compiled: int
    unfit: int = 0
    other_launch: int = 0
    unknown: int = 0
    left_out: int = 0
    unseen: int = 0
    as_fast: int = 0
    stopped: Stop | None = None
    floor_us: float | None = None

    @property
    def planned(self) -> int:
        """Number of all neighbours."""
        return self.compiled + self.left_out
