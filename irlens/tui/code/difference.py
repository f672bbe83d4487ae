"""A code comparison as lines to draw, unified or side by side."""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

from irlens.model.code import CodeComparison, CodeHunk, Columns, RowKind
from irlens.model.text import printable_line
from irlens.render.view.code import drawn, hunk_place, pieces
from irlens.tui.code.highlighting import HighlightedLines
from irlens.tui.code.text import width

Mark: TypeAlias = Literal[" ", "-", "+", "~", "@"]
_OPERATION = re.compile(r"(?:^\s*|= )\"?([a-z]\w*(?:\.\w+)+)")
_MARKS: dict[RowKind, Mark] = {"same": " ", "changed": "~", "removed": "-", "added": "+"}


class Half(NamedTuple):
    """A line of one side.

    Attributes:
        number: Its number, from 1.
        at: Its index in the highlighted lines.
        words: Columns of ``source`` that differ in meaning.
    """

    number: int
    text: str
    at: int
    source: str
    words: tuple[Columns, ...]

    @property
    def moved(self) -> Iterator[Columns]:
        """The columns of the drawn line that differ in meaning."""
        column = 0
        for piece in pieces(self.source, self.words):
            if piece.changed:
                yield column, column + len(piece.text)
            column += len(piece.text)


class DiffLine(NamedTuple):
    """A line of the drawing.

    Attributes:
        mark: "@" heads a hunk, "~" marks a line that both sides have and that changed.
        before: The first side's line, if it is shown here.
        after: The second side's line.
        heading: For a hunk's head: the enclosing scope, and the position.
    """

    mark: Mark
    hunk: int
    before: Half | None
    after: Half | None
    heading: tuple[str, str] = ("", "")

    @property
    def halves(self) -> Iterator[Half]:
        """The sides that it shows."""
        yield from (half for half in (self.before, self.after) if half is not None)

    @property
    def operation(self) -> str:
        """The operation of MLIR on the line; empty if there is none."""
        found = [_OPERATION.search(half.text) for half in self.halves]
        return next((match[1] for match in reversed(found) if match), "")

    @property
    def text(self) -> str:
        """The line in a unified diff; if both sides are shown, the second's."""
        if self.mark == "@":
            heading, where = self.heading
            return f"@@ {where} @@ {heading}".rstrip()
        *_, shown = self.halves
        return f"{self.mark}{shown.text}"


class Difference:
    """The lines of a comparison; there may be a hundred thousand of them."""

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

    def hunk_text(self, number: int) -> str:
        """Return a hunk as a unified diff."""
        return "\n".join(line.text for line in self.unified if line.hunk == number)

    @property
    def text(self) -> str:
        """The whole comparison as a unified diff."""
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
