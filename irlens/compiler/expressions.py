"""The arithmetic that relates the values of a kernel's description."""

import ast
import re
from collections.abc import Mapping
from typing import TypeAlias, TypeGuard

import simpleeval

from irlens.compiler.dtypes import DTYPES, LANGUAGE
from irlens.model.config import ConstexprValue
from irlens.model.errors import CaptureError

Names: TypeAlias = Mapping[str, ConstexprValue]

#: A layout of Gluon's, as Python writes it.
_LAYOUT = re.compile(r"[\w.]*Layout(?:\.\w+)?\(.*\)", re.DOTALL)
_LONGEST_EXPRESSION = 400  # characters; Python's parser recurses on nested brackets


def evaluate(expression: ConstexprValue, names: Names, where: str) -> ConstexprValue:
    """Return the value of an expression of a kernel's description.

    Args:
        expression: A number, or Python arithmetic over ``names``, the dtypes, ``cdiv``,
            ``next_power_of_2``, ``min`` and ``max``. Nothing else can be reached from it. The text
            of a layout is itself.
        names: Sizes, constexprs and the like.
        where: What the expression is for, to be named in an error.

    Raises:
        CaptureError: It cannot be evaluated.
        UnknownSizeError: It uses a name that has no value.
    """
    if not isinstance(expression, str) or is_layout(expression):
        return expression
    dtypes = {name: LANGUAGE + dtype.language for name, dtype in DTYPES.items()}
    if len(expression) > _LONGEST_EXPRESSION:
        raise CaptureError(f"{where}: an expression longer than {_LONGEST_EXPRESSION} characters")
    names_and_dtypes = {**dtypes, **names}
    # With its compound types, so that `num_warps in (4, 8)` can be asked.
    evaluator = simpleeval.EvalWithCompoundTypes(names=names_and_dtypes, functions={**_FUNCTIONS})
    try:
        # Left to parse by itself, it only warns of `a = 1` and `a; b` and takes a part of them.
        tree = ast.parse(expression.strip(), mode="eval").body
        value: object = evaluator.eval(expression, previously_parsed=tree)
    except simpleeval.NameNotDefined as error:
        raise UnknownSizeError(str(error.name), expression, where, names) from error
    except (
        simpleeval.InvalidExpression,
        SyntaxError,
        ArithmeticError,
        TypeError,
        ValueError,
        AttributeError,
        RecursionError,
        MemoryError,
    ) as error:
        # Python's own complaint would name a file, "<unknown>", and a line.
        told = error.msg if isinstance(error, SyntaxError) else error
        raise CaptureError(f"{where}: cannot evaluate '{expression}': {told}") from error
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise CaptureError(f"{where}: '{expression}' is a {type(value).__name__}, not a number")


class UnknownSizeError(CaptureError):
    """An expression that uses a name without a value."""

    def __init__(self, name: str, expression: str, where: str, names: Names) -> None:
        super().__init__(
            f"{where}: '{expression}' needs a value of '{name}'",
            hint=f"known here: {', '.join(sorted(names))}" if names else None,
        )
        self.name = name


def extent_of(written: int | str, names: Names, where: str) -> int:
    """Return the extent of a dimension."""
    extent = evaluate(written, names, where)
    if not isinstance(extent, int) or isinstance(extent, bool) or extent < 0:
        raise CaptureError(f"{where}: the extent '{written}' is not a whole number")
    return extent


def is_layout(value: ConstexprValue) -> TypeGuard[str]:
    """Whether a constexpr value is the text of one of Gluon's layouts."""
    return isinstance(value, str) and _LAYOUT.fullmatch(value.strip()) is not None


def _cdiv(a: int, b: int) -> int:
    """Divide and round up."""
    return -(-a // b)


def _next_power_of_2(n: int) -> int:
    """Return the smallest power of two that is not below ``n``."""
    return 1 << max(n - 1, 0).bit_length()


_FUNCTIONS = {"cdiv": _cdiv, "next_power_of_2": _next_power_of_2, "min": min, "max": max}

#: What every expression may use beside the names it is given.
BUILT_IN = frozenset({*DTYPES, *_FUNCTIONS})
