"""The columns of the browser that fit in the terminal, and how a row of them is drawn.

Columns are shown whole, the most useful ones first. The settings come last and take the remaining
space. The columns that do not fit follow on their right, and panning brings them into view.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.strip import Strip

from irlens.tui.entries.cells import is_case_sensitive
from irlens.tui.entries.columns import BROWSER_COLUMNS, LEAST_USEFUL, SETTINGS, BrowserColumn
from irlens.tui.themes import READABLE, contrast_ratio

#: Cells around a column: a space on either side.
_PADDING = 2
#: The columns that stay in place when the others are panned.
_FIXED = ("mark", "kernel")
#: The least cells of settings that are worth showing; and the most for which a column of figures
#: makes room, so that entries stay distinguishable.
_MIN_SETTINGS, _MAX_DISTINCTION = 12, 26


class ColumnNeeds(msgspec.Struct, frozen=True):
    """What the columns need.

    Attributes:
        distinction: Cells of the settings that distinguish the entries of a kernel.
        uniform: Columns with the same text in every row.
        sorted_by: The sort column, which is shown unless it is uniform.
    """

    widths: Mapping[str, int]
    distinction: int
    uniform: frozenset[str]
    sorted_by: str


class Columns(msgspec.Struct, frozen=True):
    """The visible columns.

    Attributes:
        widths: Cells of each column from the left; only the settings may be cut.
        panned: Number of columns panned out of view.
        has_more: Whether there is more on the right.
    """

    widths: dict[str, int]
    panned: int
    has_more: bool

    def at(self, x: int) -> str | None:
        """Return the column at a cell, ``None`` to the right of all columns."""
        end = 0
        for name, width in self.widths.items():
            end += width + _PADDING
            if x < end:
                return name
        return None


def arrange(needs: ColumnNeeds, room: int, panned: int = 0) -> Columns:
    """Return the columns that fit.

    Args:
        panned: Number of columns to pan out of view; fewer if nothing more comes into view.
    """
    fitting = _fitting(needs, room)
    order = [
        *fitting,
        SETTINGS,
        *(name for name in BROWSER_COLUMNS if name not in (*fitting, SETTINGS)),
    ]
    fixed = [name for name in _FIXED if name in fitting]
    rest = [name for name in order if name not in fixed]
    # Panning ends when only the last column is left.
    for skipped in range(min(panned, len(rest) - 1) + 1):
        shown = _from_left([*fixed, *rest[skipped:]], needs, room)
        has_more = list(shown)[-1] != rest[-1] or (
            SETTINGS in shown and shown[SETTINGS] != needs.widths[SETTINGS]
        )
        if not has_more:
            break
    return Columns(shown, skipped, has_more and skipped < len(rest) - 1)


def _fitting(needs: ColumnNeeds, room: int) -> list[str]:
    """Return the columns of figures that leave room for what distinguishes the entries."""
    kept = [name for name in BROWSER_COLUMNS if name != SETTINGS]
    distinction = min(max(needs.distinction, _MIN_SETTINGS), _MAX_DISTINCTION)
    reserved = min(distinction, needs.widths[SETTINGS]) + _PADDING
    dispensable = [name for name in LEAST_USEFUL if name in needs.uniform]
    dispensable += [
        name for name in LEAST_USEFUL if name not in (*needs.uniform, *_FIXED, needs.sorted_by)
    ]
    for name in dispensable:
        if sum(needs.widths[each] + _PADDING for each in kept) + reserved <= room:
            break
        kept.remove(name)
    return kept


def _from_left(names: Sequence[str], needs: ColumnNeeds, room: int) -> dict[str, int]:
    """Return as many whole columns as fit, and the settings as far as they fit."""
    shown: dict[str, int] = {}
    for name in names:
        width, left = needs.widths[name], room - _PADDING
        if name == SETTINGS and left >= _MIN_SETTINGS:
            width = min(width, left)
        if width > left and shown:
            break
        shown[name] = width
        room -= width + _PADDING
    return shown


class RowStyle:
    """The styles of one kind of row, with the words of the filter highlighted.

    Args:
        colours: The theme's colours by name ("warning").
    """

    def __init__(
        self, line: Style, match: Style, words: Iterable[str], colours: Mapping[str, str]
    ) -> None:
        self.line = line
        self._match = match
        patterns = [
            re.escape(word) if is_case_sensitive(word) else f"(?i:{re.escape(word)})"
            for word in words
        ]
        self._pattern = re.compile("|".join(patterns)) if patterns else None
        self._colours = colours
        self._styles: dict[str, Style] = {}

    def segments(self, text: str, colour: str) -> Iterator[Segment]:
        """Yield a text in a colour of the theme ("$warning")."""
        style, at = self._style(colour), 0
        for match in self._pattern.finditer(text) if self._pattern else ():
            yield Segment(text[at : match.start()], style)
            yield Segment(match.group(), self._match)
            at = match.end()
        yield Segment(text[at:], style)

    def _style(self, name: str) -> Style:
        if name not in self._styles:
            value = self._colours.get(name.removeprefix("$"))
            colour = Color.parse(value) if value else None
            is_used = colour is not None and self._is_readable(colour)
            own = Style(color=colour.rich_color) if colour is not None and is_used else Style.null()
            self._styles[name] = self.line + own
        return self._styles[name]

    def _is_readable(self, colour: Color) -> bool:
        """Whether a colour can be read on the row: a bright one cannot on a bright cursor."""
        if self.line.bgcolor is None:
            return True
        return contrast_ratio(colour, Color.from_rich_color(self.line.bgcolor)) >= READABLE


def draw_row(
    cells: Mapping[str, Iterable[tuple[str, str]]],
    widths: Mapping[str, int],
    room: int,
    style: RowStyle,
) -> Strip:
    """Return a row.

    Args:
        widths: The columns from the left, with the width of each.
    """
    segments: list[Segment] = []
    for name, width in widths.items():
        pieces = cells[name]
        if name == "kernel":
            *before, (text, colour) = pieces
            room_left = width - sum(cell_len(sign) for sign, _ in before)
            pieces = [*before, (elided(text, room_left), colour)]
        elif name == SETTINGS:
            pieces = _cut(pieces, width)
        segments += _draw_cell(pieces, width, style, BROWSER_COLUMNS[name])
    return Strip(segments).adjust_cell_length(room, style.line)


def _draw_cell(
    pieces: Iterable[tuple[str, str]], width: int, style: RowStyle, column: BrowserColumn
) -> list[Segment]:
    """Return a cell between two spaces; a longer text is not cut."""
    segments = [part for text, colour in pieces for part in style.segments(text, colour)]
    fill = " " * max(width - sum(part.cell_length for part in segments), 0)
    before, after = (f" {fill}", " ") if column.is_right_aligned else (" ", f"{fill} ")
    return [Segment(before, style.line), *segments, Segment(after, style.line)]


def _cut(pieces: Iterable[tuple[str, str]], width: int) -> list[tuple[str, str]]:
    """Return the text that fits, with "…" if some is cut."""
    given, shown = list(pieces), []
    if sum(cell_len(text) for text, _ in given) <= width:
        return given
    left = width - 1
    for text, colour in given:
        shown.append((set_cell_size(text, min(cell_len(text), left)), colour))
        left -= cell_len(shown[-1][0])
    return [*shown, ("…", given[-1][1])]


def elided(text: str, width: int) -> str:
    """Return a name cut in its middle: names like Inductor's differ at their ends as well."""
    if cell_len(text) <= width:
        return text
    head = (width - 1) // 2
    tail = set_cell_size(text[::-1], width - 1 - head)[::-1]
    return f"{set_cell_size(text, head)}…{tail}"
