"""Text in which something can be searched for, while the keys go on working."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from functools import partial
from threading import Event

from textual.message import Message

from irlens.model.errors import IrlensError
from irlens.model.text import count
from irlens.tui.asking import ask
from irlens.tui.code.search import MOST_HITS, Hit, Query
from irlens.tui.widgets.painted import PaintedText


class SearchedText(PaintedText):
    """Text with a cursor that goes from match to match.

    Attributes:
        sought: What is searched for.
        hits: Where it stands, in ascending order; empty until the search is over.
        searching: Whether it is not over.
    """

    class Searched(Message):
        """A search is over.

        Attributes:
            text: Where.
        """

        def __init__(self, text: "SearchedText") -> None:
            super().__init__()
            self.text = text

    def __init__(self) -> None:
        super().__init__()
        self.sought: Query | None = None
        self.hits: Sequence[Hit] = ()
        self.searching = False
        self._stop = Event()

    # What only the text knows.

    @property
    def searched_lines(self) -> Iterable[tuple[int, str]]:
        """What is searched: lines as they are drawn, by ascending numbers."""
        raise NotImplementedError

    @property
    def position(self) -> Hit:
        """Where the cursor is."""
        raise NotImplementedError

    def go_to_position(self, position: Hit) -> None:
        """Put the cursor somewhere."""
        raise NotImplementedError

    def describe(self) -> None:
        """Say in the border what ``told_of_search`` says."""
        raise NotImplementedError

    # The search.

    def search(self, query: Query | None) -> None:
        """Begin to search; ``Searched`` tells that it is over. ``None`` searches no more."""
        self._stop.set()
        self._stop = Event()
        self.sought, self.hits, self.searching = query, (), query is not None
        if query is not None:
            find = partial(query.hits, self.searched_lines, self._stop)
            ask(self, find, partial(self._found, query), _ignore, group="search")
        self.describe()
        self.refresh()
        self.refresh_bindings()  # escape ends a search

    def find(self, step: int, start: Hit | None = None) -> bool:
        """Go to the next (-1: previous) match, around the ends.

        Args:
            step: In which direction.
            start: From where; from the cursor unless told.

        Returns:
            Whether there is one.
        """
        if not self.hits:
            return False
        start = self.position if start is None else start
        at = bisect_right(self.hits, start) if step > 0 else bisect_left(self.hits, start) - 1
        self.go_to_position(self.hits[at % len(self.hits)])
        self.describe()
        return True

    @property
    def told_of_search(self) -> str:
        """Which of how many matches the cursor is at; empty where nothing is searched for."""
        if self.sought is None:
            return ""
        if not self.hits:
            return "searching …" if self.searching else "no match"
        at = bisect_left(self.hits, self.position)
        if self.hits[at : at + 1] == [self.position]:
            return f"match {count(at + 1)}/{self._how_many}"
        return "1 match" if len(self.hits) == 1 else f"{self._how_many} matches"

    @property
    def _how_many(self) -> str:
        """How many matches there are, or that there are more than are kept."""
        return f"{count(len(self.hits))}{'+' if len(self.hits) == MOST_HITS else ''}"

    def _found(self, query: Query, hits: list[Hit]) -> None:
        if query is self.sought:
            self.hits, self.searching = hits, False
            self.describe()
            self.refresh()
            self.post_message(self.Searched(self))


def _ignore(error: IrlensError) -> None:
    """A search has no errors."""
