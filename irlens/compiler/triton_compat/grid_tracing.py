"""A program's grid function as expressions: called once more with symbols for the constexprs.

Triton calls ``grid(meta)`` with the numbers of one configuration. Called with symbols instead, the
same function tells how its grid follows from them: every operation of a symbol is written down,
and where the function branches on one, both branches are followed. What a symbol cannot do ends
the tracing: the grid of other configurations is then unknown. So it is for a function that does
more than compute.
"""

import dis
from collections.abc import Callable, Collection, Mapping, Sequence
from types import FunctionType
from typing import Any

from irlens.compiler.calls.binding import evaluate_formula
from irlens.model.config import GridFormula
from irlens.model.errors import CaptureError

#: Branches on symbols that are followed, and characters of an expression.
_MOST_BRANCHES, _LONGEST = 4, 400
_AXES = 3
#: Instructions that change something beyond the function's own variables.
_EFFECTS = ("STORE_GLOBAL", "STORE_ATTR", "STORE_SUBSCR", "STORE_DEREF", "DELETE_", "IMPORT_",
            "YIELD_", "SEND")  # fmt: skip
#: Instructions that may stand between a call and what becomes of its value.
_SILENT = frozenset({"CACHE", "NOP", "EXTENDED_ARG"})


class _UntraceableError(Exception):
    """The function does with a symbol what no expression says."""


class _Decisions:
    """Which way each branch on a symbol goes.

    Args:
        chosen: The first decisions; those after them are true.
    """

    def __init__(self, chosen: Sequence[bool]) -> None:
        self._chosen = chosen
        self.taken: list[tuple[str, bool]] = []

    def decide(self, condition: str) -> bool:
        known = next((way for text, way in self.taken if text == condition), None)
        if known is not None:
            return known
        index = len(self.taken)
        if index >= _MOST_BRANCHES:
            raise _UntraceableError
        way = self._chosen[index] if index < len(self._chosen) else True
        self.taken.append((condition, way))
        return way


class _Symbol:
    """A whole number that is not known, or a condition on one, as the text of an expression."""

    def __init__(self, text: str, decisions: _Decisions) -> None:
        self.text, self._decisions = text, decisions

    def made_of(self, one: str, sign: str, two: str) -> "_Symbol":
        """Return a symbol for an operation on this one."""
        return _Symbol(f"({one} {sign} {two})", self._decisions)

    def __truediv__(self, other: object) -> "_Quotient":
        return _Quotient(self.text, _text(other), self._decisions)

    def __rtruediv__(self, other: object) -> "_Quotient":
        return _Quotient(_text(other), self.text, self._decisions)

    def __neg__(self) -> "_Symbol":
        return _Symbol(f"(-{self.text})", self._decisions)

    def __bool__(self) -> bool:
        return self._decisions.decide(self.text)

    def __index__(self) -> int:
        raise _UntraceableError

    __int__ = __float__ = __hash__ = __index__


class _Quotient:
    """A fraction, of which only the whole numbers around it are expressions."""

    def __init__(self, one: str, two: str, decisions: _Decisions) -> None:
        self._one, self._two, self._decisions = one, two, decisions

    def __ceil__(self) -> _Symbol:
        return _Symbol(f"cdiv({self._one}, {self._two})", self._decisions)

    def __floor__(self) -> _Symbol:
        return _Symbol(f"({self._one} // {self._two})", self._decisions)


def _operation(sign: str) -> Callable[[_Symbol, object], _Symbol]:
    return lambda self, other: self.made_of(self.text, sign, _text(other))


def _reflected(sign: str) -> Callable[[_Symbol, object], _Symbol]:
    return lambda self, other: self.made_of(_text(other), sign, self.text)


for _name, _sign in (
    ("add", "+"), ("sub", "-"), ("mul", "*"), ("floordiv", "//"), ("mod", "%"), ("pow", "**"),
    ("lshift", "<<"), ("rshift", ">>"), ("and", "&"), ("or", "|"), ("xor", "^"),
):  # fmt: skip
    setattr(_Symbol, f"__{_name}__", _operation(_sign))
    setattr(_Symbol, f"__r{_name}__", _reflected(_sign))
for _name, _sign in (("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">="), ("eq", "=="),
                     ("ne", "!=")):  # fmt: skip
    setattr(_Symbol, f"__{_name}__", _operation(_sign))


def trace_grid(
    grid: object, bound: Mapping[str, Any], constexprs: Collection[str], extents: Sequence[Any]
) -> tuple[int | str, ...]:
    """Return how a launch's grid follows from the constexprs; empty where that is unknown.

    Args:
        grid: What the program launched with: a function of the values of a configuration.
        constexprs: The names among them that configurations vary.
        extents: The grid that the function returned for them, which the expressions repeat.
    """
    numbers = {n: bound[n] for n in constexprs if n in bound and type(bound[n]) is int}
    if not isinstance(grid, FunctionType) or not numbers or _has_effects(grid):
        return ()
    try:
        axes = _explore(grid, bound, numbers, ())
        if any(len(str(axis)) > _LONGEST for axis in axes):
            return ()
        known = evaluate_formula(GridFormula(axes, dict(numbers)))
    except (_UntraceableError, CaptureError):
        return ()
    return axes if known is not None and known == (*extents, 1, 1)[:_AXES] else ()


def _explore(
    grid: Callable[[dict[str, Any]], Any],
    bound: Mapping[str, Any],
    numbers: Collection[str],
    chosen: tuple[bool, ...],
) -> tuple[int | str, ...]:
    """Return the grid's expressions, given the first decisions."""
    decisions = _Decisions(chosen)
    values = {name: _Symbol(name, decisions) for name in numbers}
    try:
        found = grid({**bound, **values})
        axes: tuple[int | str, ...] = tuple(_extent(axis) for axis in found)
    except Exception as error:  # the program's own function, called with what it does not expect
        raise _UntraceableError from error
    if len(axes) > _AXES or len(decisions.taken) > _MOST_BRANCHES:
        raise _UntraceableError
    for depth in range(len(decisions.taken) - 1, len(chosen) - 1, -1):
        condition, _ = decisions.taken[depth]
        before = tuple(way for _, way in decisions.taken[:depth])
        others = _explore(grid, bound, numbers, (*before, False))
        if len(others) != len(axes):
            raise _UntraceableError
        axes = tuple(
            one if one == other else f"({one} if {condition} else {other})"
            for one, other in zip(axes, others, strict=True)
        )
    return axes


def _extent(axis: object) -> int | str:
    if isinstance(axis, _Symbol):
        return axis.text
    if type(axis) is int:
        return axis
    raise _UntraceableError


def _text(value: object) -> str:
    return str(_extent(value))


def _has_effects(function: FunctionType) -> bool:
    """Whether a function does more than compute: it stores something, or calls for the effect."""
    before = ""
    for each in dis.get_instructions(function):
        if each.opname.startswith(_EFFECTS):
            return True
        if each.opname == "POP_TOP" and before.startswith("CALL"):
            return True
        if each.opname not in _SILENT:
            before = each.opname
    return False
