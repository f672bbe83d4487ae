"""The rows of the browser: which entries are listed, in which order, and how wide each column is.

Thousands of entries come twice or three times each while a cache is read, so that what a row says
is made once for each time, and nothing is drawn here.
"""

from collections.abc import Iterable, Sequence

from rich.cells import cell_len

from irlens.tui.entry_cells import TITLES, Made, cells, searched
from irlens.tui.workbench import Entry

#: Columns that a narrow terminal does without; the sign at the left tells of local memory.
_WIDE_ONLY = frozenset({"local"})
#: Cells for " ▾" beside the title of the column that is sorted by.
_ARROW = 2
#: Columns that begin with A; who asks for registers wants to see the most of them.
_FROM_THE_LEAST = frozenset({"kernel", "target", "settings"})


class EntryRows:
    """Entries that can be sorted and narrowed down.

    Attributes:
        entries: All of them by key, in the order in which they came.
        shown: The keys of the rows, from the top.
        wanted: Words that a row must have.
        sorted_by: A column.
        descending: Whether from the largest down.
        wide: Whether there is room for every column.
    """

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self.shown: list[str] = []
        self.wanted: tuple[str, ...] = ()
        self.sorted_by = "kernel"
        self.descending = False
        self.wide = False
        self._cells: dict[str, dict[str, Made]] = {}
        self._widths = {name: cell_len(title) + _ARROW for name, title in TITLES.items()}

    @property
    def columns(self) -> Sequence[str]:
        """The columns that there is room for, from the left."""
        return [name for name in TITLES if self.wide or name not in _WIDE_ONLY]

    def clear(self) -> None:
        """Forget the entries."""
        self.entries.clear()
        self._cells.clear()
        self.shown.clear()

    def add(self, entries: Iterable[Entry]) -> None:
        """Take entries, or what is new about entries that are known."""
        for entry in entries:
            self.entries[entry.key] = entry
            made = self._cells[entry.key] = cells(entry)
            for name, (pieces, _) in made.items():
                width = sum(cell_len(text) for text, _ in pieces)
                self._widths[name] = max(self._widths[name], width)
        self.order()

    def choose(self, column: str) -> None:
        """Sort by a column; by the same column again, the other way round."""
        if column == self.sorted_by:
            self.descending = not self.descending
        else:
            self.sorted_by, self.descending = column, column not in _FROM_THE_LEAST
        self.order()

    def narrow_down(self, words: str) -> None:
        """Keep only the entries in which every word occurs; all if there is none."""
        self.wanted = tuple(words.split())
        self.order()

    def order(self) -> None:
        """Put the rows in order: what is unknown last either way, equals by name and place."""
        by_name = sorted(
            (key for key, entry in self.entries.items() if self._is_wanted(entry)),
            key=lambda key: (self.entries[key].kernel, self.entries[key].place),
        )
        column = self.sorted_by if self.sorted_by in TITLES else "kernel"
        ranked = [(self._cells[key][column][1], key) for key in by_name]
        known = [(rank, key) for rank, key in ranked if rank is not None]
        known.sort(key=lambda each: each[0], reverse=self.descending)
        self.shown = [key for _, key in known] + [key for rank, key in ranked if rank is None]

    def cells_of(self, key: str) -> dict[str, Made]:
        """Return what an entry's row says in each column."""
        return self._cells[key]

    def title(self, column: str) -> str:
        """Return a column's title, with an arrow or with the room for one."""
        arrow = (" ▾" if self.descending else " ▴") if column == self.sorted_by else "  "
        return TITLES[column] + arrow

    def width(self, column: str) -> int:
        """Return the cells that a column needs; it never becomes narrower."""
        return self._widths[column]

    def _is_wanted(self, entry: Entry) -> bool:
        if not self.wanted:
            return True
        text = searched(entry)
        lower = text.lower()
        return all(word in (text if is_exact(word) else lower) for word in self.wanted)


def is_exact(word: str) -> bool:
    """Whether capital letters in a word mean what they are."""
    return word != word.lower()
