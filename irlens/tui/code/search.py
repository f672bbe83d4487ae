"""Search queries and their matches.

RE2 matches any pattern in time linear in the text. Python's own engine takes exponential time for
some, such as ``(a+)+$``, and blocks every other thread meanwhile.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from threading import Event
from typing import TypeAlias

import re2

#: A line, in its owner's numbering, and the column (from 0) where a match begins.
Hit: TypeAlias = tuple[int, int]


#: Matches after which a search ends: nobody steps through more, and they take memory.
MOST_HITS = 100_000


class Query:
    """A text that matches literally, and as a regular expression if it is one.

    So ``$L__BB0_2`` and ``ld.*shared`` both match without a mode to choose. Case matters if the
    text has capitals.

    Args:
        text: The typed text, not empty.

    Attributes:
        problem: Why it is no regular expression; empty if it is one.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.problem = ""
        options = re2.Options()
        options.case_sensitive = any(character.isupper() for character in text)
        options.log_errors = False  # RE2 would write to the screen
        plain = re2.escape(text)
        try:
            re2.compile(text, options)
            self._pattern = re2.compile(f"{plain}|(?:{text})", options)
        except re2.error as error:
            self.problem = error.args[0].decode(errors="replace")
            self._pattern = re2.compile(plain, options)

    def spans(self, line: str) -> list[tuple[int, int]]:
        """Return the columns of the matches in a line, the end exclusive, without empty ones."""
        spans = (match.span() for match in self._pattern.finditer(line))
        return [(first, last) for first, last in spans if first < last]

    def hits(self, lines: Iterable[tuple[int, str]], stop: Event) -> list[Hit]:
        """Return the matches in some lines, until another thread sets ``stop``."""
        return list(islice(self._hits(lines, stop), MOST_HITS))

    def _hits(self, lines: Iterable[tuple[int, str]], stop: Event) -> Iterator[Hit]:
        for number, line in lines:
            if stop.is_set():
                return
            for first, _ in self.spans(line):
                yield number, first


def query_for(text: str) -> Query | None:
    """Return the query for a text, ``None`` for an empty one."""
    return Query(text) if text else None
