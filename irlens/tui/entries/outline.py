"""The outline of a listing: sections, and the configurations of a kernel folded into one row."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import get_args

import msgspec

from irlens.session.exchange import Entry, Group, Section

#: What a section is called.
_TITLES: dict[Section, str] = {
    "project": "Kernels of this folder",
    "captures": "Recent captures",
    "samples": "Samples",
}
#: The least configurations that are folded.
LEAST = 3
_HEADING = "\0"


class Place(msgspec.Struct, frozen=True):
    """Where a row stands.

    Attributes:
        sign: "▸" before folded configurations, "▾" before unfolded ones, else " ".
    """

    sign: str = " "
    hidden: int = 0


class Outline:
    """Arranges entries that have groups.

    Attributes:
        places: The places of the entries that are shown, by key; empty without groups.
    """

    def __init__(self) -> None:
        self.places: dict[str, Place] = {}
        self._unfolded: set[Group] = set()
        self._titles: dict[str, str] = {}

    def title(self, row: str) -> str:
        """Return the title that a row is; "" for an entry."""
        return self._titles.get(row, "")

    def toggle(self, entry: Entry) -> None:
        """Unfold the configurations of an entry's kernel, or fold them again."""
        if entry.group is not None:
            self._unfolded ^= {entry.group}

    def rows(
        self,
        keys: Sequence[str],
        entries: Mapping[str, Entry],
        leads: Callable[[str], bool],
        least: float,
    ) -> list[str]:
        """Return the rows from the top: entries, and titles before those of each section.

        Args:
            leads: Whether an entry stands for the others of its kernel, wherever it comes.
            least: The least configurations that are folded.
        """
        self.places, self._titles = {}, {}
        sections: defaultdict[Section, dict[object, list[str]]] = defaultdict(dict)
        for key in keys:
            group = entries[key].group
            if group is None:
                return list(keys)
            sections[group.section].setdefault(group if group.name else key, []).append(key)
        rows = []
        for section in get_args(Section):
            if groups := sections.get(section):
                title = f"{_HEADING}{section}"
                self._titles[title] = _TITLES[section]
                rows.append(title)
                for members in groups.values():
                    rows += self._arranged(_compiled(members, entries), entries, leads, least)
        return rows

    def _arranged(
        self,
        members: list[str],
        entries: Mapping[str, Entry],
        leads: Callable[[str], bool],
        least: float,
    ) -> Iterator[str]:
        """Yield the rows of one kernel."""
        many = len(members) >= least
        first = next(filter(leads, members), members[0]) if many else members[0]
        is_folded = many and entries[first].group not in self._unfolded
        hidden = len(members) - 1 if is_folded else 0
        self.places[first] = Place("▸" if is_folded else "▾" if many else " ", hidden)
        yield first
        if not is_folded:
            for key in members:
                if key != first:
                    self.places[key] = Place()
                    yield key


def _compiled(members: list[str], entries: Mapping[str, Entry]) -> list[str]:
    """Return the configurations of a kernel, or else what is not compiled yet."""
    return [key for key in members if entries[key].config is not None] or members
