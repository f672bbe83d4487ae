"""The table of the browser: one row for each kernel and configuration."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.coordinate import Coordinate
from textual.widgets import DataTable
from textual.widgets.data_table import ColumnKey, RowDoesNotExist

from irlens.tui.entry_cells import TITLES, Rank, cells, searched
from irlens.tui.workbench import Entry

_RIGHT = frozenset({"registers", "local", "shared"})
#: Others do without; the sign at the left tells of local memory.
_WIDE_ONLY = frozenset({"local"})


class Cell(Text):
    """A cell, and what it is sorted by.

    Attributes:
        rank: What cells are compared by; ``None`` is unknown, and comes last either way.
        name: Decides between equals.
    """

    rank: Rank = None
    name: str = ""


class EntryTable(DataTable[Cell]):
    """Entries that can be sorted and narrowed down."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", "Down", id="table.down", show=False),
        Binding("k", "cursor_up", "Up", id="table.up", show=False),
        Binding("g", "scroll_top", "First", id="table.first", show=False),
        Binding("G", "scroll_bottom", "Last", id="table.last", show=False),
        Binding("ctrl+d", "page_down", "Page down", id="table.page_down", show=False),
        Binding("ctrl+u", "page_up", "Page up", id="table.page_up", show=False),
        Binding("l", "cursor_right", "Right", id="table.right", show=False),
        Binding("h", "cursor_left", "Left", id="table.left", show=False),
    ]

    def __init__(self) -> None:
        super().__init__(cursor_type="row", cursor_foreground_priority="renderable")
        self.entries: dict[str, Entry] = {}
        self.wanted: tuple[str, ...] = ()
        self.sorted_by = "kernel"
        self.descending = False
        self.wide = False

    def add(self, entries: Iterable[Entry]) -> None:
        """Show entries, or what is new about entries that are shown."""
        for entry in entries:
            known = entry.key in self.entries
            self.entries[entry.key] = entry
            if not self._is_wanted(entry):
                continue
            cells = self._cells(entry)
            if known and entry.key in self.rows:
                for name, cell in cells.items():
                    self.update_cell(entry.key, name, cell)
            else:
                self.add_row(*cells.values(), key=entry.key)

    def rebuild(self) -> None:
        """Show everything anew: other columns, other entries, other colours."""
        here = self.current
        self.clear(columns=True)
        for name in self._columns():
            self.add_column(self._title(name), key=name)
        for entry in self.entries.values():
            if self._is_wanted(entry):
                self.add_row(*self._cells(entry).values(), key=entry.key)
        self.order()
        self.move_to(here)

    def order(self) -> None:
        """Sort the rows; the cursor stays on its entry."""
        here = self.current if self.cursor_row else None
        for name in self._columns():
            self.columns[self._column_key(name)].label = self._title(name)
        down = self.descending

        def rank(cell: Cell) -> tuple[bool, object, str]:
            return ((cell.rank is None) != down, cell.rank or "", cell.name)

        if self.sorted_by in self._columns():
            self.sort(self.sorted_by, key=rank, reverse=down)
        self.move_to(here)

    def sort_by(self, name: str) -> None:
        """Sort by a column; by the same column again, the other way round."""
        if name == self.sorted_by:
            self.descending = not self.descending
        else:
            # Who asks for registers wants to see the most of them; who asks for names, A.
            self.sorted_by, self.descending = name, name not in ("kernel", "target", "settings")
        self.order()

    def narrow_down(self, words: str) -> None:
        """Show only the entries in which every word occurs; all if there is none."""
        self.wanted = tuple(words.split())
        self.rebuild()

    def move_to(self, key: str | None) -> None:
        """Put the cursor on an entry, if it is shown."""
        if key is not None:
            try:
                self.move_cursor(row=self.get_row_index(key))
            except RowDoesNotExist:
                return

    @property
    def current(self) -> str | None:
        """The key of the entry under the cursor, ``None`` if the table is empty."""
        if not self.row_count:
            return None
        return self.coordinate_to_cell_key(Coordinate(self.cursor_row, 0)).row_key.value

    def _columns(self) -> Sequence[str]:
        return [name for name in TITLES if self.wide or name not in _WIDE_ONLY]

    def _column_key(self, name: str) -> ColumnKey:
        return next(key for key in self.columns if key.value == name)

    def _title(self, name: str) -> Text:
        # Without an arrow there is room for one: a column keeps the width it begins with.
        arrow = (" ▾" if self.descending else " ▴") if name == self.sorted_by else "  "
        return Text(TITLES[name] + arrow, justify="right" if name in _RIGHT else "left")

    def _is_wanted(self, entry: Entry) -> bool:
        text = searched(entry)
        return all(word in (text if word != word.lower() else text.lower()) for word in self.wanted)

    def _cells(self, entry: Entry) -> dict[str, Cell]:
        colours = self.app.theme_variables
        made = cells(entry)
        shown = {}
        for name in self._columns():
            pieces, rank = made[name]
            cell = Cell(justify="right" if name in _RIGHT else "left", no_wrap=True, end="")
            for text, style in pieces:
                cell.append(text, colours.get(style.removeprefix("$"), ""))
            cell.rank, cell.name = rank, f"{entry.kernel} {entry.place}"
            shown[name] = cell
        return shown
