"""Sweeps as nodes: how many configurations fit, a table for each target, and what is not in it."""

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence

from irlens import figures
from irlens.model.config import ConstexprValue, Target
from irlens.model.sweep import OUTCOMES, Correlation, Sweep, Trial
from irlens.model.terms import depth_in_short, limit_term
from irlens.model.text import count, percent, plural
from irlens.render.options import Options
from irlens.render.view.launch_time import NAMES
from irlens.render.view.nodes import (
    Cells,
    Column,
    Command,
    Headline,
    Items,
    NextSteps,
    Node,
    Point,
    Run,
    Scatter,
    Section,
    Sentence,
    Setting,
    Settings,
    Table,
    row,
    text,
)
from irlens.render.view.sizes import size_columns, size_plot

#: Outcomes that are no row of the table.
_APART = {
    "does not fit": "Too big", "failed": "Failed", "died": "Died", "timed out": "Timed out",
}  # fmt: skip
_COUNTED = {
    "unknown": "with unknown occupancy",
    "does not fit": "too big",
    "failed": "failed",
    "died": "died with their worker",
    "timed out": "timed out",
}
_TRITON = "Triton"
_MORE = "; --all shows them"


def sweep_view(sweep: Sweep, options: Options) -> Section:
    """Return a sweep; ``options`` limit the rows of its tables and name its kernel."""
    children = (*_sweep(sweep, options.rows), *_next_steps(sweep, options.subject))
    return Section(sweep.kernel, children, key="sweep")


def _next_steps(sweep: Sweep, subject: str | None) -> Iterator[NextSteps]:
    """Yield how to look at the first configuration, if it fits."""
    first = sweep.trials[0] if sweep.trials else None
    if subject is None or first is None or first.outcome != "fits":
        return
    chosen = [("--target", first.target.product or first.target.arch)]
    chosen += [("--triton", first.triton)] if first.triton else []
    chosen += [("--set", f"{name}={value}") for name, value in first.settings.items()]
    chosen += [("--arg", f"{name}={value}") for name, value in first.args.items()]
    given = shlex.join(word for each in chosen for word in each)
    line = f"irlens inspect {subject or 'KERNEL'} {given}"
    yield NextSteps((Command(line, "the first configuration in full"),))


def _sweep(sweep: Sweep, rows: int | None) -> Iterator[Node]:
    if shared := _common(sweep):
        yield Settings(tuple(Setting(name, str(value)) for name, value in shared.items()))
    phrases = (sweep_verdict([*sweep.trials, *sweep.outranked]), *_left_out(sweep), *_remark(sweep))
    yield Headline(tuple(map(Run, phrases)))
    if sweep.device is not None:
        correlations = tuple(map(text, _correlations(sweep)))
        children = (Sentence(_measured(sweep)), Items(correlations))
        if sweep.axis is None:
            yield Section("Times", children, key="times", wide=True)
    for target in sweep.targets:
        yield _target(sweep, target, rows)


def _target(sweep: Sweep, target: Target, rows: int | None) -> Section:
    trials = sweep.on(target)
    shown = [trial for trial in trials if _in_table(trial)]
    children: list[Node] = []
    if (plot := size_plot(sweep, shown)) is not None:
        children.append(plot)
    elif (scatter := _scatter(shown)) is not None:
        children.append(scatter)
    if shown:
        children.append(_table(sweep, shown, rows))
    outranked = [trial for trial in sweep.outranked if trial.target == target]
    if outranked and shown:
        children.append(_outranked(sweep, shown[0], outranked))
    for outcome, title in _APART.items():
        apart = [trial for trial in trials if trial.outcome == outcome]
        if apart:
            children.append(_apart(title, apart, sweep, rows))
    name = target.full_name
    return Section(
        name,
        tuple(children),
        key="target",
        wide=True,
        aside=text(sweep_verdict([*trials, *outranked])),
    )


def _in_table(trial: Trial) -> bool:
    """Whether a trial is a row of the table: it fits, or it is not known that it does not."""
    return trial.outcome not in _APART


def _table(sweep: Sweep, trials: Sequence[Trial], shown: int | None) -> Table:
    settings = sorted(_differing(sweep), key=lambda name: name != sweep.axis)
    spills = not _no_local_memory(sweep)
    known = {
        name
        for trial in trials
        for name, value in (trial.figures or {}).items()
        if value is not None
    }
    columns = [
        figure
        for figure in figures.SWEEP_COLUMNS
        if (spills or figure.sweep != "local_bytes")
        and (figure.sweep in known or not figure.needs)
        # The time says more than what it is made from, and there is room for one of them.
        and (figure.sweep != "sectors_over_ideal" or "time" not in known)
    ]
    of_sizes = list(size_columns(sweep, trials))
    if sweep.axis is not None and sweep.device is not None:
        columns = []  # there is no room for what was measured and for them
    heads = [
        *(Column(name, numbers=True) for name in settings),
        *([Column("ms", numbers=True)] if sweep.device is not None else []),
        *(column for column, _ in of_sizes),
        *(Column(figure.heading, numbers=True) for figure in columns),
        Column("limited by"),
    ]
    rows = []
    for trial in trials:
        cells: Cells = [*_values(trial, settings)]
        if sweep.device is not None:
            cells.append(_time(trial))
        cells += [content(trial) for _, content in of_sizes]
        cells += [_figure(figure, trial) for figure in columns]
        rows.append(row(*cells, _limits(trial), note=trial.reason))
    return Table(
        tuple(heads), tuple(rows), "configurations", shown=shown, sortable=True,
        noun="configuration",
        more=_MORE,
    )  # fmt: skip


def _outranked(sweep: Sweep, first: Trial, trials: Sequence[Trial]) -> Section:
    """What ranks below the rows: by what binds the time, and how far behind the first it is."""
    figure = sweep.ranked_by or ""
    best = first.figure(figure)
    groups: dict[str, list[Trial]] = {}
    for trial in trials:
        groups.setdefault("" if trial.bound is None else NAMES[trial.bound], []).append(trial)
    lines = []
    known_figure = figures.SWEEP_FIGURES.get(figure)
    if known_figure is not None and known_figure.tolerance:
        values = [trial.figure(figure) for trial in trials]
        ties = sum(each == best or figures.is_noise(known_figure, best, each) for each in values)
        if ties:
            within = percent(known_figure.tolerance)
            lines.append(text(f"{count(ties)} as fast as the first, within {within}"))
    for bound, group in groups.items():
        described = plural(len(group), "configuration")
        described += f", bound by {bound}" if bound and figure == "time" else ""
        values = [trial.figure(figure) for trial in group]
        known = [float(value) for value in values if isinstance(value, int | float)]
        if known and best:
            low, high = (f"{extreme(known) / best:.2f}" for extreme in (min, max))
            described += f": {low if low == high else f'{low} to {high}'} × the first"
        lines.append(text(described))
    title = f"Outranked: {plural(len(trials), 'configuration')}"
    return Section(title, (Items(tuple(lines)),), key="outranked")


def _figure(figure: figures.Figure, trial: Trial) -> str:
    values = trial.figures or {}
    if figure.sweep == "stages_achieved":
        return stages_in_short(values)
    return figure.cell(values.get(figure.sweep))


def stages_in_short(values: dict[str, int | float | None]) -> str:
    """Return the stages achieved and requested, of a trial's figures: "2/3"."""
    known = (values.get(name) for name in ("stages_achieved", "stages_at_most", "stages_requested"))
    depth = depth_in_short(*(None if value is None else int(value) for value in known))
    return depth or figures.UNKNOWN


def _time(trial: Trial) -> str:
    return figures.UNKNOWN if trial.timing is None else f"{trial.timing.median_ms:.4g}"


def _limits(trial: Trial) -> str:
    words = (limit_term(each, trial.target.vendor) for each in trial.limited_by)
    return ", ".join(each.removesuffix(" memory") for each in words) or figures.UNKNOWN


def _apart(title: str, trials: Sequence[Trial], sweep: Sweep, rows: int | None) -> Section:
    """Trials that are no row of the table, those together that share a reason."""
    groups: dict[tuple[str, str], list[Trial]] = {}
    for trial in trials[:rows]:
        groups.setdefault((trial.reason, trial.hint), []).append(trial)
    children: list[Node] = [
        Items(
            tuple(map(text, _described(group, sweep))),
            label=reason,
            tone="warn",
            # What does not fit always has the same hint.
            code="" if group[0].outcome == "does not fit" else hint,
        )
        for (reason, hint), group in groups.items()
    ]
    if rows is not None and len(trials) > rows:
        left = plural(len(trials) - rows, "more configuration")
        children.append(Sentence(f"… and {left}{_MORE}", "dim"))
    counted = f"{title}: {plural(len(trials), 'configuration')}"
    return Section(counted, tuple(children), key="apart", folded=True)


def _described(group: Sequence[Trial], sweep: Sweep) -> list[str]:
    """Return which trials a group is: "9 configurations, all with BLOCK=48", or each one's name.

    The short form needs that no other trial of the target shares what these have in common.
    """
    if len(group) > 1:
        first, *others = map(_chosen, group)
        shared = {
            name: first.get(name)
            for name in _differing(sweep)
            if all(other.get(name) == first.get(name) for other in others)
        }
        alike = [t for t in sweep.on(group[0].target) if shared.items() <= _chosen(t).items()]
        if shared and len(alike) == len(group):
            values = " ".join(f"{name}={value}" for name, value in shared.items())
            return [f"{plural(len(group), 'configuration')}, all with {values}"]
    return [trial.label or sweep.kernel for trial in group]


def _scatter(trials: Sequence[Trial]) -> Scatter | None:
    """Occupancy over registers, a point for the configurations that share both."""
    points: dict[tuple[int, float], list[str]] = {}
    for trial in trials:
        known = trial.figures or {}
        registers, occupancy = known.get("registers"), known.get("occupancy")
        if registers is not None and occupancy is not None:
            points.setdefault((int(registers), occupancy), []).append(trial.label)
    if len(points) < 2:
        return None
    drawn = tuple(
        Point(registers, occupancy, _point_name(registers, occupancy, labels))
        for (registers, occupancy), labels in sorted(points.items())
    )
    described = f"occupancy by registers of {plural(len(trials), 'configuration')}"
    return Scatter(described, drawn, "registers per thread")


def _point_name(registers: int, occupancy: float, labels: Sequence[str]) -> str:
    often = Counter(labels).items()
    named = ", ".join(f"{label} ({number})" if number > 1 else label for label, number in often)
    return f"{percent(occupancy)} with {registers} registers: {named}"


def _no_local_memory(sweep: Sweep) -> bool:
    """Whether no configuration in the tables uses local memory."""
    known = [trial.figures for trial in sweep.trials if _in_table(trial)]
    return all(each is not None and each["local_bytes"] == 0 for each in known)


def sweep_verdict(trials: Sequence[Trial]) -> str:
    """Return "12 of 20 fit, 6 too big, 2 failed"."""
    outcomes = Counter(trial.outcome for trial in trials)
    phrases = [f"{count(outcomes['fits'])} of {count(len(trials))} fit"]
    phrases += [
        f"{count(outcomes[outcome])} {_COUNTED[outcome]}"
        for outcome in OUTCOMES
        if outcome != "fits" and outcomes[outcome]
    ]
    return ", ".join(phrases)


def _remark(sweep: Sweep) -> list[str]:
    """Return what has no column because it is the same in each row."""
    rows = any(map(_in_table, sweep.trials))
    return ["no local memory"] if rows and _no_local_memory(sweep) else []


def _left_out(sweep: Sweep) -> list[str]:
    """Return what is not among the trials: "8 left out by --where"."""
    return [
        f"{count(number)} left out by {option}"
        for number, option in ((sweep.excluded, "--where"), (sweep.filtered, "--filter"))
        if number
    ]


def _differing(sweep: Sweep) -> list[str]:
    """Return the settings and arguments, and the compiler, that differ between trials."""
    each = [_chosen(trial) for trial in sweep.trials]
    names = dict.fromkeys(name for chosen in each for name in chosen)
    return [name for name in names if len({repr(chosen.get(name)) for chosen in each}) > 1]


def _common(sweep: Sweep) -> dict[str, ConstexprValue]:
    """Return what all trials share."""
    if not sweep.trials:
        return {}
    apart = _differing(sweep)
    first = _chosen(sweep.trials[0]).items()
    return {name: value for name, value in first if name not in apart and value is not None}


def _values(trial: Trial, names: Sequence[str]) -> list[str]:
    chosen = _chosen(trial)
    return [str(chosen[name]) if name in chosen else figures.UNKNOWN for name in names]


def _chosen(trial: Trial) -> dict[str, ConstexprValue]:
    chosen = {**trial.settings, **trial.args}
    if trial.triton is None:
        return chosen
    # A constexpr may have that name, too.
    users = {f"setting {name}" if name == _TRITON else name: chosen[name] for name in chosen}
    return {_TRITON: trial.triton, **users}


def _correlations(sweep: Sweep) -> list[str]:
    """Return each figure's correlation with the time: "occupancy −0.52"."""
    return [
        f"{each.figure.replace('_', ' ')} {_rho(each.rho)}{_of(each, sweep)}"
        for each in sweep.correlations
        if each.rho is not None
    ]


def _rho(rho: float) -> str:
    return f"{rho:+.2f}".replace("-", "−")


def _of(correlation: Correlation, sweep: Sweep) -> str:
    most = max(each.trials for each in sweep.correlations)
    return f" (of {count(correlation.trials)})" if correlation.trials < most else ""


def _measured(sweep: Sweep) -> str:
    number = sum(trial.timing is not None for trial in sweep.trials)
    return (
        f"rank correlation with the time of {plural(number, 'configuration')} on {sweep.device} "
        "(near 1: larger is slower, near −1: larger is faster)"
    )
