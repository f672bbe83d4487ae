"""Comma-separated values, a line for each result (RFC 4180): for spreadsheets and data frames.

Numbers are plain, without units and separators; what is unknown is empty.
"""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from irlens.model.text import printable_line

EXTENSION = "csv"

Field: TypeAlias = bool | int | float | str | None

#: A spreadsheet takes a field that begins so for a formula, which can call out of it (CWE-1236).
_FORMULA = ("=", "+", "-", "@")


def written(rows: Iterable[Mapping[str, Field]], titles: Sequence[str] = ()) -> str:
    """Return the rows under their titles.

    Text is made safe to show; one that a spreadsheet would run is led by an apostrophe.

    Args:
        rows: The fields of each by title; one that is missing is empty.
        titles: The columns that come first, and are there even if no row has them; the others
            follow in the order in which they turn up.
    """
    known = list(rows)
    columns = list(dict.fromkeys([*titles, *(title for row in known for title in row)]))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(_safe, columns))
    writer.writerows([_safe(row.get(title)) for title in columns] for row in known)
    return text.getvalue()


def joined(fields: Iterable[Field]) -> Field:
    """Return several fields as one: "4; 8"; a single one stays what it is."""
    known = list(fields)
    if len(known) == 1:
        return known[0]
    return "; ".join("" if field is None else str(field) for field in known)


def _safe(field: Field) -> Field:
    if not isinstance(field, str):
        return field
    text = printable_line(field)
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text
