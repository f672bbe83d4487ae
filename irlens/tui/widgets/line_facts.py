"""What is known of the line at the cursor, below the panes."""

from collections.abc import Sequence

from textual.content import Content
from textual.widgets import Static

from irlens.model.text import printable_line
from irlens.tui.drawing import flowing, lines

_LEAST_HEIGHT, _MOST_HEIGHT = 2, 4


class LineFacts(Static):
    """Where a line comes from, and what the gutters say of it.

    It is as high as it ever had to be: what is above it does not move with the cursor.
    """

    DEFAULT_CSS = f"""
    LineFacts {{
        height: auto;
        min-height: {_LEAST_HEIGHT};
        max-height: {_MOST_HEIGHT};
        padding: 0 1;
        background: $panel;
        color: $foreground;
    }}
    """

    def __init__(self) -> None:
        super().__init__(id="facts", markup=False)
        self._told: tuple[str, Sequence[str]] = ("", ())
        self._width, self._height = 0, _LEAST_HEIGHT

    def tell(self, first: str, facts: Sequence[str] = ()) -> None:
        """Show a line, and below it facts, each whole in a line if there is room."""
        self._told = first, facts
        self._draw()

    def on_resize(self) -> None:
        """Draw anew for another width, in which it may have another height."""
        if self.content_size.width != self._width:
            self._width = self.content_size.width
            self._height = _LEAST_HEIGHT
            self._draw()

    def _draw(self) -> None:
        first, *rest = (Content(printable_line(text)) for text in (self._told[0], *self._told[1]))
        below = [flowing(Content(""), rest, "   ", self._width or self.screen.size.width)]
        self.update(lines([first, *(below if rest else [])]))
        if self._width:
            needed = self.get_content_height(self.size, self.screen.size, self._width)
            self._height = min(max(needed, self._height), _MOST_HEIGHT)
            self.styles.min_height = self._height
