"""The configurations that fit, for an autotuner to choose from."""

from collections.abc import Sequence

import msgspec

from irlens.model.config import ConstexprValue
from irlens.model.sweep import Trial

#: What ``triton.Config`` takes by name; everything else goes into its ``kwargs``.
_OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")


def prune_list(trials: Sequence[Trial], kept: Sequence[Trial]) -> list[dict[str, object]]:
    """Return the configurations that fit wherever they were tried, as ``triton.Config`` takes them.

    Args:
        trials: All results: a configuration has to fit on each target and with all arguments.
        kept: Those that the user's filters leave; they have to leave each of it, too. Their
            order is the list's.
    """
    there = {id(trial) for trial in kept}
    left_out = {
        _key(trial) for trial in trials if trial.outcome != "fits" or id(trial) not in there
    }
    fitting = {_key(trial): trial.settings for trial in kept if _key(trial) not in left_out}
    return [_entry(settings) for settings in fitting.values()]


def _key(trial: Trial) -> bytes:
    return msgspec.msgpack.encode(trial.settings, order="sorted")


def _entry(settings: dict[str, ConstexprValue]) -> dict[str, object]:
    options = {name: settings[name] for name in _OPTIONS if settings.get(name) is not None}
    kwargs = {name: value for name, value in settings.items() if name not in _OPTIONS}
    return {"kwargs": kwargs, **options}
