"""The rows of the browser: filtered, sorted, and measured for the column layout.

Thousands of entries arrive two or three times each while a cache is read. The cells of a row are
therefore computed once per arrival, and nothing is drawn here.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence

import msgspec
from rich.cells import cell_len

from irlens.model.config import Target
from irlens.model.estimate import Standing
from irlens.model.label import GrowingLabels
from irlens.model.ranking import Candidate, problem_of, rank
from irlens.model.report import SEVERITIES
from irlens.model.several import grouped
from irlens.model.text import count
from irlens.session.exchange import Entry
from irlens.tui.drawing import DIM, MAIN
from irlens.tui.entries.cells import (
    LOADING,
    UNRANKED,
    Cell,
    Natural,
    captured_cell,
    cells,
    is_case_sensitive,
    natural,
    search_text,
    side_of,
)
from irlens.tui.entries.columns import BROWSER_COLUMNS, CAPTURED, SETTINGS
from irlens.tui.entries.layout import ColumnNeeds
from irlens.tui.entries.outline import LEAST, Outline

#: Entries of a problem that are analysed so that the fastest is marked where nobody asked for it:
#: each takes a tenth of a second of a processor.
MOST_RIVALS = 128


class Standings:
    """Ranks entries as they arrive and become complete."""

    def __init__(self) -> None:
        self._problems: dict[str, Hashable] = {}
        self._alike: defaultdict[Hashable, dict[str, Entry]] = defaultdict(dict)
        self._standings: dict[str, Standing] = {}

    def clear(self) -> None:
        """Forget all entries."""
        self._problems.clear()
        self._alike.clear()
        self._standings.clear()

    def standing(self, key: str) -> Standing:
        """Return the standing of an entry; it has no mark while others are not analysed."""
        return self._standings.get(key, UNRANKED)

    def rivals(self, keys: Iterable[str]) -> Iterator[str]:
        """Yield the keys of all entries that solve the problems of some with a launch, if few."""
        for problem in dict.fromkeys(self._problems.get(key) for key in keys):
            if problem is not None and len(self._alike[problem]) <= MOST_RIVALS:
                yield from self._alike[problem]

    def add(self, entries: Iterable[Entry]) -> Collection[str]:
        """Add entries, or replace known ones; return the keys whose standing has changed."""
        touched: dict[Hashable, None] = {}
        for entry in entries:
            side = side_of(entry, entry.target)
            before = self._problems.pop(entry.key, None)
            if before is not None:
                del self._alike[before][entry.key]
                touched[before] = None
            if side is not None and entry.config is not None and entry.config.grid is not None:
                problem = self._problems[entry.key] = problem_of(side)
                self._alike[problem][entry.key] = entry
                touched[problem] = None
        return [key for problem in touched for key in self._rank(self._alike[problem])]

    def _rank(self, alike: dict[str, Entry]) -> Iterator[str]:
        """Rank the entries of a problem, and yield those whose standing has changed."""
        candidates = [_candidate(entry) for entry in alike.values()]
        standings: Sequence[Standing] = [Standing(time_us=each.time_us) for each in candidates]
        if all(entry.is_complete for entry in alike.values()):
            standings = rank(candidates).standings  # the fastest of a part need not be the fastest
        for key, standing in zip(alike, standings, strict=True):
            if self._standings.get(key) != standing:
                self._standings[key] = standing
                yield key


def _candidate(entry: Entry) -> Candidate:
    time, occupancy = entry.time, entry.occupancy
    known = {} if time is None else msgspec.structs.asdict(time)
    return Candidate(problem=None, launchable=occupancy is None or occupancy.launchable, **known)


#: Cells for "▾" after the title of the sort column.
_ARROW_WIDTH = 1
#: Cells for "▸ " before a kernel's name.
_FOLD_WIDTH = 2
#: A part of a label: "n_cols=781", "x=fp16[64, 64]".
_SETTING = re.compile(r"[^\s\[]+\[[^\]]{0,200}\]\S*|\S+")
#: Shown for every entry as soon as one caps its registers, and without interest.
_NO_REGISTER_CAP = "maxnreg=None"


class EntryRows:
    """Entries that can be sorted and filtered.

    Attributes:
        entries: All entries by key, in the order of arrival.
        shown: The keys of the rows, from the top; titles of sections are rows as well.
        matching: Number of entries that contain every word.
        sorted_by: The sort column; "" for the usual order: by name, or the newest first in a
            listing of sections.
        descending: Whether the largest value comes first.
    """

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self.shown: list[str] = []
        self.matching = 0
        self.words: tuple[str, ...] = ()
        self.sorted_by = ""
        self.descending = False
        self._cells: dict[str, dict[str, Cell]] = {}
        self._name_keys: dict[str, tuple[str, Natural, float, Natural, str]] = {}
        self._standings = Standings()
        self._outline = Outline()
        self._is_sectioned = False
        #: The settings that distinguish each entry from the others of its kernel.
        self._distinctions: dict[str, str] = {}
        self._by_kernel: defaultdict[str, _Kernel] = defaultdict(_Kernel)
        self._by_name: list[str] = []
        #: Number of rows with the same text, by column and text.
        self._texts: dict[str, Counter[str]] = {name: Counter() for name in BROWSER_COLUMNS}
        self._widths = {
            name: cell_len(column.title) + (_ARROW_WIDTH if column.title else 0)
            for name, column in BROWSER_COLUMNS.items()
        }

    @property
    def needs(self) -> ColumnNeeds:
        """The widths that the columns need; they never shrink."""
        uniform = {name for name, texts in self._texts.items() if _is_uniform(texts)}
        widths = dict(self._widths)
        if self._is_sectioned:
            uniform.discard("kernel")
            widths["kernel"] += _FOLD_WIDTH
        return ColumnNeeds(
            widths=widths,
            distinction=max(map(_width, self._distinctions.values()), default=0),
            uniform=frozenset(uniform),
            sorted_by=self.sorted_by,
        )

    @property
    def order(self) -> tuple[str, bool]:
        """The column that the rows are sorted by, and whether the largest value comes first."""
        if self.sorted_by in BROWSER_COLUMNS:
            return self.sorted_by, self.descending
        return (CAPTURED, True) if self._is_sectioned else ("kernel", False)

    @property
    def needs_all_complete(self) -> bool:
        """Whether the order of the rows, or which they are, depends on what is analysed."""
        return BROWSER_COLUMNS[self.order[0]].is_analysed or any(
            word.lower() in severity for word in self.words for severity in SEVERITIES
        )

    def rivals(self, keys: Iterable[str]) -> Iterable[str]:
        """Return the keys of all entries whose times compare with those of some, if few do."""
        return self._standings.rivals(keys)

    def clear(self) -> None:
        """Remove all entries."""
        self.entries.clear()
        self._cells.clear()
        self._name_keys.clear()
        self._standings.clear()
        self._distinctions.clear()
        self._by_kernel.clear()
        self._by_name.clear()
        for texts in self._texts.values():
            texts.clear()
        self.shown.clear()

    def add(self, entries: Iterable[Entry]) -> None:
        """Add entries, or replace known ones."""
        arrived = {entry.key: entry for entry in entries}
        self._is_sectioned |= any(entry.group is not None for entry in arrived.values())
        self._by_name += (key for key in arrived if key not in self.entries)
        self.entries |= arrived
        relabelled = self._distinguish(arrived.values())
        ranked = self._standings.add(arrived.values())
        for key in dict.fromkeys([*arrived, *relabelled, *ranked]):
            self._compute_cells(key)
        self.sort()

    def sort_by(self, column: str) -> None:
        """Sort by a column; by the current one again, in reverse."""
        before, descending = self.order
        self.sorted_by = column
        if column == before:
            self.descending = not descending
        else:
            self.descending = not BROWSER_COLUMNS[column].starts_ascending
        self.sort()

    def filter(self, words: str) -> None:
        """Show only the entries that contain every word."""
        self.words = tuple(words.split())
        self.sort()

    def sort(self) -> None:
        """Sort the rows: unknown values last in either order, ties by name, time and settings."""
        self._by_name.sort(key=self._name_keys.__getitem__)  # nearly sorted already
        by_name = self._by_name
        if self.words:
            by_name = [key for key in by_name if self._matches(self.entries[key])]
        column, descending = self.order
        keyed = [(self._cells[key][column][1], key) for key in by_name]
        known = [(sort_key, key) for sort_key, key in keyed if sort_key is not None]
        known.sort(key=lambda each: each[0], reverse=descending)
        unknown = [key for sort_key, key in keyed if sort_key is None]
        ordered = [key for _, key in known] + unknown
        self.matching = len(ordered)
        least = math.inf if self.words else LEAST
        self.shown = self._outline.rows(ordered, self.entries, self._is_fastest, least)

    def toggle(self, key: str) -> None:
        """Unfold the other configurations of a row's kernel, or fold them again."""
        self._outline.toggle(self.entries[key])
        self.sort()

    def heading(self, row: str) -> str:
        """Return the title that a row is; "" for an entry."""
        return self._outline.title(row)

    def update_times(self, now: float) -> None:
        """Say again how long ago the entries were captured."""
        for key, entry in self.entries.items():
            self._set_cell(key, CAPTURED, captured_cell(entry, now))

    def cells_of(self, key: str) -> dict[str, Cell]:
        """Return the cells of an entry, wherever its row stands."""
        return self._cells[key]

    def texts_of(self, key: str) -> dict[str, list[tuple[str, str]]]:
        """Return the styled text of each cell of a row, and how many others are folded into it."""
        texts = {name: pieces for name, (pieces, _) in self._cells[key].items()}
        place = self._outline.places.get(key)
        if place is not None:
            texts["kernel"] = [(f"{place.sign} ", DIM), *texts["kernel"]]
            if place.hidden:
                more = f"+ {count(place.hidden)} more  "
                texts[SETTINGS] = [(more, MAIN), *texts[SETTINGS]]
        return texts

    def _is_fastest(self, key: str) -> bool:
        return self._standings.standing(key).mark == "fastest"

    def title(self, column: str) -> str:
        """Return a column's title with an arrow, or with the space for one."""
        sorted_by, descending = self.order
        arrow = ("▾" if descending else "▴") if column == sorted_by else " "
        title = BROWSER_COLUMNS[column].title
        return title + arrow if title else ""

    def _distinguish(self, arrived: Iterable[Entry]) -> list[str]:
        """Label entries by what tells them apart from others of a kernel; return changed ones."""
        changed = []
        for name, entries in grouped((entry.kernel, entry) for entry in arrived).items():
            kernel = self._by_kernel[name]
            for key in kernel.add(entries):
                product = kernel.products.get(self.entries[key].target, "")
                distinction = f"{product} {_shorten(kernel.labels.label(key))}".strip()
                if self._distinctions.get(key) != distinction:
                    self._distinctions[key] = distinction
                    changed.append(key)
        return changed

    def _compute_cells(self, key: str) -> None:
        entry, distinction = self.entries[key], self._distinctions.get(key, "")
        standing = self._standings.standing(key)
        for name, cell in cells(entry, distinction, standing).items():
            self._set_cell(key, name, cell)
        arch = natural(entry.target.arch if entry.target is not None else "")
        # A part of the times orders nothing: those that compare do so with all of a problem.
        time = standing.over_fastest or math.inf
        self._name_keys[key] = (entry.kernel, arch, time, natural(distinction), entry.place)

    def _set_cell(self, key: str, column: str, cell: Cell) -> None:
        """Replace a cell, and count its text."""
        own, texts = self._cells.setdefault(key, {}), self._texts[column]
        if column in own:
            if own[column] is cell:
                return
            before = _text(own[column][0])
            texts[before] -= 1
            if not texts[before]:
                del texts[before]
        own[column] = cell
        text = _text(cell[0])
        if text not in texts:
            self._widths[column] = max(self._widths[column], _width(text))
        texts[text] += 1

    def _matches(self, entry: Entry) -> bool:
        text = search_text(entry)
        lower = text.lower()
        return all(word in (text if is_case_sensitive(word) else lower) for word in self.words)


class _Kernel:
    """The entries of one kernel: their labels, and the names of their products where needed."""

    def __init__(self) -> None:
        self.labels = GrowingLabels()
        self.products: dict[Target | None, str] = {}
        self._targets: set[Target | None] = set()

    def add(self, entries: Iterable[Entry]) -> Collection[str]:
        """Add entries, or replace known ones; return those whose distinction may have changed."""
        sides = {entry.key: side_of(entry, None) for entry in entries}
        relabelled = self.labels.update(sides)
        targets = {entry.target for entry in entries if sides[entry.key] is not None}
        if targets <= self._targets:
            return relabelled
        self._targets |= targets
        before, self.products = self.products, _products(self._targets)
        return relabelled if before == self.products else self.labels.keys()


def _products(targets: Iterable[Target | None]) -> dict[Target | None, str]:
    """Return the product names of targets that share an architecture."""
    by_arch: defaultdict[str, set[Target]] = defaultdict(set)
    for target in targets:
        if target is not None:
            by_arch[target.arch].add(target)
    shared = (targets for targets in by_arch.values() if len(targets) > 1)
    return {target: target.name for targets in shared for target in targets}


def _shorten(label: str) -> str:
    """Return a label with tensors last, since most often they follow from a size."""
    settings = [each for each in _SETTING.findall(label) if each != _NO_REGISTER_CAP]
    return " ".join(sorted(settings, key=lambda each: "[" in each))


def _width(text: str) -> int:
    """Return the cells of a text without control characters."""
    return len(text) if text.isascii() else cell_len(text)


def _text(pieces: Sequence[tuple[str, str]]) -> str:
    if len(pieces) == 1:
        return pieces[0][0]
    return "".join(text for text, _ in pieces)


def _is_uniform(texts: Counter[str]) -> bool:
    """Whether all rows have the same text; unknown while something is loading."""
    return len(texts) == 1 and _text(LOADING) not in texts
