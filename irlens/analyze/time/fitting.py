"""Fits the constants of a GPU's timing to launches that it timed.

Six constants describe how units share a busy GPU, and no document has them: the latencies of L2
and memory under load, the parts of their bandwidths that kernels reach, what CTAs on one SM add to
each other, and the exponent of the norm. An empty kernel says what a launch takes. The fit is a
coordinate search that minimizes the mean of |ln(estimate / time)|, each kind of kernel weighted by
the square root of its launches. Every constant is bounded by physics.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from math import exp, hypot, log
from statistics import median, quantiles
from typing import Any

from msgspec.structs import asdict, replace

from irlens.analyze.time import estimate
from irlens.analyze.time.counting import CostedLaunch, count
from irlens.analyze.time.counts import LATENCY_INDEPENDENT, CountedLaunch
from irlens.gpus import Gpu
from irlens.gpus.timing import H200

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

#: Those that stay as they are: an empty kernel says what a launch takes; others do not.
HELD = frozenset({"launch"})

#: Latencies of global memory, in cycles, for which a CTA's cycles are counted.
_LATENCIES = (35.0, 300.0, 700.0, 1100.0)
#: The first step of the search and the last, in the logarithm of a constant.
_FIRST_STEP, _LAST_STEP = 0.1, 0.004
#: What a search has to gain, in the mean error, for another one to begin where it ended.
_GAIN = 1e-4
#: Widens a range that comes from the launches that the constants were fitted to.
_MARGIN = 1.1
#: Counts below this are kept with digits after the point.
_SMALL = 100.0
#: Keeps the loss smooth where an estimate is right.
_SMOOTH = 0.01


class TimedLaunch(CountedLaunch, frozen=True, kw_only=True):
    """A counted launch with what it took.

    Attributes:
        us: Median time, in microseconds.
    """

    kind: str
    problem: str
    config: Mapping[str, int]
    us: float


def counted(launch: CostedLaunch) -> CountedLaunch:
    """Return what a launch asks of each unit."""
    counts = asdict(count(launch))
    return CountedLaunch(
        memory_share=round(launch.moved.memory_share, 4),
        l1_share=round(launch.moved.l1_share, 4),
        cycles=[(latency, count(launch, latency).cta_cycles) for latency in _LATENCIES],
        **{name: _rounded(counts[name]) for name in LATENCY_INDEPENDENT},
    )


def timed(
    launch: CountedLaunch, us: float, *, kind: str, problem: str, config: Mapping[str, int]
) -> TimedLaunch:
    """Return a launch that took a number of microseconds."""
    return TimedLaunch(kind=kind, problem=problem, config=config, us=us, **asdict(launch))


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    if isinstance(value, float):
        return round(value, 3) if value < _SMALL else round(value)
    return value


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
        result = estimate(launch.counts(gpu.timing, gpu.sm_count or 1), gpu)
        if result.estimate_us is None:
            raise ValueError(result.reason)
        found.append(result.estimate_us)
    return found


def fit(
    launches: Sequence[TimedLaunch], gpu: Gpu, held: Collection[str] = HELD
) -> dict[str, float]:
    """Return the constants that fit launches best.

    Args:
        gpu: What they ran on; the search begins at its constants.

    Raises:
        ValueError: See ``predict``.
    """
    kinds = Counter(launch.kind for launch in launches)
    weights = [kinds[launch.kind] ** -0.5 for launch in launches]
    values = {name: _bounded(name, getattr(gpu.timing, name, 0.0)) for name in FITTED}
    best = _loss(launches, with_timing(gpu, values), weights)
    before = best + 2 * _GAIN
    while (
        before - best > _GAIN
    ):  # constants that trade off against each other need large steps again
        before = best
        steps = {name: _FIRST_STEP for name in FITTED if name not in held}
        while max(steps.values()) > _LAST_STEP:
            for name in steps:
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


def median_error(launches: Sequence[TimedLaunch], gpu: Gpu) -> float:
    """Return the median of |ln(estimate / time)|."""
    return median(
        abs(log(time / launch.us))
        for launch, time in zip(launches, predict(launches, gpu), strict=True)
    )


def fitted_range(launches: Sequence[TimedLaunch], gpu: Gpu) -> dict[str, float]:
    """Return ``low``, ``high`` and ``ratio_error`` of constants that were fitted to launches.

    Each is the H200's, which is from many more launches, or more if these need it.
    """
    times = predict(launches, gpu)
    ratios = [launch.us / time for launch, time in zip(launches, times, strict=True)]
    cuts = quantiles(ratios, n=20, method="inclusive")
    return {
        "low": min(H200.low, cuts[0] / _MARGIN),
        "high": max(H200.high, cuts[-1] * _MARGIN),
        "ratio_error": max(H200.ratio_error, ratio_error(pairs(launches, times)) * _MARGIN),
    }


def pairs(launches: Sequence[TimedLaunch], times: Sequence[float]) -> list[tuple[float, float]]:
    """Return for each two configurations of one problem how their times differ.

    Returns:
        The logarithm of the ratio of their estimates, and that of their times.
    """
    problems: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    for launch, time in zip(launches, times, strict=True):
        problems[launch.problem].append((time, launch.us))
    return [
        (log(time / other), log(us / of_other))
        for found in problems.values()
        for (time, us), (other, of_other) in combinations(found, 2)
    ]


def ratio_error(found: Sequence[tuple[float, float]]) -> float:
    """Return the ``ratio_error`` that holds nine in ten pairs; 0 without any."""
    errors = sorted(abs(mine - real) / (1 + abs(mine)) for mine, real in found)
    return errors[int(0.9 * len(errors))] if errors else 0.0
