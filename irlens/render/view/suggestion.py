"""A suggestion as nodes: the current configuration, and the fastest near it with what moved."""

from collections.abc import Iterator

from irlens import figures
from irlens.model.suggestion import Neighbour, Suggestion
from irlens.model.sweep import Trial
from irlens.model.text import count, percent, plural
from irlens.render.view.launch_time import NAMES
from irlens.render.view.memory_traffic import microseconds
from irlens.render.view.nodes import (
    Column,
    Headline,
    Node,
    Run,
    Section,
    Sentence,
    Setting,
    Settings,
    Table,
    row,
)
from irlens.render.view.sweep import stages_in_short

#: What may explain a time, by a figure's name in sweeps.
_EXPLAINING = ("registers", "occupancy", "local_bytes", "shared_bytes", "load_sectors",
               "store_sectors")  # fmt: skip


def suggestion_view(suggestion: Suggestion) -> Section:
    """Return a suggestion; its table has the current configuration, then each of ``best``."""
    return Section(suggestion.kernel, tuple(_nodes(suggestion)), key="suggestion")


def _nodes(suggestion: Suggestion) -> Iterator[Node]:
    current = suggestion.current
    chosen = {"target": suggestion.target.full_name, **suggestion.settings, **current.args}
    yield Settings(tuple(Setting(name, str(value)) for name, value in chosen.items()))
    yield Headline((Run(_verdict(suggestion)),))
    if current.figures is None:  # no suggestion is made of such
        return
    low, high = suggestion.low_us, suggestion.high_us
    within = f"{microseconds(low)} to {microseconds(high)}" if low and high else ""
    note = f"range {within}" if within else ""
    rows = [row("current", _time(current), "", _bound(current), note=note)]
    for each in suggestion.best:
        changes = ", ".join(
            f"{name} {suggestion.settings[name]} → {value}" for name, value in each.changed.items()
        )
        change = _change(each.time_ratio, suggestion.noise)
        cells = (changes, _time(each.trial), change, _bound(each.trial))
        rows.append(row(*cells, note=_moved(current, each)))
    columns = (
        Column("configuration"), Column("est. time", numbers=True),
        Column("change", numbers=True), Column("bound by"),
    )  # fmt: skip
    yield Table(columns, tuple(rows), "configurations")
    yield Sentence(_counted(suggestion), "dim")


def _verdict(suggestion: Suggestion) -> str:
    if suggestion.is_better:
        best = suggestion.best[0]
        changes = ", ".join(f"{name}={value}" for name, value in best.changed.items())
        ties = sum(
            each.time_ratio <= best.time_ratio * (1 + suggestion.noise)
            for each in suggestion.best[1:]
        )
        others = f"; {plural(ties, 'other')} as fast" if ties else ""
        return f"{changes} is estimated {_percent(best.time_ratio)} in time{others}"
    least = percent(suggestion.noise)
    return f"nothing near is better: no neighbour is estimated more than {least} faster"


def _counted(suggestion: Suggestion) -> str:
    parts = [f"{plural(suggestion.compiled, 'neighbour')} compiled"]
    parts += [
        f"{count(number)} {what}"
        for number, what in (
            (suggestion.unfit, "unfit"),
            (suggestion.other_launch, "accessing other bytes, so solving another problem"),
            (suggestion.unknown, "of unknown time"),
            (suggestion.left_out, "left out by --most"),
        )
        if number
    ]
    return "; ".join(parts)


def _moved(current: Trial, neighbour: Neighbour) -> str:
    """Return the figures that differ, before and after: "registers 30 → 40"."""
    before, after = current.figures or {}, neighbour.trial.figures or {}
    moved = []
    if current.bound != neighbour.trial.bound:
        moved.append(f"bound by {_bound(current)} → {_bound(neighbour.trial)}")
    for name in _EXPLAINING:
        figure = figures.SWEEP_FIGURES[name]
        if before.get(name) != after.get(name):
            values = " → ".join(figure.format(each.get(name)) for each in (before, after))
            moved.append(f"{figure.title} {values}")
    if (one := stages_in_short(before)) != (other := stages_in_short(after)):
        moved.append(f"stages {one} → {other}")
    return ", ".join(moved) or "no figure moved"


def _time(trial: Trial) -> str:
    value = trial.figure("time")
    return figures.UNKNOWN if value is None else microseconds(value)


def _bound(trial: Trial) -> str:
    return figures.UNKNOWN if trial.bound is None else NAMES[trial.bound]


def _change(ratio: float, noise: float) -> str:
    return "as fast" if abs(ratio - 1) <= noise else _percent(ratio)


def _percent(ratio: float) -> str:
    change = round((ratio - 1) * 100, 1)
    return f"{change:+.1f} %".replace("-", "−") if change else "0.0 %"
