"""Differences in a stage's text as lines: their marks, numbers, and the words that differ."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

from irlens.model.code import CodeComparison, CodeHunk, Columns
from irlens.model.text import plural, printable_line

Mark: TypeAlias = Literal[" ", "-", "+", "~"]

#: A tab's width: assemblers indent by one.
_TAB = "    "


class Piece(NamedTuple):
    """A part of a line, and whether it differs in meaning from the other side's."""

    text: str
    changed: bool


class Line(NamedTuple):
    """A line of one side or of both.

    Attributes:
        mark: "-" and "+" as in any diff, of a changed line both; "~" is an underline of the
            differing words of the line above.
        before: Its number on the first side.
        after: Its number on the second.
    """

    mark: Mark
    before: int | None
    after: int | None
    pieces: list[Piece]

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(piece.text for piece in self.pieces)


def code_summary(comparison: CodeComparison) -> str:
    """Return how much changed: "13 changed, 30 added (118 → 148 lines)"."""
    if not comparison.different:
        return "no difference"
    counts = {
        "changed": comparison.changed,
        "added": comparison.added,
        "removed": comparison.removed,
    }
    counted = [f"{number:,} {what}" for what, number in counts.items() if number]
    lines = f"{comparison.before_lines:,} → {plural(comparison.after_lines, 'line')}"
    return f"{', '.join(counted)} ({lines})"


def hunk_place(hunk: CodeHunk) -> str:
    """Return where a hunk is: "-35,12 +37,24"; a side without lines in it has no numbers."""
    ranges = []
    for mark, numbers in (
        ("-", [row.before_line for row in hunk.rows if row.before_line is not None]),
        ("+", [row.after_line for row in hunk.rows if row.after_line is not None]),
    ):
        if numbers:
            ranges.append(f"{mark}{min(numbers)},{max(numbers) - min(numbers) + 1}")
    return " ".join(ranges)


def unified(hunk: CodeHunk, *, underline: bool) -> Iterator[Line]:
    """Yield a hunk's lines; each changed line of the first side stands above its counterpart.

    Args:
        underline: Whether to mark the differing words with a line of carets.
    """
    for row in hunk.rows:
        if row.kind == "same":
            yield Line(" ", row.before_line, row.after_line, pieces(row.after, ()))
            continue
        lines = []
        if row.before is not None:
            lines.append(Line("-", row.before_line, None, pieces(row.before, row.before_words)))
        if row.after is not None:
            lines.append(Line("+", None, row.after_line, pieces(row.after, row.after_words)))
        for line in lines:
            yield line
            if underline and any(piece.changed for piece in line.pieces):
                marked = [("^" if each.changed else " ") * len(each.text) for each in line.pieces]
                yield Line("~", None, None, [Piece("".join(marked).rstrip(), False)])


def pieces(text: str | None, words: Sequence[Columns]) -> list[Piece]:
    """Return a line cut where it differs, safe to show, tabs as blanks."""
    text = text or ""
    cuts = [0, *(column for columns in words for column in columns), len(text)]
    return [
        Piece(drawn(text[start:stop]), bool(index % 2))
        for index, (start, stop) in enumerate(pairwise(cuts))
        if stop > start
    ]


def drawn(text: str) -> str:
    """Return a part of a line, safe to show, tabs as blanks."""
    text = text.replace("\t", _TAB)
    # Nearly all lines are printable; checking each character of 100,000 lines takes seconds.
    return text if text.isprintable() else printable_line(text)
