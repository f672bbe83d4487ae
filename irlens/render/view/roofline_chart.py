"""Rooflines: operations per second over operations per byte, under what the GPU allows.

The ceilings are those that the floor of the time is made of: the bytes of DRAM at its bandwidth,
and the operations at the peak of their units. Of operations of several types those count that take
the longest at their peak, which is the ceiling: with others, a launch could be above it.
"""

from collections.abc import Callable, Iterator, Sequence

import msgspec

from irlens import figures
from irlens.model.estimate import BOUND_NAMES, Bound, Mark, TimeEstimate
from irlens.model.ranking import of_report, of_trial, rank_reports, rank_trials
from irlens.model.recording import KernelTime, ProgramRun
from irlens.model.report import Report
from irlens.model.scan import ScanRow
from irlens.model.several import grouped
from irlens.model.sweep import Trial
from irlens.model.text import percent, plural, three_digits
from irlens.model.traffic import Roofline, flops_of_floor
from irlens.render.view import nodes
from irlens.render.view.axes import logarithmic
from irlens.render.view.nodes import Cells, table, text
from irlens.render.view.time_charts import bound_kinds, mark_names

KEY = "roofline"
_TFLOP = 1e12
#: Ceilings of compute that are drawn.
_MOST_CEILINGS = 4

_NEEDED = ("flops", "flops_per_byte", "memory_us", "compute_us")
_TIMES = ("estimated_us", "low_us", "high_us", "measured_us")
#: Launches of a scan that are drawn at most, the longest.
_MOST_OF_SCAN = 100
#: Beyond this no figure of a launch has a place on a logarithmic axis.
_MOST = 1e30


class Spot(msgspec.Struct, frozen=True, kw_only=True):
    """A launch on a roofline.

    Attributes:
        name: What tells it apart from the others.
        flops: Its operations, of the type that takes the longest.
        flops_per_byte: These for each byte of DRAM.
        memory_us: The floor of its bytes.
    """

    name: str
    flops: float
    flops_per_byte: float
    memory_us: float
    compute_us: float
    compute_type: str
    estimated_us: float | None = None
    low_us: float | None = None
    high_us: float | None = None
    measured_us: float | None = None
    bound: Bound | None = None
    mark: Mark | None = None

    @property
    def bytes_per_us(self) -> float:
        """The bandwidth of the memory."""
        return self.flops / self.flops_per_byte / self.memory_us

    @property
    def flops_per_us(self) -> float:
        """The peak of its operations."""
        return self.flops / self.compute_us

    @property
    def floor_us(self) -> float:
        """The least time."""
        return max(self.memory_us, self.compute_us)


def spot_of_report(report: Report, name: str, mark: Mark | None = None) -> Spot | None:
    """Return where a launch is on a roofline; ``None`` where that is unknown."""
    traffic = report.traffic
    flops = None if traffic is None or traffic.flops is None else sum(traffic.flops.values())
    candidate = of_report(report)
    timed = report.time if candidate.launchable else None
    busiest = flops_of_floor(traffic, report.roofline)
    spot = _spot_of(busiest, name, flops, report.roofline, timed, mark)
    if spot is None or not _has_place(candidate.measured_us):
        return spot
    return msgspec.structs.replace(spot, measured_us=candidate.measured_us)


def spot_of_kernel(kernel: KernelTime, name: str) -> Spot | None:
    """Return where a kernel's largest launch is on a roofline; ``None`` where that is unknown."""
    return _spot_of(kernel.compute_flops, name, kernel.flops, kernel.roofline, kernel.time)


def _spot_of(
    compute_flops: int | None,
    name: str,
    flops: int | None,
    roofline: Roofline | None,
    time: TimeEstimate | None,
    mark: Mark | None = None,
) -> Spot | None:
    if roofline is None or time is None:
        return None
    return _spot(
        compute_flops,
        name=name,
        flops=flops,
        flops_per_byte=roofline.flops_per_byte,
        memory_us=roofline.memory_us,
        compute_us=roofline.compute_us,
        compute_type=roofline.compute_type,
        estimated_us=time.estimate_us,
        low_us=time.low_us,
        high_us=time.high_us,
        bound=time.bound,
        mark=mark,
    )


def spot_of_trial(trial: Trial, mark: Mark | None = None) -> Spot | None:
    """Return where a configuration is on a roofline; ``None`` where that is unknown."""
    candidate = of_trial(trial)
    if not candidate.launchable:
        return None
    return _spot(
        trial.compute_flops,
        name=trial.label,
        flops=trial.figure("flops"),
        flops_per_byte=trial.figure("flops_per_byte"),
        memory_us=trial.figure("memory_us"),
        compute_us=trial.figure("compute_us"),
        compute_type=trial.compute_type,
        estimated_us=candidate.estimated_us,
        low_us=trial.figure("time_low"),
        high_us=trial.figure("time_high"),
        measured_us=candidate.measured_us,
        bound=candidate.bound,
        mark=mark,
    )


def _spot(compute_flops: int | None, **values: object) -> Spot | None:
    if not all(_has_place(values[name]) for name in _NEEDED):
        return None
    known = {name: value for name, value in values.items() if name not in _TIMES}
    times = {name: values[name] for name in _TIMES if _has_place(values.get(name))}
    if "estimated_us" not in times and "measured_us" not in times:
        return None
    spot = msgspec.convert(known | times, Spot)
    if not _has_place(compute_flops) or compute_flops is None:
        return spot
    intensity = spot.flops_per_byte * (compute_flops / spot.flops)
    if not _has_place(intensity):
        return spot
    return msgspec.structs.replace(spot, flops=float(compute_flops), flops_per_byte=intensity)


def _has_place(value: object) -> bool:
    """Whether a figure is one of a launch: a saved report may hold any number."""
    return isinstance(value, int | float) and 1 / _MOST < value < _MOST


def rooflines_of_reports(
    reports: Sequence[Report], names: Sequence[str]
) -> Iterator[nodes.Section]:
    """Yield a roofline for each target, with every launch that has a place on it."""
    standings = rank_reports(reports).standings
    found = zip(reports, names, standings, strict=True)
    by_target = grouped(
        (report.target.full_name, spot)
        for report, name, standing in found
        if report.target is not None and (spot := spot_of_report(report, name, standing.mark))
    )
    for target, spots in by_target.items():
        yield _section(spots, target)


def rooflines_of_trials(trials: Sequence[Trial], target: str) -> Iterator[nodes.Section]:
    """Yield the roofline of one target's trials, if any has a place on it."""
    standings = rank_trials(trials).standings
    found = (
        spot_of_trial(trial, standing.mark)
        for trial, standing in zip(trials, standings, strict=True)
    )
    if spots := [spot for spot in found if spot is not None]:
        yield _section(spots, target)


def rooflines_of_scan(rows: Sequence[ScanRow]) -> Iterator[nodes.Section]:
    """Yield a roofline for each target, of the fastest configurations, or all of one problem."""
    problems = {each.problem for each in rows}
    by_target: dict[str, list[Spot]] = {}
    for each in rows:
        mark = each.standing.mark if each.standing is not None else None
        others = each.standing is not None and each.standing.over_fastest is not None
        if (spot := _spot_of_row(each, mark)) and (
            len(problems) == 1 or mark == "fastest" or not others
        ):
            by_target.setdefault(each.place.target.full_name if each.place else "", []).append(spot)
    for target, spots in by_target.items():
        noun = "configuration" if len(problems) == 1 else "kernel"
        yield _section(spots[:_MOST_OF_SCAN], target, noun)


def _spot_of_row(row: ScanRow, mark: Mark | None) -> Spot | None:
    place, standing = row.place, row.standing
    if place is None or standing is None:
        return None
    time = TimeEstimate(
        estimate_us=standing.time_us, low_us=place.low_us, high_us=place.high_us, bound=row.bound
    )
    name = f"{row.kernel} {row.label}".rstrip()
    return _spot_of(place.compute_flops, name, place.flops, place.roofline, time, mark)


def rooflines_of_program(
    run: ProgramRun, name_of: Callable[[KernelTime], str]
) -> Iterator[nodes.Section]:
    """Yield the roofline of a program's kernels, if any has a place on it."""
    found = (spot_of_kernel(each, name_of(each)) for each in run.kernels)
    if spots := [spot for spot in found if spot is not None]:
        yield _section(spots, run.target.full_name, "kernel")


def _section(spots: Sequence[Spot], target: str, noun: str = "configuration") -> nodes.Section:
    plot = roofline_plot(spots, target, noun)
    aside = (
        "operations of the type that takes the longest, per second and per byte of DRAM, "
        "each byte counted once"
    )
    if len(spots) == 1:
        aside = plot.points[-1].described
    return nodes.Section("Roofline", (plot,), key=KEY, aside=text(aside), detail="time", wide=True)


def roofline_plot(spots: Sequence[Spot], target: str, noun: str = "configuration") -> nodes.Plot:
    """Return the roofline of some launches, at least one, each of which is a ``noun``."""
    bandwidth = max(each.bytes_per_us for each in spots)
    peaks = _peaks(spots)
    highest = max(peaks.values())
    rates = [rate for each in spots for rate in _rates(each)]
    places = [each.flops_per_byte for each in spots]
    ridges = [peak / bandwidth for peak in peaks.values()]
    x = logarithmic("FLOP/B", min(*places, *ridges) / 2, max(*places, *ridges) * 2)
    y = logarithmic("TFLOP/s", min(rates), max(highest * 1e6, *rates), _TFLOP)
    estimated = [each for each in spots if each.estimated_us is not None]
    measured = [each for each in spots if each.measured_us is not None]
    return nodes.Plot(
        described=f"roofline of {plural(len(spots), noun)} on {target}",
        x=x,
        y=y,
        lines=tuple(_ceilings(bandwidth * 1e6, peaks, x.start, x.end, y.start)),
        points=tuple(_points(estimated, measured)),
        kinds=tuple(bound_kinds(each.bound or "plain" for each in estimated)),
        measured="measured" if measured else "",
        marks=mark_names(each.mark for each in spots),
        numbers=_numbers(spots, noun),
    )


def _peaks(spots: Sequence[Spot]) -> dict[str, float]:
    """The peak of each type of operations, the highest first."""
    peaks: dict[str, float] = {}
    for each in spots:
        known = peaks.get(each.compute_type, 0.0)
        peaks[each.compute_type] = max(each.flops_per_us, known)
    return dict(sorted(peaks.items(), key=lambda each: -each[1])[:_MOST_CEILINGS])


def _rates(spot: Spot) -> Iterator[float]:
    """Yield what a launch achieves, in operations per second."""
    for us in (spot.estimated_us, spot.low_us, spot.high_us, spot.measured_us):
        if us:
            yield spot.flops / us * 1e6


def _ceilings(
    bandwidth: float, peaks: dict[str, float], left: float, right: float, bottom: float
) -> Iterator[nodes.Line]:
    """Yield the bandwidth's slope up to the highest peak, and each peak from there on."""
    first = max(left, bottom / bandwidth)
    highest = max(peaks.values()) * 1e6
    slope = ((first, first * bandwidth), (highest / bandwidth, highest))
    yield nodes.Line(f"DRAM {three_digits(bandwidth / 1e12)} TB/s", slope, ceiling=True)
    for kind, per_us in peaks.items():
        peak = per_us * 1e6
        name = f"{kind or 'compute'} {three_digits(peak / _TFLOP)} TFLOP/s"
        yield nodes.Line(name, ((peak / bandwidth, peak), (right, peak)), ceiling=True)


def _points(estimated: Sequence[Spot], measured: Sequence[Spot]) -> Iterator[nodes.Point]:
    for each in estimated:
        assert each.estimated_us is not None
        ranged = each.low_us and each.high_us
        yield nodes.Point(
            x=each.flops_per_byte,
            y=each.flops / each.estimated_us * 1e6,
            described=_described(each, each.estimated_us, "estimated"),
            kind=each.bound or "plain",
            low=each.flops / each.high_us * 1e6 if ranged and each.high_us else None,
            high=each.flops / each.low_us * 1e6 if ranged and each.low_us else None,
            mark=each.mark if each.measured_us is None else None,
        )
    for each in measured:
        assert each.measured_us is not None
        yield nodes.Point(
            x=each.flops_per_byte,
            y=each.flops / each.measured_us * 1e6,
            described=_described(each, each.measured_us, "measured"),
            measured=True,
            mark=each.mark,
        )


def _described(spot: Spot, us: float, how: str) -> str:
    """Return "num_warps=4: 405 TFLOP/s estimated, 41 % of the roof, bound by L2"."""
    bound = f", bound by {BOUND_NAMES[spot.bound]}" if spot.bound and how == "estimated" else ""
    named = f"{spot.name}: " if spot.name else ""
    return f"{named}{_rate(spot, us)} TFLOP/s {how}, {_share(spot, us)} of the roof{bound}"


def _numbers(spots: Sequence[Spot], noun: str) -> nodes.Table:
    timed = any(each.measured_us for each in spots)
    measured = nodes.numeric(*(["measured TFLOP/s"] if timed else []))
    rates = nodes.numeric("FLOP/B", "TFLOP/s", "of the roof")
    columns = nodes.titled(noun, *rates, "bound by", *measured)
    rows: list[Cells] = []
    for each in spots:
        us = each.estimated_us or each.measured_us or 0.0
        cells: Cells = [
            each.name, three_digits(each.flops_per_byte),
            figures.UNKNOWN if each.estimated_us is None else _rate(each, each.estimated_us),
            _share(each, us), figures.UNKNOWN if each.bound is None else BOUND_NAMES[each.bound],
        ]  # fmt: skip
        if timed:
            known = each.measured_us is not None
            cells.append(_rate(each, each.measured_us or 0.0) if known else figures.UNKNOWN)
        rows.append(cells)
    return table(columns, rows, "roofline")


def _rate(spot: Spot, us: float) -> str:
    return three_digits(spot.flops / us * 1e6 / _TFLOP)


def _share(spot: Spot, us: float) -> str:
    return percent(round(spot.floor_us / us, 3))
