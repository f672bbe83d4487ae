"""By what the browser's entries are sorted: a letter for each column."""

from functools import partial
from typing import TYPE_CHECKING, ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from irlens.tui.screens.dialogue import Dialogue
from irlens.tui.widgets.choices import Choices
from irlens.tui.widgets.hints import Hints

if TYPE_CHECKING:
    from irlens.tui.screens.browser import BrowserScreen

#: Columns of the browser with a letter for each, and what they are.
_COLUMNS = {
    "kernel": ("n", "name"),
    "target": ("t", "target"),
    "registers": ("r", "registers"),
    "local": ("l", "local memory"),
    "shared": ("m", "shared memory"),
    "occupancy": ("o", "occupancy"),
    "findings": ("f", "findings"),
    "pipelines": ("p", "pipeline stages"),
    "settings": ("s", "settings"),
}


class Sorting(Dialogue[str | None]):
    """Answers with a column, or with nothing.

    Args:
        column: The one that entries are sorted by.
        descending: Whether from the largest down.
    """

    HELP_TEXT = """\
A letter sorts the entries by a column; the letter of the column that they are sorted by turns the
order round. What is unknown comes last either way.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(
                key, f"choose('{column}')", f"By {name}", id=f"browser.sort.{column}", show=False
            )
            for column, (key, name) in _COLUMNS.items()
        ),
        Binding("escape,q", "dismiss", "Cancel", id="sorting.cancel"),
    ]

    def __init__(self, column: str, *, descending: bool) -> None:
        super().__init__()
        self._column = column
        self._descending = descending

    def compose(self) -> ComposeResult:
        """Lay out the list in the middle."""
        with Vertical():
            yield Choices(*(self._option(column) for column in _COLUMNS), markup=False)
        yield Hints()

    def on_mount(self) -> None:
        """Begin with the column that entries are sorted by."""
        self.query_one(Vertical).border_title = "Sort by"
        if self._column in _COLUMNS:
            self.query_one(Choices).highlighted = list(_COLUMNS).index(self._column)

    def action_choose(self, column: str) -> None:
        """Answer."""
        self.dismiss(column)

    @on(OptionList.OptionSelected)
    def _picked(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option.id)

    def _option(self, column: str) -> Option:
        keys = [
            self.app.get_key_display(active.binding)
            for active in self.active_bindings.values()
            if active.binding.id == f"browser.sort.{column}"
        ]
        arrow = (" ▾" if self._descending else " ▴") if column == self._column else ""
        name = _COLUMNS[column][1]
        return Option(Content.assemble((f"{' '.join(keys):<3}", "bold"), name, arrow), id=column)


class SortCommands(Provider):
    """Sorting by each column, in the command palette."""

    async def discover(self) -> Hits:
        """Yield all of them."""
        for column, (_, name) in _COLUMNS.items():
            yield DiscoveryHit(f"Sort by {name}", self._sort(column))

    async def search(self, query: str) -> Hits:
        """Yield those that match."""
        matcher = self.matcher(query)
        for column, (_, name) in _COLUMNS.items():
            told = f"Sort by {name}"
            if (score := matcher.match(told)) > 0:
                yield Hit(score, matcher.highlight(told), self._sort(column))

    def _sort(self, column: str) -> "partial[None]":
        return partial(cast("BrowserScreen", self.screen).sort_by, column)
