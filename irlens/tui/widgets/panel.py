"""A frame with a title around a drawing that fits its width."""

from collections.abc import Callable
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from irlens.tui.drawing import DIM

_LOADING = Content.styled("…", DIM)


class Panel(Static, can_focus=True):
    """A drawing that is drawn again when its width changes.

    Its lines are never wrapped: for two columns of an odd width Textual asks for the height at one
    cell less than the width that it then assigns.
    """

    DEFAULT_CSS = """
    Panel {
        height: auto;
        border: round $border-blurred;
        border-title-color: $dim;
        border-subtitle-color: $dim;
        padding: 0 1;
        text-wrap: nowrap;
        text-overflow: ellipsis;
        &:focus {
            border: round $primary;
            border-title-color: $primary;
        }
        &.-bare {
            border: none;
            padding: 0;
        }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "screen.scroll(1)", "Scroll down", id="panel.down", show=False),
        Binding("k,up", "screen.scroll(-1)", "Scroll up", id="panel.up", show=False),
    ]

    def __init__(
        self,
        title: str,
        *,
        id: str | None = None,  # noqa: A002
        classes: str | None = None,
    ) -> None:
        super().__init__(_LOADING, id=id, classes=classes, markup=False)
        self.border_title = title
        self._draw: Callable[[int], Content] | None = None
        self._drawn_width = 0

    def show(self, draw: Callable[[int], Content]) -> None:
        """Show a drawing; ``draw`` returns it for a number of cells."""
        self._draw = draw
        self.redraw()

    def redraw(self) -> None:
        """Draw again."""
        self._drawn_width = self.content_size.width
        if self._draw is not None and self._drawn_width:
            self.update(self._draw(self._drawn_width))

    def on_resize(self) -> None:
        """Draw for another width."""
        if self.content_size.width != self._drawn_width:
            self.redraw()
