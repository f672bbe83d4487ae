"""What is searched for, and where it stands.

RE2 finds any pattern in a time that grows with the text alone. Python's own engine needs for ever
for some, such as ``(a+)+$``, and lets no other thread run meanwhile.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from threading import Event
from typing import TypeAlias

import re2

#: A line, as its owner counts them, and the column (from 0) where a match begins.
Hit: TypeAlias = tuple[int, int]


#: Matches after which a search ends: nobody goes through as many, and they take memory.
MOST_HITS = 100_000


class Query:
    """Text to find as it is written, and as a regular expression where it is one.

    So ``$L__BB0_2`` and ``ld.*shared`` are both found without a mode to choose. Capitals count
    where the text has any.

    Args:
        text: What was typed, not empty.

    Attributes:
        problem: Why it is no regular expression; empty where it is one.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.problem = ""
        options = re2.Options()
        options.case_sensitive = any(character.isupper() for character in text)
        options.log_errors = False  # it would write onto the screen
        plain = re2.escape(text)
        try:
            re2.compile(text, options)
            self._pattern = re2.compile(f"{plain}|(?:{text})", options)
        except re2.error as error:
            self.problem = error.args[0].decode(errors="replace")
            self._pattern = re2.compile(plain, options)

    def spans(self, line: str) -> list[tuple[int, int]]:
        """Return where it stands in a line: columns, the end exclusive; no empty matches."""
        found = (match.span() for match in self._pattern.finditer(line))
        return [(first, last) for first, last in found if first < last]

    def hits(self, lines: Iterable[tuple[int, str]], stop: Event) -> list[Hit]:
        """Return the matches in some lines, as far as it is not stopped by another thread."""
        return list(islice(self._hits(lines, stop), MOST_HITS))

    def _hits(self, lines: Iterable[tuple[int, str]], stop: Event) -> Iterator[Hit]:
        for number, line in lines:
            if stop.is_set():
                return
            for first, _ in self.spans(line):
                yield number, first


def query_for(text: str) -> Query | None:
    """Return what finds a text; an empty one finds nothing."""
    return Query(text) if text else None
