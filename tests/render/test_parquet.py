"""Parquet: typed columns, and a clear message where pyarrow is missing."""

import io
import sys

import pytest

from irlens.model.errors import IrlensError
from irlens.render import stream

ROWS: list[dict[str, object]] = [
    {"kernel": "a", "registers": 32, "occupancy": 0.5, "stages": [2, None], "either": "word"},
    {"kernel": "b", "registers": None, "occupancy": 1, "stages": [], "either": 3},
]


def _written(titles: list[str], rows: list[dict[str, object]]) -> bytes:
    (content,) = stream("parquet", titles, rows)
    assert isinstance(content, bytes)
    return content


def test_columns_have_the_types_of_their_values() -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    content = _written(list(ROWS[0]), ROWS)
    table = parquet.read_table(io.BytesIO(content))
    types = {field.name: str(field.type) for field in table.schema}
    assert types["kernel"] == "string"
    assert types["registers"] == "int64"
    assert types["occupancy"] == "double"
    assert types["stages"].startswith("list<")
    assert types["stages"].endswith("int64>")
    expected = [dict(row) for row in ROWS]
    expected[1]["either"] = "3"
    assert table.to_pylist() == expected


def test_no_rows_make_an_empty_table() -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    content = _written(["kernel"], [])
    table = parquet.read_table(io.BytesIO(content))
    assert (table.num_rows, table.column_names) == (0, ["kernel"])


def test_without_pyarrow_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(IrlensError, match="needs pyarrow") as caught:
        list(stream("parquet", ["kernel"], ROWS))
    assert caught.value.hint == 'pip install "irlens[parquet]"'
