"""Arithmetic expressions over sizes, constexprs and options."""

import ast
import re
from collections.abc import Mapping
from functools import reduce
from typing import TYPE_CHECKING, TypeAlias, TypeGuard

import simpleeval

from irlens.compiler.calls.dtypes import DTYPE_PREFIX, DTYPES
from irlens.model.config import ConstexprValue
from irlens.model.errors import CaptureError

if TYPE_CHECKING:  # imported where many values are evaluated
    import numpy as np

Names: TypeAlias = Mapping[str, ConstexprValue]

#: A Gluon layout in Python syntax.
LAYOUT_PATTERN = r"[\w.]*Layout(?:\.\w+)?\(.*\)"
_MAX_LENGTH = 400  # characters; Python's parser recurses on nested brackets
#: Exceptions of an invalid expression.
_ERRORS = (
    simpleeval.InvalidExpression,
    SyntaxError,
    ArithmeticError,
    TypeError,
    ValueError,
    AttributeError,
    RecursionError,
    MemoryError,
)


def evaluate(expression: ConstexprValue, names: Names, where: str) -> ConstexprValue:
    """Return the value of an expression.

    Args:
        expression: A number, or Python arithmetic over ``names``, the dtypes, ``cdiv``,
            ``next_power_of_2``, ``min`` and ``max``; nothing else is reachable from it. The text
            of a layout evaluates to itself.
        names: Sizes, constexprs and options by name.
        where: Prefix for error messages: what the expression is for.

    Raises:
        CaptureError: The expression is invalid.
        UnknownSizeError: It uses a name that has no value.
    """
    if not isinstance(expression, str) or is_layout(expression):
        return expression
    if len(expression) > _MAX_LENGTH:
        raise CaptureError(f"{where}: expression longer than {_MAX_LENGTH} characters")
    dtypes = {name: DTYPE_PREFIX + dtype.language for name, dtype in DTYPES.items()}
    # Compound types allow `num_warps in (4, 8)`.
    evaluator = simpleeval.EvalWithCompoundTypes(
        names={**dtypes, **names}, functions={**_FUNCTIONS}
    )
    try:
        # simpleeval's own parsing only warns about `a = 1` and `a; b`, and evaluates a part.
        tree = ast.parse(expression.strip(), mode="eval").body
        value: object = evaluator.eval(expression, previously_parsed=tree)
    except simpleeval.NameNotDefined as error:
        raise UnknownSizeError(str(error.name), expression, where, names) from error
    except _ERRORS as error:
        # str() of a SyntaxError would name the file "<unknown>" and a line.
        reason = error.msg if isinstance(error, SyntaxError) else error
        raise CaptureError(f"{where}: cannot evaluate '{expression}': {reason}") from error
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise CaptureError(f"{where}: '{expression}' is a {type(value).__name__}, not a number")


def evaluate_each(
    expression: str, names: "Mapping[str, ConstexprValue | np.ndarray]", where: str
) -> "np.ndarray":
    """Return the values of an expression of whole numbers, some of which are arrays.

    Raises:
        CaptureError: The expression is invalid, or needs what arrays do not have: a condition.
    """
    import numpy as np

    functions = {
        "cdiv": _cdiv, "next_power_of_2": _each_power_of_2,
        "min": lambda *each: reduce(np.minimum, each),
        "max": lambda *each: reduce(np.maximum, each),
    }  # fmt: skip
    evaluator = simpleeval.SimpleEval(names={**names}, functions=functions)
    try:
        tree = ast.parse(expression.strip(), mode="eval").body
        value = np.asarray(evaluator.eval(expression, previously_parsed=tree))
    except (*_ERRORS, simpleeval.NameNotDefined) as error:
        raise CaptureError(f"{where}: cannot be evaluated for many values at once") from error
    if value.dtype.kind not in "bi":
        raise CaptureError(f"{where}: is not a whole number")
    return value.astype(np.int64)


class UnknownSizeError(CaptureError):
    """An expression uses a name that has no value."""

    def __init__(self, name: str, expression: str, where: str, names: Names) -> None:
        super().__init__(
            f"{where}: '{expression}' needs a value of '{name}'",
            hint=f"known here: {', '.join(sorted(names))}" if names else None,
        )
        self.name = name


def evaluate_extent(expression: int | str, names: Names, where: str) -> int:
    """Return the extent of a dimension.

    Raises:
        CaptureError: The expression is invalid or its value is not a whole number.
    """
    extent = evaluate(expression, names, where)
    if not isinstance(extent, int) or isinstance(extent, bool) or extent < 0:
        value = extent if isinstance(extent, int | float) else "no number"
        raise CaptureError(f"{where}: the extent '{expression}' is {value}, not a whole number ≥ 0")
    return extent


def is_layout(value: ConstexprValue) -> TypeGuard[str]:
    """Whether a constexpr value is the text of a Gluon layout."""
    return (
        isinstance(value, str)
        and re.fullmatch(LAYOUT_PATTERN, value.strip(), re.DOTALL) is not None
    )


def _cdiv(a: int, b: int) -> int:
    """Divide and round up."""
    return -(-a // b)


def _next_power_of_2(n: int) -> int:
    """Return the smallest power of two that is at least ``n``."""
    return 1 << max(n - 1, 0).bit_length()


def _each_power_of_2(numbers: "np.ndarray | int") -> "np.ndarray":
    """Return ``_next_power_of_2`` of each number."""
    import numpy as np

    numbers = np.asarray(numbers, dtype=np.int64)
    powers = np.int64(1) << np.arange(63, dtype=np.int64)
    return powers[np.searchsorted(powers, numbers)]


_FUNCTIONS = {"cdiv": _cdiv, "next_power_of_2": _next_power_of_2, "min": min, "max": max}

#: Names that every expression may use in addition to those passed in.
BUILT_IN = frozenset({*DTYPES, *_FUNCTIONS})
