"""The times of configurations over the settings that differ: bars, or a heat map of two settings.

A configuration has its estimated time with the range, what binds it, and its measured time where
there is one. Which is the fastest is ``irlens.model.ranking``'s to say.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from irlens import figures
from irlens.model.estimate import BOUND_NAMES, RESOLUTION, Mark, Standing
from irlens.model.label import differing
from irlens.model.ranking import Candidate, rank_reports, rank_trials
from irlens.model.report import Report
from irlens.model.several import grouped
from irlens.model.sweep import Trial
from irlens.model.text import microseconds, percent, plural
from irlens.render.view import nodes
from irlens.render.view.axes import Unit, linear, time_unit
from irlens.render.view.nodes import Cells, table, text

#: A heat map is drawn instead of more bars than these, or of a grid of two settings.
_MOST_BARS = 24
_MOST_COLUMNS, _MOST_ROWS = 10, 24
#: The least share of a heat map's cells that hold a configuration, and the fewest of them.
_LEAST_FILLED, _LEAST_CELLS = 0.5, 4
_SHADES = (RESOLUTION, 0.10, 0.25, 0.50, 1.0)
_UNFIT = {"does not fit": "too big", "failed": "failed", "died": "died", "timed out": "timed out"}
RANGE = "range that holds nine of ten kernels"
_MARKS: dict[Mark, str] = {
    "fastest": "fastest",
    "as fast": f"as fast, within {percent(RESOLUTION)}",
}


class Timed(msgspec.Struct, frozen=True, kw_only=True):
    """A configuration with its time.

    Attributes:
        label: What tells it apart from the others.
        candidate: What ranks it: its times and its bound.
        span: The range of the estimate; ``None`` if unknown.
        unfit: Why it has no time, in two words: "too big"; may be empty.
    """

    values: tuple[str, ...]
    label: str
    candidate: Candidate
    standing: Standing
    span: tuple[float, float] | None = None
    unfit: str = ""
    reason: str = ""

    @property
    def estimate(self) -> float | None:
        """Its estimated time in microseconds."""
        return self.candidate.estimated_us

    @property
    def measured(self) -> float | None:
        """Its measured time in microseconds."""
        return self.candidate.measured_us

    @property
    def us(self) -> float | None:
        """Its time: measured, or else estimated; ``None`` where it cannot launch."""
        return self.standing.time_us

    @property
    def kind(self) -> nodes.KindKey:
        """What binds it."""
        return self.candidate.bound or "plain"

    @property
    def bound(self) -> str:
        """What binds it, as it is written; empty if that is unknown."""
        return "" if self.candidate.bound is None else BOUND_NAMES[self.candidate.bound]


def timed_trials(trials: Sequence[Trial], values: Callable[[Trial], Sequence[str]]) -> list[Timed]:
    """Return the configurations of a sweep; ``values`` are those of the settings that differ."""
    ranking = rank_trials(trials)
    return [
        Timed(
            values=tuple(values(trial)),
            label=trial.label,
            candidate=candidate,
            standing=standing,
            span=_span(trial.figure("time_low"), trial.figure("time_high")),
            unfit=_UNFIT.get(trial.outcome, ""),
            reason=trial.reason or trial.untimed,
        )
        for trial, candidate, standing in zip(
            trials, ranking.candidates, ranking.standings, strict=True
        )
    ]


def timed_reports(
    reports: Sequence[Report], names: Sequence[str], settings: Mapping[str, Sequence[str]]
) -> list[Timed]:
    """Return the configurations of some reports, with the values of the settings that differ."""
    ranking = rank_reports(reports)
    given = zip(reports, names, ranking.candidates, ranking.standings, strict=True)
    return [
        Timed(
            values=tuple(values[index] for values in settings.values()),
            label=name,
            candidate=candidate,
            standing=standing,
            span=None if report.time is None else _span(report.time.low_us, report.time.high_us),
            unfit="" if candidate.launchable else _UNFIT["does not fit"],
            reason=candidate.missing,
        )
        for index, (report, name, candidate, standing) in enumerate(given)
    ]


def times_of_reports(reports: Sequence[Report], names: Sequence[str]) -> Iterator[nodes.Section]:
    """Yield the times of a kernel's configurations, a chart for each target."""
    if len({report.kernel for report in reports}) > 1:
        return
    targets = dict.fromkeys(report.target for report in reports if report.target is not None)
    for target in targets:
        indexes = [index for index, report in enumerate(reports) if report.target == target]
        alike = [reports[index] for index in indexes]
        settings = differing(alike)
        found = timed_reports(alike, [names[index] for index in indexes], settings)
        chart = time_chart(found, list(settings))
        if chart is not None:
            aside = text(target.full_name) if len(targets) > 1 else ()
            yield nodes.Section(
                "Times", (chart,), key="times", aside=aside, detail="time", wide=True
            )


def times_of_neighbours(trials: Sequence[Trial], names: Sequence[str]) -> Iterator[nodes.Bars]:
    """Yield a bar for each named configuration, in their order, if two have a time."""
    found = [
        msgspec.structs.replace(each, values=(name,))
        for each, name in zip(timed_trials(trials, lambda each: ()), names, strict=True)
    ]
    known = [each for each in found if each.us is not None]
    if len(known) > 1:
        bars = time_bars(known, ("",), (0,))
        yield msgspec.structs.replace(bars, repeats=False)


def _span(low: float | None, high: float | None) -> tuple[float, float] | None:
    return None if low is None or high is None else (low, high)


def time_chart(found: Sequence[Timed], names: Sequence[str]) -> nodes.Bars | nodes.HeatMap | None:
    """Return a chart of the times of one target; ``None`` for fewer than two times.

    Args:
        found: All configurations of the target, those that do not fit included.
    """
    known = [each for each in found if each.us is not None]
    if len(known) < 2:
        return None
    varied = [at for at in range(len(names)) if len({each.values[at] for each in found}) > 1]
    if len(varied) == 2 or len(known) > _MOST_BARS:
        drawn = _heat_map(found, known, names, varied)
        if drawn is not None:
            return drawn
    if len(varied) == 1:
        order = _ordered(each.values[varied[0]] for each in known)
        ordered = sorted(known, key=lambda each: order.index(each.values[varied[0]]))
    else:
        ordered = sorted(known, key=lambda each: each.us or 0.0)
    return time_bars(ordered, names, varied)


def time_bars(ordered: Sequence[Timed], names: Sequence[str], varied: Sequence[int]) -> nodes.Bars:
    """Return a bar for each configuration whose time is known."""
    shown = ordered if len(varied) == 1 else ordered[:_MOST_BARS]
    unit = time_unit(max(each.us or 0.0 for each in shown))
    furthest = max(
        max(each.us or 0.0, each.estimate or 0.0, each.span[1] if each.span else 0.0)
        for each in shown
    )
    axis = linear(f"{_what(shown)} ({unit.name})", furthest, unit)
    heads = [names[at] for at in varied if names[at]]
    left = f", the fastest {len(shown)}" if len(shown) < len(ordered) else ""
    over = f" over {', '.join(heads)}" if heads else ""
    return nodes.Bars(
        described=f"{_what(shown)} of {plural(len(ordered), 'configuration')}{over}{left}",
        names=", ".join(heads),
        axis=axis,
        rows=tuple(_bar(each, varied, unit) for each in shown),
        kinds=tuple(bound_kinds(each.kind for each in shown)),
        range=RANGE if any(each.span for each in shown) else "",
        measured=_measured(shown),
        marks=mark_names(each.standing.mark for each in shown),
        numbers=_numbers(ordered, [names[at] for at in varied], varied),
        repeats=True,
    )


def _bar(each: Timed, varied: Sequence[int], unit: Unit) -> nodes.BarRow:
    amount = each.estimate if each.estimate is not None else each.us or 0.0
    low, high = each.span or (None, None)
    return nodes.BarRow(
        name=", ".join(each.values[at] for at in varied),
        described=_described(each),
        parts=(nodes.Part(amount, each.kind),),
        words=f"{unit.number(amount)} {unit.name}",
        label="reads less" if each.standing.partial else each.bound,
        low=low,
        high=high,
        measured=each.measured if each.estimate is not None else None,
        mark=each.standing.mark,
    )


def _heat_map(
    found: Sequence[Timed], known: Sequence[Timed], names: Sequence[str],
    varied: Sequence[int],
) -> nodes.HeatMap | None:  # fmt: skip
    """Return the fastest time for each pair of values of two settings.

    Of more than two settings they are those that change the least time most. ``None`` where most
    pairs have no configuration, or there are too many for a picture.
    """
    choices = {at: _ordered(each.values[at] for each in found) for at in varied}
    fitting = [at for at in varied if len(choices[at]) <= _MOST_ROWS]
    if len(fitting) < 2:
        return None
    two = sorted(fitting, key=lambda at: -_effect(known, at))[:2]
    down, across = sorted(two, key=lambda at: (-len(choices[at]), at))
    if len(choices[across]) > _MOST_COLUMNS:
        return None
    groups = grouped(((each.values[down], each.values[across]), each) for each in found)
    cells = len(choices[down]) * len(choices[across])
    if len(groups) < max(_LEAST_FILLED * cells, _LEAST_CELLS):
        return None
    chosen = {place: _fastest(group) for place, group in groups.items()}
    shown = [each for each in chosen.values() if each.us is not None]
    unit = time_unit(max(each.us or 0.0 for each in shown))
    others = [names[at] for at in varied if at not in (down, across)]
    fastest_of = f", the fastest over {', '.join(others)}" if others else ""
    measured = any(each.measured is not None for each in shown)
    return nodes.HeatMap(
        described=f"{_what(shown)} over {names[down]} and {names[across]}{fastest_of}",
        amount=_what(shown),
        unit=unit.name,
        across=names[across],
        down=names[down],
        columns=tuple(choices[across]),
        rows=tuple(choices[down]),
        cells=tuple(
            tuple(_cell(chosen.get((row, column)), unit) for column in choices[across])
            for row in choices[down]
        ),
        steps=_STEPS,
        kinds=tuple(bound_kinds(each.kind for each in shown)),
        detail=f"measured ({unit.name})"
        if measured
        else RANGE
        if any(each.span for each in shown)
        else "",
        marks=mark_names(each.standing.mark for each in shown),
        numbers=_numbers(known, [names[at] for at in varied], varied),
    )


def _cell(each: Timed | None, unit: Unit) -> nodes.HeatCell | None:
    if each is None:
        return None
    if each.us is None:
        return nodes.HeatCell(described=_described(each), words=each.unfit or figures.UNKNOWN)
    slower = each.standing.over_fastest
    detail = ""
    if each.standing.partial:
        detail = "reads less"
    elif each.measured is not None:
        detail = f"◆ {unit.number(each.measured)}"
    elif each.span is not None:
        detail = "–".join(map(unit.number, each.span))
    return nodes.HeatCell(
        described=_described(each),
        step=None if slower is None else sum(slower > 1 + shade for shade in _SHADES),
        words=unit.number(each.us if each.estimate is None else each.estimate),
        kind=each.kind if each.bound else None,
        label=each.bound,
        detail=detail,
        mark=each.standing.mark,
    )


_STEPS = (
    f"within {percent(RESOLUTION)} of the fastest",
    *(f"up to {percent(shade)} slower" for shade in _SHADES[1:]),
    "slower",
)


def _fastest(group: Sequence[Timed]) -> Timed:
    """The fastest of some configurations, of those that compare if any does."""
    return min(
        group,
        key=lambda each: (each.us is None, each.standing.over_fastest is None, each.us or 0.0),
    )


def _effect(known: Sequence[Timed], at: int) -> float:
    """How much a setting changes the least time: the largest over the smallest of its values."""
    least: dict[str, float] = {}
    for each in known:
        value = each.values[at]
        least[value] = min(each.us or 0.0, least.get(value, float("inf")))
    return max(least.values()) / (min(least.values()) or 1.0)


def _ordered(values: Iterator[str]) -> list[str]:
    """The different values: numbers ascending, else as they come."""
    different = list(dict.fromkeys(values))
    try:
        return sorted(different, key=float)
    except ValueError:
        return different


def bound_kinds(found: Iterable[nodes.KindKey]) -> Iterator[nodes.Kind]:
    """Yield the legend of the bounds that occur."""
    occur = set(found)
    for key, name in BOUND_NAMES.items():
        if key in occur:
            yield nodes.Kind(key, f"bound by {name}")


def mark_names(marks: Iterable[Mark | None]) -> dict[Mark, str]:
    """Return the legend of the marks that occur."""
    occur = set(marks)
    return {mark: name for mark, name in _MARKS.items() if mark in occur}


def _what(shown: Sequence[Timed]) -> str:
    return "measured time" if all(each.estimate is None for each in shown) else "estimated time"


def _measured(shown: Sequence[Timed]) -> str:
    both = any(each.measured is not None and each.estimate is not None for each in shown)
    return "measured" if both else ""


def _described(each: Timed) -> str:
    """Return "BLOCK=64 num_warps=4: estimated 338 µs (300 µs to 380 µs), bound by L2"."""
    if each.us is None:
        return f"{each.label}: {each.reason or 'time unknown'}"
    parts = []
    if each.estimate is not None:
        span = f" ({' to '.join(map(microseconds, each.span))})" if each.span else ""
        parts.append(f"estimated {microseconds(each.estimate)}{span}")
    if each.bound:
        parts.append(f"bound by {each.bound}")
    if each.measured is not None:
        parts.append(f"measured {microseconds(each.measured)}")
    return f"{each.label}: {', '.join(parts)}"


def _numbers(known: Sequence[Timed], names: Sequence[str], varied: Sequence[int]) -> nodes.Table:
    measured = ["measured"] if any(each.measured for each in known) else []
    columns = nodes.titled(
        *nodes.numeric(*names, "estimated", "range"), "bound by", *nodes.numeric(*measured)
    )
    rows: list[Cells] = []
    for each in known:
        cells: Cells = [each.values[at] for at in varied]
        cells.append(figures.format_value(each.estimate, "us"))
        cells.append(" to ".join(map(microseconds, each.span)) if each.span else figures.UNKNOWN)
        cells.append(each.bound or figures.UNKNOWN)
        if measured:
            cells.append(figures.format_value(each.measured, "us"))
        rows.append(cells)
    return table(columns, rows, "times of the configurations")
