"""The browser: every kernel and configuration there is."""

from textual.app import ComposeResult
from textual.widgets import DataTable, Footer

from irlens.model.errors import IrlensError
from irlens.model.text import printable_line
from irlens.tui.asking import stream
from irlens.tui.screens.base import LensScreen
from irlens.tui.workbench import Entry


class BrowserScreen(LensScreen):
    """The list of entries; Enter opens one."""

    def compose(self) -> ComposeResult:
        """Lay out the table."""
        yield DataTable[str](cursor_type="row")
        yield Footer()

    def on_mount(self) -> None:
        """Begin to list."""
        self.query_one(DataTable).add_columns("kernel", "target")
        stream(self, self.bench.entries, self._add, lambda: None, self._failed)

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """Open the entry."""
        self.lens.show_view("overview", event.row_key.value or "")

    def _add(self, entries: list[Entry]) -> None:
        table = self.query_one(DataTable)
        for entry in entries:
            target = entry.target.arch if entry.target else "?"
            table.add_row(printable_line(entry.kernel), target, key=entry.key)

    def _failed(self, error: IrlensError) -> None:
        self.lens.tell_error(error)
