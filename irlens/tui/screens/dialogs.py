"""Dialogs: screens above another one until they are answered or closed."""

from typing import ClassVar, TypeVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import OptionList

from irlens.tui.widgets.key_bar import KeyBar

T = TypeVar("T")


class Dialog(ModalScreen[T]):
    """A question to the user.

    Attributes:
        HELP_TEXT: Markdown that explains the question; the keys are listed below it.
    """

    HELP_TEXT: ClassVar[str] = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        # With priority, before a field takes it as a character.
        Binding("question_mark,f1", "app.help", "Help", id="help", priority=True),
    ]


class Choices(OptionList):
    """The options of a dialog, with vim's keys as well."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", "Down", id="choices.down", show=False),
        Binding("k", "cursor_up", "Up", id="choices.up", show=False),
        Binding("g", "first", "First", id="choices.first", show=False),
        Binding("G", "last", "Last", id="choices.last", show=False),
        Binding("ctrl+d", "page_down", "Page down", id="choices.page_down", show=False),
        Binding("ctrl+u", "page_up", "Page up", id="choices.page_up", show=False),
    ]


class TextDialog(ModalScreen[None]):
    """Markdown to read: help, the explanation of a finding, an error at length."""

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
        """Lay out the text in the middle of the screen."""
        from textual.widgets import Markdown  # its parser takes a while to import

        with VerticalScroll(can_focus=False):
            yield Markdown(self._text, open_links=False)
        yield KeyBar()

    def action_scroll(self, rows: int) -> None:
        """Scroll by some rows."""
        self.query_one(VerticalScroll).scroll_relative(y=rows, animate=False, immediate=True)
