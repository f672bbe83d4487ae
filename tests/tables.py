"""Tests over the rows of a table, each of which takes less time than pytest needs to call it."""

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

_LONGEST = 200


def each_row(
    names: str | tuple[str, ...], table: Iterable[Any]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Let one test go through all rows, as ``pytest.mark.parametrize`` has a test for each.

    All rows are tried, and those that fail are named. They share the test's fixtures.
    """
    arguments = (
        tuple(each.strip() for each in names.split(",")) if isinstance(names, str) else names
    )
    rows = [row if len(arguments) > 1 else (row,) for row in table]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def test_rows(*of_class: Any, **fixtures: Any) -> None:
            assert rows, "the table is empty"
            failed = []
            for row in rows:
                given = dict(zip(arguments, row, strict=True))
                try:
                    test(*of_class, **fixtures, **given)
                except Exception as error:
                    error.add_note(f"in the row {str(given)[:_LONGEST]}")
                    failed.append(error)
            if len(failed) == 1:
                raise failed[0]
            if failed:
                raise ExceptionGroup(f"{len(failed)} of {len(rows)} rows", failed)

        whole = inspect.signature(test)
        kept = [each for each in whole.parameters.values() if each.name not in arguments]
        test_rows.__signature__ = whole.replace(parameters=kept)  # type: ignore[attr-defined]
        return test_rows

    return decorate
