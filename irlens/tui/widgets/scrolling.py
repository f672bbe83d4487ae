"""Lines that scroll, with a scrollbar that says where."""

from textual.scroll_view import ScrollView


class Scrolling(ScrollView, can_focus=True):
    """A scroll view whose scrollbar is right from the moment that it is shown."""

    #: Rows that could be seen until the view has another height; 0 before it has any.
    _rows_seen = 0

    def take_height(self, height: int, row: int) -> bool:
        """Take another height, and return whether a row was in sight until then.

        What the user has scrolled away from does not come back because another line of the screen
        comes or goes.

        Args:
            height: The rows that can be seen from now on.
            row: From 0.
        """
        seen, self._rows_seen = self._rows_seen, height
        top = round(self.scroll_y)
        return not seen or top <= row < top + seen

    def watch_show_vertical_scrollbar(self, shown: bool) -> None:
        """Begin where the text is: Textual does not move a scrollbar that is hidden."""
        if shown:
            self.vertical_scrollbar.position = self.scroll_y
