"""Constraints that a user writes: which configurations to compile, which results to show."""

import ast
from collections.abc import Collection, Mapping, Sequence

import msgspec

from irlens.compiler.calls.expressions import BUILT_IN, UnknownSizeError, evaluate
from irlens.gpus import Gpu
from irlens.model.config import ConstexprValue
from irlens.model.errors import CaptureError, IrlensError, UnknownNameError
from irlens.model.sweep import Figures, Trial

_TIME = "time_ms"
_EXAMPLE = "write a condition: num_warps >= 4 and BLOCK_SIZE_M * BLOCK_SIZE_K <= 16384"
STATIC_FIGURES = Figures.__struct_fields__
FIGURE_NAMES = (*STATIC_FIGURES, _TIME)


def target_facts(gpu: Gpu) -> dict[str, ConstexprValue]:
    """Return what a constraint may use of a GPU: every limit that ``irlens targets`` knows."""
    limits = {
        name: value
        for name, value in msgspec.structs.asdict(gpu.arch).items()
        if name != "name" and isinstance(value, bool | int | str | None)
    }
    return {**limits, "target": gpu.name, "arch": gpu.arch.name, "sm_count": gpu.sm_count}


def figures_of(trial: Trial) -> dict[str, ConstexprValue]:
    """Return the figures of a result by name; all are unknown where nothing was made."""
    made = msgspec.structs.asdict(trial.figures) if trial.figures is not None else {}
    median = trial.timing.median_ms if trial.timing is not None else None
    return {**dict.fromkeys(FIGURE_NAMES), **made, _TIME: median}


def check(constraints: Sequence[str], known: Collection[str], option: str) -> None:
    """Check constraints before there is anything to hold them against.

    Args:
        constraints: Expressions.
        known: The names they may use.
        option: Where they were written, to be named in an error.

    Raises:
        UnknownNameError: A constraint uses another name.
        IrlensError: One is no expression.
    """
    for constraint in constraints:
        for name in _names(constraint, option):
            if name not in known and name not in BUILT_IN:
                raise UnknownNameError(f"name in {option}", name, known)


def passes(trial: Trial, filters: Sequence[str]) -> bool:
    """Whether a result meets every filter."""
    names = {**trial.settings, **trial.args, **figures_of(trial)}
    return allows(filters, names, "--filter")


def waits_for_time(constraint: str) -> bool:
    """Whether a filter speaks of the measured time."""
    return _TIME in _names(constraint, "--filter")


def allows(constraints: Sequence[str], names: Mapping[str, ConstexprValue], option: str) -> bool:
    """Whether every constraint holds. One that meets an unknown value does not.

    Args:
        constraints: Expressions, as ``values.evaluate`` takes them.
        names: What they may use; ``None`` is "unknown".
        option: Where they were written, to be named in an error.

    Raises:
        UnknownNameError: A constraint uses a name that does not exist.
        IrlensError: A constraint cannot be evaluated.
    """
    return all(_holds(constraint, names, option) for constraint in constraints)


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
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        told = error.msg if isinstance(error, SyntaxError) else error
        raise IrlensError(
            f"{option}: '{constraint}' is not an expression: {told}", hint=_EXAMPLE
        ) from error
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
