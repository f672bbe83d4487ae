"""Tables: columns, rows, and cells of text or bars."""

from collections.abc import Iterable, Iterator
from typing import TypeAlias

import msgspec

from irlens.render.view.nodes.prose import Run, Text, Tone, text


class Bar(msgspec.Struct, frozen=True):
    """A bar in a table's cell: ``share`` (0..1) of the column's width."""

    share: float
    tone: Tone = "neutral"


Cell: TypeAlias = Text | Bar


class Column(msgspec.Struct, frozen=True):
    """A column of a table.

    Attributes:
        numbers: Whether it holds numbers, which are aligned to the right.
        code: Whether it holds lines of code, which are shortened where there is no room.
    """

    title: str = ""
    numbers: bool = False
    code: bool = False


class Row(msgspec.Struct, frozen=True):
    """A row of a table.

    Attributes:
        cells: As many as the table has columns.
        tone: "strong" for a row that matters most, "dim" for one that did not change.
        note: A sentence about the row as a whole; may be empty.
        anchor: Key of the section that the row's first cell leads to; may be empty.
    """

    cells: tuple[Cell, ...]
    tone: Tone = "neutral"
    note: str = ""
    anchor: str = ""


class Table(msgspec.Struct, frozen=True):
    """A table.

    Attributes:
        rows: Its rows, the most important first.
        name: What it holds, for readers who do not see it.
        shown: How many rows a medium with little room shows; ``None`` for all.
        sortable: Whether an interactive medium should let the reader sort and filter it.
        noun: What to call a row: "configuration".
        more: Appended where rows are left out: "; --all shows them".
        splits: Whether its columns are things of a kind, so that a medium without room for all
            may show some of them below the others.
    """

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    name: str = ""
    shown: int | None = None
    sortable: bool = False
    noun: str = "row"
    more: str = ""
    splits: bool = False

    @property
    def used_columns(self) -> list[int]:
        """Indexes of the columns that have a title, or content in some row."""
        return [
            index
            for index, column in enumerate(self.columns)
            if column.title or any(row.cells[index] for row in self.rows)
        ]


#: The cells of a row before they are texts.
Cells: TypeAlias = list[str | Run | Cell]


def titled(*columns: str | Column) -> tuple[Column, ...]:
    """Return the columns of a table; a title alone is that of a column of words."""
    return tuple(Column(each) if isinstance(each, str) else each for each in columns)


def numeric(*titles: str) -> Iterator[Column]:
    """Yield a column of numbers under each title."""
    return (Column(title, numbers=True) for title in titles)


def table(columns: Iterable[Column], rows: Iterable[Cells], name: str = "") -> Table:
    """Return a table of plain rows."""
    return Table(tuple(columns), tuple(row(*cells) for cells in rows), name)


def row(*cells: str | Run | Cell, tone: Tone = "neutral", note: str = "", anchor: str = "") -> Row:
    """Return a row of a table."""
    return Row(tuple(map(cell, cells)), tone, note, anchor)


def cell(content: str | Run | Cell) -> Cell:
    """Return a cell of a table."""
    return text(content) if isinstance(content, str | Run) else content
