"""The time of a launch: what its machine code asks of each unit, and how long that takes.

Each unit alone needs a time: its share of the work over its rate. The CTAs alone need a time
too: that of one CTA with an SM to itself, times the rounds in which the SMs take them. Work that
waits for one unit leaves others idle, so that the whole takes longer than the slowest of them:
their p-norm, a sharper or softer maximum. An SM with a single CTA has no other work to fill its
waits with; how its units share their time is in the CTA's own. With few CTAs on an SM a unit of
the SM therefore weighs less, but the whole never takes less than any unit alone.

A load of a GPU that has little else to do takes less time than one that waits in the queues of L2
and memory. How busy these are follows from the whole, which follows from the loads: a few passes
find both. Until the way to memory is filled, while caches and pages are cold, loads take as long as
on a busy GPU.
"""

from math import ceil, floor
from typing import cast

import msgspec

from irlens.analyze.time.counts import Counts
from irlens.gpus import Gpu
from irlens.gpus.gpu import Product
from irlens.gpus.timing import PIECE_BYTES, Timing
from irlens.model.estimate import Bound, TimeEstimate
from irlens.model.terms import no_time_model

#: Part of the time for which a unit that binds is busy; where none is, latency or overhead binds
#: (Nsight Compute's rule for bottlenecks). From there on loads take as long as on a busy GPU, and
#: CTAs of one SM are in each other's way.
_BUSY = 0.6
#: Units whose work is done by one pipe.
_PIPE = ("l1", "shared")
#: Part of the L2 that holds what is written last, when a launch has ended: of 67 MB that kernels
#: write, an H100's memory has taken 48 to 50 then, and of 524 MB 504.
_DIRTY = 0.37
#: Part of the bytes that memory moves up to which reads are too few to slow its writes.
_FEW = 0.02
#: Microseconds in which the way to memory fills and drains, if it is busy for as long: copies of
#: 0.25 to 8 MB take an H100 0.8 to 1.1 µs beyond an empty kernel and their bytes, and of 4 B 0.2.
_FILLING = 1.0
#: Exponent of the norm of the CTAs' own time and memory's, where CTAs that are alone on their SMs
#: wait for all that they load: backward passes of norms take an H100 1.3 to 1.5 times the longer.
_IN_TURN = 1.5
#: Exponent of the norm of the CTAs' launching and their running, which hardly wait for each other:
#: 32,768 CTAs that add take an H100 as long as their launching, which is 1.6 times their memory's.
_ABREAST = 8.0
#: Times that the whole is computed, each with the queues of the one before.
_PASSES = 4
#: Widens the range where counts are not exact.
_UNCERTAIN = 1.25

NOT_MEASURED = "constants measured on another GPU: a wide range"


def estimate(counts: Counts, gpu: Gpu) -> TimeEstimate:
    """Return the time that a launch is estimated to take.

    Args:
        gpu: The GPU; its row needs a product, with its SMs, bandwidth and clock, and timing.
    """
    timing, product, sms = gpu.timing, gpu.product, gpu.sm_count
    if timing is None or product is None or sms is None:
        return TimeEstimate(reason=no_time_model(gpu.name, gpu.unsourced))
    if product.bandwidth is None or product.clock is None:
        return TimeEstimate(reason=no_time_model(gpu.name, gpu.unsourced))
    if counts.ctas < 1 or counts.resident < 1:
        return TimeEstimate(reason="the kernel cannot launch")
    busiest = ceil(counts.ctas / sms)
    resident = min(counts.resident, busiest)
    rounds = _rounds(busiest, resident)
    work = _work(counts, gpu, timing, product)
    parts, busy = dict(work.parts), dict(work.busy)
    most, waiting, queued = max(parts.values()), _waiting(counts, timing), 1.0
    for _ in range(_PASSES):
        cycles = counts.cta_cycles - counts.queued_cycles * (1 - queued)
        unhindered = rounds * cycles / clock_of(counts, gpu) * 1e6
        crowded = min(1.0, most / (_BUSY * unhindered)) if unhindered else 1.0
        contention = 1 + timing.contention * (1 - 1 / resident) * crowded
        longest = cycles / clock_of(counts, gpu) * 1e6 * counts.longest
        all_ctas = unhindered * contention * counts.imbalance
        parts["latency"] = busy["latency"] = max(all_ctas, longest)
        units = _in_turn(busy, waiting, timing.exponent) if busiest == 1 else busy
        side_by_side = _norm(units, work.dispatch, resident, timing.exponent, work.of_sm)
        loads = (min(1.0, each / (_BUSY * side_by_side)) for each in (busy["dram"], parts["l2"]))
        begins = min(1.0, _FILLING / side_by_side) if side_by_side else 1.0
        queued = max(begins, timing.queued(counts.awaited, *loads))
    filling = min(_FILLING, max(busy["l2"], busy["dram"]))
    whole = timing.launch * 1e6 + side_by_side + filling
    parts["launch"] = timing.launch * 1e6 + work.dispatch
    kept = min(counts.written_bytes, _DIRTY * (product.l2_bytes or 0))
    streaming = (counts.dram_bytes - kept) / product.bandwidth * 1e6
    running = whole - timing.launch * 1e6
    crosses = work.crossing > streaming
    bound = _bound(parts, busy | {"launch": work.dispatch}, running, crosses=crosses)
    return _ranged(whole, parts, timing, bound, counts.uncertain)


def _rounds(busiest: int, resident: int) -> float:
    """Return the rounds in which an SM takes its CTAs.

    Those of its first round end together, so that the last round takes as long as a whole one,
    however few its CTAs are. The more rounds there are, the further apart they end.
    """
    rounds = busiest / resident
    return rounds + (ceil(rounds) - rounds) / floor(rounds)


class _Work(msgspec.Struct, frozen=True):
    """What keeps the units busy, in microseconds, without the CTAs' own time.

    Attributes:
        busy: The same, units that are one to all others together.
        of_sm: Those of ``busy`` that are an SM's.
        crossing: The way between the halves of the L2.
        dispatch: What launches the CTAs.
    """

    parts: dict[str, float]
    busy: dict[str, float]
    of_sm: frozenset[str]
    crossing: float
    dispatch: float


def _work(counts: Counts, gpu: Gpu, timing: Timing, product: Product) -> _Work:
    sms, clock, share = gpu.sm_count or 1, clock_of(counts, gpu), sm_share(counts, gpu)
    bandwidth = (product.bandwidth or 1.0) * timing.dram_share * _steadiness(counts, timing)
    sm = _sm_cycles(counts, timing, gpu.arch.partitions)
    parts = {name: cycles * share for name, cycles in sm.items()}
    moved = counts.dram_bytes + _written_back(counts, product.l2_bytes or 0)
    opening = 0.0
    if timing.pieces is not None:
        opening = counts.pieces * max(0.0, 1 / timing.pieces - PIECE_BYTES / bandwidth)
    parts["dram"] = (moved / bandwidth + opening) * 1e6
    ports = counts.l2_bytes / (timing.port * timing.port_share * sms) * 1e6 / clock
    crossing = counts.crossed_bytes / timing.crossing * 1e6 if timing.crossing else 0.0
    inputs = counts.input_cycles / timing.l2_inputs * 1e6 if timing.l2_inputs else 0.0
    lookups = counts.lookups / timing.l2_lookups * 1e6 if timing.l2_lookups else 0.0
    own = max(ports, inputs, lookups, counts.colliding_us, counts.sent_cycles * share)
    parts["l2"] = max(own, crossing)
    busy = {name: time for name, time in parts.items() if name not in _PIPE}
    busy["pipe"] = _pipe_cycles(counts, timing) * share
    # What crosses the L2 goes to memory or comes from it: both are one unit to all others.
    busy["l2"], busy["dram"] = own, max(parts["dram"], crossing)
    dispatch = ceil(counts.ctas / sms) * timing.cta / (product.clock or clock) * 1e6
    return _Work(parts, busy, frozenset({*sm, "pipe"}), crossing, dispatch)


def _steadiness(counts: Counts, timing: Timing) -> float:
    """Return how fast memory is over copying: the less the more it writes between reads."""
    written = counts.written_bytes / counts.dram_bytes if counts.dram_bytes else 0.5
    only_writes = written > 1 - _FEW
    return 1 + (timing.turning or 0.0) * (1.0 if only_writes else 1 - 2 * written)


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
        "l1": max(counts.l1_cycles / timing.pipe_share, counts.delivered_cycles),
        "shared": max(counts.shared_wavefronts, counts.exchanged / timing.pipe_share),
        "tensor": counts.tensor_cycles,
    }


def _pipe_cycles(counts: Counts, timing: Timing) -> float:
    """Cycles of L1 and shared memory together: one memory, and one pipe to the warps' lanes.

    Copies to shared memory and operands that tensor cores take from it do not pass the pipe, and
    bank conflicts occupy the memory alone, be they of shared memory or of the L1.
    """
    lanes = (counts.l1_cycles + counts.exchanged) / timing.pipe_share
    return max(lanes, counts.shared_wavefronts + counts.delivered_cycles)


def _waiting(counts: Counts, timing: Timing) -> float:
    """Part of a CTA's time on a busy GPU for which it waits for L2 and memory, 0..1."""
    busy, idle = (
        timing.load_latency(counts.awaited, 0.0, queues=queues) for queues in (True, False)
    )
    if busy <= idle or not counts.cta_cycles:
        return 0.0
    return min(1.0, counts.queued_cycles / counts.cta_cycles * busy / (busy - idle))


def _in_turn(busy: dict[str, float], waiting: float, exponent: float) -> dict[str, float]:
    """Merge the times of the CTAs, the L2 and memory into one, where each CTA has its own SM.

    Such CTAs begin together, so that all load and then all compute. As far as they wait for what
    they load, and do not load ahead, memory idles while they compute.
    """
    sharper = 1 / exponent
    apart = 1 / (sharper + (1 / _IN_TURN - sharper) * waiting)
    memory = (busy["dram"] ** exponent + busy["l2"] ** exponent) ** sharper
    others = {name: time for name, time in busy.items() if name not in ("dram", "l2")}
    return others | {"latency": (busy["latency"] ** apart + memory**apart) ** (1 / apart)}


def _norm(
    parts: dict[str, float], dispatch: float, resident: int, exponent: float, of_sm: frozenset[str]
) -> float:
    alone = 1 - 1 / resident
    total = 0.0
    for name, time in parts.items():
        total += time**exponent * (alone if name in of_sm else 1.0)
    running = max(float(total ** (1 / exponent)), *parts.values())
    return float((running**_ABREAST + dispatch**_ABREAST) ** (1 / _ABREAST))


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
