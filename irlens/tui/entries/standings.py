"""The standings of the browser's entries: which are the fastest of those that solve one problem."""

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator

import msgspec

from irlens.model.estimate import Standing
from irlens.model.ranking import Candidate, problem_of, rank
from irlens.session.workbench import Entry
from irlens.tui.entries.cells import UNRANKED, side_of


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
        """Yield the keys of all entries that solve the problems of some with a launch."""
        for problem in dict.fromkeys(self._problems.get(key) for key in keys):
            if problem is not None:
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
        standings = rank([_candidate(entry) for entry in alike.values()]).standings
        is_whole = all(entry.is_complete for entry in alike.values())
        for key, ranked in zip(alike, standings, strict=True):
            # The fastest of a part need not be the fastest.
            standing = ranked if is_whole else Standing(time_us=ranked.time_us)
            if self._standings.get(key) != standing:
                self._standings[key] = standing
                yield key


def _candidate(entry: Entry) -> Candidate:
    time, occupancy = entry.time, entry.occupancy
    known = {} if time is None else msgspec.structs.asdict(time)
    return Candidate(problem=None, launchable=occupancy is None or occupancy.launchable, **known)
