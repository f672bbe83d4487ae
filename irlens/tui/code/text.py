"""Text as cells: what is drawn of a line, how wide it is, and which word stands where."""

import re
from functools import lru_cache

from rich.cells import cell_len
from textual.expand_tabs import expand_tabs_inline

from irlens.model.text import printable

_TAB = 4

#: Words as each stage writes them, the longest first: an opcode is one with all its parts, a
#: register has none of what follows its dot. Elsewhere a word is letters and digits.
_MLIR = r"[%@^#!][\w$.-]*\w|\w[\w.$]*"
_WORDS = {
    "source": _MLIR,
    "ttir": _MLIR,
    "ttgir": _MLIR,
    "llir": r"[%@!#][\w$.-]*\w|\w[\w.]*",
    "ptx": r"%[\w$]+|(?<![\w$.])\.?[\w$]+(?:(?:\.|::)\w+)*",
    "sass": r"\bU?[RP]\d+\b|\.L_\w+|(?<![\w$.])[\w$]+(?:\.\w+)*",
    "amdgcn": r"[vsa]\[\d+(?::\d+)?\]|(?<!\w)\.?[\w$@]+(?:\.\w+)*",
}
_WORD = r"\w+"

_SASS_OFFSET = re.compile(r"^( *)(/\*[0-9a-f]{4,}\*/)( +)", re.MULTILINE)


class CodeText:
    """The lines of a text, as they are and as they are drawn.

    Attributes:
        lines: The lines as they are.
        shown: The same without tabs, without anything that could steer a terminal, and without
            the columns of nothing that nvdisasm leaves.
        width: Cells of the longest line.
    """

    def __init__(self, text: str, stage: str) -> None:
        self.lines = _split(text)
        harmless = _harmless(text)
        self.shown = _split(_tight(harmless) if stage == "sass" else harmless)
        if text.isascii():
            self.width = max(map(len, self.shown), default=0)
        else:
            self.width = max(map(width, self.shown), default=0)

    def __len__(self) -> int:
        return len(self.lines)


def width(line: str) -> int:
    """Return the cells that a drawn line takes."""
    return len(line) if line.isascii() else cell_len(line)


def cell_at(line: str, column: int) -> int:
    """Return the cell where the character at ``column`` (from 0) of a drawn line begins."""
    return width(line[:column])


def column_at(line: str, cell: int) -> int:
    """Return the column of the character that covers a cell; past the end, the line's length."""
    if line.isascii():
        return min(cell, len(line))
    low, high = 0, len(line)
    while low < high:
        middle = (low + high) // 2
        if width(line[: middle + 1]) <= cell:
            low = middle + 1
        else:
            high = middle
    return low


def word_at(line: str, column: int, stage: str) -> str:
    """Return the word that covers a column of a drawn line, empty if none does."""
    for match in words_of(stage).finditer(line):
        if match.start() <= column < match.end():
            return match[0]
        if match.start() > column:
            break
    return ""


def word_starts(line: str, stage: str) -> list[int]:
    """Return the columns where words begin."""
    return [match.start() for match in words_of(stage).finditer(line)]


def spans_of(word: str, line: str, stage: str) -> list[tuple[int, int]]:
    """Return where a word stands in a drawn line: columns, the end exclusive."""
    if not word or word not in line:
        return []
    return [match.span() for match in words_of(stage).finditer(line) if match[0] == word]


@lru_cache(maxsize=16)
def words_of(stage: str) -> re.Pattern[str]:
    """Return what a word looks like in a stage."""
    return re.compile(_WORDS.get(stage, _WORD))


def _split(text: str) -> list[str]:
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def _harmless(text: str) -> str:
    safe = printable(text)
    if safe.isascii():
        return safe.expandtabs(_TAB)
    # A lone surrogate cannot be written to a terminal at all.
    safe = safe.encode("utf-8", "backslashreplace").decode("utf-8")
    if "\t" not in safe:
        return safe
    return "\n".join(_expanded(line) for line in safe.split("\n"))


def _tight(sass: str) -> str:
    """Cut the blanks before and behind the offsets of instructions down, all by as much."""
    found = [match.groups() for match in _SASS_OFFSET.finditer(sass)]
    before = min((len(lead) for lead, _, _ in found), default=0)
    behind = min((len(gap) for _, _, gap in found), default=1) - 1
    return _SASS_OFFSET.sub(lambda match: match[1][before:] + match[2] + match[3][behind:], sass)


def _expanded(line: str) -> str:
    return line.expandtabs(_TAB) if line.isascii() else expand_tabs_inline(line, _TAB)
