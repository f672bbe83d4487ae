"""Widgets that the screens are composed of, and the scrolling that views of lines share."""

from typing import Literal, TypeAlias

from textual.scroll_view import ScrollView

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
