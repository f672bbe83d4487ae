"""Sweeps as nodes: how many configurations fit, a table for each target, and what is not in it."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from irlens import figures
from irlens.model.config import ConstexprValue, Target
from irlens.model.estimate import BOUND_NAMES
from irlens.model.label import setting_labels
from irlens.model.ranking import of_trial, rank_trials
from irlens.model.several import grouped
from irlens.model.size_ranges import choices
from irlens.model.sweep import OUTCOMES, Correlation, Sweep, Trial
from irlens.model.terms import depth_in_short, limit_term
from irlens.model.text import count, percent, plural
from irlens.render.options import Options
from irlens.render.view import nodes
from irlens.render.view.commands import inspect_command
from irlens.render.view.nodes import Column, Node, Run, row, text
from irlens.render.view.roofline_chart import rooflines_of_trials
from irlens.render.view.size_times import (
    headline_over_sizes,
    named_choices,
    ranges_table,
    time_plot,
)
from irlens.render.view.sizes import size_columns, size_plot
from irlens.render.view.standings import Listed, headline, time_listed, without_shared
from irlens.render.view.time_charts import time_chart, timed_trials

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
#: Values that nobody has to give.
_DEFAULTS = {"num_ctas": 1}
_MORE = "; --all shows them"
#: Targets, or sizes, whose fastest configuration has a command.
_MOST_COMMANDS = 3


def sweep_view(sweep: Sweep, options: Options) -> nodes.Section:
    """Return a sweep; ``options`` limit the rows of its tables and name its kernel."""
    children = (*_sweep(sweep, options.rows), *_next_steps(sweep, options.subject))
    return nodes.Section(sweep.kernel, children, key="sweep")


def _next_steps(sweep: Sweep, subject: str | None) -> Iterator[nodes.NextSteps]:
    """Yield how to look at the fastest configuration of each target, or else the first one."""
    if subject is None:
        return
    why, chosen = "the fastest configuration in full", _best(sweep)
    if chosen and len({repr(_chosen_settings(each)) for each in sweep.trials}) == 1:
        why = "this size in full" if sweep.axis is not None else "the configuration in full"
    if not chosen:
        why = "the first configuration in full"
        chosen = [each for each in sweep.trials[:1] if each.outcome == "fits"]
    commands, shared = [], _common(sweep)
    for trial in chosen[:_MOST_COMMANDS]:
        named = {"target": trial.target.name, **trial.settings}
        named |= {"triton": trial.triton} if trial.triton is not None else {}
        named = {n: v for n, v in named.items() if v != _DEFAULTS.get(n) or n not in shared}
        on = f" on {trial.target.full_name}" if len(sweep.targets) > 1 else ""
        commands.append(
            nodes.Command(inspect_command(subject, named, _sizes(trial, sweep)), why + on)
        )
    if commands:
        yield nodes.NextSteps(tuple(commands))


def _best(sweep: Sweep) -> list[Trial]:
    """Return the fastest configuration of each problem, or at the largest size."""
    if sweep.axis is not None:
        found = [choices(sweep.on(target), sweep.axis) for target in sweep.targets]
        return [each[-1].trials[-1] for each in found if each]
    problems = rank_trials(sweep.trials).problems
    return [sweep.trials[each.fastest] for each in problems if each.fastest is not None]


def _sweep(sweep: Sweep, rows: int | None) -> Iterator[Node]:
    shared = _common(sweep)
    given = sweep.trials[0].args if sweep.trials else {}
    if settings := {name: value for name, value in shared.items() if name not in given}:
        yield nodes.settings(settings)
    counted = Run(_sampled(sweep) or sweep_verdict([*sweep.trials, *sweep.outranked]))
    left_out = map(Run, _left_out(sweep))
    yield nodes.Headline((*_fastest(sweep), *_errors(sweep), counted, *left_out))
    yield from arguments({n: v for n, v in shared.items() if n in given}, sweep.axis)
    if sweep.device is not None:
        correlations = tuple(map(text, _correlations(sweep)))
        children = (nodes.Sentence(_measured(sweep)), nodes.Items(correlations))
        if sweep.axis is None:
            yield nodes.Section("Times", children, key="times", wide=True)
    for target in sweep.targets:
        yield _target(sweep, target, rows)


def arguments(
    given: Mapping[str, ConstexprValue], axis: str | None = None
) -> Iterator[nodes.Settings]:
    """Yield the arguments of a launch, if any."""
    if given:
        # A size may be another one: N=M.
        written = {n: f"= {v}" if v in given or v == axis else v for n, v in given.items()}
        yield nodes.settings(written, "dim", title="arguments", folded=True)


def _fastest(sweep: Sweep) -> list[Run]:
    """Return which configuration is the fastest: on each target, or at each size."""
    if sweep.axis is not None:
        return list(_over_sizes(sweep, sweep.axis))
    trials = [each for each in (*sweep.trials, *sweep.outranked) if _in_table(each)]
    if not trials:
        return []
    ranking = rank_trials(trials)
    problems = []
    for problem in ranking.problems:
        first = trials[problem.members[0]]
        place = [first.target.full_name] if len(sweep.targets) > 1 else []
        apart = _differing(sweep)
        fixed = {name: first.settings.get(name) for name in first.fixed if name in apart}
        solved = _sizes(first, sweep) | fixed
        problems.append(" ".join([*place, *(f"{n}={v}" for n, v in solved.items())]))
    return headline(ranking, setting_labels([_chosen_settings(each) for each in trials]), problems)


def _over_sizes(sweep: Sweep, axis: str) -> Iterator[Run]:
    """Yield for each target how long the ends of an axis take, what is best, and what fails."""
    for target in sweep.targets[:_MOST_COMMANDS]:
        every = [each for each in (*sweep.trials, *sweep.outranked) if each.target == target]
        trials = [each for each in every if _in_table(each)]
        told = headline_over_sizes(trials, axis)
        if trials and not told:
            told = headline(rank_trials(trials), [""] * len(trials))
        told += _sizes_apart(every, axis)
        if told and len(sweep.targets) > 1:
            told[0] = replace(told[0], text=f"{target.full_name} {told[0].text}")
        yield from told
    if (more := len(sweep.targets) - _MOST_COMMANDS) > 0:
        yield Run(f"and {plural(more, 'other target')}")


def _sizes_apart(trials: Sequence[Trial], axis: str) -> Iterator[Run]:
    """Yield the sizes at which no configuration fits, by how the first one fails."""
    sizes = grouped((each.value(axis), each) for each in trials)
    apart = {size: each[0] for size, each in sizes.items() if not any(map(_in_table, each))}
    for outcome, members in grouped((e.outcome, e) for e in apart.values()).items():
        where = _where(axis, members, trials) or f"at {plural(len(members), 'size')}"
        yield Run(f"{_COUNTED[outcome]} {where}", "bad")


def _errors(sweep: Sweep) -> Iterator[Run]:
    """Yield which launches have errors though they fit, and the first of these errors."""
    trials = [each for each in (*sweep.trials, *sweep.outranked) if _in_table(each)]
    alike = grouped(
        (found.code, (trial, found))
        for trial in trials
        for found in trial.findings
        if found.severity == "error"
    )
    for code, members in alike.items():
        wrong = [trial for trial, _ in members]
        where = _where(sweep.axis, wrong, trials) if sweep.axis is not None else ""
        number = len({id(each) for each in wrong})
        cause, _, _ = members[0][1].message.partition(": ")
        yield Run(
            f"{code} {where or f'in {count(number)} of {count(len(trials))}'}: {cause}", "bad"
        )


def _where(axis: str, wrong: Sequence[Trial], trials: Sequence[Trial]) -> str:
    """Return the sizes of some launches: "from N=1,040 on"; "" where they are no range."""
    chosen = {size for each in wrong if (size := each.value(axis)) is not None}
    every = {size for each in trials if (size := each.value(axis)) is not None}
    if not chosen or chosen == every:
        return ""
    low, high = min(chosen), max(chosen)
    if len(chosen) == 1:
        return f"at {axis}={count(low)}"
    if chosen == {each for each in every if each >= low}:
        return f"from {axis}={count(low)} on"
    if chosen == {each for each in every if each <= high}:
        return f"up to {axis}={count(high)}"
    return ""


def _sizes(trial: Trial, sweep: Sweep) -> dict[str, ConstexprValue]:
    apart = _differing(sweep)
    return {name: value for name, value in trial.args.items() if name in apart}


def _sampled(sweep: Sweep) -> str:
    """Return "47 of 385 sizes evaluated" of a sweep that chooses its sizes; else ""."""
    if sweep.sizes is None or sweep.axis is None:
        return ""
    evaluated = len({each.value(sweep.axis) for each in sweep.trials})
    divisor = sweep.sizes.multiple_of
    multiples = f", multiples of {divisor}" if divisor > 1 else ""
    return f"{count(evaluated)} of {count(sweep.sizes.number)} sizes evaluated{multiples}"


def _chosen_settings(trial: Trial) -> dict[str, ConstexprValue]:
    chosen = _chosen(trial).items()
    return {n: value for n, value in chosen if n not in trial.args and n not in trial.fixed}


def _target(sweep: Sweep, target: Target, rows: int | None) -> nodes.Section:
    trials = sweep.on(target)
    outranked = [trial for trial in sweep.outranked if trial.target == target]
    shown = [trial for trial in trials if _in_table(trial)]
    every = [*trials, *outranked]
    names = _differing(replace(sweep, trials=every))
    children: list[Node] = list(_charts(sweep, target, shown, every, names))
    if shown and (sweep.sizes is None or not children):
        children += _table(sweep, shown, outranked, rows)
    if sweep.sizes is None:  # a point for each size says nothing new
        children += rooflines_of_trials(every, target.full_name)
    if outranked and shown:
        children.append(_outranked(sweep, shown[0], outranked))
    for outcome, title in _APART.items():
        apart = [trial for trial in trials if trial.outcome == outcome]
        if apart:
            children.append(_apart(title, apart, sweep, rows))
    aside = [sweep_verdict([*trials, *outranked])] if len(sweep.targets) > 1 else []
    aside += [_order(sweep, shown)] if len(shown) > 1 and sweep.sizes is None else []
    return nodes.Section(
        target.full_name, tuple(children), key="target", wide=True, aside=text("; ".join(aside))
    )


def _charts(
    sweep: Sweep, target: Target, shown: Sequence[Trial], every: Sequence[Trial],
    names: Sequence[str],
) -> Iterator[Node]:  # fmt: skip
    """Yield charts of the times: over the sizes, with measured rates, or else over the settings."""
    if sweep.axis is None:
        chart = time_chart(timed_trials(every, lambda each: _values(each, names)), names)
        if chart is not None:
            yield chart
        return
    if (named := named_choices(shown, sweep.axis)) is not None:  # letters, as in the headline
        yield named
    plots = [time_plot(shown, sweep.axis, target.full_name)]
    plots += [size_plot(sweep, shown)] if sweep.device is not None or plots[0] is None else []
    yield from (plot for plot in plots if plot is not None)
    ranges = ranges_table(shown, sweep.axis) if sweep.device is None else None
    if ranges is not None and (sweep.sizes is not None or len(ranges.rows) < len(shown)):
        yield ranges


def _order(sweep: Sweep, trials: Sequence[Trial]) -> str:
    """Return what the rows are ordered by: "fastest first"."""
    if sweep.sorted_by:
        return f"by {', '.join(sweep.sorted_by)}"
    if sweep.ranked_by not in (None, "time"):
        return f"best {sweep.ranked_by} first"
    size = f"by {sweep.axis}, " if sweep.axis is not None else ""
    if rank_trials(trials).is_timed:
        return f"{size}fastest first"
    return f"{size}least local memory first, then highest occupancy"


def _in_table(trial: Trial) -> bool:
    """Whether a trial is a row of the table: it fits, or it is not known that it does not."""
    return trial.outcome not in _APART


def _table(
    sweep: Sweep, trials: Sequence[Trial], outranked: Sequence[Trial], shown: int | None
) -> Iterator[Node]:
    """Yield what the configurations of a target share, and a table of what differs."""
    standings = rank_trials([*trials, *outranked]).standings[: len(trials)]
    settings = sorted(_differing(sweep), key=lambda name: name != sweep.axis)
    values = [_values(trial, settings) for trial in trials]
    listed = [
        Listed(Column(name, numbers=True), [each[index] for each in values])
        for index, name in enumerate(settings)
    ]
    narrow = sweep.axis is not None and sweep.device is not None
    listed += time_listed([of_trial(each) for each in trials], standings, narrow=narrow)
    listed += [
        Listed(column, [content(each) for each in trials])
        for column, content in size_columns(sweep, trials)
    ]
    if not narrow:
        listed += _figures(trials)
    if all(each.time_us is None for each in standings):  # the time tells what binds it
        limits = [_limits(trial) for trial in trials]
        listed.append(Listed(Column("limited by"), limits, f"limited by {limits[0]}"))
    shared, listed = without_shared(listed, f"all {count(len(trials))}")
    yield from shared
    cells = zip(*(each.cells for each in listed), strict=True)
    rows = (row(*each, note=trial.reason) for each, trial in zip(cells, trials, strict=True))
    yield nodes.Table(
        tuple(each.column for each in listed), tuple(rows), "configurations", shown=shown,
        sortable=True, noun="configuration", more=_MORE,
    )  # fmt: skip


def _figures(trials: Sequence[Trial]) -> Iterator[Listed]:
    """Yield the figures that are known of some configuration, apart from the time."""
    known = {
        name
        for trial in trials
        for name, value in (trial.figures or {}).items()
        if value is not None
    }
    for figure in figures.SWEEP_COLUMNS:
        # The time says more than what it is made from, and there is room for one of them.
        said_by_time = figure.sweep == "time" or (
            figure.sweep == "sectors_over_ideal" and "time" in known
        )
        if (figure.sweep in known or not figure.needs) and not said_by_time:
            cells = [_figure(figure, trial) for trial in trials]
            first = (trials[0].figures or {}).get(figure.sweep)
            shared = cells[0] if figure.sweep == "stages_achieved" else figure.format(first)
            said = f"{figure.short or figure.title} {shared}"
            yield Listed(Column(figure.heading, numbers=True), cells, said)


def _outranked(sweep: Sweep, first: Trial, trials: Sequence[Trial]) -> nodes.Section:
    """What ranks below the rows: by what binds the time, and how much slower than the first."""
    figure = sweep.ranked_by or ("" if sweep.sorted_by else "time")
    best = first.figure(figure)
    groups = grouped(
        ("" if trial.bound is None else BOUND_NAMES[trial.bound], trial) for trial in trials
    )
    lines = []
    known_figure = figures.SWEEP_FIGURES.get(figure)
    if known_figure is not None and known_figure.tolerance and best is not None:
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
    return nodes.Section(title, (nodes.Items(tuple(lines)),), key="outranked")


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


def _limits(trial: Trial) -> str:
    words = (limit_term(each, trial.target.vendor) for each in trial.limited_by)
    return ", ".join(each.removesuffix(" memory") for each in words) or figures.UNKNOWN


def _apart(title: str, trials: Sequence[Trial], sweep: Sweep, rows: int | None) -> nodes.Section:
    """Trials that are no row of the table, those together that share a reason."""
    groups = grouped(((trial.reason, trial.hint), trial) for trial in trials[:rows])
    children: list[Node] = [
        nodes.Items(
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
        children.append(nodes.Sentence(f"… and {left}{_MORE}", "dim"))
    counted = f"{title}: {plural(len(trials), 'configuration')}"
    return nodes.Section(counted, tuple(children), key="apart", folded=True)


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
        f"{each.figure.replace('_', ' ')} {f'{each.rho:+.2f}'.replace('-', '−')}{_of(each, sweep)}"
        for each in sweep.correlations
        if each.rho is not None
    ]


def _of(correlation: Correlation, sweep: Sweep) -> str:
    most = max(each.trials for each in sweep.correlations)
    return f" (of {count(correlation.trials)})" if correlation.trials < most else ""


def _measured(sweep: Sweep) -> str:
    number = sum(trial.timing is not None for trial in sweep.trials)
    return (
        f"rank correlation with the time of {plural(number, 'configuration')} on {sweep.device} "
        "(near 1: larger is slower, near −1: larger is faster)"
    )
