"""Facts about the cursor's line, below the panes."""

from collections.abc import Sequence

from textual.content import Content
from textual.widgets import Static

from irlens.model.text import printable_line
from irlens.tui.drawing import flowing, lines, shortened

_MIN_HEIGHT, _MAX_HEIGHT = 2, 5


class LineFacts(Static):
    """The source of a line, and what the gutters show about it.

    The widget never shrinks, so that the panes above it do not move with the cursor.
    """

    DEFAULT_CSS = f"""
    LineFacts {{
        height: auto;
        min-height: {_MIN_HEIGHT};
        max-height: {_MAX_HEIGHT};
        padding: 0 1;
        background: $panel;
        color: $foreground;
    }}
    """

    def __init__(self) -> None:
        super().__init__(id="facts", markup=False)
        self._first, self._facts = "", tuple[str, ...]()
        self._width, self._height = 0, _MIN_HEIGHT

    def show(self, first: str, facts: Sequence[str] = ()) -> None:
        """Show a first line, and the facts below it; a fact is wrapped only if it does not fit."""
        self._first, self._facts = first, tuple(facts)
        self._draw()

    def on_resize(self) -> None:
        """Draw for another width, at which the facts may need another height."""
        if self.content_size.width != self._width:
            self._width = self.content_size.width
            self._height = _MIN_HEIGHT
            self._draw()

    def _draw(self) -> None:
        rows = [Content(printable_line(self._first))]
        if self._facts:
            facts = [Content(printable_line(fact)) for fact in self._facts]
            rows.append(flowing(Content(""), facts, "   ", self._width or self.screen.size.width))
        width = self._width or self.screen.size.width
        wrapped = [part for row in rows for line in row.split() for part in line.wrap(width)]
        self.update(lines(shortened(wrapped, _MAX_HEIGHT, width)))
        if self._width:
            self._height = min(max(len(wrapped), self._height), _MAX_HEIGHT)
            self.styles.min_height = self._height
