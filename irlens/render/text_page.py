"""A page of text: lines of runs, wrapped at a width, and painted where a terminal shows them."""

import sys
from collections.abc import Iterator, Sequence

from irlens.model.text import printable_line
from irlens.render.view import nodes
from irlens.render.view.characters import cut
from irlens.render.view.nodes import Run, Text, Tone, text

_ANSI: dict[Tone, str] = {
    "strong": "1", "dim": "2", "accent": "36", "code": "36", "good": "32", "better": "32",
    "warn": "33", "worse": "31", "unknown": "33", "bad": "1;31",
}  # fmt: skip
#: What a line does not begin with: units after a number, and marks of a judgement.
_UNITS = frozenset({
    "%", "×", "B", "KB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "ns", "µs", "ms", "s",
    "GB/s", "TB/s", "FLOP", "FLOP/B", "TFLOP/s", "MHz", "GHz", "CTAs",
})  # fmt: skip
_MARKS = frozenset(["✓", "✗", "▲"])
#: Code that is cut keeps at least so much.
LEAST_CODE = 20


class Page:
    """Collects lines of runs; ``text`` is the finished page.

    Args:
        width: Columns to fit in. Only a word that is wider than a line exceeds them.
        color: Whether to use ANSI colours. They only repeat what the words say.
        bars: The least and the most columns of a table's bars, which take what words leave.
    """

    def __init__(self, *, width: int, color: bool, bars: tuple[int, int] = (12, 12)) -> None:
        self.width, self.color, self.bars = width, color, bars
        self.rows: list[Text] = []

    def blank(self) -> None:
        """Add an empty line, unless there is one already or the page is empty."""
        if self.rows and nodes.plain(self.rows[-1]).strip():
            self.rows.append(())

    def raw(self, line: str) -> None:
        """Add a line that is safe to show and painted already."""
        self.rows.append(text(Run(line)))

    def row(self, content: Sequence[Run], indent: int = 0) -> None:
        """Add a line as it is, whatever its width."""
        self.rows.append(text(" " * indent, *content))

    def flow(
        self,
        items: Sequence[Text],
        *,
        first: Text = (),
        indent: int = 0,
        hang: int | None = None,
        gap: str = "   ",
        most: int = sys.maxsize,
    ) -> None:
        """Add items one after the other, in a column of their own.

        A line ends between two items, and within one only where it is wider than the column.

        Args:
            first: What stands at the left margin of the first line.
            indent: Where the column begins; ``first`` is padded to it.
            hang: Where the lines that follow begin; ``indent`` if not given.
            most: Columns of a line at most.
        """
        width = min(self.width, most)
        hang = max(indent, nodes.width(first)) if hang is None else hang
        first = tuple(printable_run(run) for run in first)
        lead = nodes.width(first)
        line = [*first, Run(" " * (indent - lead))]
        column = start = max(lead, indent)
        for item in items:
            safe = tuple(printable_run(run) for run in item)
            wide = nodes.width(safe)
            room = width - column - (len(gap) if column > start else 0)
            if safe and all(run.tone == "code" for run in safe):
                if room < min(wide, LEAST_CODE) and column > start:
                    self.row(line)
                    line, column, start = [Run(" " * hang)], hang, hang
                    room = width - column
                safe = text(Run(cut(nodes.plain(safe), max(room, LEAST_CODE)), "code"))
                wide = nodes.width(safe)
            if column > start and wide > room:
                self.row(line)
                line, column, start = [Run(" " * hang)], hang, hang
            if column > start:
                line.append(Run(gap, "neutral"))
                column += len(gap)
            if column + wide <= width:
                line += safe
                column += wide
                continue
            for number, word in enumerate(_words(safe)):
                space = " " if number else ""
                if column > start and column + len(space) + nodes.width(word) > width:
                    self.row(line)
                    line, column, start, space = [Run(" " * hang)], hang, hang, ""
                line += [Run(space), *word]
                column += len(space) + nodes.width(word)
        self.row(line)

    def text(self) -> str:
        """Return the page, ending in one newline."""
        lines = ("".join(map(self._paint, row)).rstrip() for row in self.rows)
        return "\n".join(lines).rstrip("\n") + "\n"

    def _paint(self, run: Run) -> str:
        code = _ANSI.get(run.tone)
        if not self.color or code is None or not run.text.strip():
            return run.text
        return f"\x1b[{code}m{run.text}\x1b[0m"


def printable_run(run: Run) -> Run:
    """Return a run that is safe to show."""
    shown = printable_line(run.text)
    return run if shown == run.text else Run(shown, run.tone)


def _words(content: Text) -> Iterator[Text]:
    """Cut a text at its spaces, but between a number and its unit or mark.

    A word may have several runs.
    """
    first, *others = _spaced(content)
    for word in others:
        if _belongs(nodes.plain(word), nodes.plain(first)):
            first = (*first, Run(" "), *word)
        else:
            yield first
            first = word
    yield first


def _belongs(word: str, before: str) -> bool:
    """Whether a word is the unit of the number before it, or a mark."""
    bare = word.rstrip(",.;:)")
    return bare in _MARKS or (bare in _UNITS and before[-1:].isdigit())


def _spaced(content: Text) -> Iterator[Text]:
    """Cut a text at its spaces."""
    word: list[Run] = []
    for run in content:
        head, *rest = run.text.split(" ")
        word.append(Run(head, run.tone))
        for part in rest:
            yield text(*word)
            word = [Run(part, run.tone)]
    yield text(*word)
