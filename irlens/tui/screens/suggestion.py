"""The dialog with a suggestion: the configurations near an entry with the least estimated time."""

from collections.abc import Iterator
from typing import ClassVar

import msgspec
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from irlens.model.suggestion import Suggestion
from irlens.model.text import printable_line
from irlens.render.options import Options
from irlens.render.text_table import table_rows
from irlens.render.view.nodes import Node, Table
from irlens.render.view.suggestion import suggestion_view
from irlens.tui.drawing import contents_of, drawn, lines
from irlens.tui.screens.dialogs import Choices, Dialog
from irlens.tui.services.compilations import Shown
from irlens.tui.widgets.key_bar import KeyBar

#: The widest dialog, and the cells of its border, padding and scrollbar.
_WIDTH, _AROUND = 100, 7


class Chosen(msgspec.Struct, frozen=True):
    """What the user chose.

    Attributes:
        changes: The settings that differ from the entry's, as ``Setting.value`` writes them.
    """

    changes: dict[str, str]
    shows: Shown


class Neighbours(Choices):
    """The configurations to choose from."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select", "Open", id="suggestion.open"),
    ]


class SuggestionDialog(Dialog[Chosen | None]):
    """Returns the configuration to open, or ``None``."""

    HELP_TEXT = """\
The configurations near this one with the least estimated time, and what moved. Differences within
the noise of the estimate are "as fast".

* `Enter` opens a configuration, as if it had been recompiled; `,` returns from there.
* `c` also compares it with the current one.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c", "compare", "Open and compare", id="suggestion.compare"),
        Binding("escape,q", "dismiss", "Close", id="suggestion.close"),
    ]

    def __init__(self, suggestion: Suggestion) -> None:
        super().__init__()
        self._suggestion = suggestion
        self._view = suggestion_view(suggestion, Options(subject=None)).children

    def compose(self) -> ComposeResult:
        """Lay out the neighbours between what is said about all of them."""
        with Vertical():
            yield Static(id="above", markup=False)
            yield Neighbours(markup=False)
            yield Static(id="below", markup=False)
        yield KeyBar()

    def on_mount(self) -> None:
        """Show the suggestion, with the cursor on the fastest neighbour."""
        kernel = printable_line(self._suggestion.kernel)
        self.query_one(Vertical).border_title = Content(f"Suggestion for {kernel}")
        self._show()
        self.query_one(Neighbours).focus()

    def on_resize(self) -> None:
        """Draw it for another width."""
        self._show()

    def action_compare(self) -> None:
        """Open the configuration under the cursor, and compare it with the current one."""
        highlighted = self.query_one(Neighbours).highlighted_option
        if highlighted is not None:
            self._choose(highlighted, "differences")

    @on(OptionList.OptionSelected)
    def _on_selected(self, event: OptionList.OptionSelected) -> None:
        self._choose(event.option, "entry")

    def _choose(self, option: Option, shows: Shown) -> None:
        if option.id is not None:
            changed = self._suggestion.best[int(option.id)].changed
            changes = {name: str(value) for name, value in changed.items()}
            self.dismiss(Chosen(changes, shows))

    def _show(self) -> None:
        width = min(_WIDTH, self.app.size.width * 9 // 10) - _AROUND
        choices = self.query_one(Neighbours)
        highlighted = choices.highlighted
        at = next((n for n, node in enumerate(self._view) if isinstance(node, Table)), None)
        above = self._view if at is None else self._view[:at]
        self.query_one("#above", Static).update(lines(drawn(above, width)))
        if at is None:
            return
        self.query_one("#below", Static).update(lines(drawn(self._view[at + 1 :], width)))
        choices.set_options(self._options(self._view[at], width))
        first = next((n for n, each in enumerate(choices.options) if each.id is not None), None)
        choices.highlighted = first if highlighted is None else highlighted

    def _options(self, node: Node, width: int) -> Iterator[Option]:
        """Yield the table's titles, the current configuration, and its neighbours to choose."""
        assert isinstance(node, Table)
        titles, current, *neighbours = map(contents_of, table_rows(node, width))
        yield Option(lines(titles), disabled=True)
        yield Option(lines(current), disabled=True)
        for number, rows in enumerate(neighbours):
            yield Option(lines(rows), id=str(number))
