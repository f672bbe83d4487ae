"""Sweeps over sizes as nodes: what each size moves, and what was measured of each."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

from irlens import figures
from irlens.model.ranking import of_trial
from irlens.model.sweep import PROVIDERS, FigureValue, ProviderTime, Rate, Sweep, Trial, moved_bytes
from irlens.model.text import percent
from irlens.render.view.axes import linear, size_axis
from irlens.render.view.nodes import Column, Line, Plot

#: A column of the table, and its cell for a trial.
SizeColumn: TypeAlias = tuple[Column, Callable[[Trial], str]]

#: From this ratio of the largest to the smallest size on, they are drawn in powers of two.
_WIDE = 64


def size_columns(sweep: Sweep, trials: Sequence[Trial]) -> Iterator[SizeColumn]:
    """Yield the columns of traffic and roofline over sizes, and of what was measured."""
    if sweep.axis is not None:
        yield _column("GB", lambda each: _number(_gigabytes(each)))
        yield _column("floor us", lambda each: _number(each.figure("floor_us")))
    if sweep.device is None or all(each.rate is None for each in trials):
        return
    if any(each.rate is not None and each.rate.gb_per_s is not None for each in trials):
        yield _column("GB/s", lambda each: _number(getattr(each.rate, "gb_per_s", None)))
    if any(each.rate is not None and each.rate.tflop_per_s for each in trials):
        yield _column("TFLOP/s", lambda each: _number(getattr(each.rate, "tflop_per_s", None)))
    if any(each.rate is not None and each.rate.roofline_share is not None for each in trials):
        yield _column("of floor", lambda each: _share(each.rate))
    for name in PROVIDERS:
        if any(other.name == name for each in trials for other in each.against):
            yield _column(f"{name} ms", _provider_cell(name))


def size_plot(sweep: Sweep, trials: Sequence[Trial]) -> Plot | None:
    """Return the rates over the sizes; ``None`` where fewer than two sizes have one.

    A size has the fastest of its configurations: measured, or else estimated. The roofline is the
    rate at the floor.
    """
    if sweep.axis is None:
        return None
    fastest: dict[int, Trial] = {}
    for each in trials:
        size = each.value(sweep.axis)
        if size is not None and _time(each) < _time(fastest.get(size)):
            fastest[size] = each
    if len(fastest) < 2:
        return None
    ordered = sorted(fastest.items())
    last = ordered[-1][1].figures or {}
    compute = (last.get("compute_us") or 0) > (last.get("memory_us") or 0)
    lines = tuple(each for each in _lines(ordered, compute) if each.points)
    if not lines:
        return None
    sizes = [size for size, _ in ordered]
    unit = "TFLOP/s" if compute else "GB/s"
    device = sweep.device or ordered[-1][1].target.full_name
    return Plot(
        described=f"{unit} of {sweep.kernel} by {sweep.axis} on {device}",
        x=size_axis(sweep.axis, sizes, _WIDE),
        y=linear(unit, max(y for each in lines for _, y in each.points)),
        lines=lines,
    )


def _lines(fastest: Sequence[tuple[int, Trial]], compute: bool) -> Iterator[Line]:
    def line(name: str, rates: Iterable[tuple[int, float | None]]) -> Line:
        known = ((float(size), rate) for size, rate in rates if rate is not None)
        return Line(name, tuple(known))

    def reached(held: Trial | ProviderTime | None) -> float | None:
        rate = None if held is None else held.rate
        return None if rate is None else rate.tflop_per_s if compute else rate.gb_per_s

    def within(trial: Trial, us: FigureValue) -> float | None:
        """What a time of the kernel achieves."""
        found = trial.figures or {}
        work = found.get("flops") if compute else moved_bytes(found)
        return work / us / (1e6 if compute else 1e3) if work is not None and us else None

    yield line("kernel", ((size, reached(each)) for size, each in fastest))
    yield line("estimated", ((size, within(each, each.figure("time"))) for size, each in fastest))
    for name in PROVIDERS:
        yield line(name, ((size, reached(_provider(each, name))) for size, each in fastest))
    yield line(
        "roofline", ((size, within(each, each.figure("floor_us"))) for size, each in fastest)
    )


def _column(title: str, content: Callable[[Trial], str]) -> SizeColumn:
    return Column(title, numbers=True), content


def _provider_cell(name: str) -> Callable[[Trial], str]:
    def content(trial: Trial) -> str:
        found = _provider(trial, name)
        return _number(found.timing.median_ms if found and found.timing else None)

    return content


def _provider(trial: Trial, name: str) -> ProviderTime | None:
    return next((each for each in trial.against if each.name == name), None)


def _time(trial: Trial | None) -> float:
    """Return a time in microseconds, infinite where none is known."""
    known = None if trial is None else of_trial(trial).time_us
    return float("inf") if known is None else known


def _gigabytes(trial: Trial) -> float | None:
    moved = moved_bytes(trial.figures or {})
    return None if moved is None else moved / 1e9


def _number(value: float | None) -> str:
    return figures.UNKNOWN if value is None else f"{value:.4g}"


def _share(rate: Rate | None) -> str:
    share = rate.roofline_share if rate is not None else None
    return figures.UNKNOWN if share is None else percent(share)
