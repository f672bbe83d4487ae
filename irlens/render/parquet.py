"""Apache Parquet, a row for each record: for data frames and databases (pyarrow writes it).

Columns have the type of their values: integers, numbers, truth values, text, or lists of these.
What is unknown is null.
"""

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from irlens.model.errors import IrlensError


def stream(titles: Sequence[str], records: Iterable[Mapping[str, object]]) -> Iterator[bytes]:
    """Yield the file in one piece: its columns have the types of all their values.

    Raises:
        IrlensError: pyarrow is not installed.
    """
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise IrlensError(
            "--format parquet needs pyarrow, which is not installed",
            hint='pip install "irlens[parquet]"',
        ) from error
    columns: dict[str, list[object]] = {title: [] for title in titles}
    for record in records:
        for title, values in columns.items():
            values.append(record[title])
    table: Any = pyarrow.table({title: _typed(values) for title, values in columns.items()})
    sink = io.BytesIO()
    parquet.write_table(table, sink)
    yield sink.getvalue()


def _typed(values: list[object]) -> list[object]:
    """Return values of one type: as text where they have several that no number type holds."""
    plain = [each for value in values for each in (value if isinstance(value, list) else [value])]
    kinds = {type(each) for each in plain if each is not None}
    if len(kinds) < 2 or kinds == {int, float}:
        return values
    return [_text(value) for value in values]


def _text(value: object) -> object:
    if isinstance(value, list):
        return [_text(each) for each in value]
    return None if value is None else str(value)
