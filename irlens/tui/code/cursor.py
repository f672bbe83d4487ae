"""A cursor in the lines of a text, some of which may be hidden, and a selection of whole lines."""

from bisect import bisect_left
from collections.abc import Sequence

from irlens.tui.code.text import word_at, word_starts


class Cursor:
    """A line and a column.

    Args:
        stage: Its syntax tells words.

    Attributes:
        rows: The 1-based line in each row that is not hidden, ascending.
        line: 1-based line.
        column: Column in the line as drawn, from 0.
        selected: The first and the last selected line.
    """

    def __init__(self, lines: Sequence[str] = (), stage: str = "") -> None:
        self._lines, self._stage = lines, stage
        self.rows: Sequence[int] = ()
        self.line, self.column = 1, 0
        self.selected: tuple[int, int] | None = None
        #: Column that vertical moves aim for, and where the selection began.
        self._goal = 0
        self._anchor: int | None = None

    @property
    def text(self) -> str:
        """The cursor's line as drawn."""
        return self._lines[self.line - 1] if self.line <= len(self._lines) else ""

    @property
    def word(self) -> str:
        """The word under the cursor."""
        return word_at(self.text, self.column, self._stage)

    @property
    def row(self) -> int:
        """The cursor's row, from 0."""
        return self.row_of(self.line)

    def row_of(self, line: int) -> int:
        """Return the row, from 0, of a line or of the next one that is not hidden."""
        return max(min(bisect_left(self.rows, line), len(self.rows) - 1), 0)

    def line_at(self, row: int) -> int:
        """Return the line in a row, or in the nearest one."""
        return self.rows[min(max(row, 0), len(self.rows) - 1)]

    def line_after(self, step: int) -> int:
        """Return the line some rows below."""
        return self.line_at(self.row + step)

    def word_start(self, step: int) -> int | None:
        """Return the column of the next (-1: previous) word in the line; ``None`` for none."""
        starts = [at for at in word_starts(self.text, self._stage) if (at - self.column) * step > 0]
        return starts[0 if step > 0 else -1] if starts else None

    @property
    def indent(self) -> int:
        """Column of the line's first character."""
        return len(self.text) - len(self.text.lstrip())

    def move(self, line: int) -> None:
        """Move to a line as ``put``, near the column that vertical moves aim for."""
        goal = self._goal
        self.put(line, goal)
        self._goal = goal

    def put(self, line: int, column: int | None = None) -> None:
        """Move to a line, or to the next one that is not hidden, and select nothing.

        Args:
            line: 1-based line.
            column: Column from 0; by default the first character of the line.
        """
        self.line = self.rows[self.row_of(line)] if self.rows else 1
        wanted = self.indent if column is None else column
        self.column = self._goal = max(min(wanted, len(self.text) - 1), 0)
        self.unselect()

    def select_to(self, line: int) -> None:
        """Move to a line, and select those from where the selection began."""
        anchor = self.line if self._anchor is None else self._anchor
        self.move(line)
        self._anchor, self.selected = anchor, (min(anchor, self.line), max(anchor, self.line))

    def unselect(self) -> None:
        """Select nothing."""
        self._anchor = self.selected = None
