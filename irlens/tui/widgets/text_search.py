"""Incremental search in a view's text; it runs in a thread, so that keys keep working."""

import sys
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from threading import Event
from typing import Protocol

from textual.dom import DOMNode

from irlens.model.errors import IrlensError
from irlens.model.text import count
from irlens.tui.code.search import MOST_HITS, Hit, Query
from irlens.tui.services.workers import run_in_thread

#: A position before, and one after any match.
_BEFORE: Hit = (-1, 0)
_AFTER: Hit = (sys.maxsize, 0)


class SearchableText(Protocol):
    """Text with a cursor."""

    @property
    def searched_lines(self) -> Iterable[tuple[int, str]]:
        """Lines as drawn, by ascending number."""

    @property
    def position(self) -> Hit:
        """The cursor."""

    def go_to_position(self, position: Hit) -> None:
        """Move the cursor."""

    def cursor_positions(self, hits: list[Hit]) -> Sequence[Hit]:
        """Return the positions of matches as the cursor takes them."""


class TextSearch:
    """The search in one text.

    Args:
        node: The widget that owns the worker.
        text: The text.
        on_change: Called when the query or the matches change; with ``True`` when a search ends.

    Attributes:
        query: The query; ``None`` while nothing is searched for.
        hits: Matches in ascending order; empty until the search ends.
        is_running: Whether the search has not ended.
    """

    def __init__(
        self, node: DOMNode, text: SearchableText, on_change: Callable[[bool], None]
    ) -> None:
        self._node, self._text, self._on_change = node, text, on_change
        self.query: Query | None = None
        self.hits: Sequence[Hit] = ()
        self.is_running = False
        self._stop = Event()

    def start(self, query: Query | None) -> None:
        """Search for another query; ``None`` ends the search."""
        self._stop.set()
        self._stop = Event()
        self.query, self.hits, self.is_running = query, (), query is not None
        if query is not None:
            find = partial(query.hits, self._text.searched_lines, self._stop)
            run_in_thread(self._node, find, partial(self._end, query), _ignore, group="search")
        self._on_change(False)

    def restart(self) -> None:
        """Search again: the text has changed."""
        self.start(self.query)

    def find(self, step: int, start: Hit | None = None, *, wrap: bool = True) -> bool:
        """Go to the next (-1: previous) match.

        Args:
            step: The direction.
            start: The position to start from; by default the cursor's.
            wrap: Whether to go on at the other end of the text.

        Returns:
            Whether there is a match.
        """
        start = self._text.position if start is None else start
        index = bisect_right(self.hits, start) if step > 0 else bisect_left(self.hits, start) - 1
        if not self.hits or not (wrap or 0 <= index < len(self.hits)):
            return False
        self._text.go_to_position(self.hits[index % len(self.hits)])
        self._on_change(False)
        return True

    def find_end(self, step: int) -> bool:
        """Go to the first (-1: last) match, and return whether there is one."""
        return self.find(step, _BEFORE if step > 0 else _AFTER)

    @property
    def status(self) -> str:
        """The match at the cursor and the number of matches; "" while nothing is searched for."""
        if self.query is None:
            return ""
        if not self.hits:
            return "searching …" if self.is_running else "no match"
        more = "+" if len(self.hits) == MOST_HITS else ""
        total = f"{count(len(self.hits))}{more}"
        index = bisect_left(self.hits, self._text.position)
        if self.hits[index : index + 1] == [self._text.position]:
            return f"match {count(index + 1)}/{total}"
        return "1 match" if len(self.hits) == 1 else f"{total} matches"

    def _end(self, query: Query, hits: list[Hit]) -> None:
        if query is self.query:
            self.hits, self.is_running = self._text.cursor_positions(hits), False
            self._on_change(True)


def _ignore(error: IrlensError) -> None:
    """A search has no errors."""
