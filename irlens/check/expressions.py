"""The conditions of budgets: ``occupancy >= 0.5``, ``pipeline.achieved >= requested``.

Comparisons of figures, joined by ``and``, ``or`` and ``not``, with arithmetic; nothing else can be
written, so nothing else can be reached.
"""

import ast
from collections.abc import Mapping
from itertools import pairwise

import msgspec
import simpleeval

from irlens.check.fields import PIPELINE, Field, fields
from irlens.model.comparison import Value
from irlens.model.errors import IrlensError, UnknownNameError

_LONGEST = 400  # characters; Python's parser recurses on nested brackets
#: What a condition may be made of, beside names and constants.
_NODES = (
    ast.Compare, ast.BoolOp, ast.BinOp, ast.UnaryOp,
    ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.And, ast.Or, ast.Not,
    ast.USub, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq,
)  # fmt: skip
_OPERATOR = ast.operator | ast.cmpop | ast.unaryop | ast.boolop
_RATIO = "occupancy.theoretical"
_EXAMPLE = "write a comparison of figures: occupancy >= 0.5"


class ConditionError(IrlensError):
    """A condition that cannot be read.

    Args:
        message: What is wrong with it.
        column: Where, 1-based.
    """

    def __init__(self, message: str, column: int) -> None:
        super().__init__(message)
        self.column = column


class Condition(msgspec.Struct, frozen=True):
    """A condition over figures.

    Attributes:
        text: As written.
        fields: The figures it speaks of, in the order of their first use.
        tree: It, with each name replaced by the figure's path.
    """

    text: str
    fields: tuple[Field, ...]
    tree: ast.expr

    @property
    def of_pipelines(self) -> bool:
        """Whether it has to be held against each pipeline."""
        return any(field.path.startswith(PIPELINE) for field in self.fields)

    def holds(self, values: Mapping[str, Value]) -> bool:
        """Return whether it is true.

        Args:
            values: Of every figure it speaks of, by path.

        Raises:
            ZeroDivisionError: It divides by a figure that is 0.
        """
        evaluator = simpleeval.SimpleEval(names=dict(values), functions={})
        return bool(evaluator.eval(self.text, previously_parsed=self.tree))


def parse_all(text: str) -> list[Condition]:
    """Read a condition; of one that joins others by ``and`` return these.

    Each has to hold, also where another does not apply.

    Raises:
        ConditionError: It is none, or one of the others is none.
    """
    whole = parse(text)
    if not isinstance(whole.tree, ast.BoolOp) or not isinstance(whole.tree.op, ast.And):
        return [whole]
    found: list[Condition] = []
    indent = len(text) - len(text.lstrip())
    for node in whole.tree.values:
        try:
            found += parse_all(ast.get_source_segment(text.strip(), node) or "")
        except ConditionError as error:
            raise ConditionError(error.message, indent + node.col_offset + error.column) from error
    return found


def parse(text: str) -> Condition:
    """Read a condition.

    Raises:
        ConditionError: It is none.
    """
    if len(text) > _LONGEST:
        raise ConditionError(f"longer than {_LONGEST} characters", 1)
    indent = len(text) - len(text.lstrip())
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        column = getattr(error, "offset", None) or 1
        raise ConditionError(f"not a condition: {_EXAMPLE}", column + indent) from error
    found: dict[str, Field] = {}
    resolved = _resolved(tree, found, indent)
    condition = Condition(text, tuple(found.values()), resolved)
    _try(condition)
    return condition


def _resolved(node: ast.expr, found: dict[str, Field], indent: int) -> ast.expr:
    """Return the tree with names replaced by paths; collect the figures behind them."""
    column = node.col_offset + indent + 1
    if isinstance(node, ast.Name | ast.Attribute):
        field = _field(node, column)
        found[field.path] = field
        return ast.copy_location(ast.Name(field.path, ast.Load()), node)
    if isinstance(node, ast.Compare):
        _check_compared(node, column)
    if isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float | str):
        return node
    if not isinstance(node, _NODES):
        raise ConditionError(f"this has no place in a condition: {_EXAMPLE}", column)
    for name, value in ast.iter_fields(node):
        children = value if isinstance(value, list) else [value]
        if any(
            isinstance(child, _OPERATOR) and not isinstance(child, _NODES) for child in children
        ):
            raise ConditionError(f"this has no place in a condition: {_EXAMPLE}", column)
        replaced = [
            _resolved(child, found, indent) if isinstance(child, ast.expr) else child
            for child in children
        ]
        setattr(node, name, replaced if isinstance(value, list) else replaced[0])
    return node


def _check_compared(node: ast.Compare, column: int) -> None:
    """Raise ``ConditionError`` where a figure is compared with what it can never be."""
    for one, other in pairwise([node.left, *node.comparators]):
        for name, number in ((one, other), (other, one)):
            if isinstance(name, ast.Name | ast.Attribute) and isinstance(number, ast.Constant):
                field = _field(name, column)
                told = _never(ast.unparse(name), field, number.value)
                if told:
                    raise ConditionError(told, column)


def _never(name: str, field: Field, value: object) -> str:
    """Say why a figure cannot be this; nothing if it can."""
    if isinstance(value, str) != isinstance(field.sample, str):
        return f"{name} is {'a word' if isinstance(field.sample, str) else 'no word'}: {_EXAMPLE}"
    if isinstance(value, str) and field.words and value not in field.words:
        return f"{name} is never '{value}', but one of {', '.join(field.words)}"
    if field.path == _RATIO and isinstance(value, int | float) and value > 1:
        return f"occupancy is a ratio from 0 to 1, and never {value}: {_EXAMPLE}"
    return ""


def _field(node: ast.Name | ast.Attribute, column: int) -> Field:
    name = ast.unparse(node)
    known = fields()
    # The report's own name for the list of them.
    field = known.get(name.replace("pipelines.", PIPELINE))
    if field is None:
        error = UnknownNameError("figure", name, known)
        near = error.hint if error.hint and error.hint.startswith("did") else "see `irlens schema`"
        raise ConditionError(f"{error.message}: {near}", column)
    return field


def _try(condition: Condition) -> None:
    """Evaluate it once, with values of the right types."""
    if not condition.fields:
        raise ConditionError(f"it speaks of no figure: {_EXAMPLE}", 1)
    tree = condition.tree
    truth = isinstance(tree, ast.Compare | ast.BoolOp) or (
        isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not)
    )
    if not truth and not (isinstance(tree, ast.Name) and condition.fields[0].sample is True):
        raise ConditionError(f"a value and no condition: {_EXAMPLE}", 1)
    try:
        condition.holds({field.path: field.sample for field in condition.fields})
    except ZeroDivisionError:
        return
    except (simpleeval.InvalidExpression, TypeError, ArithmeticError, ValueError) as error:
        raise ConditionError(f"cannot be worked out: {error}", 1) from error
