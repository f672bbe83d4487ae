"""Jumps between the lines of the inspector's panes, and the history of where they started."""

from collections.abc import Callable, Sequence

import msgspec

from irlens.model.listing import Occurrences
from irlens.model.source import short_file
from irlens.tui.code.document import LANDMARKS, Document, following, other_line, partner_line
from irlens.tui.code.text import spans_of
from irlens.tui.widgets.code_pane import CodePane
from irlens.tui.widgets.entry_panes import EntryPanes


class Position(msgspec.Struct, frozen=True):
    """A cursor position.

    Attributes:
        showing: The document in it.
        at: Line and column.
    """

    pane: CodePane
    showing: str
    at: tuple[int, int]


def position_of(pane: CodePane) -> Position:
    """Return the cursor position of a pane."""
    return Position(pane, pane.showing, pane.position)


class JumpHistory:
    """The positions before and after the current one."""

    def __init__(self) -> None:
        self._back: list[Position] = []
        self._forward: list[Position] = []

    def push(self, position: Position) -> None:
        """Record where a jump starts; this clears the positions to go forward to."""
        self._back.append(position)
        self._forward.clear()

    def back(self, here: Position) -> Position | None:
        """Return where the last jump started; ``None`` if there was none."""
        return _pop(self._back, self._forward, here)

    def forward(self, here: Position) -> Position | None:
        """Return where the last step back started; ``None`` if there was none."""
        return _pop(self._forward, self._back, here)


def _pop(source: list[Position], target: list[Position], here: Position) -> Position | None:
    while source:
        position = source.pop()
        if position.pane.is_attached and position != here:
            target.append(here)
            return position
    return None


class Jumps:
    """Moves the cursor of the active pane to lines that belong together.

    Args:
        warn: Says why there is nowhere to go.

    Attributes:
        history: Where the jumps started.
    """

    def __init__(self, panes: EntryPanes, warn: Callable[[str], None]) -> None:
        self._panes = panes
        self._warn = warn
        self.history = JumpHistory()

    def to_line(self, line: int) -> None:
        """Go to a line."""
        for pane, _ in self._panes.active_document():
            self._jump(pane, line, "")

    def to_landmark(self, name: str, step: int) -> None:
        """Go to the next (-1: previous) landmark, one of ``LANDMARKS``."""
        for pane, document in self._panes.active_document():
            landmark = LANDMARKS[name]
            line = following(landmark.lines(document), pane.line, step)
            if name == "peak" and document.stage == "python":
                self._to_peak(pane, document, line)
            else:
                self._jump(pane, line, f"{short_file(pane.showing)} has no {landmark.name}")

    def _to_peak(self, pane: CodePane, document: Document, line: int | None) -> None:
        """Go to the peak in a stage from a pane of Python, which goes to the peak's own line."""
        stage = self._panes.pane_with_peak(document.live_in)
        if line is None and stage is None:
            self._warn(f"{short_file(pane.showing)} has no {LANDMARKS['peak'].name}")
            return
        self.history.push(position_of(pane))
        if line is not None:
            pane.go_to(line)
            self._panes.link(pane)  # first: it moves the panes to the nearest of the line's places
        if stage is not None and stage.document is not None:
            stage.go_to(stage.document.peak_of((pane.showing, pane.line)) or stage.line)
            if line is None:
                self._panes.activate(stage)

    def to_partner(self) -> None:
        """Go from a commit to the wait that retires its group, and back."""
        for pane, document in self._panes.active_document():
            problem = "this line belongs to no pipelined group: press ) for the next one"
            if mark := document.mark(pane.line):
                problem = f"the other end of this {document.role(mark)} is unknown"
            self._jump(pane, partner_line(document, pane.line), problem)

    def to_place(self, step: int) -> None:
        """Go to the next (-1: previous) run of lines that belong to the same line of Python."""
        for pane, _ in self._panes.active_document():
            problem = f"no other place of this line of Python in {short_file(pane.showing)}"
            self._jump(pane, other_line(pane.places, pane.line, step), problem)

    def back(self) -> None:
        """Return to where the last jump started."""
        self._revisit(self.history.back, "no jump to go back from")

    def forward(self) -> None:
        """Return to where the last step back started."""
        self._revisit(self.history.forward, "no jump to go forward to")

    def to_definition(self, start: Position, found: Occurrences) -> None:
        """Go to the definition of a name, if the cursor is still where it was looked up."""
        self._to_occurrence(start, found, "definition", found.definitions, -1)

    def to_use(self, step: int, start: Position, found: Occurrences) -> None:
        """Go to the next (-1: previous) use of a name, if the cursor is still there."""
        self._to_occurrence(start, found, "use", found.uses, step)

    def _to_occurrence(
        self, start: Position, found: Occurrences, kind: str, lines: Sequence[int], step: int
    ) -> None:
        pane, document, name = start.pane, start.pane.document, found.name
        if document is None or pane is not self._panes.active or position_of(pane) != start:
            return  # the user has moved on
        line = other_line(sorted(lines), pane.line, step)
        spans = spans_of(name, document.text.shown[line - 1], document.stage) if line else []
        is_known = found.definitions or found.uses
        problem = (
            f"no other {kind} of {name}"
            if is_known
            else f"{name} is not a register, value or label"
        )
        self._jump(pane, line, problem, spans[0][0] if spans else None)

    def _revisit(self, step: Callable[[Position], Position | None], problem: str) -> None:
        for pane, _ in self._panes.active_document():
            position = step(position_of(pane))
            if position is None:
                self._warn(problem)
            else:
                self._panes.show(position.pane, position.showing, position.at)
                self._panes.activate(position.pane)

    def _jump(
        self, pane: CodePane, line: int | None, problem: str, column: int | None = None
    ) -> None:
        if line is None:
            self._warn(problem)
            return
        self.history.push(position_of(pane))
        pane.go_to(line, column)
