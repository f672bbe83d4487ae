"""Which result comes first, and what sets one configuration apart from the others."""

from collections.abc import Sequence

from irlens.model.config import ConstexprValue, Target
from irlens.model.errors import UnknownNameError
from irlens.model.sweep import OUTCOMES, Trial
from irlens.sweep.constraints import FIGURE_NAMES, figures_of

#: A minus is "the largest first". The time is there only where it was measured. Spills come before
#: occupancy, which a compiler that was told to keep registers few buys with them.
DEFAULT_ORDER = ("time_ms", "local_bytes", "-occupancy", "-stages_achieved", "registers")


def check_keys(keys: Sequence[str]) -> None:
    """Raise ``UnknownNameError`` where a key is no figure."""
    for key in keys:
        if key.removeprefix("-") not in FIGURE_NAMES:
            raise UnknownNameError("figure in --sort", key.removeprefix("-"), FIGURE_NAMES)


def ordered(trials: Sequence[Trial], targets: Sequence[Target], keys: Sequence[str]) -> list[Trial]:
    """Return the trials by target; within one what fits first, then by the keys.

    Where the keys leave two equal, they stay in the order they were asked for; a figure that is
    not known comes after all that are.
    """

    def rank(trial: Trial) -> tuple[object, ...]:
        figures = figures_of(trial)
        by_keys = (_rank(key, figures[key.removeprefix("-")]) for key in keys)
        return targets.index(trial.target), OUTCOMES.index(trial.outcome), *by_keys

    return sorted(trials, key=rank)


def _rank(key: str, value: ConstexprValue) -> tuple[bool, float]:
    if not isinstance(value, int | float):
        return True, 0.0
    return False, -value if key.startswith("-") else value


def labels(values: Sequence[dict[str, ConstexprValue]]) -> list[str]:
    """Return what sets each configuration apart: "num_warps=4 BLOCK=64"; "" if nothing does.

    Args:
        values: The settings and arguments of each.
    """
    names = dict.fromkeys(name for each in values for name in each)
    differing = [name for name in names if len({repr(each.get(name)) for each in values}) > 1]
    return [
        " ".join(f"{name}={each[name]}" for name in differing if name in each) for each in values
    ]
