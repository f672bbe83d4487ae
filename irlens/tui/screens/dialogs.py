"""Dialogs: screens above another one until they are answered or closed."""

from collections.abc import Iterator
from functools import partial
from typing import ClassVar, TypeVar

from msgspec.structs import replace
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from irlens.model.text import printable_line
from irlens.render.view.nodes import Section
from irlens.tui.drawing import page
from irlens.tui.entries.columns import BROWSER_COLUMNS
from irlens.tui.widgets import Panel
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


def choice_bindings(options: str) -> Iterator[Binding]:
    """Yield vim's keys for a list of options."""
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
    """A document of nodes, such as the drawing of a layout."""

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


#: The columns to sort by.
SORT_COLUMNS = {name: column for name, column in BROWSER_COLUMNS.items() if column.label}


class SortDialog(Dialog[str | None]):
    """Returns a column, or ``None``.

    Args:
        descending: Whether the largest value comes first.
    """

    HELP_TEXT = """\
A letter sorts the entries by its column; the letter of the current column reverses the order.
Unknown values come last in either order.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(
                column.letter,
                f"choose('{name}')",
                f"By {column.label}",
                id=f"browser.sort.{name}",
                show=False,
            )
            for name, column in SORT_COLUMNS.items()
        ),
        Binding("escape,q", "dismiss", "Cancel", id="sorting.cancel"),
    ]

    def __init__(self, column: str, descending: bool) -> None:
        super().__init__()
        self._column = column
        self._descending = descending

    def compose(self) -> ComposeResult:
        """Lay out the columns in the middle of the screen."""
        with Vertical():
            yield Choices(*(self._option(column) for column in SORT_COLUMNS), markup=False)
        yield KeyBar()

    def on_mount(self) -> None:
        """Highlight the current sort column."""
        self.query_one(Vertical).border_title = "Sort by"
        if self._column in SORT_COLUMNS:
            self.query_one(Choices).highlighted = list(SORT_COLUMNS).index(self._column)

    def action_choose(self, column: str) -> None:
        """Return a column."""
        self.dismiss(column)

    @on(OptionList.OptionSelected)
    def _on_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option.id)

    def _option(self, column: str) -> Option:
        keys = [
            self.app.get_key_display(active.binding)
            for active in self.active_bindings.values()
            if active.binding.id == f"browser.sort.{column}"
        ]
        arrow = (" ▾" if self._descending else " ▴") if column == self._column else ""
        label = SORT_COLUMNS[column].label
        return Option(Content.assemble((f"{' '.join(keys):<3}", "bold"), label, arrow), id=column)
