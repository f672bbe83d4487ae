"""Fits the constants of a GPU's timing to launches that it timed.

Seven constants describe how units share a busy GPU, and no document has them: the latencies of L2
and memory under load, the parts of their bandwidths that kernels reach, what CTAs on one SM add to
each other, the launch, and the exponent of the norm. The fit is a coordinate search that minimizes
the mean of |ln(estimate / time)|, each kind of kernel weighted by the square root of its launches.
Every constant is bounded by physics.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import exp, hypot, log
from typing import Any

import msgspec
from msgspec.structs import asdict, replace

from irlens.analyze.time.combine import estimate
from irlens.analyze.time.counting import Launch, count
from irlens.analyze.time.counts import Counts
from irlens.analyze.time.units import Unit
from irlens.gpus import Gpu, Timing

#: The fitted constants of a ``Timing`` with their bounds.
FITTED = {
    "memory": (300.0, 2000.0),
    "l2": (150.0, 1000.0),
    "launch": (1e-6, 2e-5),
    "dram_share": (0.5, 1.0),
    "port_share": (0.2, 1.0),
    "contention": (0.0, 1.0),
    "exponent": (2.0, 10.0),
}

#: Latencies of global memory, in cycles, for which a CTA's cycles are counted.
_LATENCIES = (35.0, 300.0, 700.0, 1100.0)
#: The first step of the search and the last, in the logarithm of a constant.
_FIRST_STEP, _LAST_STEP = 0.1, 0.004
#: Keeps the loss smooth where an estimate is right.
_SMOOTH = 0.01


class TimedLaunch(msgspec.Struct, frozen=True, kw_only=True):
    """A launch with what it took, and what it asks of each unit.

    Attributes:
        kind: The kind of kernel.
        problem: The kernel and its sizes.
        config: The configuration.
        us: Median time, in microseconds.
        cycles: Latency of global memory, and the cycles that a CTA takes with it.
        memory_share: Part of the loads' data that memory delivers, and not the L2.

    The other attributes are those of ``Counts``.
    """

    kind: str
    problem: str
    config: dict[str, int]
    us: float
    ctas: int
    resident: int
    cycles: list[tuple[float, float]]
    memory_share: float
    instructions: float
    units: dict[Unit, float]
    tensor_cycles: float
    shared_wavefronts: float
    sectors: float
    l2_bytes: float
    dram_bytes: float

    def counts(self, timing: Timing) -> Counts:
        """Return the counts with the time of a CTA that follows from a timing's latencies."""
        latency = timing.l2 + (timing.memory - timing.l2) * self.memory_share
        fields = {name: getattr(self, name) for name in _COUNTED}
        return Counts(**fields, cta_cycles=_between(self.cycles, latency))


#: The attributes of ``Counts`` that no fitted constant changes.
_COUNTED = tuple(set(Counts.__struct_fields__) & set(TimedLaunch.__struct_fields__))


def timed_launch(
    launch: Launch, us: float, *, kind: str, problem: str, config: Mapping[str, int]
) -> TimedLaunch:
    """Return a launch that took so many microseconds, counted for any latency of memory."""
    counts = asdict(count(launch))
    share = round(launch.moved.memory_share, 4)
    numbers = {name: _rounded(counts[name]) for name in _COUNTED}
    return TimedLaunch(
        kind=kind, problem=problem, config=dict(config), us=us, memory_share=share,
        cycles=[(latency, _cta_cycles(launch, latency)) for latency in _LATENCIES], **numbers,
    )  # fmt: skip


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    return round(value) if isinstance(value, float) else value


def _cta_cycles(launch: Launch, latency: float) -> float:
    machine = launch.machine
    timing = replace(machine.timing, memory=latency, l2=latency)
    other = replace(machine, gpu=replace(machine.gpu, timing=timing))
    return count(replace(launch, machine=other)).cta_cycles


def _between(points: Sequence[tuple[float, float]], at: float) -> float:
    """Interpolate between points, and beyond the last two."""
    for (x, y), (right, top) in pairwise(points):
        if at <= right or right == points[-1][0]:
            return y + (top - y) * (at - x) / (right - x)
    raise ValueError("fewer than two points")


def with_timing(gpu: Gpu, values: Mapping[str, float]) -> Gpu:
    """Return a GPU with other constants.

    Raises:
        ValueError: Its timing is not known.
    """
    if gpu.timing is None:
        raise ValueError(f"the timing of {gpu.name} is not known")
    return replace(gpu, timing=replace(gpu.timing, **values))


def predict(launches: Sequence[TimedLaunch], gpu: Gpu) -> list[float]:
    """Return the estimates of launches, in microseconds.

    Raises:
        ValueError: The GPU's timing, SMs, bandwidth or clock are not known.
    """
    if gpu.timing is None:
        raise ValueError(f"the timing of {gpu.name} is not known")
    found = []
    for launch in launches:
        result = estimate(launch.counts(gpu.timing), gpu)
        if result.estimate_us is None:
            raise ValueError(result.reason)
        found.append(result.estimate_us)
    return found


def fit(launches: Sequence[TimedLaunch], gpu: Gpu) -> dict[str, float]:
    """Return the constants that fit launches best.

    Args:
        launches: At least one.
        gpu: What they ran on; the search begins at its constants.

    Raises:
        ValueError: See ``predict``.
    """
    kinds = Counter(launch.kind for launch in launches)
    weights = [kinds[launch.kind] ** -0.5 for launch in launches]
    values = {name: _bounded(name, getattr(gpu.timing, name, 0.0)) for name in FITTED}
    best = _loss(launches, with_timing(gpu, values), weights)
    steps = dict.fromkeys(FITTED, _FIRST_STEP)
    while max(steps.values()) > _LAST_STEP:
        for name in FITTED:
            for factor in (exp(steps[name]), exp(-steps[name])):
                tried = values | {name: _bounded(name, values[name] * factor)}
                if tried["memory"] < tried["l2"] or tried == values:
                    continue
                loss = _loss(launches, with_timing(gpu, tried), weights)
                if loss < best - 1e-7:
                    best, values = loss, tried
                    break
            else:
                steps[name] /= 2
    return values


def _bounded(name: str, value: float) -> float:
    low, high = FITTED[name]
    return min(max(value, low), high)


def _loss(launches: Sequence[TimedLaunch], gpu: Gpu, weights: Sequence[float]) -> float:
    errors = (
        weight * hypot(log(time / launch.us), _SMOOTH)
        for launch, time, weight in zip(launches, predict(launches, gpu), weights, strict=True)
    )
    return sum(errors) / sum(weights)
