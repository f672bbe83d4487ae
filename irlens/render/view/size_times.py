"""The time over a size as nodes: its chart, which configuration is best where, and what binds it.

The chart has the estimate with its range and the roofline floor, in a stripe the bound, and what
was measured.
"""

from collections.abc import Iterator, Sequence
from math import sqrt
from string import ascii_uppercase

from irlens import figures
from irlens.model.label import setting_labels
from irlens.model.ranking import of_trial
from irlens.model.several import grouped
from irlens.model.size_ranges import Choice, bound_ranges, choices, covered_size
from irlens.model.sweep import Trial
from irlens.model.text import count, microseconds, plural
from irlens.render.view import nodes
from irlens.render.view.axes import Unit, linear, logarithmic, size_axis, time_unit
from irlens.render.view.launch_time import bound_name
from irlens.render.view.nodes import Cells, Column, Run, table, text
from irlens.render.view.time_charts import RANGE, bound_kinds

#: From this ratio on, an axis is logarithmic.
_WIDE = 16
#: Lines of configurations, and ranges that have a phrase of their own.
_MOST_LINES, _MOST_PHRASES = 5, 3
#: The longest settings that stand for themselves.
_LONGEST = 24


def headline_over_sizes(trials: Sequence[Trial], axis: str) -> list[Run]:
    """Return how long the smallest and the largest size take, which is best, what binds them."""
    found = choices(trials, axis)
    if not found:
        return []
    by_size = {e.value(axis): e for e in (found[0].trials[0], found[-1].trials[-1])}
    ends = list(by_size.values())
    runs = [Run(f"{axis}={_size(each, axis)}: {_took(each)}", "good") for each in ends]
    names = _names(trials, found)
    if any(names):
        runs.append(Run(f"fastest: {phrase(_spans(found, names, axis))}"))
    chosen = [each for choice in found for each in choice.trials]
    if any(each.timing is None for each in chosen):
        bounds = bound_ranges(chosen, axis)
        spans = [(bound_name(e.bound), e.trials[0], e.trials[-1]) for e in bounds]
        runs.append(Run(f"bound by {phrase(_numbered(spans, axis))}"))
    if covered := _covered(chosen, axis):
        runs.append(Run(f"leaves out what is above {axis}={count(covered)}", "bad"))
    timed = {each.value(axis) for each in chosen}
    unknown = [each for each in trials if each.value(axis) not in timed]
    if unknown:
        number = len({each.value(axis) for each in unknown})
        reason = next((each.untimed for each in unknown if each.untimed), "")
        runs.append(Run(f"time of {count(number)} unknown{reason and f': {reason}'}", "unknown"))
    return runs


def _covered(chosen: Sequence[Trial], axis: str) -> int | None:
    """Return the size beyond which each configuration leaves out a part; ``None`` for none."""
    settings = {repr(each.settings): each.settings for each in chosen}
    if len(settings) > 1:
        return None
    return covered_size(sorted(chosen, key=lambda each: each.value(axis) or 0), axis)


def _took(trial: Trial) -> str:
    time = trial.standing.time_us if trial.standing is not None else None
    words = figures.UNKNOWN if time is None else microseconds(time)
    return f"{words}, measured" if trial.timing is not None else f"about {words}"


def _spans(found: Sequence[Choice], names: Sequence[str], axis: str) -> list[tuple[str, int, int]]:
    ends = [(name, e.trials[0], e.trials[-1]) for name, e in zip(names, found, strict=True)]
    return _numbered(ends, axis)


def _numbered(spans: Sequence[tuple[str, Trial, Trial]], axis: str) -> list[tuple[str, int, int]]:
    return [(name, first.value(axis) or 0, last.value(axis) or 0) for name, first, last in spans]


def phrase(spans: Sequence[tuple[str, int, int]], most: int = _MOST_PHRASES) -> str:
    """Return "latency up to 2,048, DRAM from 4,096 on"; of many ranges the first ones."""
    if len(spans) == 1:
        return f"{spans[0][0]} throughout" if spans[0][1] < spans[0][2] else spans[0][0]
    words = [f"{spans[0][0]} up to {count(spans[0][2])}"]
    last = len(spans) - 1
    for at, (name, first, end) in enumerate(spans[1:most], 1):
        until = f"from {count(first)} to {count(end)}" if first < end else f"at {count(first)}"
        words.append(f"{name} {until if at < last else f'from {count(first)} on'}")
    if len(spans) > most:
        words.append(f"and {plural(len(spans) - most, 'further range')}")
    return ", ".join(words)


def _names(trials: Sequence[Trial], found: Sequence[Choice]) -> list[str]:
    """Return what to call each choice: its settings, or a letter where these are long."""
    labels = _labels(trials)
    names = [labels[repr(each.settings)] for each in found]
    if any(len(each) > _LONGEST for each in names):
        letters = dict(zip(dict.fromkeys(names), ascii_uppercase, strict=False))
        return [letters.get(each, each) for each in names]
    return names


def _labels(trials: Sequence[Trial]) -> dict[str, str]:
    """Return what tells each configuration apart from all others that were tried."""
    settings = {repr(each.settings): each.settings for each in trials}
    return dict(zip(settings, setting_labels(list(settings.values())), strict=True))


def named_choices(trials: Sequence[Trial], axis: str) -> nodes.Items | None:
    """Return which configurations the letters are; ``None`` where there are none."""
    found, labels = choices(trials, axis), _labels(trials)
    written = [labels[repr(each.settings)] for each in found]
    named = dict(zip(_names(trials, found), written, strict=True))
    lines = [text(f"{name}: {label}") for name, label in named.items() if name != label]
    return nodes.Items(tuple(lines)) if lines else None


def time_plot(trials: Sequence[Trial], axis: str, device: str) -> nodes.Plot | None:
    """Return the time over a size; ``None`` where fewer than two sizes have one.

    Args:
        trials: Those of one target that fit, with their standings.
    """
    found = choices(trials, axis)
    chosen = sorted((e for c in found for e in c.trials), key=lambda each: each.value(axis) or 0)
    if len({each.value(axis) for each in chosen}) < 2:
        return None
    estimated = any(each.figure("time") is not None for each in chosen)
    lines = [*_lines(trials, found, axis), *_floor(chosen, axis)] if estimated else []
    points = [each for trial in chosen for each in _points(trial, axis)]
    heights = [y for line in lines for _, y in line.points if y > 0]
    heights += [y for e in points for y in (e.y, e.low, e.high) if y]
    sizes = [each.value(axis) or 0 for each in chosen]
    unit = time_unit(sqrt(max(heights) * min(heights)))
    if covered := _covered(chosen, axis):
        ends = tuple((float(covered), height) for height in (min(heights), max(heights)))
        lines.append(nodes.Line(f"leaves out what is above {count(covered)}", ends))
    return nodes.Plot(
        described=f"{'estimated' if estimated else 'measured'} time over {axis} on {device}",
        x=size_axis(axis, sizes, _WIDE),
        y=_y_axis(heights, unit, "estimated time" if estimated else "measured time"),
        lines=tuple(lines),
        points=tuple(points),
        kinds=tuple(bound_kinds(point.kind for point in points)) if estimated else (),
        measured="measured" if any(each.measured for each in points) else "",
        range=RANGE if any(each.low is not None for each in points) else "",
        bands=tuple(_bands(chosen, axis)) if estimated else (),
        numbers=_numbers(trials, chosen, axis),
    )  # fmt: skip


def _y_axis(heights: Sequence[float], unit: Unit, title: str) -> nodes.Axis:
    title = f"{title} ({unit.name})"
    if max(heights) / min(heights) >= _WIDE:
        return logarithmic(title, min(heights), max(heights), unit.factor)
    return linear(title, max(heights), unit)


def _lines(trials: Sequence[Trial], found: Sequence[Choice], axis: str) -> Iterator[nodes.Line]:
    """Yield a line for each configuration that is the best somewhere, for each variant."""
    names = _names(trials, found)
    named = {repr(each.settings): name for each, name in zip(found, names, strict=True)}
    timed = ((trial, trial.value(axis), trial.figure("time")) for trial in trials)
    groups = grouped(
        ((trial.variant, named[repr(trial.settings)]), (float(size), float(time)))
        for trial, size, time in timed
        if size is not None and time is not None and repr(trial.settings) in named
    )
    longest = sorted(groups, key=lambda each: -len(groups[each]))[:_MOST_LINES]
    for variant, name in longest:
        words = ", ".join(filter(None, (name, variant))) or "estimated"
        yield nodes.Line(words, tuple(sorted(groups[variant, name])))


def _floor(chosen: Sequence[Trial], axis: str) -> Iterator[nodes.Line]:
    points = [(each.value(axis) or 0, each.figure("floor_us")) for each in chosen]
    known = tuple((float(size), float(us)) for size, us in points if us)
    if known:
        yield nodes.Line("roofline floor", known)


def _points(trial: Trial, axis: str) -> Iterator[nodes.Point]:
    size, time = float(trial.value(axis) or 0), trial.figure("time")
    measured = of_trial(trial).measured_us
    if time is not None:
        low, high = trial.figure("time_low"), trial.figure("time_high")
        span = f" ({microseconds(low)} to {microseconds(high)})" if low and high else ""
        yield nodes.Point(
            x=size, y=float(time), kind=trial.bound or "plain", low=low, high=high,
            described=f"{axis}={_size(trial, axis)}: about {microseconds(time)}{span}, "
            f"bound by {bound_name(trial.bound)}",
        )  # fmt: skip
    if measured is not None:
        words = f"{axis}={_size(trial, axis)}: {microseconds(measured)}, measured"
        yield nodes.Point(x=size, y=measured, described=words, measured=True)


def _bands(chosen: Sequence[Trial], axis: str) -> Iterator[nodes.Band]:
    found = bound_ranges(chosen, axis)
    starts = [float(each.trials[0].value(axis) or 0) for each in found]
    ends = [*starts[1:], float(found[-1].trials[-1].value(axis) or 0)]
    for each, start, end in zip(found, starts, ends, strict=True):
        yield nodes.Band(start, end, each.bound or "plain", f"bound by {bound_name(each.bound)}")


def _size(trial: Trial, axis: str) -> str:
    return count(trial.value(axis) or 0)


def _numbers(trials: Sequence[Trial], chosen: Sequence[Trial], axis: str) -> nodes.Table:
    """Return the best configuration at each size."""
    labels = _labels(trials)
    listed: list[tuple[Column, list[str]]] = [
        (Column(axis, numbers=True), [_size(each, axis) for each in chosen]),
        (Column("fastest"), [labels[repr(each.settings)] for each in chosen]),
        (Column("estimated", numbers=True), [_us(each.figure("time")) for each in chosen]),
        (Column("range", numbers=True), [_span(each) for each in chosen]),
        (Column("measured", numbers=True), [_us(of_trial(e).measured_us) for e in chosen]),
        (Column("bound by"), [bound_name(of_trial(each).bound) for each in chosen]),
        (Column("floor", numbers=True), [_us(each.figure("floor_us")) for each in chosen]),
        (Column("waves", numbers=True), [_waves(each) for each in chosen]),
    ]
    kept = [(c, cells) for c, cells in listed if {*cells} - {"", figures.UNKNOWN}]
    rows: list[Cells] = [list(cells) for cells in zip(*(cells for _, cells in kept), strict=True)]
    return table([column for column, _ in kept], rows, f"times over {axis}")


def _us(value: float | None) -> str:
    return figures.format_value(value, "us")


def _span(trial: Trial) -> str:
    low, high = trial.figure("time_low"), trial.figure("time_high")
    if low is None or high is None:
        return figures.UNKNOWN
    return f"{microseconds(low)} to {microseconds(high)}"


def _waves(trial: Trial) -> str:
    waves = trial.figure("waves")
    return figures.UNKNOWN if waves is None else f"{waves:,.2f}"


def ranges_table(trials: Sequence[Trial], axis: str) -> nodes.Table | None:
    """Return a row for each range of sizes with one best configuration and bound."""
    found = choices(trials, axis)
    names = _names(trials, found)
    rows: list[Cells] = []
    for choice, name in zip(found, names, strict=True):
        for each in bound_ranges(choice.trials, axis):
            first, last = each.trials[0], each.trials[-1]
            ends = dict.fromkeys((_size(first, axis), _size(last, axis)))
            times = [e.standing.time_us for e in (first, last) if e.standing is not None]
            took = dict.fromkeys(_us(time) for time in times)
            waves = dict.fromkeys((_waves(first), _waves(last)))
            rows.append(
                [" to ".join(ends), name, " to ".join(took), bound_name(each.bound),
                 " to ".join(waves)]
            )  # fmt: skip
    titles = nodes.titled(
        *nodes.numeric(axis), "fastest", *nodes.numeric("time"), "bound by", *nodes.numeric("waves")
    )
    kept = [at for at in range(len(titles)) if {str(r[at]) for r in rows} - {"", figures.UNKNOWN}]
    cells: list[Cells] = [[each[at] for at in kept] for each in rows]
    return table([titles[at] for at in kept], cells, "best configurations") if rows else None
