"""A suggestion as nodes: the current configuration, and the fastest near it with what moved."""

from collections.abc import Iterator

from irlens import figures
from irlens.model.estimate import BOUND_NAMES
from irlens.model.ranking import of_trial, rank_trials
from irlens.model.suggestion import Neighbour, Stop, Suggestion
from irlens.model.sweep import Trial
from irlens.model.text import count, microseconds, percent, plural
from irlens.render.options import Options
from irlens.render.view import nodes
from irlens.render.view.commands import inspect_command
from irlens.render.view.nodes import Node, Run, row
from irlens.render.view.standings import Listed, bound_by, time_listed
from irlens.render.view.sweep import arguments, stages_in_short
from irlens.render.view.time_charts import times_of_neighbours

#: What may explain a time, by a figure's name in sweeps.
_EXPLAINING = ("registers", "occupancy", "local_bytes", "shared_bytes", "load_sectors",
               "store_sectors")  # fmt: skip

#: Why a search ended before all were tried, where that is not because nothing faster can come.
_CUT: dict[Stop | None, str] = {"interrupted": "interrupted", "budget": "--budget is spent"}
_LEFT_OUT: dict[Stop | None, str] = {
    None: "left out by --most", "interrupted": "not tried", "budget": "not tried",
    "floor": "not needed",
}  # fmt: skip


def suggestion_view(suggestion: Suggestion, options: Options) -> nodes.Section:
    """Return a suggestion; its table has the current configuration, then each of ``best``."""
    children = (*_nodes(suggestion), *_next_steps(suggestion, options.subject))
    return nodes.Section(suggestion.kernel, children, key="suggestion")


def _nodes(suggestion: Suggestion) -> Iterator[Node]:
    current = suggestion.current
    yield nodes.settings({"target": suggestion.target.full_name, **suggestion.settings})
    yield nodes.Headline(
        tuple(_verdict(suggestion)), "warn" if suggestion.stopped in _CUT else "neutral"
    )
    yield from arguments(current.args)
    if current.figures is None:  # no suggestion is made of such
        return
    yield _table(suggestion)
    trials = [current, *(each.trial for each in suggestion.best)]
    names = ["current", *(_changes(suggestion, each) for each in suggestion.best)]
    yield from times_of_neighbours(trials, names)
    yield nodes.Sentence(_counted(suggestion), "dim")


def _table(suggestion: Suggestion) -> nodes.Table:
    trials = [suggestion.current, *(each.trial for each in suggestion.best)]
    ranking = rank_trials(trials)
    low, high = suggestion.low_us, suggestion.high_us
    within = f"range {microseconds(low)} to {microseconds(high)}" if low and high else ""
    names, changes, notes = ["current"], [""], [within]
    for each in suggestion.best:
        names.append(_changes(suggestion, each))
        changes.append(_change(each.time_ratio, suggestion.noise))
        notes.append(_moved(suggestion.current, each))
    time, *others = time_listed(ranking.candidates, ranking.standings)
    listed = [
        Listed(nodes.Column("configuration"), names),
        time,
        Listed(nodes.Column("vs current", numbers=True), changes),
        *others,
    ]
    cells = zip(*(each.cells for each in listed), strict=True)
    rows = (row(*each, note=note) for each, note in zip(cells, notes, strict=True))
    return nodes.Table(tuple(each.column for each in listed), tuple(rows), "configurations")


def _changes(suggestion: Suggestion, neighbour: Neighbour) -> str:
    return ", ".join(
        f"{name} {suggestion.settings[name]} → {value}"
        if name in suggestion.settings
        else f"{name}={value}"
        for name, value in neighbour.changed.items()
    )


def _verdict(suggestion: Suggestion) -> Iterator[Run]:
    """Yield the fastest, how long it takes, how many are as fast, and whether the search ended."""
    current, noise = suggestion.current, suggestion.noise
    now = current.figure("time")
    if not suggestion.is_better or now is None:
        faster = f"is estimated more than {percent(noise)} faster"
        if suggestion.compiled and suggestion.unknown == suggestion.compiled - suggestion.unfit:
            missing = "what they access, or their time, is unknown"
            yield Run(f"no neighbour compares: {missing}", "unknown")
        elif suggestion.stopped not in _CUT:
            yield Run(f"nothing near is better: no neighbour {faster}")
        elif suggestion.compiled:
            yield Run(f"nothing better so far: none of {count(suggestion.compiled)} {faster}")
        if now is not None:
            yield Run(f"the current configuration takes about {microseconds(now)}")
    else:
        best = suggestion.best[0]
        changes = ", ".join(f"{name}={value}" for name, value in best.changed.items())
        after = microseconds(best.time_ratio * now)
        bound = bound_by(of_trial(best.trial))
        less = f"{percent(round(1 - best.time_ratio, 2))} less than now"
        yield Run(f"{changes} is the fastest: about {after}{bound}, {less}", "good")
        others = plural(suggestion.as_fast, "other") if suggestion.as_fast else "no other"
        yield Run(f"{others} within {percent(noise)}")
    if suggestion.stopped in _CUT:
        tried = f"{count(suggestion.compiled)} of {plural(suggestion.planned, 'neighbour')} tried"
        yield Run(f"{_CUT[suggestion.stopped]}: {tried}", "warn")
    if suggestion.unseen:
        unseen = plural(suggestion.unseen, "configuration")
        yield Run(f"{unseen} of the autotuner not tried, which may be faster", "warn")


def _next_steps(suggestion: Suggestion, subject: str | None) -> Iterator[nodes.NextSteps]:
    """Yield the command that inspects the fastest configuration."""
    if subject is None:
        return
    trial = suggestion.best[0].trial if suggestion.is_better else suggestion.current
    chosen = {"target": trial.target.name, **trial.settings}
    why = f"the {'fastest' if suggestion.is_better else 'current'} configuration in full"
    steps = [nodes.Command(inspect_command(subject, chosen), why)]
    if suggestion.is_better:
        steps.append(
            nodes.Command(inspect_command(subject, chosen, verb="suggest"), "go on from there")
        )
    yield nodes.NextSteps(tuple(steps))


def _counted(suggestion: Suggestion) -> str:
    parts = [f"{plural(suggestion.compiled, 'neighbour')} compiled"]
    parts += [
        f"{count(number)} {what}"
        for number, what in (
            (suggestion.unfit, "unfit"),
            (suggestion.other_launch, "accessing other bytes, so solving another problem"),
            (suggestion.unknown, "of unknown time"),
            (suggestion.left_out, _LEFT_OUT[suggestion.stopped]),
        )
        if number
    ]
    if suggestion.stopped == "floor" and suggestion.floor_us is not None:
        floor = microseconds(suggestion.floor_us)
        parts.append(f"nothing can take less than {floor}, so the search ended")
    return "; ".join(parts)


def _moved(current: Trial, neighbour: Neighbour) -> str:
    """Return the figures that differ, before and after: "registers 30 → 40"."""
    before, after = current.figures or {}, neighbour.trial.figures or {}
    moved = []
    if current.bound != neighbour.trial.bound:
        moved.append(f"bound by {_bound(current)} → {_bound(neighbour.trial)}")
    for name in (*_EXPLAINING, "waves"):
        figure = figures.SWEEP_FIGURES[name]
        # Waves follow from most of the others: alone they say that there are more programs.
        if before.get(name) != after.get(name) and not (name == "waves" and moved):
            values = " → ".join(figure.format(each.get(name)) for each in (before, after))
            moved.append(f"{figure.title} {values}")
    if (one := stages_in_short(before)) != (other := stages_in_short(after)):
        moved.append(f"stages {one} → {other}")
    return ", ".join(moved) or "no figure moved"


def _bound(trial: Trial) -> str:
    return figures.UNKNOWN if trial.bound is None else BOUND_NAMES[trial.bound]


def _change(ratio: float, noise: float) -> str:
    return "as fast" if abs(ratio - 1) <= noise else f"{(ratio - 1) * 100:+.0f} %".replace("-", "−")
