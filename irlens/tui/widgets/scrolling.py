"""Scrolling that views of drawn lines share."""

from textual.scroll_view import ScrollView


class VisibleRows:
    """The rows of a view that were visible before it was resized.

    Args:
        view: The view.
    """

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


def place_scrollbar(view: ScrollView, shown: bool) -> None:
    """Move a scrollbar that appears to the current position: Textual moves only visible ones."""
    if shown:
        view.vertical_scrollbar.position = view.scroll_y
