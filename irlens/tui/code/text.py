"""Lines of a text as drawn: their cells, their width, and the word at a column."""

import re
from bisect import bisect_right

from rich.cells import cell_len
from textual.expand_tabs import expand_tabs_inline

from irlens.isa.dialects import syntax_of
from irlens.model.text import printable

_TAB = 4
_VALUE = re.compile(r"%[\w$.-]+")


class CodeText:
    """The lines of a text, as written and as drawn.

    Attributes:
        shown: The lines without tabs and terminal control sequences, and with single blanks
            around the offsets of instructions.
    """

    def __init__(self, text: str, stage: str) -> None:
        self.lines = _split(text)
        offset = syntax_of(stage).offset
        safe = _printable(text)
        self.shown = _split(_with_narrow_offsets(safe, offset) if offset else safe)
        if text.isascii():
            self.width = max(map(len, self.shown), default=0)
        else:
            self.width = max(map(width, self.shown), default=0)

    def __len__(self) -> int:
        return len(self.lines)


def width(line: str) -> int:
    """Return the width of a drawn line in cells."""
    return len(line) if line.isascii() else cell_len(line)


def cell_at(line: str, column: int) -> int:
    """Return the cell where the character at ``column`` (from 0) of a drawn line begins."""
    return width(line[:column])


def column_at(line: str, cell: int) -> int:
    """Return the column of the character that covers a cell; past the end, the line's length."""
    if line.isascii():
        return min(cell, len(line))
    ends = range(1, len(line) + 1)
    return bisect_right(ends, cell, key=lambda end: width(line[:end]))


def word_at(line: str, column: int, stage: str) -> str:
    """Return the word that covers a column of a drawn line, empty if none does."""
    for match in syntax_of(stage).word.finditer(line):
        if match.start() <= column < match.end():
            return match[0]
        if match.start() > column:
            break
    return ""


def word_starts(line: str, stage: str) -> list[int]:
    """Return the columns where words begin."""
    return [match.start() for match in syntax_of(stage).word.finditer(line)]


def spans_of(word: str, line: str, stage: str) -> list[tuple[int, int]]:
    """Return the columns at which a word occurs in a drawn line, the end exclusive."""
    if not word or word not in line:
        return []
    return [match.span() for match in syntax_of(stage).word.finditer(line) if match[0] == word]


def values_of(line: str) -> list[str]:
    """Return the values of MLIR that a line names, each once."""
    return list(dict.fromkeys(_VALUE.findall(line)))


def _split(text: str) -> list[str]:
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def _printable(text: str) -> str:
    safe = printable(text)
    if safe.isascii():
        return safe.expandtabs(_TAB)
    # A lone surrogate cannot be written to a terminal at all.
    safe = safe.encode("utf-8", "backslashreplace").decode("utf-8")
    if "\t" not in safe:
        return safe
    return "\n".join(
        line.expandtabs(_TAB) if line.isascii() else expand_tabs_inline(line, _TAB)
        for line in safe.split("\n")
    )


def _with_narrow_offsets(text: str, offset: re.Pattern[str]) -> str:
    """Remove the blanks that all offsets have before them, and all but one after them."""
    blanks = [match.groups() for match in offset.finditer(text)]
    before = min((len(lead) for lead, _, _ in blanks), default=0)
    after = min((len(gap) for _, _, gap in blanks), default=1) - 1
    return offset.sub(lambda match: match[1][before:] + match[2] + match[3][after:], text)
