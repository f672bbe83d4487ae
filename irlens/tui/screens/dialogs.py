"""Dialogs: screens above another one until they are answered or closed."""

from collections.abc import Iterator
from functools import partial
from typing import ClassVar, TypeVar

from msgspec.structs import replace
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import OptionList

from irlens.model.text import printable_line
from irlens.render.view.nodes import Section
from irlens.tui.nodes import page
from irlens.tui.widgets.key_bar import KeyBar
from irlens.tui.widgets.panel import Panel

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


def choice_bindings(options: str) -> Iterator[Binding]:
    """Yield vim's keys for a list of options.

    Args:
        options: What the bindings' ids begin with.
    """
    for key, action, description in (
        ("j", "cursor_down", "Down"),
        ("k", "cursor_up", "Up"),
        ("g", "first", "First"),
        ("G", "last", "Last"),
        ("ctrl+d", "page_down", "Page down"),
        ("ctrl+u", "page_up", "Page up"),
    ):
        name = action.removeprefix("cursor_")
        yield Binding(key, action, description, id=f"{options}.{name}", show=False)


class Choices(OptionList):
    """The options of a dialog, with vim's keys as well."""

    BINDINGS: ClassVar[list[BindingType]] = [*choice_bindings("choices")]


class Reading(ModalScreen[None]):
    """Something to read, which scrolls."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,enter", "dismiss", "Close", id="reading.close"),
        Binding("j,down", "scroll(1)", "Down", id="reading.down", show=False),
        Binding("k,up", "scroll(-1)", "Up", id="reading.up", show=False),
        Binding("ctrl+d,pagedown,space", "scroll(12)", "Page down", id="reading.page_down"),
        Binding("ctrl+u,pageup", "scroll(-12)", "Page up", id="reading.page_up", show=False),
        Binding("g", "scroll(-1000000)", "Top", id="reading.top", show=False),
        Binding("G", "scroll(1000000)", "Bottom", id="reading.bottom", show=False),
    ]

    def compose(self) -> ComposeResult:
        """Lay out the content in the middle of the screen."""
        with VerticalScroll(can_focus=False):
            yield from self.content()
        yield KeyBar()

    def content(self) -> ComposeResult:
        """Yield what there is to read."""
        yield from ()

    def action_scroll(self, rows: int) -> None:
        """Scroll by some rows."""
        self.query_one(VerticalScroll).scroll_relative(y=rows, animate=False, immediate=True)


class TextDialog(Reading):
    """Markdown to read: help, an error at length."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def content(self) -> ComposeResult:
        """Yield the text."""
        from textual.widgets import Markdown  # its parser takes a while to import

        yield Markdown(self._text, open_links=False)


class DrawingDialog(Reading):
    """A document of nodes, such as the drawing of a layout.

    Args:
        document: The document, whose title is the dialog's.
    """

    def __init__(self, document: Section) -> None:
        super().__init__()
        self._document = document

    def content(self) -> ComposeResult:
        """Yield the drawing."""
        yield Panel("", classes="-bare")

    def on_mount(self) -> None:
        """Draw it, under its title."""
        self.query_one(VerticalScroll).border_title = printable_line(self._document.title)
        self.query_one(Panel).show(partial(page, replace(self._document, title="")))
