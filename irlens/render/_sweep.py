"""A sweep in words: the cells and sentences that every format for people shows."""

from collections import Counter
from collections.abc import Sequence

from irlens.figures import SWEEP_COLUMNS, Figure
from irlens.model.config import ConstexprValue, Target
from irlens.model.sweep import OUTCOMES, Correlation, Sweep, Trial
from irlens.model.text import count, plural
from irlens.model.words import depth_in_short, limit_word

UNKNOWN = "–"
_TRITON = "Triton"
#: What a configuration that is no row of the table is listed under.
TITLES = {"does not fit": "Too big", "failed": "Failed", "died": "Died"}
_TOLD = {
    "unknown": "with unknown occupancy",
    "does not fit": "too big",
    "failed": "failed",
    "died": "died with their worker",
}


def columns(sweep: Sweep) -> list[str]:
    """Return the titles of the table's figures. Where nothing spills there is no column for it."""
    time = ["ms"] if sweep.device is not None else []
    return [*time, *(figure.heading for figure in _figures(sweep)), "limited by"]


def cells(trial: Trial, sweep: Sweep) -> list[str]:
    """Return a trial's figures under the titles of ``columns``."""
    time = [_time(trial)] if sweep.device is not None else []
    return [*time, *(_cell(trial, figure) for figure in _figures(sweep)), _limits(trial)]


def _figures(sweep: Sweep) -> list[Figure]:
    spills = not no_local_memory(sweep)
    return [each for each in SWEEP_COLUMNS if spills or each.sweep != "local_bytes"]


def _cell(trial: Trial, figure: Figure) -> str:
    values = trial.figures or {}
    if figure.sweep != "stages_achieved":
        return figure.cell(values.get(figure.sweep))
    requested = figure.cell(values.get("stages_requested"))
    achieved, at_most = (
        None if value is None else int(value)
        for value in (values.get(figure.sweep), values.get("stages_at_most"))
    )
    return depth_in_short(achieved, at_most, requested) or UNKNOWN


def no_local_memory(sweep: Sweep) -> bool:
    """Whether no configuration in the tables uses local memory."""
    made = [trial.figures for trial in sweep.trials if in_table(trial)]
    return all(figures is not None and figures["local_bytes"] == 0 for figures in made)


def in_table(trial: Trial) -> bool:
    """Whether a trial is a row of the table: it fits, or it is not known that it does not."""
    return trial.outcome not in TITLES


def name(trial: Trial, sweep: Sweep) -> str:
    """Return what a trial is called: what sets it apart, or the kernel if nothing does."""
    return trial.label or sweep.kernel


def by_reason(trials: Sequence[Trial]) -> list[list[Trial]]:
    """Return trials that did not make it, those together that did not for the same reason."""
    groups: dict[tuple[str, str], list[Trial]] = {}
    for trial in trials:
        groups.setdefault((trial.reason, trial.hint), []).append(trial)
    return list(groups.values())


def described(group: Sequence[Trial], sweep: Sweep) -> list[str]:
    """Return which trials a group is: "9 configurations, all with BLOCK=48", or each one's name.

    It is said so only where no other trial of the target has what these have in common.
    """
    if len(group) > 1:
        first, *others = map(_chosen, group)
        shared = {
            name: first.get(name)
            for name in differing(sweep)
            if all(other.get(name) == first.get(name) for other in others)
        }
        alike = [t for t in sweep.on(group[0].target) if shared.items() <= _chosen(t).items()]
        if shared and len(alike) == len(group):
            told = " ".join(f"{name}={value}" for name, value in shared.items())
            return [f"{plural(len(group), 'configuration')}, all with {told}"]
    return [name(trial, sweep) for trial in group]


def verdict(trials: Sequence[Trial]) -> str:
    """Return "12 of 20 fit, 6 too big, 2 failed"."""
    outcomes = Counter(trial.outcome for trial in trials)
    told = [f"{count(outcomes['fits'])} of {count(len(trials))} fit"]
    told += [
        f"{count(outcomes[outcome])} {_TOLD[outcome]}"
        for outcome in OUTCOMES
        if outcome != "fits" and outcomes[outcome]
    ]
    return ", ".join(told)


def remark(sweep: Sweep) -> list[str]:
    """Return what no column says because it is the same in each row."""
    return (
        ["no local memory"] if no_local_memory(sweep) and any(map(in_table, sweep.trials)) else []
    )


def left_out(sweep: Sweep) -> list[str]:
    """Return what is not among the trials: "8 left out by --where"."""
    return [
        f"{count(number)} left out by {option}"
        for number, option in ((sweep.excluded, "--where"), (sweep.filtered, "--filter"))
        if number
    ]


def target_name(target: Target) -> str:
    """Return "sm_90 (h100)"."""
    return f"{target.arch} ({target.product})" if target.product else target.arch


def differing(sweep: Sweep) -> list[str]:
    """Return the settings and arguments, and the compiler, that are not the same in all trials."""
    each = [_chosen(trial) for trial in sweep.trials]
    names = dict.fromkeys(name for chosen in each for name in chosen)
    return [name for name in names if len({repr(chosen.get(name)) for chosen in each}) > 1]


def common(sweep: Sweep) -> str:
    """Return what all trials share: "GROUP_SIZE_M=8"; "" where that is nothing."""
    if not sweep.trials:
        return ""
    apart = differing(sweep)
    shared = {n: v for n, v in _chosen(sweep.trials[0]).items() if n not in apart}
    return " ".join(f"{name}={value}" for name, value in shared.items() if value is not None)


def values(trial: Trial, names: Sequence[str]) -> list[str]:
    """Return the values of what ``differing`` names."""
    chosen = _chosen(trial)
    return [str(chosen[name]) if name in chosen else UNKNOWN for name in names]


def told_correlations(sweep: Sweep) -> list[str]:
    """Return how each figure goes with the time: "occupancy −0.52"."""
    return [
        f"{each.figure.replace('_', ' ')} {_rho(each.rho)}{_of(each, sweep)}"
        for each in sweep.correlations
        if each.rho is not None
    ]


def measured(sweep: Sweep) -> str:
    """Return "rank correlation with the time of 12 configurations on NVIDIA H200"."""
    number = sum(trial.timing is not None for trial in sweep.trials)
    return (
        f"rank correlation with the time of {plural(number, 'configuration')} on {sweep.device} "
        "(near 1: the larger the slower, near −1: the larger the faster)"
    )


def _chosen(trial: Trial) -> dict[str, ConstexprValue]:
    chosen = {**trial.settings, **trial.args}
    if trial.triton is None:
        return chosen
    # A constexpr may be called like it: then it is told apart.
    users = {f"setting {name}" if name == _TRITON else name: chosen[name] for name in chosen}
    return {_TRITON: trial.triton, **users}


def _rho(rho: float) -> str:
    return f"{rho:+.2f}".replace("-", "−")


def _of(correlation: Correlation, sweep: Sweep) -> str:
    most = max(each.trials for each in sweep.correlations)
    return f" (of {count(correlation.trials)})" if correlation.trials < most else ""


def _time(trial: Trial) -> str:
    return UNKNOWN if trial.timing is None else f"{trial.timing.median_ms:.4g}"


def _limits(trial: Trial) -> str:
    words = (limit_word(each, trial.target.vendor) for each in trial.limited_by)
    return ", ".join(each.removesuffix(" memory") for each in words) or UNKNOWN
