"""A page of labelled paragraphs for a terminal: wrapping, alignment, colour.

Made of strings alone: importing a layout library would take longer than reading a capture does.
"""

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, TypeAlias

from irlens.model.text import printable_line

Style: TypeAlias = Literal["plain", "bold", "dim", "good", "warn", "bad", "code"]

_ANSI: dict[Style, str] = {
    "bold": "1",
    "dim": "2",
    "good": "32",
    "warn": "33",
    "bad": "1;31",
    "code": "36",
}
_LABEL_WIDTH = 12


class Cell(NamedTuple):
    """A run of text that is never broken over two lines."""

    text: str
    style: Style = "plain"


Words: TypeAlias = Sequence[Cell | str]


def prose(text: str, style: Style = "plain") -> list[Cell]:
    """Return a sentence as cells that may be broken at its spaces."""
    return [Cell(word, style) for word in text.split()]


class Page:
    """Collects lines; ``text`` is the finished page.

    Args:
        width: Columns to fit in. A single cell that is wider than a line is left whole.
        color: Whether to use ANSI colours. They only repeat what the words say.
    """

    def __init__(self, *, width: int, color: bool) -> None:
        self._width = max(width, 40)
        self._color = color
        self._lines: list[str] = []

    def headline(self, cells: Words) -> None:
        """Add a line that starts at the left margin, cells three spaces apart."""
        self._add("", cells, gap="   ", indent=2)

    def line(self, label: str, cells: Words, *, gap: str = "   ") -> None:
        """Add a line under a label; an empty label continues the one above."""
        self._add(label or " ", cells, gap=gap, indent=_LABEL_WIDTH)

    def row(self, figures: Cell, words: Words) -> None:
        """Add a table's row: figures as they are, then words, wrapped beside them."""
        self._add(figures.text, words, gap=" ", indent=len(figures.text) + 2, style=figures.style)

    def text_line(self, label: str, text: str, style: Style = "plain") -> None:
        """Add a sentence, wrapped at its spaces."""
        self.line(label, prose(text, style), gap=" ")

    def shortened(self, text: str, *, beside: str) -> str:
        """Return ``text``, cut with an ellipsis to stand on a labelled line beside another cell.

        Args:
            text: What may be cut.
            beside: The cell before it, two columns apart.
        """
        room = max(self._width - _LABEL_WIDTH - len(beside) - 2, 20)
        return text if len(text) <= room else text[: room - 1].rstrip() + "…"

    def blank(self) -> None:
        """Add an empty line, unless there is one already or the page is empty."""
        if self._lines and self._lines[-1]:
            self._lines.append("")

    def text(self) -> str:
        """Return the page, ending in one newline."""
        return "\n".join(self._lines).rstrip("\n") + "\n"

    def _add(
        self, label: str, cells: Words, *, gap: str, indent: int, style: Style = "bold"
    ) -> None:
        label = label.ljust(indent) if label else label
        painted, column = self._paint(Cell(label, style)), len(label)
        start = column
        for cell in _as_cells(cells):
            lead = gap if column > start else ""
            if column > start and column + len(lead) + len(cell.text) > self._width:
                self._lines.append(painted.rstrip())
                painted, column, lead, start = " " * indent, indent, "", indent
            painted += lead + self._paint(cell)
            column += len(lead) + len(cell.text)
        self._lines.append(painted.rstrip())

    def _paint(self, cell: Cell) -> str:
        if not self._color or cell.style == "plain" or not cell.text.strip():
            return cell.text
        return f"\x1b[{_ANSI[cell.style]}m{cell.text}\x1b[0m"


def _as_cells(cells: Words) -> Iterable[Cell]:
    for cell in cells:
        known = Cell(cell) if isinstance(cell, str) else cell
        yield known._replace(text=printable_line(known.text))
