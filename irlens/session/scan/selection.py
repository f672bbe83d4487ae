"""Which rows of a scan are shown, and in which order."""

from collections.abc import Mapping, Sequence

from irlens.figures import Figure
from irlens.figures.conditions import Condition, ConditionError, parse_all
from irlens.model.comparison import Value
from irlens.model.errors import IrlensError
from irlens.model.scan import ScanValue

_ACHIEVED, _VERDICT = "pipelines[].achieved_stages", "pipelines[].verdict"


def parse_where(texts: Sequence[str]) -> list[Condition]:
    """Parse the conditions of ``--where``, which are those of budgets.

    Raises:
        IrlensError: A text is not a condition.
    """
    conditions: list[Condition] = []
    for text in texts:
        try:
            conditions += parse_all(text)
        except ConditionError as error:
            raise IrlensError(f"--where, column {error.column}: {error.message}") from error
    if any(condition.baselines for condition in conditions):
        raise IrlensError(
            "--where: a scan has no baseline", hint="only budgets compare with one: irlens check"
        )
    return conditions


def keys_of(condition: Condition) -> list[str]:
    """Return the keys of the values that a condition needs."""
    keys = [figure.path for figure in condition.figures]
    return [*keys, _VERDICT] if _ACHIEVED in keys else keys


def matches(condition: Condition, values: Mapping[str, ScanValue]) -> bool:
    """Return whether a row meets a condition; of pipelines, whether any of them does.

    A condition with an unknown value does not hold.

    Args:
        values: At least the values of its ``keys_of``.
    """
    if not condition.of_pipelines:
        return _holds(condition, {f: _single(values[f.path]) for f in condition.figures})
    each = (f for f in condition.figures if f.scope == "pipeline")
    number = max(len(_list(values[figure.path])) for figure in each)
    return any(
        _holds(condition, {f: _of_pipeline(f, values, at) for f in condition.figures})
        for at in range(number)
    )


def _of_pipeline(figure: Figure, values: Mapping[str, ScanValue], index: int) -> Value:
    if figure.scope == "report":
        return _single(values[figure.path])
    if figure.path == _ACHIEVED and _list(values[_VERDICT])[index] == "not pipelined":
        return 1  # as budgets have it: no iteration ahead, whichever mechanism
    return _list(values[figure.path])[index]


def _holds(condition: Condition, values: Mapping[Figure, Value]) -> bool:
    if None in values.values():
        return False
    try:
        return condition.holds({figure.budget_path: value for figure, value in values.items()})
    except ArithmeticError:
        return False


def rank(value: ScanValue) -> tuple[bool, int, float, str]:
    """Return the sort key of a value: unknown last, numbers before words.

    A list of numbers counts as its smallest, of words as their number.
    """
    if isinstance(value, list):
        known = [each for each in value if isinstance(each, int | float)]
        words = sum(isinstance(each, str) for each in value)
        value = min(known) if known else words if words or not value else None
    if value is None:
        return True, 0, 0.0, ""
    if isinstance(value, str):
        return False, 1, 0.0, value
    return False, 0, float(value), ""


def sort_rows(
    rows: list[dict[str, ScanValue]], keys: Sequence[tuple[str, bool]]
) -> list[dict[str, ScanValue]]:
    """Return rows sorted by keys, each descending or not; equal rows keep their order."""
    for key, descending in reversed(keys):
        known = [row for row in rows if not rank(row[key])[0]]
        unknown = [row for row in rows if rank(row[key])[0]]
        known.sort(key=lambda row, by=key: rank(row[by]), reverse=descending)  # type: ignore[misc]
        rows = [*known, *unknown]
    return rows


def _single(value: ScanValue) -> Value:
    return None if isinstance(value, list) else value


def _list(value: ScanValue) -> list[Value]:
    return value if isinstance(value, list) else [value]
