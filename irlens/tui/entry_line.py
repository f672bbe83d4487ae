"""A line of the browser's table: cells beside each other, with what was searched for marked."""

import re
from collections.abc import Iterable, Iterator, Mapping

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.strip import Strip

from irlens.tui.contrast import READABLE, contrast_ratio
from irlens.tui.entry_columns import SETTINGS
from irlens.tui.entry_rows import is_exact

#: Columns of figures, which stand under each other at the right.
_RIGHT = frozenset({"registers", "local", "shared", "occupancy"})


class Ink:
    """What a kind of line is written with.

    Args:
        line: The style of the whole line.
        match: The style of what was searched for.
        words: That: capital letters in a word mean what they are.
        colours: A theme's colours by name ("warning").
    """

    def __init__(
        self, line: Style, match: Style, words: Iterable[str], colours: Mapping[str, str]
    ) -> None:
        self.line = line
        self._match = match
        ways = [re.escape(word) if is_exact(word) else f"(?i:{re.escape(word)})" for word in words]
        self._pattern = re.compile("|".join(ways)) if ways else None
        self._colours = colours
        self._styles: dict[str, Style] = {}

    def written(self, text: str, name: str) -> Iterator[Segment]:
        """Yield words in a colour of the theme ("$warning")."""
        style, at = self._style(name), 0
        for match in self._pattern.finditer(text) if self._pattern else ():
            yield Segment(text[at : match.start()], style)
            yield Segment(match.group(), self._match)
            at = match.end()
        yield Segment(text[at:], style)

    def _style(self, name: str) -> Style:
        if name not in self._styles:
            value = self._colours.get(name.removeprefix("$"))
            colour = Color.parse(value) if value else None
            seen = colour is not None and self._is_legible(colour)
            own = Style(color=colour.rich_color) if colour is not None and seen else Style.null()
            self._styles[name] = self.line + own
        return self._styles[name]

    def _is_legible(self, colour: Color) -> bool:
        """Whether it can be read on the line: on a bright cursor a bright colour cannot."""
        if self.line.bgcolor is None:
            return True
        return contrast_ratio(colour, Color.from_rich_color(self.line.bgcolor)) >= READABLE


def row_of(
    cells: Mapping[str, Iterable[tuple[str, str]]],
    widths: Mapping[str, int],
    room: int,
    ink: Ink,
) -> Strip:
    """Return a line of cells.

    Args:
        cells: What stands in them, by column: words with the style of each.
        widths: The columns from the left, with the width of each.
        room: The width of the line.
        ink: What to write with.
    """
    segments: list[Segment] = []
    for name, width in widths.items():
        pieces = cells[name]
        if name == "kernel":
            pieces = [(elided(text, width), style) for text, style in pieces]
        elif name == SETTINGS:
            pieces = cut(pieces, width)
        segments += cell(pieces, width, ink, right=name in _RIGHT)
    return Strip(segments).adjust_cell_length(room, ink.line)


def cell(pieces: Iterable[tuple[str, str]], width: int, ink: Ink, *, right: bool) -> list[Segment]:
    """Return a cell of ``width`` between two spaces.

    Args:
        pieces: Words with the style of each, a name from the theme.
        width: In cells; what is longer than that is drawn in full.
        ink: What to write with.
        right: Whether the words stand at the right.
    """
    segments = [part for text, name in pieces for part in ink.written(text, name)]
    room = " " * max(width - sum(part.cell_length for part in segments), 0)
    before, after = (f" {room}", " ") if right else (" ", f"{room} ")
    return [Segment(before, ink.line), *segments, Segment(after, ink.line)]


def cut(pieces: Iterable[tuple[str, str]], width: int) -> list[tuple[str, str]]:
    """Return the words that there is room for, and "…" where there is none for all of them."""
    given, shown = list(pieces), []
    if sum(cell_len(text) for text, _ in given) <= width:
        return given
    left = width - 1
    for text, style in given:
        shown.append((set_cell_size(text, min(cell_len(text), left)), style))
        left -= cell_len(shown[-1][0])
    return [*shown, ("…", given[-1][1])]


def elided(text: str, width: int) -> str:
    """Return a name that fits: names like Inductor's differ at their ends, too."""
    if cell_len(text) <= width:
        return text
    head = (width - 1) // 2
    tail = set_cell_size(text[::-1], width - 1 - head)[::-1]
    return f"{set_cell_size(text, head)}…{tail}"
