"""The dialog that sorts the browser: a letter for each column."""

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from irlens.tui.entries.columns import BROWSER_COLUMNS
from irlens.tui.screens.dialogs import Choices, Dialog
from irlens.tui.widgets.key_bar import KeyBar

#: The columns to sort by.
SORT_COLUMNS = {name: column for name, column in BROWSER_COLUMNS.items() if column.label}


class SortDialog(Dialog[str | None]):
    """Returns a column, or ``None``.

    Args:
        column: The current sort column.
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
