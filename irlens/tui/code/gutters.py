"""The gutters beside the code: findings, line numbers, live registers, pipelines, loops.

Each is a column of cells. A sign says everything that a colour says, and ``describe_line`` says
the same in words.
"""

from collections.abc import Sequence
from typing import Protocol

from irlens.model.listing import PipelineAnnotation
from irlens.model.report import SEVERITIES
from irlens.model.text import first_of, plural, short_size
from irlens.render.view.characters import EIGHTHS, HEIGHTS
from irlens.render.view.drawings import full_heat
from irlens.render.view.gutters import (
    Rails,
    bracket_at,
    bracket_lanes,
    describe_control,
    describe_iteration,
    describe_waits,
    notation,
    scoreboards,
)
from irlens.tui.code import Document
from irlens.tui.drawing import SEVERITY_SIGN

#: A text and the name of its style, one of ``STYLES``.
Cell = tuple[str, str]

ROLE_SIGNS = {"copy": "↓", "commit": "●", "wait": "○"}

STYLES = (
    "error", "warning", "note", "line-number", "cursor-number", "cool", "warm", "hot",
    "copy", "commit", "wait", "partner", "bracket", "loop",
)  # fmt: skip

_LEVELS = HEIGHTS[1:]
_BAR = 4
_NARROW, _WIDE, _WIDEST = 50, 80, 110
_RAILS = 3
_LINES_NAMED = 6


class Gutter(Protocol):
    """A column beside the code."""

    @property
    def width(self) -> int:
        """Its cells."""

    def cells(self, line: int, cursor: int) -> list[Cell]:
        """Return its cells at a line, ``width`` in all, while the cursor is at ``cursor``."""


class FindingGutter:
    """The most severe finding of a line."""

    width = 1

    def __init__(self, document: Document) -> None:
        self._findings = document.findings

    def cells(self, line: int, cursor: int) -> list[Cell]:
        """Return the sign of its severity."""
        present = {finding.severity for finding in self._findings.get(line, ())}
        worst = next((severity for severity in SEVERITIES if severity in present), None)
        return [(SEVERITY_SIGN[worst], worst)] if worst else [(" ", "")]


class NumberGutter:
    """Line numbers."""

    def __init__(self, document: Document) -> None:
        self.width = len(str(len(document))) + 1

    def cells(self, line: int, cursor: int) -> list[Cell]:
        """Return the number."""
        style = "cursor-number" if line == cursor else "line-number"
        return [(f"{line:>{self.width - 1}} ", style)]


class ScheduleGutter:
    """The control fields of NVIDIA's machine code: scoreboards and stall.

    A narrow gutter has the scoreboards waited for and the stall alone.
    """

    def __init__(self, document: Document, room: int) -> None:
        self._document = document
        self._whole = room >= _WIDEST
        self.width = 1 + (len("B012345:R0:W0:Y:S00") if self._whole else len("012345 15"))

    def cells(self, line: int, cursor: int) -> list[Cell]:
        """Return the fields."""
        control = self._document.listing.control.get(line)
        if control is None:
            return [(" " * self.width, "line-number")]
        short = f"{scoreboards(control)} {control.stall:>2}"
        fields = notation(control) if self._whole else short
        return [(fields.ljust(self.width), "wait" if control.wait else "line-number")]


class HeatGutter:
    """Live registers: a bar, with the number where there is room.

    The kernel's register budget fills the bar; where that is unknown, the peak does.
    """

    def __init__(self, document: Document, room: int) -> None:
        self._document = document
        peak = document.listing.peak or 1
        self._full = full_heat(peak, document.budget)
        self._digits = len(str(peak)) + 1 if room >= _NARROW else 0
        self._bar = _BAR if room >= _WIDE else 1
        self.width = self._digits + self._bar + 1

    def cells(self, line: int, cursor: int) -> list[Cell]:
        """Return the bar and the number."""
        live = self._document.live(line)
        if live is None:
            return [(" " * self.width, "")]
        share = min(live / self._full, 1.0)
        style = "hot" if share >= 0.9 else "warm" if share >= 0.6 else "cool"
        number = f"{live:>{self._digits - 1}} " if self._digits else ""
        return [(f"{number}{self._drawn(share)} ", style)]

    def _drawn(self, share: float) -> str:
        if self._bar == 1:
            return _LEVELS[7 if share >= 1 else min(int(share * 7), 6)]
        whole, eighths = divmod(int(share * self._bar * 8), 8)
        return ("█" * whole + EIGHTHS[eighths]).ljust(self._bar)[: self._bar]


class TrafficGutter:
    """Bytes of global memory that a line's accesses request.

    The widest panes have the distinct bytes too, and the sectors over the fewest that hold them.
    """

    def __init__(self, document: Document, room: int) -> None:
        self._traffic = document.traffic
        whole = room >= _WIDEST
        cells = {
            line: (
                short_size(each.bytes),
                *((f"of {short_size(each.distinct_bytes)}", each.sectors) if whole else ()),
            )
            for line, each in document.traffic.items()
        }
        widths = [max(map(len, column)) for column in zip(*cells.values(), strict=True)]
        self._sizes = {line: " ".join(map(str.rjust, row, widths)) for line, row in cells.items()}
        self.width = max(map(len, self._sizes.values()), default=0) + 1

    def cells(self, line: int, cursor: int) -> list[Cell]:
        """Return the numbers; in another colour and with a sign where they take many sectors."""
        moved = self._traffic.get(line)
        if moved is None:
            return [(" " * self.width, "")]
        sign, style = ("!", "hot") if moved.wasteful else (" ", "cool")
        return [(f"{self._sizes[line]:>{self.width - 1}}{sign}", style)]


class PipelineGutter:
    """Copies, commits and waits, with a bracket around each pipeline group."""

    def __init__(self, document: Document, room: int) -> None:
        self._document = document
        self._lanes = bracket_lanes(document.listing.marks)
        self._lanes = self._lanes[: 1 if room < _NARROW else 3]
        self._words = room >= _WIDE
        self.width = len(self._lanes) + (len("● product ") if self._words else 2)

    def cells(self, line: int, cursor: int) -> list[Cell]:
        """Return the brackets and the mark."""
        brackets = "".join(bracket_at(lane, line) for lane in self._lanes)
        mark = self._document.mark(line)
        rest = self.width - len(brackets)
        if mark is None:
            return [(brackets, "bracket"), (" " * rest, "")]
        sign = ROLE_SIGNS[mark.role] + (f" {self._document.role(mark)}" if self._words else "")
        at_cursor = self._document.mark(cursor)
        paired = cursor in mark.partners or (at_cursor is not None and line in at_cursor.partners)
        style = "partner" if paired else mark.role
        return [(brackets, "bracket"), (sign, style), (" " * (rest - len(sign)), "")]


class LoopGutter:
    """A rail for each loop around a line."""

    def __init__(self, document: Document) -> None:
        self._rails = Rails(document.listing.loops, _RAILS)
        self.width = self._rails.width + 1

    def cells(self, line: int, cursor: int) -> list[Cell]:
        """Return the rails."""
        return [(self._rails.at(line).ljust(self.width), "loop")]


def gutters_for(document: Document, room: int) -> Sequence[Gutter]:
    """Return the gutters that a document has content for, in a pane of ``room`` cells."""
    gutters: list[Gutter] = []
    if document.findings:
        gutters.append(FindingGutter(document))
    gutters.append(NumberGutter(document))
    if document.listing.control and room >= _WIDE:
        gutters.append(ScheduleGutter(document, room))
    if document.listing.live:
        gutters.append(HeatGutter(document, room))
    if document.traffic and room >= _WIDE:
        gutters.append(TrafficGutter(document, room))
    if document.listing.marks:
        gutters.append(PipelineGutter(document, room))
    if document.listing.loops:
        gutters.append(LoopGutter(document))
    return gutters


def describe_chain(document: Document, line: int) -> str:
    """Return a line's source: the user's line first, then the calls inlined into it."""
    return " ▸ ".join(str(location) for location in reversed(document.chain(line)))


def describe_line(document: Document, line: int) -> list[str]:
    """Return what the gutters show of a line in words, the most important first."""
    findings = document.findings.get(line, ())
    facts = [f"{SEVERITY_SIGN[one.severity]} {one.code} {one.message}" for one in findings]
    mark = document.mark(line)
    if mark is not None:
        facts.append(f"{ROLE_SIGNS[mark.role]} {_describe_mark(document, mark)}")
        note = document.listing.note
        if mark.serialized and not any(note.startswith(one.code) for one in findings):
            facts.append(note)
    if control := document.listing.control.get(line):
        facts.append(describe_control(control))
    if waits := document.listing.waits.get(line):
        facts.append(f"waits for {describe_waits(waits)}")
    live = document.live(line)
    if live is not None:
        bound, where = (
            ("up to ", f" in {document.live_in}") if document.stage == "python" else ("", "")
        )
        peak, budget = f"peak {document.listing.peak}", document.budget
        # PTX's registers are virtual: ptxas allocates fewer, or more.
        kind = document.registers.removesuffix("s")
        more = f", {budget.words}" if budget else ""
        facts.append(f"{bound}{plural(live, kind)}{where}, {peak}{more}")
    if (moved := document.traffic.get(line)) is not None:
        facts += moved.words
    loop = document.loop(line)
    if loop is not None:
        of = f" of {loop.source}" if loop.source else ""
        facts.append(f"loop {loop.first}–{loop.last}{of}, depth {loop.depth}")
        if issued := describe_iteration(loop, document.stage):
            facts.append(issued)
    return facts


def _describe_mark(document: Document, mark: PipelineAnnotation) -> str:
    role = document.role(mark)
    if not mark.partners:
        return role
    lines = first_of(sorted(mark.partners), _LINES_NAMED)
    partners = (document.mark(line) for line in mark.partners)
    committed = any(other is not None and other.role == "commit" for other in partners)
    match mark.role:
        case "copy" if committed:
            return f"{role}, its group is committed at {lines}"
        case "wait" if committed:
            return f"wait for what is committed at {lines}"
        case "wait":
            return f"wait for what begins at {lines}"
        case _:
            return f"{role}, waited for at {lines}"
