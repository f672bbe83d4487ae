"""From what a launch asks of each unit to its time.

Each unit alone needs a time: its share of the work over its rate. The CTAs alone need a time
too: that of one CTA with an SM to itself, times the rounds in which the SMs take them. Work that
waits for one unit leaves others idle, so that the whole takes longer than the slowest of them:
their p-norm, a sharper or softer maximum. An SM with a single CTA has no other work to fill its
waits with; how its units share their time is in the CTA's own. With few CTAs on an SM a unit of
the SM therefore weighs less, but the whole never takes less than any unit alone.
"""

from math import ceil
from typing import cast

from irlens.analyze.time.counts import Counts
from irlens.gpus import Gpu
from irlens.gpus.timing import Timing
from irlens.model.estimate import Bound, TimeEstimate
from irlens.model.terms import no_time_model

#: Part of the time for which a unit that binds is busy; where none is, latency or overhead binds
#: (Nsight Compute's rule for bottlenecks).
_BUSY = 0.6
#: Units whose work is done by one pipe.
_PIPE = ("l1", "shared")
#: Part of the L2 that holds what is written last, when a launch has ended: of 67 MB that kernels
#: write, an H100's memory has taken 48 to 50 then, and of 524 MB 504.
_DIRTY = 0.37
#: Part of the CTAs' own time for which a unit is busy, from where on they are in each other's way.
_CROWDED = 0.3
#: Microseconds in which the way to memory fills and drains, if it is busy for as long: copies of
#: 0.25 to 8 MB take an H100 0.8 to 1.1 µs beyond an empty kernel and their bytes, and of 4 B 0.2.
_FILLING = 1.0
#: Widens the range where counts are not exact.
_UNCERTAIN = 1.25

NOT_MEASURED = "constants measured on another GPU: a wide range"


def estimate(counts: Counts, gpu: Gpu) -> TimeEstimate:
    """Return the time that a launch is estimated to take.

    Args:
        counts: What it asks of each unit.
        gpu: The GPU; its row needs a product, with its SMs, bandwidth and clock, and timing.
    """
    timing, product, sms = gpu.timing, gpu.product, gpu.sm_count
    if timing is None or product is None or sms is None:
        return TimeEstimate(reason=no_time_model(gpu.name, gpu.unsourced))
    if product.bandwidth is None or product.clock is None:
        return TimeEstimate(reason=no_time_model(gpu.name, gpu.unsourced))
    if counts.ctas < 1 or counts.resident < 1:
        return TimeEstimate(reason="the kernel cannot launch")
    clock = clock_of(counts, gpu)
    busiest = ceil(counts.ctas / sms)
    resident = min(counts.resident, busiest)
    sm = _sm_cycles(counts, timing, gpu.arch.partitions)
    share = sm_share(counts, gpu)
    parts = {name: cycles * share for name, cycles in sm.items()}
    moved = counts.dram_bytes + _written_back(counts, product.l2_bytes or 0)
    parts["dram"] = moved / (product.bandwidth * timing.dram_share) * 1e6
    ports = counts.l2_bytes / (timing.port * timing.port_share * sms) * 1e6 / clock
    crossing = counts.crossed_bytes / timing.crossing * 1e6 if timing.crossing else 0.0
    entering = counts.input_cycles / timing.l2_input * 1e6 if timing.l2_input else 0.0
    own = max(ports, entering, counts.colliding_us)
    parts["l2"] = max(own, crossing)
    rounds = busiest / resident * counts.cta_cycles / clock * 1e6
    crowded = min(1.0, max(parts.values()) / (_CROWDED * rounds)) if rounds else 1.0
    contention = 1 + timing.contention * (1 - 1 / resident) * crowded
    parts["latency"] = rounds * contention * counts.imbalance
    dispatch = busiest * timing.cta / product.clock * 1e6
    busy = {name: time for name, time in parts.items() if name not in _PIPE}
    busy["pipe"] = _pipe_cycles(counts, timing) * share
    # What crosses the L2 goes to memory or comes from it: both are one unit to all others.
    busy["l2"], busy["dram"] = own, max(parts["dram"], crossing)
    of_sm = {*sm, "pipe"}
    side_by_side = _norm(busy, dispatch, resident, timing.exponent, of_sm)
    filling = min(_FILLING, max(busy["l2"], busy["dram"]))
    whole = timing.launch * 1e6 + side_by_side + filling
    parts["launch"] = timing.launch * 1e6 + dispatch
    kept = min(counts.written_bytes, _DIRTY * (product.l2_bytes or 0))
    streaming = (counts.dram_bytes - kept) / product.bandwidth * 1e6
    running = whole - timing.launch * 1e6
    bound = _bound(parts, busy | {"launch": dispatch}, running, crosses=crossing > streaming)
    return _ranged(whole, parts, timing, bound, counts.uncertain)


def clock_of(counts: Counts, gpu: Gpu) -> float:
    """Return the clock in Hz: tensor cores' power lowers it."""
    timing, product = gpu.timing, gpu.product
    own = timing.tensor_clock if timing is not None and counts.tensor_cycles else None
    return own or (product.clock if product is not None else None) or 0.0


def sm_share(counts: Counts, gpu: Gpu) -> float:
    """Return the microseconds of the busiest SM for each cycle of work of the whole launch."""
    busiest = ceil(counts.ctas / (gpu.sm_count or 1))
    return busiest / counts.ctas * 1e6 / clock_of(counts, gpu)


def _written_back(counts: Counts, l2: int) -> float:
    """Bytes that memory takes of those that were written before, beyond those that it does not yet.

    The L2 is full of what was written before, as far as it holds what is written; what the launch
    brings there takes the place of that, and what it writes itself stays as far as there is room.
    """
    most = _DIRTY * l2
    left = most - _DIRTY * min(l2, counts.dram_bytes)
    return most - min(most, left + counts.written_bytes)


def _sm_cycles(counts: Counts, timing: Timing, partitions: int) -> dict[str, float]:
    """Cycles that all work would occupy each unit of a single SM for."""
    units = counts.units
    return {
        "issue": counts.instructions / partitions,
        "alu": units.get("alu", 0.0) * timing.alu / partitions,
        "fma": units.get("fma", 0.0) * timing.fma / partitions,
        "xu": units.get("xu", 0.0) * timing.xu / partitions,
        "l1": _l1_cycles(counts, timing),
        "shared": max(counts.shared_wavefronts, counts.exchanged / timing.pipe_share),
        "tensor": counts.tensor_cycles,
    }


def _l1_cycles(counts: Counts, timing: Timing) -> float:
    wavefronts = max(counts.requests * timing.lsu, counts.sectors * 32 / timing.sector_bytes)
    return wavefronts / timing.pipe_share


def _pipe_cycles(counts: Counts, timing: Timing) -> float:
    """Cycles of L1 and shared memory together: one memory, and one pipe to the warps' lanes.

    Copies to shared memory and operands that tensor cores take from it do not pass the pipe.
    """
    lanes = _l1_cycles(counts, timing) + counts.exchanged / timing.pipe_share
    return max(counts.shared_wavefronts, lanes)


def _norm(
    parts: dict[str, float], dispatch: float, resident: int, exponent: float, of_sm: set[str]
) -> float:
    alone = 1 - 1 / resident
    total = dispatch**exponent
    for name, time in parts.items():
        total += time**exponent * (alone if name in of_sm else 1.0)
    return max(float(total ** (1 / exponent)), *parts.values())


def _ranged(
    whole: float, parts: dict[str, float], timing: Timing, bound: Bound, uncertain: str
) -> TimeEstimate:
    wider = _UNCERTAIN if uncertain else 1.0
    reasons = [] if timing.measured else [NOT_MEASURED]
    if uncertain:
        reasons.append(uncertain)
    return TimeEstimate(
        estimate_us=whole,
        low_us=whole * timing.low / wider,
        high_us=whole * timing.high * wider,
        bound=bound,
        parts=parts,
        reason="; ".join(reasons),
    )


def _bound(
    parts: dict[str, float], busy: dict[str, float], running: float, *, crosses: bool
) -> Bound:
    """Return the unit that binds.

    Args:
        parts: The time that each unit needs.
        busy: The same, units that are one to all others together, and without what a launch takes
            besides its CTAs.
        running: The time of the launch without what it takes before and after its CTAs.
        crosses: Whether the way between the L2's halves is busier than memory is.
    """
    units = {name: time for name, time in busy.items() if name != "latency"}
    busiest = max(units, key=lambda name: units[name])
    if units[busiest] < _BUSY * running:
        busiest = max(parts, key=lambda name: parts[name])
    elif busiest == "pipe":
        busiest = max(_PIPE, key=lambda name: parts[name])
    return cast(Bound, "l2" if busiest == "dram" and crosses else busiest)
