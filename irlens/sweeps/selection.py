"""Selects configurations to compile and results to show, by constraints and sort keys.

A constraint is an expression that a user writes after ``--where`` or ``--filter``.
"""

import ast
from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence

import msgspec

from irlens.compiler.calls.expressions import BUILT_IN, UnknownSizeError, evaluate
from irlens.figures import SWEEP_FIGURES
from irlens.gpus import Gpu
from irlens.model import files
from irlens.model.config import LAUNCH_OPTIONS, ConstexprValue, Target, identity_of
from irlens.model.errors import CaptureError, IrlensError, UnknownNameError
from irlens.model.ranking import problem_of_trial, rank_trials
from irlens.model.sweep import OUTCOMES, Trial

_TIME = "time_ms"
_EXAMPLE = "write a condition: num_warps >= 4 and BLOCK_SIZE_M * BLOCK_SIZE_K <= 16384"
STATIC_FIGURES = tuple(SWEEP_FIGURES)
#: Known where the time was measured.
_MEASURED = (_TIME, "gb_per_s", "tflop_per_s", "roofline_share")
FIGURE_NAMES = (*STATIC_FIGURES, *_MEASURED)
#: The order of configurations whose times are unknown or equal. A minus sorts the largest first.
#: Spills come before occupancy: a compiler with a cap on registers buys occupancy with spills.
UNTIMED_ORDER = ("local_bytes", "-occupancy", "-stages_achieved", "registers")


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """What a user selects of a grid.

    Attributes:
        sort: Names of figures; a leading minus sorts the largest first.
        rank: The figure that ranks results instead; its better values come first.
        top: Results to keep on each target, of those that fit; ``None`` for all.
    """

    where: tuple[str, ...] = ()
    filters: tuple[str, ...] = ()
    sort: tuple[str, ...] = ()
    rank: str | None = None
    top: int | None = None

    @property
    def order(self) -> tuple[str, ...]:
        """The sort keys, those of the rank among them; none for the order by time."""
        if self.rank is None or self.rank == "time":
            return self.sort
        return (f"-{self.rank}" if SWEEP_FIGURES[self.rank].better == "more" else self.rank,)


def target_facts(gpu: Gpu) -> dict[str, ConstexprValue]:
    """Return a GPU's facts that a constraint may use: every limit that ``irlens targets`` lists."""
    limits = {
        name: value
        for name, value in msgspec.structs.asdict(gpu.arch).items()
        if name != "name" and isinstance(value, bool | int | str | None)
    }
    return {**limits, "target": gpu.name, "arch": gpu.arch.name, "sm_count": gpu.sm_count}


def figures_of(trial: Trial) -> dict[str, ConstexprValue]:
    """Return a trial's figures by name; ``None`` where unknown."""
    median = trial.timing.median_ms if trial.timing is not None else None
    rate = msgspec.structs.asdict(trial.rate) if trial.rate is not None else {}
    return {**dict.fromkeys(FIGURE_NAMES), **(trial.figures or {}), **rate, _TIME: median}


def check_names(constraints: Sequence[str], known: Collection[str], option: str) -> None:
    """Check the names in constraints before there are values to evaluate them with.

    Raises:
        UnknownNameError: A constraint uses another name.
        IrlensError: A constraint is not an expression.
    """
    for constraint in constraints:
        for name in _names(constraint, option):
            if name not in known and name not in BUILT_IN:
                raise UnknownNameError(f"name in {option}", name, known)


def check_keys(keys: Sequence[str]) -> None:
    """Raise ``UnknownNameError`` where a sort key is not a figure."""
    for key in keys:
        if key.removeprefix("-") not in FIGURE_NAMES:
            raise UnknownNameError("figure in --sort", key.removeprefix("-"), FIGURE_NAMES)


def check_rank(figure: str | None) -> None:
    """Raise an error where a rank is not a figure, or one that is neither better nor worse."""
    if figure is None:
        return
    ranking = [name for name, each in SWEEP_FIGURES.items() if each.better is not None]
    if figure not in ranking:
        raise UnknownNameError("figure in --rank", figure, ranking)


def passes(trial: Trial, filters: Sequence[str]) -> bool:
    """Return whether a result meets every filter."""
    names = {**trial.settings, **trial.args, **figures_of(trial)}
    return allows(filters, names, "--filter")


def needs_time(constraint: str) -> bool:
    """Return whether a filter uses the measured time, or what it achieves."""
    return not _names(constraint, "--filter").isdisjoint(_MEASURED)


def allows(constraints: Sequence[str], names: Mapping[str, ConstexprValue], option: str) -> bool:
    """Return whether every constraint holds; one with an unknown value does not.

    Args:
        constraints: Expressions, as ``expressions.evaluate`` takes them.
        names: Values of the names they may use; ``None`` is "unknown".

    Raises:
        UnknownNameError: A constraint uses a name that does not exist.
        IrlensError: A constraint cannot be evaluated.
    """
    return all(_holds(constraint, names, option) for constraint in constraints)


def sort_trials(
    trials: Sequence[Trial],
    targets: Sequence[Target],
    keys: Sequence[str] = (),
    axis: str | None = None,
) -> list[Trial]:
    """Sort trials by target, then by outcome, then by the keys.

    Equal trials keep their order. Unknown figures come last. Without keys the fastest comes first;
    with an ``axis``, its size comes before that: times of other sizes do not compare.
    """

    def rank(trial: Trial) -> tuple[object, ...]:
        figures = figures_of(trial)
        size = trial.value(axis) if axis is not None and not keys else 0
        by_keys = (_rank(key, figures[key.removeprefix("-")]) for key in keys or UNTIMED_ORDER)
        return targets.index(trial.target), OUTCOMES.index(trial.outcome), size or 0, *by_keys

    ordered = sorted(trials, key=rank)
    if keys:
        return ordered
    places = {index: place for place, index in enumerate(rank_trials(ordered).order)}
    indexes = sorted(range(len(ordered)), key=lambda n: (*rank(ordered[n])[:3], places[n]))
    return [ordered[index] for index in indexes]


def split_top(trials: Sequence[Trial], top: int | None) -> tuple[list[Trial], list[Trial]]:
    """Split sorted trials into those to keep and those that fit but rank lower.

    ``top`` counts on each target, and for each size: times of other sizes do not compare.
    """
    kept: list[Trial] = []
    outranked: list[Trial] = []
    places: Counter[Hashable] = Counter()
    for trial in trials:
        problem = problem_of_trial(trial)
        fits = trial.outcome == "fits"
        places[problem] += fits
        beyond = fits and top is not None and places[problem] > top
        (outranked if beyond else kept).append(trial)
    return kept, outranked


def size_axis(trials: Sequence[Trial]) -> str | None:
    """Return the size or argument that varies, if all other arguments follow from it."""
    different = {identity_of(each.args): each for each in trials}
    names = dict.fromkeys(name for each in different.values() for name in each.args)
    for name in sorted(names, key=lambda each: "stride" in each):  # a stride follows from a size
        values = {each.value(name) for each in different.values()}
        if len(different) > 1 and None not in values and len(values) == len(different):
            return name
    return None


def prune_list(trials: Sequence[Trial], kept: Sequence[Trial]) -> list[dict[str, object]]:
    """Return the configurations that fit, as arguments of ``triton.Config``, for an autotuner.

    Args:
        trials: All results: a configuration has to fit on each target and with all arguments.
        kept: The results that the filters keep; a configuration of which one is filtered out is
            left out. Their order is the list's.
    """
    kept_keys = {_key(trial) for trial in kept}
    left_out = {
        _settings_key(trial)
        for trial in trials
        if trial.outcome != "fits" or _key(trial) not in kept_keys
    }
    fitting = {_settings_key(trial): trial.settings for trial in kept}
    return [config_of(settings) for key, settings in fitting.items() if key not in left_out]


def _key(trial: Trial) -> bytes:
    identity = trial.target, trial.triton, trial.settings, trial.args
    return identity_of(identity)


def _settings_key(trial: Trial) -> bytes:
    return identity_of(trial.settings)


def config_of(settings: dict[str, ConstexprValue]) -> dict[str, object]:
    """Return settings as arguments of ``triton.Config``."""
    options = {name: settings[name] for name in LAUNCH_OPTIONS if settings.get(name) is not None}
    kwargs = {name: value for name, value in settings.items() if name not in LAUNCH_OPTIONS}
    return {"kwargs": kwargs, **options}


def _rank(key: str, value: ConstexprValue) -> tuple[bool, float]:
    if not isinstance(value, int | float):
        return True, 0.0
    return False, -value if key.startswith("-") else value


def _holds(constraint: str, names: Mapping[str, ConstexprValue], option: str) -> bool:
    try:
        return bool(evaluate(constraint, names, option))
    except UnknownSizeError as error:
        raise UnknownNameError(f"name in {option}", error.name, names) from error
    except CaptureError as error:
        unknown = {name for name, value in names.items() if value is None}
        if isinstance(error.__cause__, TypeError) and unknown & _names(constraint, option):
            return False
        raise IrlensError(error.message, hint=_EXAMPLE) from error


def _names(constraint: str, option: str) -> set[str]:
    try:
        tree = ast.parse(constraint.strip(), mode="eval")
    except files.PARSE_ERRORS as error:
        fault = error.msg if isinstance(error, SyntaxError) else error
        raise IrlensError(
            f"{option}: '{constraint}' is not an expression: {fault}", hint=_EXAMPLE
        ) from error
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
