"""Which line of Python on one side is which line on the other.

An edit above a loop moves the loop, and is no reason to call it another one. Lines are aligned by
their text, as far as the reports hold it.
"""

from difflib import SequenceMatcher
from typing import NamedTuple, TypeAlias

from irlens.model.report import Report
from irlens.model.source import SourceLocation

#: After so many pairs of lines the rest is matched by number: alignment is quadratic.
_MOST_PAIRS = 250_000


class Place(NamedTuple):
    """A line on both sides; ``None`` on a side that has no such line."""

    file: str
    before: int | None
    after: int | None


_Lines: TypeAlias = dict[str, dict[int, str]]


class Places:
    """Finds the place of a location of either side."""

    def __init__(self, known: dict[tuple[bool, str, int], Place]) -> None:
        self._known = known

    def before(self, source: SourceLocation | None) -> Place | None:
        """Return the place of a location on the first side."""
        return self._find(source, True)

    def after(self, source: SourceLocation | None) -> Place | None:
        """Return the place of a location on the second side."""
        return self._find(source, False)

    def _find(self, source: SourceLocation | None, first: bool) -> Place | None:
        if source is None:
            return None
        same = Place(source.file, source.line, source.line)
        return self._known.get((first, source.file, source.line), same)


def align(before: Report, after: Report, *, all_lines: bool = False) -> Places:
    """Return the places of two reports; ``all_lines`` as in ``compare``."""
    ours, theirs = _lines(before), _lines(after)
    known: dict[tuple[bool, str, int], Place] = {}
    room = _MOST_PAIRS
    for file in sorted(ours.keys() & theirs.keys()):
        cost = len(ours[file]) * len(theirs[file])
        if cost > room or (not all_lines and _agree(ours[file], theirs[file])):
            continue  # every line keeps its number
        room -= cost
        pairs = _pairs(ours[file], theirs[file])
        back = {second: first for first, second in pairs.items()}
        for line in ours[file]:
            known[True, file, line] = Place(file, line, pairs.get(line))
        for line in theirs[file]:
            known[False, file, line] = Place(file, back.get(line), line)
    return Places(known)


def _lines(report: Report) -> _Lines:
    found: _Lines = {}
    for place, text in report.code.items():
        file, _, number = place.rpartition(":")
        if number.isascii() and number.isdigit() and len(number) < 10:
            found.setdefault(file, {})[int(number)] = text
    return found


def _agree(ours: dict[int, str], theirs: dict[int, str]) -> bool:
    """Whether nothing says that a line of this file moved."""
    return all(theirs[line] == text for line, text in ours.items() if line in theirs)


def _pairs(ours: dict[int, str], theirs: dict[int, str]) -> dict[int, int]:
    """Align the lines of a file: those with the same text, and equally many edited in between."""
    first, second = sorted(ours.items()), sorted(theirs.items())
    # The matcher depends on which side comes first; a diff and its mirror must agree.
    swapped = second < first
    if swapped:
        first, second = second, first
    matcher = SequenceMatcher(
        None, [text for _, text in first], [text for _, text in second], autojunk=False
    )
    found = {}
    for _, start, end, other, other_end in matcher.get_opcodes():
        if end - start == other_end - other:
            lines = zip(first[start:end], second[other:other_end], strict=True)
            found.update({one: two for (one, _), (two, _) in lines})
    return {two: one for one, two in found.items()} if swapped else found
