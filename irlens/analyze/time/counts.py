"""What a launch asks of each unit: the counts that its time is computed from."""

from collections.abc import Sequence
from itertools import pairwise

import msgspec

from irlens.gpus import Timing
from irlens.isa.sass.units import Unit


class _LaunchCounts(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of one launch that no latency changes, all CTAs together where nothing else is said.

    Attributes:
        units: Those of them that occupy each unit.
        tensor_cycles: Cycles for which they occupy the tensor cores of one SM.
        shared_wavefronts: Cycles for which they occupy the shared memory of one SM.
        exchanged: Those of them that warps' accesses take, and one for each shuffle.
        l1_cycles: Cycles for which the data of loads and stores occupy the L1 of one SM.
        delivered_cycles: Those that loads take by the banks and lines that their lanes ask for.
        sent_cycles: Cycles for which stores occupy the way from one SM to the L2.
        l2_bytes: Bytes between SMs and L2.
        dram_bytes: Bytes between L2 and memory.
        crossed_bytes: Bytes that pass between the two halves of the L2.
        written_bytes: Those of ``dram_bytes`` that are written.
        pieces: Pieces of 64 bytes that memory moves, each far from the others.
        input_cycles: Cycles for which requests occupy the inputs of the L2's slices.
        lookups: Lines that the slices look up.
        colliding_us: Microseconds for which atomic operations keep the L2 busy.
        imbalance: Time of its CTAs over that of equal ones with the same mean, at least 1.
        longest: Cycles of the longest of them over the mean.
    """

    ctas: int
    resident: int
    instructions: float
    units: dict[Unit, float]
    tensor_cycles: float
    shared_wavefronts: float
    exchanged: float
    l1_cycles: float
    l2_bytes: float
    dram_bytes: float
    crossed_bytes: float = 0.0
    written_bytes: float = 0.0
    pieces: float = 0.0
    delivered_cycles: float = 0.0
    sent_cycles: float = 0.0
    input_cycles: float = 0.0
    lookups: float = 0.0
    colliding_us: float = 0.0
    imbalance: float = 1.0
    longest: float = 1.0


#: The attributes of ``Counts`` that no fitted constant changes.
LATENCY_INDEPENDENT = _LaunchCounts.__struct_fields__


class Counts(_LaunchCounts, frozen=True, kw_only=True):
    """Counts of one launch.

    Attributes:
        cta_cycles: Cycles that a CTA takes with an SM to itself, while L2 and memory are busy.
        queued_cycles: Those of them that it takes less while both are idle.
        uncertain: What is not exact in these counts; empty if nothing.
    """

    cta_cycles: float
    queued_cycles: float = 0.0
    awaited: float = 1.0
    uncertain: str = ""


class CountedLaunch(_LaunchCounts, frozen=True, kw_only=True):
    """What a launch asks of each unit, for any latency of memory.

    Attributes:
        cycles: Latency of global memory, and the cycles that a CTA takes with it.
        memory_share: Part of the data from beyond the L1 that memory delivers, and not the L2.
        l1_share: Part of the loads' data that the L1 delivers.
    """

    cycles: list[tuple[float, float]]
    memory_share: float
    l1_share: float

    def counts(self, timing: Timing, sms: int) -> Counts:
        """Return the counts with the time of a CTA that follows from a timing's latencies."""
        share = awaited_share(self.memory_share, self.ctas, sms * self.resident)
        busy, idle = (
            _between(self.cycles, timing.load_latency(share, self.l1_share, queues=queues))
            for queues in (True, False)
        )
        fields = {name: getattr(self, name) for name in LATENCY_INDEPENDENT}
        return Counts(**fields, cta_cycles=busy, queued_cycles=busy - idle, awaited=share)


def awaited_share(memory_share: float, ctas: int, held: int) -> float:
    """Return the part of the data from beyond the L1 that CTAs wait for memory for, 0..1.

    CTAs that run at once ask for what they share at about the same time, so that between those that
    memory delivers alone and all of them wait as long: the geometric mean, where none come later.

    Args:
        memory_share: Part of these data that memory delivers.
        ctas: CTAs of the launch.
        held: CTAs that the GPU holds at once.
    """
    return float(memory_share ** (1 - min(1.0, held / ctas) / 2))


def _between(points: Sequence[tuple[float, float]], at: float) -> float:
    """Interpolate between points, and beyond the last two."""
    for (x, y), (right, top) in pairwise(points):
        if at <= right or right == points[-1][0]:
            return y + (top - y) * (at - x) / (right - x)
    raise ValueError("fewer than two points")
