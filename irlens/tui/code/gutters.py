"""What stands beside the code, a column of cells each: findings, numbers, registers, loops.

A sign says everything that a colour says.
"""

from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
from typing import Protocol

from irlens.model.report import SEVERITIES
from irlens.tui.code import brackets
from irlens.tui.code.document import Document
from irlens.tui.drawing import EIGHTHS, HEIGHTS, SEVERITY_SIGN

#: A text and the name of its style.
Cell = tuple[str, str]

ROLE_SIGNS = {"copy": "↓", "commit": "●", "wait": "○"}

STYLES = (
    "error", "warning", "note", "line-number", "cursor-number", "cool", "warm", "hot",
    "copy", "commit", "wait", "partner", "bracket", "loop",
)  # fmt: skip

_LEVELS = HEIGHTS[1:]
_BAR = 4
_NARROW, _WIDE = 50, 80
_NUMBERED_LOOPS = 3


class Gutter(Protocol):
    """A column beside the code."""

    @property
    def width(self) -> int:
        """Its cells."""

    def cells(self, line: int, cursor: int) -> list[Cell]:
        """Return what it shows at a line while the cursor is at another, ``width`` cells in all."""


class FindingGutter:
    """The most severe finding of a line."""

    width = 1

    def __init__(self, document: Document) -> None:
        self._findings = document.findings

    def cells(self, line: int, cursor: int) -> list[Cell]:
        """Return the sign of its severity."""
        there = {finding.severity for finding in self._findings.get(line, ())}
        worst = next((severity for severity in SEVERITIES if severity in there), None)
        return [(SEVERITY_SIGN[worst], worst)] if worst else [(" ", "")]


class NumberGutter:
    """Line numbers."""

    def __init__(self, document: Document) -> None:
        self.width = len(str(len(document))) + 1

    def cells(self, line: int, cursor: int) -> list[Cell]:
        """Return the number."""
        style = "cursor-number" if line == cursor else "line-number"
        return [(f"{line:>{self.width - 1}} ", style)]


class HeatGutter:
    """Live registers: a bar, with the number where there is room.

    Only the peak fills its bar.
    """

    def __init__(self, document: Document, room: int) -> None:
        self._document = document
        self._peak = document.listing.peak or 1
        self._digits = len(str(self._peak)) + 1 if room >= _NARROW else 0
        self._bar = _BAR if room >= _WIDE else 1
        self.width = self._digits + self._bar + 1

    def cells(self, line: int, cursor: int) -> list[Cell]:
        """Return the bar and the number."""
        live = self._document.live(line)
        if live is None:
            return [(" " * self.width, "")]
        share = live / self._peak
        style = "hot" if share >= 0.9 else "warm" if share >= 0.6 else "cool"
        number = f"{live:>{self._digits - 1}} " if self._digits else ""
        return [(f"{number}{self._drawn(share)} ", style)]

    def _drawn(self, share: float) -> str:
        if self._bar == 1:
            return _LEVELS[7 if share >= 1 else min(int(share * 7), 6)]
        whole, eighths = divmod(int(share * self._bar * 8), 8)
        return ("█" * whole + EIGHTHS[eighths]).ljust(self._bar)[: self._bar]


class PipelineGutter:
    """Copies, commits and waits, and brackets around those that belong together."""

    def __init__(self, document: Document, room: int) -> None:
        self._document = document
        self._lanes = brackets.lanes(document.listing.marks)
        self._lanes = self._lanes[: 1 if room < _NARROW else 3]
        self._words = room >= _WIDE
        self.width = len(self._lanes) + (len("● product ") if self._words else 2)

    def cells(self, line: int, cursor: int) -> list[Cell]:
        """Return the brackets and the mark."""
        drawn = "".join(brackets.drawn(lane, line) for lane in self._lanes)
        mark = self._document.mark(line)
        rest = self.width - len(drawn)
        if mark is None:
            return [(drawn, "bracket"), (" " * rest, "")]
        sign = ROLE_SIGNS[mark.role] + (f" {self._document.role(mark)}" if self._words else "")
        other = self._document.mark(cursor)
        together = cursor in mark.partners or (other is not None and line in other.partners)
        style = "partner" if together else mark.role
        return [(drawn, "bracket"), (sign, style), (" " * (rest - len(sign)), "")]


class LoopGutter:
    """A rail for each loop around a line; a number where they are deeper than the rails."""

    def __init__(self, document: Document) -> None:
        self._loops = document.listing.loops
        self._count = len(document)
        deepest = max((loop.depth for loop in self._loops), default=0)
        self._rails = min(deepest, _NUMBERED_LOOPS)
        self.width = self._rails + 1

    def cells(self, line: int, cursor: int) -> list[Cell]:
        """Return the rails."""
        depth = self._depths[line] if line < len(self._depths) else 0
        rails = ["│"] * min(depth, self._rails)
        if rails and depth > self._rails:
            rails[-1] = str(depth) if depth < 10 else "+"
        elif rails and line in self._firsts:
            rails[-1] = "╭"
        elif rails and line in self._lasts:
            rails[-1] = "╰"
        return [("".join(rails).ljust(self.width), "loop")]

    @cached_property
    def _firsts(self) -> set[int]:
        return {loop.first for loop in self._loops}

    @cached_property
    def _lasts(self) -> set[int]:
        return {loop.last for loop in self._loops}

    @cached_property
    def _depths(self) -> list[int]:
        """How many loops are around each line; the first entry stands for no line."""
        steps = [0] * (self._count + 2)
        for loop in self._loops:
            steps[min(loop.first, self._count + 1)] += 1
            steps[min(loop.last, self._count) + 1] -= 1
        return list(accumulate(steps))


def gutters_for(document: Document, room: int) -> Sequence[Gutter]:
    """Return what is known of a document as gutters, for a pane of ``room`` cells."""
    found: list[Gutter] = []
    if document.findings:
        found.append(FindingGutter(document))
    found.append(NumberGutter(document))
    if document.listing.live:
        found.append(HeatGutter(document, room))
    if document.listing.marks:
        found.append(PipelineGutter(document, room))
    if document.listing.loops:
        found.append(LoopGutter(document))
    return found
