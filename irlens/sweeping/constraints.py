"""Constraints that a user writes: which configurations to compile, which results to show."""

import ast
from collections.abc import Mapping, Sequence

import msgspec

from irlens.arch import Gpu
from irlens.capturing.values import UnknownSizeError, evaluate
from irlens.model.config import ConstexprValue
from irlens.model.errors import CaptureError, IrlensError, UnknownNameError
from irlens.model.sweep import Figures, Trial

#: What a constraint on results may use beside the figures.
_TIME = "time_ms"
FIGURE_NAMES = (*Figures.__struct_fields__, _TIME)


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
        if isinstance(error.__cause__, TypeError) and _uses_unknown(constraint, names):
            return False
        raise IrlensError(
            error.message,
            hint="write a condition: num_warps >= 4 and BLOCK_SIZE_M * BLOCK_SIZE_K <= 16384",
        ) from error


def _uses_unknown(constraint: str, names: Mapping[str, ConstexprValue]) -> bool:
    used = (
        node.id for node in ast.walk(ast.parse(constraint.strip())) if isinstance(node, ast.Name)
    )
    return any(name in names and names[name] is None for name in used)
