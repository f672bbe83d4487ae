"""A line as styled segments, with what is marked in it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.segment import Segment
from rich.style import Style

from irlens.tui.code.colours import Colours
from irlens.tui.code.gutters import Gutter

#: A style for each name in ``colours.KINDS`` and ``gutters.STYLES``; "" is plain text.
Palette = Mapping[str, Style]

#: Columns of a drawn line, the end exclusive, and how they are to look.
Highlight = tuple[int, int, Style]


class Painter:
    """Draws lines.

    Args:
        colours: What the pieces of the text are.
        gutters: What stands beside it.
    """

    def __init__(self, colours: Colours, gutters: Sequence[Gutter]) -> None:
        self._colours = colours
        self._gutters = gutters
        self.gutter_width = sum(gutter.width for gutter in gutters)

    def gutter(self, line: int, cursor: int, palette: Palette) -> Iterator[Segment]:
        """Yield what stands beside a line (from 1)."""
        for gutter in self._gutters:
            for text, name in gutter.cells(line, cursor):
                yield Segment(text, palette[name])

    def code(
        self, line: int, palette: Palette, highlights: Iterable[Highlight]
    ) -> Iterable[Segment]:
        """Return a line (from 1) in its colours, with highlights over them, later ones on top."""
        pieces = self._colours.pieces(line - 1)
        segments: Iterable[Segment] = [Segment(text, palette[name]) for text, name in pieces]
        for first, last, style in highlights:
            segments = _highlighted(segments, first, last, style)
        return segments


def _highlighted(
    segments: Iterable[Segment], first: int, last: int, style: Style
) -> Iterator[Segment]:
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
