"""A text over the screen: help, explanations."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Markdown

from irlens.tui.widgets.hints import Hints


class Reading(ModalScreen[None]):
    """Markdown to read, until it is put away."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,enter", "dismiss", "Close", id="reading.close"),
        Binding("j,down", "scroll(1)", "Down", id="reading.down", show=False),
        Binding("k,up", "scroll(-1)", "Up", id="reading.up", show=False),
        Binding("ctrl+d,pagedown,space", "scroll(12)", "Page down", id="reading.page_down"),
        Binding("ctrl+u,pageup", "scroll(-12)", "Page up", id="reading.page_up", show=False),
        Binding("g", "scroll(-1000000)", "Top", id="reading.top", show=False),
        Binding("G", "scroll(1000000)", "Bottom", id="reading.bottom", show=False),
    ]

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def compose(self) -> ComposeResult:
        """Lay out the text in the middle."""
        with VerticalScroll(can_focus=False):
            yield Markdown(self._text, open_links=False)
        yield Hints()

    def action_scroll(self, rows: int) -> None:
        """Scroll."""
        self.query_one(VerticalScroll).scroll_relative(y=rows, animate=False, immediate=True)
