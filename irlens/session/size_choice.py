"""The fastest configurations of a sweep, for a program to use: a Python module, or a list."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from irlens.model.errors import IrlensError
from irlens.model.estimate import RESOLUTION
from irlens.model.size_ranges import choices
from irlens.model.sweep import Sweep, Trial
from irlens.model.text import percent
from irlens.sweeps.selection import config_of

_ENDINGS = (".py", ".json")


class Choice(msgspec.Struct, frozen=True, omit_defaults=True):
    """A configuration, as arguments of ``triton.Config``, and the sizes that it is for."""

    config: dict[str, object]
    first: int | None = None
    last: int | None = None


def require_choice(destination: Path) -> None:
    """Raise ``IrlensError`` for a file that the configurations cannot be written to."""
    if destination.suffix not in _ENDINGS:
        raise IrlensError(f"--emit {destination}: its name ends neither in .py nor in .json")


def choice_text(sweep: Sweep, destination: Path) -> str:
    """Return the fastest configurations: JSON, or a module if the file's name ends in ".py".

    Raises:
        IrlensError: No time is known, or the sweep has several targets.
    """
    if len(sweep.targets) > 1:
        raise IrlensError("--emit writes the configurations of one GPU: name one --target")
    if not all(each.isidentifier() for each in (sweep.kernel, sweep.axis or "n")):
        raise IrlensError(f"--emit: {sweep.kernel} or {sweep.axis} is no name in Python")
    found = _over_sizes(sweep) if sweep.axis is not None else _fastest(sweep.trials)
    if not found:
        reason = next((each.untimed for each in sweep.trials if each.untimed), "")
        raise IrlensError(f"--emit: no configuration has a time{reason and f': {reason}'}")
    if destination.suffix == ".json":
        named = {"kernel": sweep.kernel, "target": sweep.targets[0].name, "size": sweep.axis}
        written = msgspec.to_builtins({**named, "choices": found})
        return msgspec.json.format(msgspec.json.encode(written), indent=2).decode() + "\n"
    return _module(sweep, found)


def _over_sizes(sweep: Sweep) -> list[Choice]:
    axis = sweep.axis or ""
    return [
        Choice(config_of(each.settings), each.trials[0].value(axis), each.trials[-1].value(axis))
        for each in choices(sweep.trials, axis)
    ]


def _fastest(trials: Sequence[Trial]) -> list[Choice]:
    """Return the configurations that are the fastest or as fast, the fastest first."""
    marked = [each for each in trials if each.standing is not None and each.standing.is_marked]
    marked.sort(key=lambda each: each.standing.over_fastest or 1.0 if each.standing else 1.0)
    return [Choice(config_of(each.settings)) for each in marked]


def _module(sweep: Sweep, found: Sequence[Choice]) -> str:
    """Return a Python module with the configurations, and over a size a function that chooses."""
    how = "measured on" if sweep.device is not None else "estimated by irlens for"
    written = dict.fromkeys(_written(each) for each in found)
    listed = "".join(f"    {each},\n" for each in written)
    within = percent(RESOLUTION).replace("\u202f", " ")
    lines = [
        f'"""The fastest configurations of {sweep.kernel}, {how} {sweep.targets[0].name}."""\n\n',
        "import triton\n\n",
        f"#: Each is the fastest or within {within} of it. For @triton.autotune.\n",
        f"CONFIGS = [\n{listed}]\n",
    ]
    if sweep.axis is not None:
        places = list(written)
        spans = "".join(f"    ({e.last}, CONFIGS[{places.index(_written(e))}]),\n" for e in found)
        lines += [
            f"#: The largest {sweep.axis} of each range, and the configuration to choose.\n",
            f"CHOICES = [\n{spans}]\n\n\n",
            f"def best_config({sweep.axis}: int) -> triton.Config:\n",
            f'    """Return the configuration to launch {sweep.kernel} with."""\n',
            "    for last, config in CHOICES:\n",
            f"        if {sweep.axis} <= last:\n            return config\n",
            "    return CHOICES[-1][1]\n",
        ]
    return "".join(lines)


def _written(choice: Choice) -> str:
    """Return a call of ``triton.Config``."""
    config = dict(choice.config)
    constexprs: object = config.pop("kwargs", {})
    options = "".join(f", {name}={value!r}" for name, value in config.items())
    return f"triton.Config({constexprs!r}{options})"
