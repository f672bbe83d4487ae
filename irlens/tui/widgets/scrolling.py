"""Lines that scroll, with a scrollbar that says where."""

from textual.scroll_view import ScrollView


class Scrolling(ScrollView, can_focus=True):
    """A scroll view whose scrollbar is right from the moment that it is shown."""

    def watch_show_vertical_scrollbar(self, shown: bool) -> None:
        """Begin where the text is: Textual does not move a scrollbar that is hidden."""
        if shown:
            self.vertical_scrollbar.position = self.scroll_y
