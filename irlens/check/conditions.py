"""The conditions of budgets: ``occupancy >= 0.5``, ``pipeline.achieved >= requested``.

A condition compares figures, with arithmetic, joined by ``and``, ``or`` and ``not``. The grammar
has nothing else, so a condition cannot reach anything else.
"""

import ast
from collections.abc import Mapping
from itertools import pairwise

import msgspec
import simpleeval

from irlens.figures import Figure, budget_names, choices, find, sample
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
_EXAMPLE = "write a comparison of figures: occupancy >= 0.5"


class ConditionError(IrlensError):
    """A condition that cannot be parsed.

    Args:
        message: What is wrong with it.
        column: 1-based column of the mistake.
    """

    def __init__(self, message: str, column: int) -> None:
        super().__init__(message)
        self.column = column


class Condition(msgspec.Struct, frozen=True):
    """A condition over figures.

    Attributes:
        text: The condition as written.
        figures: The figures it uses, in the order of their first use.
        tree: Its syntax tree, each name replaced by the figure's path in budgets.
    """

    text: str
    figures: tuple[Figure, ...]
    tree: ast.expr

    @property
    def of_pipelines(self) -> bool:
        """Whether it applies to each pipeline, not to the kernel as a whole."""
        return any(figure.scope == "pipeline" for figure in self.figures)

    def holds(self, values: Mapping[str, Value]) -> bool:
        """Return whether it is true.

        Args:
            values: The value of each of its figures, by ``Figure.budget_path``.

        Raises:
            ZeroDivisionError: It divides by a figure that is 0.
        """
        evaluator = simpleeval.SimpleEval(names=dict(values), functions={})
        return bool(evaluator.eval(self.text, previously_parsed=self.tree))


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
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        column = getattr(error, "offset", None) or 1
        raise ConditionError(f"not a condition: {_EXAMPLE}", column + indent) from error
    figures: dict[str, Figure] = {}
    resolved = _resolved(tree, figures, indent)
    condition = Condition(text, tuple(figures.values()), resolved)
    _try(condition)
    return condition


def _resolved(node: ast.expr, figures: dict[str, Figure], indent: int) -> ast.expr:
    """Return the tree with names replaced by paths; collect the figures behind them."""
    column = node.col_offset + indent + 1
    if isinstance(node, ast.Name | ast.Attribute):
        figure = _figure(node, column)
        figures[figure.budget_path] = figure
        return ast.copy_location(ast.Name(figure.budget_path, ast.Load()), node)
    if isinstance(node, ast.Compare):
        _check_operands(node, column)
    if isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float | str):
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
            _resolved(child, figures, indent) if isinstance(child, ast.expr) else child
            for child in children
        ]
        setattr(node, name, replaced if isinstance(value, list) else replaced[0])
    return node


def _check_operands(node: ast.Compare, column: int) -> None:
    """Raise ``ConditionError`` where a figure is compared with an impossible value."""
    for one, other in pairwise([node.left, *node.comparators]):
        for name, constant in ((one, other), (other, one)):
            if isinstance(name, ast.Name | ast.Attribute) and isinstance(constant, ast.Constant):
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


def _figure(node: ast.Name | ast.Attribute, column: int) -> Figure:
    name = ast.unparse(node)
    known = budget_names()
    # The report has a list of them: "pipelines".
    figure = known.get(name.replace("pipelines.", "pipeline."))
    if figure is None:
        other = find(name)
        if other is not None and not other.in_budgets:
            raise ConditionError(
                f"the figure '{name}' exists, but budgets cannot use it: "
                f"{other.why_not_in_budgets}",
                column,
            )
        error = UnknownNameError("figure", name, known)
        near = error.hint if error.hint and error.hint.startswith("did") else "see `irlens schema`"
        raise ConditionError(f"{error.message}: {near}", column)
    return figure


def _try(condition: Condition) -> None:
    """Evaluate the condition once, with values of the right types."""
    if not condition.figures:
        raise ConditionError(f"it uses no figure: {_EXAMPLE}", 1)
    tree, samples = condition.tree, {one.budget_path: sample(one) for one in condition.figures}
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
