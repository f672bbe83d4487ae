"""A sweep as a page: for each target a chart, a table to sort and filter, and what is not in it."""

from collections import Counter
from collections.abc import Sequence

from irlens.model.sweep import Sweep, Trial
from irlens.model.text import percent, plural
from irlens.render import View
from irlens.render._sweep import (
    TITLES,
    cells,
    columns,
    common,
    in_table,
    left_out,
    measured,
    name,
    target_name,
    told_correlations,
    verdict,
)
from irlens.render.html._markup import Content, Markup, join, tag
from irlens.render.html._page import document
from irlens.render.html._parts import card, folded, phrases, stated, table
from irlens.render.html._svg import Frame, dot, whole_ticks

#: Makes tables sortable and filterable; without it they are read all the same.
_SCRIPT = "table.js"
_PERCENTS = (0, 25, 50, 75, 100)


def render(sweep: Sweep, view: View) -> str:
    """Return the page."""
    shared = common(sweep)
    told = phrases([verdict(sweep.trials), *left_out(sweep)])
    body = tag(
        "main",
        tag("h1", tag("code", sweep.kernel)),
        tag("p", "all with ", tag("code", shared)) if shared else None,
        tag("p", stated("plain", told), class_="verdict"),
        _times(sweep),
        *(_target(sweep, index) for index in range(len(sweep.targets))),
    )
    return document(f"sweep of {sweep.kernel}", body, scripts=(_SCRIPT,))


def _times(sweep: Sweep) -> Markup | None:
    if sweep.device is None:
        return None
    told = (tag("li", each) for each in told_correlations(sweep))
    return card("Times", tag("p", measured(sweep)), tag("ul", *told), wide=True)


def _target(sweep: Sweep, index: int) -> Markup:
    target = sweep.targets[index]
    trials = sweep.on(target)
    shown = [trial for trial in trials if in_table(trial)]
    return tag(
        "section",
        tag("h2", target_name(target), " ", tag("small", verdict(trials))),
        _scatter(shown),
        _table(sweep, shown) if shown else None,
        *(
            _others(title, [trial for trial in trials if trial.outcome == outcome], sweep)
            for outcome, title in TITLES.items()
        ),
    )


def _table(sweep: Sweep, trials: Sequence[Trial]) -> Markup:
    header = ["configuration", *columns(sweep), ""]
    rows: list[list[Content]] = [
        [tag("code", name(trial, sweep)), *cells(trial, sweep), trial.reason or None]
        for trial in trials
    ]
    numbers = range(1, len(header) - 2)
    return table(header, rows, right=numbers, class_="figures sortable", name="configurations")


def _others(title: str, trials: Sequence[Trial], sweep: Sweep) -> Markup | None:
    if not trials:
        return None
    rows: list[list[Content]] = [
        [
            tag("code", name(trial, sweep)),
            join([trial.reason, tag("br"), tag("small", trial.hint)])
            if trial.hint
            else trial.reason,
        ]
        for trial in trials
    ]
    return folded(f"{title}: {plural(len(trials), 'configuration')}", table(["", ""], rows))


def _scatter(trials: Sequence[Trial]) -> Markup | None:
    """Occupancy over registers, a point for the configurations that share both."""
    points: dict[tuple[int, float], list[str]] = {}
    for trial in trials:
        figures = trial.figures or {}
        registers, occupancy = figures.get("registers"), figures.get("occupancy")
        if registers is not None and occupancy is not None:
            points.setdefault((int(registers), occupancy), []).append(trial.label)
    if len(points) < 2:
        return None
    frame = Frame(
        right=max(registers for registers, _ in points) * 1.05,
        top=1,
        width=640,
        margins=(46, 18, 16, 34),
    )
    drawn = [
        tag(
            "g",
            tag("title", _told(registers, occupancy, labels)),
            dot(frame.x(registers), frame.y(occupancy), class_="point"),
        )
        for (registers, occupancy), labels in sorted(points.items())
    ]
    axes = frame.axes(
        whole_ticks(int(frame.right)),
        [(each / 100, f"{each} %") for each in _PERCENTS],
        "registers per thread",
    )
    described = f"occupancy by registers of {plural(len(trials), 'configuration')}"
    return tag(
        "figure", frame.svg(described, axes, *drawn), tag("figcaption", described), class_="scatter"
    )


def _told(registers: int, occupancy: float, labels: Sequence[str]) -> str:
    told = ", ".join(f"{label} ({number})" if number > 1 else label for label, number in
                     Counter(labels).items())  # fmt: skip
    return f"{percent(occupancy)} with {registers} registers: {told}"
