"""The rows of the browser: which entries are listed, in which order, and how wide each column is.

Thousands of entries come twice or three times each while a cache is read, so that what a row says
is made once for each time, and nothing is drawn here.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable

from rich.cells import cell_len

from irlens.model.config import Target
from irlens.model.label import labels
from irlens.session.workbench import Entry
from irlens.tui.entry_cells import (
    NOT_YET,
    TITLES,
    Made,
    Natural,
    cells,
    natural,
    searched,
    side_of,
)
from irlens.tui.entry_columns import Needs

#: Cells for "▾" beside the title of the column that is sorted by.
_ARROW = 1
#: A part of a label: "n_cols=781", "x=fp16[64, 64]".
_TOLD = re.compile(r"[^\s\[]+\[[^\]]{0,200}\]\S*|\S+")
#: Who caps the registers of one entry does not want to hear of it in all others.
_NOTHING_ASKED = "maxnreg=None"
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
    """

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self.shown: list[str] = []
        self.wanted: tuple[str, ...] = ()
        self.sorted_by = "kernel"
        self.descending = False
        self._cells: dict[str, dict[str, Made]] = {}
        self._by_name: dict[str, tuple[str, Natural, Natural, str]] = {}
        #: What sets each entry apart from the others of its kernel.
        self._apart: dict[str, str] = {}
        self._by_kernel: defaultdict[str, dict[str, None]] = defaultdict(dict)
        #: How many rows say the same, by column and what they say.
        self._said: dict[str, Counter[str]] = {name: Counter() for name in TITLES}
        self._widths = {
            name: cell_len(title) + (_ARROW if title else 0) for name, title in TITLES.items()
        }

    @property
    def needs(self) -> Needs:
        """What the columns need; none ever needs less than before."""
        return Needs(
            widths=self._widths,
            apart=max(map(cell_len, self._apart.values()), default=0),
            alike=frozenset(name for name, said in self._said.items() if _is_alike(said)),
            sorted_by=self.sorted_by,
        )

    def clear(self) -> None:
        """Forget the entries."""
        self.entries.clear()
        self._cells.clear()
        self._by_name.clear()
        self._apart.clear()
        self._by_kernel.clear()
        for said in self._said.values():
            said.clear()
        self.shown.clear()

    def add(self, entries: Iterable[Entry]) -> None:
        """Take entries, or what is new about entries that are known."""
        arrived = list(entries)
        for entry in arrived:
            self.entries[entry.key] = entry
            self._by_kernel[entry.kernel][entry.key] = None
        told_anew = self._set_apart({entry.kernel for entry in arrived})
        for key in dict.fromkeys([*(entry.key for entry in arrived), *told_anew]):
            self._make(key)
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
        """Put the rows in order: what is unknown last either way, equals by name and settings."""
        wanted = (key for key, entry in self.entries.items() if self._is_wanted(entry))
        by_name = sorted(wanted, key=self._by_name.__getitem__)
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
        arrow = ("▾" if self.descending else "▴") if column == self.sorted_by else " "
        return TITLES[column] + arrow if TITLES[column] else ""

    def _set_apart(self, kernels: Iterable[str]) -> list[str]:
        """Say what sets entries of some kernels apart, and return those that it is new of."""
        changed = []
        for kernel in kernels:
            sides = {key: side_of(self.entries[key], None) for key in self._by_kernel[kernel]}
            known = {key: side for key, side in sides.items() if side is not None}
            products = _products([self.entries[key].target for key in known])
            for key, label in zip(known, labels(list(known.values())), strict=True):
                product = products.get(self.entries[key].target, "")
                apart = f"{product} {_shortened(label)}".strip()
                if self._apart.get(key) != apart:
                    self._apart[key] = apart
                    changed.append(key)
        return changed

    def _make(self, key: str) -> None:
        """Make what an entry's row says."""
        for name, (pieces, _) in self._cells.get(key, {}).items():
            said = _text(pieces)
            self._said[name][said] -= 1
            if not self._said[name][said]:
                del self._said[name][said]
        entry, apart = self.entries[key], self._apart.get(key, "")
        self._cells[key] = cells(entry, apart)
        for name, (pieces, _) in self._cells[key].items():
            said = _text(pieces)
            self._said[name][said] += 1
            self._widths[name] = max(self._widths[name], cell_len(said))
        arch = entry.target.arch if entry.target is not None else ""
        self._by_name[key] = (entry.kernel, natural(arch), natural(apart), entry.place)

    def _is_wanted(self, entry: Entry) -> bool:
        if not self.wanted:
            return True
        text = searched(entry)
        lower = text.lower()
        return all(word in (text if is_exact(word) else lower) for word in self.wanted)


def _products(targets: Iterable[Target | None]) -> dict[Target | None, str]:
    """Return the products of architectures of which there are several."""
    by_arch: defaultdict[str, set[Target]] = defaultdict(set)
    for target in targets:
        if target is not None:
            by_arch[target.arch].add(target)
    several = (alike for alike in by_arch.values() if len(alike) > 1)
    return {target: target.name for alike in several for target in alike}


def _shortened(label: str) -> str:
    """Return a label with the tensors last: most often they only follow from a size."""
    told = [each for each in _TOLD.findall(label) if each != _NOTHING_ASKED]
    return " ".join(sorted(told, key=lambda each: "[" in each))


def _text(pieces: Iterable[tuple[str, str]]) -> str:
    return "".join(text for text, _ in pieces)


def _is_alike(said: Counter[str]) -> bool:
    """Whether all rows say the same; as long as something is being read that is not known."""
    return len(said) == 1 and _text(NOT_YET) not in said


def is_exact(word: str) -> bool:
    """Whether capital letters in a word mean what they are."""
    return word != word.lower()
