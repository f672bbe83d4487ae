"""What moved in a stage, ready to be drawn: lines in a row, under each other or side by side."""

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

from irlens.model.code import CodeComparison, CodeHunk, Columns, RowKind
from irlens.model.text import printable_line
from irlens.render.view.code import drawn, hunk_place, pieces
from irlens.tui.code.highlighting import HighlightedLines
from irlens.tui.code.text import width

Mark: TypeAlias = Literal[" ", "-", "+", "~", "@"]
_MARKS: dict[RowKind, Mark] = {"same": " ", "changed": "~", "removed": "-", "added": "+"}


class Half(NamedTuple):
    """A line of one side.

    Attributes:
        number: Its number, from 1.
        text: As it is drawn.
        at: Where its colours are.
        source: As it was written.
        words: What of that differs in meaning, by columns.
    """

    number: int
    text: str
    at: int
    source: str
    words: tuple[Columns, ...]

    @property
    def moved(self) -> Iterator[Columns]:
        """What of the drawn line differs in meaning."""
        column = 0
        for piece in pieces(self.source, self.words):
            if piece.changed:
                yield column, column + len(piece.text)
            column += len(piece.text)


class DiffLine(NamedTuple):
    """A line of the drawing.

    Attributes:
        mark: "@" heads a hunk, "~" is on both sides and not the same there.
        hunk: Which hunk it is of.
        before: The first side's, if it is shown here.
        after: The second side's.
        heading: Of a hunk: what it is in, and where.
    """

    mark: Mark
    hunk: int
    before: Half | None
    after: Half | None
    heading: tuple[str, str] = ("", "")

    @property
    def halves(self) -> Iterator[Half]:
        """What there is of it."""
        yield from (half for half in (self.before, self.after) if half is not None)

    @property
    def text(self) -> str:
        """The line in a unified diff; of one that is on both sides the second's."""
        if self.mark == "@":
            heading, where = self.heading
            return f"@@ {where} @@ {heading}".rstrip()
        *_, shown = self.halves
        return f"{self.mark}{shown.text}"


class Difference:
    """The drawing of a comparison; it may have a hundred thousand lines.

    Attributes:
        comparison: What it draws.
        split: The lines side by side.
        unified: The lines under each other; one that changed is there twice.
        width: Cells of the longest line.
        digits: Of the largest number.
    """

    def __init__(self, comparison: CodeComparison) -> None:
        self.comparison = comparison
        self._texts: list[str] = []
        self.split: list[DiffLine] = []
        self.unified: list[DiffLine] = []
        for number, hunk in enumerate(comparison.hunks):
            self._add(number, hunk)
        self.width = max(map(width, self._texts), default=0)
        self.digits = len(str(max(comparison.before_lines, comparison.after_lines)))
        self.highlighted = HighlightedLines(comparison.stage, self._texts, joined=False)

    def lines(self, *, split: bool) -> Sequence[DiffLine]:
        """Return the lines, side by side or under each other."""
        return self.split if split else self.unified

    def hunk_text(self, number: int) -> str:
        """Return a hunk as a unified diff."""
        return "\n".join(line.text for line in self.unified if line.hunk == number)

    @property
    def text(self) -> str:
        """All of it as a unified diff."""
        return "".join(f"{line.text}\n" for line in self.unified)

    def _add(self, number: int, hunk: CodeHunk) -> None:
        heading = printable_line(hunk.heading), hunk_place(hunk)
        head = DiffLine("@", number, None, None, heading)
        self.split.append(head)
        self.unified.append(head)
        for row in hunk.rows:
            before = self._half(row.before_line, row.before, row.before_words)
            after = self._half(row.after_line, row.after, row.after_words)
            mark = _MARKS[row.kind]
            self.split.append(DiffLine(mark, number, before, after))
            if row.kind == "changed":
                self.unified.append(DiffLine("-", number, before, None))
                self.unified.append(DiffLine("+", number, None, after))
            else:
                self.unified.append(self.split[-1])

    def _half(
        self, number: int | None, source: str | None, words: tuple[Columns, ...]
    ) -> Half | None:
        if number is None or source is None:
            return None
        self._texts.append(drawn(source))
        return Half(number, self._texts[-1], len(self._texts) - 1, source, words)
