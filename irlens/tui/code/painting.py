"""A line as styled segments, with what is marked in it."""

from collections.abc import Iterable, Mapping, Sequence

from rich.segment import Segment
from rich.style import Style

from irlens.tui.code.colours import Colours
from irlens.tui.code.gutters import Cell, Gutter

#: Columns of a drawn line, the end exclusive, and how they are to look.
Highlight = tuple[int, int, Style]


class Painter:
    """Draws lines in a set of styles.

    Args:
        colours: What the pieces of the text are.
        gutters: What stands beside it.
        styles: A style for each name in ``colours.KINDS`` and ``gutters.STYLES``.
    """

    def __init__(
        self, colours: Colours, gutters: Sequence[Gutter], styles: Mapping[str, Style]
    ) -> None:
        self._colours = colours
        self._gutters = gutters
        self._styles = styles
        self.gutter_width = sum(gutter.width for gutter in gutters)

    def gutter(self, line: int, cursor: int) -> list[Segment]:
        """Return what stands beside a line (from 1)."""
        return [
            self._segment(cell) for gutter in self._gutters for cell in gutter.cells(line, cursor)
        ]

    def code(self, line: int, highlights: Iterable[Highlight]) -> list[Segment]:
        """Return a line (from 1) in its colours, with highlights over them, later ones on top."""
        segments = [self._segment(piece) for piece in self._colours.pieces(line - 1)]
        for first, last, style in highlights:
            segments = list(_highlighted(segments, first, last, style))
        return segments

    def _segment(self, cell: Cell) -> Segment:
        return Segment(cell[0], self._styles.get(cell[1]))


def _highlighted(
    segments: Iterable[Segment], first: int, last: int, style: Style
) -> Iterable[Segment]:
    column = 0
    for segment in segments:
        text, own = segment.text, segment.style
        start, end = max(first - column, 0), min(last - column, len(text))
        column += len(text)
        if start >= end:
            yield segment
            continue
        if text[:start]:
            yield Segment(text[:start], own)
        yield Segment(text[start:end], own + style if own else style)
        if text[end:]:
            yield Segment(text[end:], own)
