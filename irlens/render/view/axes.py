"""Axes of charts: where they end, which numbers they mark, and in which unit."""

import math
from typing import NamedTuple

from irlens.render.view.nodes import Axis

_TICKS = 5
_STEPS = (1, 2, 5, 10)
#: A tick is on the axis though its number is rounded to beyond the end: 3 × 0.1.
_EXACT = 1e-9
#: Room beyond the ends of a logarithmic axis; the most decades whose parts have ticks.
_ROOM, _DECADES = 1.3, 3


class Unit(NamedTuple):
    """A unit of a chart: its name, and how many of the smallest unit it is."""

    name: str
    factor: float

    def number(self, value: float) -> str:
        """Return an amount in this unit with three significant digits, without its name."""
        scaled = value / self.factor
        digits = 0 if scaled >= 99.95 else 1 if scaled >= 9.995 else 2
        return f"{scaled:,.{digits}f}"


def time_unit(longest_us: float) -> Unit:
    """Return the unit for times of at most ``longest_us`` microseconds."""
    return Unit("µs", 1) if longest_us < 2000 else Unit("ms", 1e3)


def byte_unit(most: float) -> Unit:
    """Return the decimal unit for amounts of at most ``most`` bytes."""
    units = (Unit("TB", 1e12), Unit("GB", 1e9), Unit("MB", 1e6), Unit("kB", 1e3))
    return next((unit for unit in units if most >= unit.factor), Unit("B", 1))


def linear(title: str, most: float, unit: Unit | None = None) -> Axis:
    """Return an axis from 0 that holds ``most``; with a unit, its ticks are in it."""
    factor = unit.factor if unit else 1
    top = most / factor
    if top <= 0:
        return Axis(title=title, end=1.0, ticks=((0, "0"),))
    step = _step(top)
    ticks = tuple(
        (step * index * factor, f"{step * index:,.4g}")
        for index in range(int(top / step + _EXACT) + 1)
    )
    return Axis(title=title, end=most, ticks=ticks)


def _step(most: float) -> float:
    """Return the smallest round step of which at most ``_TICKS`` reach ``most``."""
    magnitude: float = 10.0 ** math.floor(math.log10(most / _TICKS))
    return next(step * magnitude for step in _STEPS if most / (step * magnitude) <= _TICKS)


def logarithmic(title: str, least: float, most: float, factor: float = 1) -> Axis:
    """Return a logarithmic axis that holds both ends, which are positive, with some room.

    Its ticks are round multiples of ``factor``: 1, 2 and 5 in each decade, or decades alone.
    """
    start, end = least / _ROOM, most * _ROOM
    first = math.floor(math.log10(start / factor))
    last = math.ceil(math.log10(end / factor))
    steps = _STEPS[:3] if last - first <= _DECADES else _STEPS[:1]
    between = max((last - first) // _TICKS, 1)
    values = [
        step * 10.0**power for power in range(first, last + 1, between) for step in steps
    ]  # fmt: skip
    ticks = tuple(
        (value * factor, f"{value:,.10g}") for value in values if start <= value * factor <= end
    )
    return Axis(title=title, start=start, end=end, ticks=ticks, log=True)


def size_axis(title: str, values: list[int], wide: int) -> Axis:
    """Return an axis of sizes, ascending, that marks the first and the last.

    Args:
        wide: The ratio of the last size to the first from which the axis is logarithmic.
    """
    first, last = values[0], values[-1]
    ticks = tuple((float(each), f"{each:,}") for each in dict.fromkeys((first, last)))
    log = first > 0 and last / first >= wide
    return Axis(title=title, start=float(first), end=float(last), ticks=ticks, log=log)
