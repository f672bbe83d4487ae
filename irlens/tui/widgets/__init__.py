"""Widgets that the screens are composed of; here a frame, and the scrolling of views of lines."""

from collections.abc import Callable
from typing import ClassVar, Literal, TypeAlias

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.scroll_view import ScrollView
from textual.widgets import Static

from irlens.tui.drawing import DIM

#: How a row comes into sight: with as little scrolling as possible, in the centre of the view, or
#: at its top even if it was visible.
Reveal: TypeAlias = Literal["near", "centre", "top"]


class VisibleRows:
    """The rows of a view that were visible before it was resized."""

    def __init__(self, view: ScrollView) -> None:
        self._view = view
        #: 0 until the view has a height.
        self._count = 0

    def resize(self, count: int, row: int) -> bool:
        """Note another height in rows, and return whether a row (from 0) was visible until now.

        A cursor that the user has scrolled away from must not come back into sight because another
        line of the screen appears or disappears.
        """
        before, self._count = self._count, count
        top = round(self._view.scroll_y)
        return not before or top <= row < top + before


def revealing(row: int, top: int, height: int, how: Reveal, *, context: int) -> int:
    """Return the first row to show so that a row is visible with some others around it.

    Args:
        row: The row, from 0.
        top: The first row that is shown now.
        height: Rows of the view, at least 1.
        context: Rows that stay visible above and below it.
    """
    margin = min(context, (height - 1) // 2)
    first, last = top + margin, top + height - 1 - margin
    if how == "top":
        return row - margin
    if how == "centre" and not first <= row <= last:
        return row - height // 2
    return top + min(row - first, 0) + max(row - last, 0)


def place_scrollbar(view: ScrollView) -> None:
    """Move a scrollbar that appears to the current position: Textual moves only visible ones."""
    view.vertical_scrollbar.position = view.scroll_y


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
