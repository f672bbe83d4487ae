"""A frame with a title around a drawing that is made for the width there is."""

from collections.abc import Callable
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from irlens.tui.drawing import DIM

_NOT_YET = Content.styled("…", DIM)


class Panel(Static, can_focus=True):
    """A drawing that is made anew when its width changes.

    Its lines are never wrapped: of two columns in an odd width, Textual asks for heights at a width
    that is one less than the one which it gives.

    Args:
        title: Of the frame.
        draw: Makes the drawing for a number of cells; ``None`` until there is something to draw.
    """

    DEFAULT_CSS = """
    Panel {
        height: auto;
        border: round $border-blurred;
        border-title-color: $dim;
        border-subtitle-color: $dim;
        padding: 0 1;
        text-wrap: nowrap;
        text-overflow: clip;
        &:focus {
            border: round $primary;
            border-title-color: $primary;
        }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "screen.scroll(1)", "Scroll down", id="panel.down", show=False),
        Binding("k,up", "screen.scroll(-1)", "Scroll up", id="panel.up", show=False),
    ]

    def __init__(self, title: str, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(_NOT_YET, id=id, markup=False)
        self.border_title = title
        self._draw: Callable[[int], Content] | None = None
        self._drawn_for = 0

    def show(self, draw: Callable[[int], Content]) -> None:
        """Draw something else."""
        self._draw = draw
        self.redraw()

    def redraw(self) -> None:
        """Draw the same again."""
        self._drawn_for = self.content_size.width
        if self._draw is not None and self._drawn_for:
            self.update(self._draw(self._drawn_for))

    def on_resize(self) -> None:
        """Draw for another width."""
        if self.content_size.width != self._drawn_for:
            self.redraw()
