"""Conditions over figures, of budgets and of scans: ``pipeline.achieved >= requested``.

A condition compares figures, with arithmetic, joined by ``and``, ``or`` and ``not``. The grammar
has nothing else, so a condition cannot reach anything else. ``baseline.registers`` is the figure of
the baseline's entry, and ``baseline`` alone that of the figure it is compared with:
``time.estimate_us <= 1.05 * baseline``.
"""

import ast
from collections.abc import Callable, Mapping
from itertools import pairwise
from math import isfinite
from typing import Any, NamedTuple

import msgspec
import simpleeval

from irlens.figures import Figure, budget_names, choices, find, sample
from irlens.model import files
from irlens.model.comparison import Value
from irlens.model.errors import IrlensError, UnknownNameError

_LONGEST = 400  # characters; Python's parser recurses on nested brackets
#: The grammar, beside names and constants.
_NODES = (
    ast.Compare, ast.BoolOp, ast.BinOp, ast.UnaryOp,
    ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.And, ast.Or, ast.Not,
    ast.USub, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq,
)  # fmt: skip
_OPERATOR = ast.operator | ast.cmpop | ast.unaryop | ast.boolop
_BASELINE = "baseline"
_EXAMPLE = "write a comparison of figures: occupancy >= 0.5"


def _finite(operator: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return an operator that raises ``OverflowError`` in place of infinity and NaN."""

    def checked(one: Any, other: Any) -> Any:
        result = operator(one, other)
        if isinstance(result, float) and not isfinite(result):
            raise OverflowError("it computes a number that is too large")
        return result

    return checked


_OPERATORS = {
    kind: _finite(operator) if issubclass(kind, ast.operator) else operator
    for kind, operator in simpleeval.DEFAULT_OPERATORS.items()
}


class ConditionError(IrlensError):
    """A condition that cannot be parsed.

    Args:
        column: 1-based column of the mistake.
    """

    def __init__(self, message: str, column: int) -> None:
        super().__init__(message)
        self.column = column


class Condition(msgspec.Struct, frozen=True):
    """A condition over figures.

    Attributes:
        figures: The figures it uses, in the order of their first use.
        baselines: Those whose values in the baseline it uses.
        tree: Its syntax tree, each name replaced by its key in ``holds``.
    """

    text: str
    figures: tuple[Figure, ...]
    baselines: tuple[Figure, ...]
    tree: ast.expr

    @property
    def of_pipelines(self) -> bool:
        """Whether it applies to each pipeline, not to the kernel as a whole."""
        used = (*self.figures, *self.baselines)
        return any(figure.scope == "pipeline" for figure in used)

    def holds(self, values: Mapping[str, Value]) -> bool:
        """Return whether it is true.

        Args:
            values: The value of each of its figures, by ``Figure.budget_path``, and of those of the
                baseline, by ``baseline_key``.

        Raises:
            ArithmeticError: It divides by a figure that is 0, or computes what is too large.
        """
        evaluator = simpleeval.SimpleEval(_OPERATORS, functions={}, names=dict(values))
        return bool(evaluator.eval(self.text, previously_parsed=self.tree))


def baseline_key(figure: Figure) -> str:
    """Return the key of a figure's value in the baseline."""
    return f"{_BASELINE}.{figure.budget_path}"


def parse_all(text: str) -> list[Condition]:
    """Parse a condition and split it at every outer ``and``.

    Each part has to hold, also where another part does not apply.

    Raises:
        ConditionError: The text, or a part of it, is not a condition.
    """
    whole = parse(text)
    if not isinstance(whole.tree, ast.BoolOp) or not isinstance(whole.tree.op, ast.And):
        return [whole]
    parts: list[Condition] = []
    indent = len(text) - len(text.lstrip())
    for node in whole.tree.values:
        try:
            parts += parse_all(ast.get_source_segment(text.strip(), node) or "")
        except ConditionError as error:
            raise ConditionError(error.message, indent + node.col_offset + error.column) from error
    return parts


def parse(text: str) -> Condition:
    """Parse one condition.

    Raises:
        ConditionError: The text is not a condition.
    """
    if len(text) > _LONGEST:
        raise ConditionError(f"longer than {_LONGEST} characters", 1)
    indent = len(text) - len(text.lstrip())
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except files.PARSE_ERRORS as error:
        column = getattr(error, "offset", None) or 1
        raise ConditionError(f"not a condition: {_EXAMPLE}", column + indent) from error
    names = _Names({}, {}, indent)
    resolved = names.resolve(tree, None)
    condition = Condition(
        text, tuple(names.figures.values()), tuple(names.baselines.values()), resolved
    )
    _try(condition)
    return condition


class _Names(NamedTuple):
    """Replaces the names of a condition by keys, and collects the figures behind them."""

    figures: dict[str, Figure]
    baselines: dict[str, Figure]
    indent: int

    def resolve(self, node: ast.expr, compared: Figure | None) -> ast.expr:
        """Return a tree with keys instead of names.

        Args:
            compared: The figure that the comparison around it is about, if it names only one.
        """
        column = node.col_offset + self.indent + 1
        if isinstance(node, ast.Name | ast.Attribute):
            return ast.copy_location(ast.Name(self._key(node, compared, column), ast.Load()), node)
        if isinstance(node, ast.Compare):
            _check_operands(node, column)
            compared = _compared(node)
        if isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float | str):
            if isinstance(node.value, float) and not isfinite(node.value):
                raise ConditionError("the number is too large", column)
            return node
        if not isinstance(node, _NODES):
            raise ConditionError(f"not allowed in a condition: {_EXAMPLE}", column)
        for name, value in ast.iter_fields(node):
            children = value if isinstance(value, list) else [value]
            if any(
                isinstance(child, _OPERATOR) and not isinstance(child, _NODES) for child in children
            ):
                raise ConditionError(f"not allowed in a condition: {_EXAMPLE}", column)
            replaced = [
                self.resolve(child, compared) if isinstance(child, ast.expr) else child
                for child in children
            ]
            setattr(node, name, replaced if isinstance(value, list) else replaced[0])
        return node

    def _key(self, node: ast.Name | ast.Attribute, compared: Figure | None, column: int) -> str:
        if not _is_baseline(node):
            figure = _figure(node, column)
            self.figures[figure.budget_path] = figure
            return figure.budget_path
        name = ast.unparse(node).removeprefix(_BASELINE).removeprefix(".")
        if name:
            compared = _figure(ast.parse(name, mode="eval").body, column)
        if compared is None:
            raise ConditionError("say which figure of the baseline: baseline.registers", column)
        if not compared.in_baseline:
            raise ConditionError(f"the baseline does not keep {compared.budget_path}", column)
        self.baselines[compared.budget_path] = compared
        return baseline_key(compared)


def _is_baseline(node: ast.AST) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id == _BASELINE


def _compared(node: ast.Compare) -> Figure | None:
    """Return the figure that a comparison names; ``None`` if there are several, or none."""
    figures = {}
    todo: list[ast.AST] = [node]
    while todo:
        each = todo.pop()
        if not isinstance(each, ast.Name | ast.Attribute):
            todo += ast.iter_child_nodes(each)
        elif not _is_baseline(each) and (figure := _known(each)) is not None:
            figures[figure.budget_path] = figure
    return next(iter(figures.values())) if len(figures) == 1 else None


def _check_operands(node: ast.Compare, column: int) -> None:
    """Raise ``ConditionError`` where a figure is compared with an impossible value."""
    for one, other in pairwise([node.left, *node.comparators]):
        for name, constant in ((one, other), (other, one)):
            if not isinstance(name, ast.Name | ast.Attribute) or _is_baseline(name):
                continue
            if isinstance(constant, ast.Constant):
                fault = _impossible(ast.unparse(name), _figure(name, column), constant.value)
                if fault:
                    raise ConditionError(fault, column)


def _impossible(name: str, figure: Figure, value: object) -> str:
    """Return why a figure cannot have a value; "" if it can."""
    words, is_word = choices(figure), isinstance(sample(figure), str)
    if isinstance(value, str) != is_word:
        return f"{name} is {'a word' if is_word else 'not a word'}: {_EXAMPLE}"
    if isinstance(value, str) and words and value not in words:
        return f"{name} is never '{value}', but one of {', '.join(words)}"
    if figure.unit == "ratio" and isinstance(value, int | float) and value > 1:
        return f"{figure.title} is a ratio from 0 to 1, never {value}: {_EXAMPLE}"
    return ""


def _figure(node: ast.expr, column: int) -> Figure:
    name, figure = ast.unparse(node), _known(node)
    if figure is None:
        other = find(name)
        if other is not None and not other.in_budgets:
            raise ConditionError(
                f"the figure '{name}' exists, but budgets cannot use it: "
                f"{other.why_not_in_budgets}",
                column,
            )
        error = UnknownNameError("figure", name, budget_names())
        near = error.hint if error.hint and error.hint.startswith("did") else "see `irlens schema`"
        raise ConditionError(f"{error.message}: {near}", column)
    return figure


def _known(node: ast.expr) -> Figure | None:
    # The report has a list of them: "pipelines".
    return budget_names().get(ast.unparse(node).replace("pipelines.", "pipeline."))


def _try(condition: Condition) -> None:
    """Evaluate the condition once, with values of the right types."""
    if not condition.figures:
        raise ConditionError(f"it uses no figure: {_EXAMPLE}", 1)
    tree, samples = condition.tree, {one.budget_path: sample(one) for one in condition.figures}
    samples |= {baseline_key(one): sample(one) for one in condition.baselines}
    is_truth = isinstance(tree, ast.Compare | ast.BoolOp) or (
        isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not)
    )
    if not is_truth and not (isinstance(tree, ast.Name) and samples[tree.id] is True):
        raise ConditionError(f"a value, not a condition: {_EXAMPLE}", 1)
    try:
        condition.holds(samples)
    except ZeroDivisionError:
        return
    except (simpleeval.InvalidExpression, TypeError, ArithmeticError, ValueError) as error:
        raise ConditionError(f"cannot be evaluated: {error}", 1) from error
