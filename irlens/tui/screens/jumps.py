"""Jumps between the lines of the inspector's panes, and the history of where they started."""

from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from irlens.model.listing import Occurrences
from irlens.model.source import short_file
from irlens.model.text import printable_line
from irlens.tui.code import LANDMARKS, Document, following, other_line, partner_line
from irlens.tui.code.text import spans_of
from irlens.tui.screens import EntryScreen
from irlens.tui.services import Context, Place
from irlens.tui.widgets.code_pane import CodePane
from irlens.tui.widgets.entry_panes import EntryPanes


class Position(msgspec.Struct, frozen=True):
    """A cursor position."""

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


class JumpActions(EntryScreen):
    """A screen with panes: moves the cursor of the active one to lines that belong together."""

    def __init__(self, context: Context, key: str, at: Place | None = None) -> None:
        super().__init__(context, key, at)
        # Created here, since another entry's layout may be adopted before the screen is composed.
        self.panes = EntryPanes(context, key)
        self.history = JumpHistory()

    def action_jump(self, landmark: str, step: int) -> None:
        """Go to the next (-1: previous) landmark."""
        for pane, document in self.panes.active_document():
            line = following(LANDMARKS[landmark].lines(document), pane.line, step)
            if landmark == "peak" and document.stage == "python":
                self._to_peak(pane, document, line)
            else:
                problem = f"{short_file(pane.showing)} has no {LANDMARKS[landmark].name}"
                self._jump(pane, line, problem)

    def action_partner(self) -> None:
        """Go from a commit to the wait that retires its group, and back."""
        for pane, document in self.panes.active_document():
            problem = "this line belongs to no pipelined group: press ) for the next one"
            if mark := document.mark(pane.line):
                problem = f"the other end of this {document.role(mark)} is unknown"
            self._jump(pane, partner_line(document, pane.line), problem)

    def action_place(self, step: int) -> None:
        """Go to the next (-1: previous) run of lines that belong to the same line of Python."""
        for pane, _ in self.panes.active_document():
            problem = f"no other place of this line of Python in {short_file(pane.showing)}"
            self._jump(pane, other_line(pane.places, pane.line, step), problem)

    def action_definition(self) -> None:
        """Go to the definition of the name under the cursor."""
        self._look_up("definition", -1)

    def action_use(self, step: int) -> None:
        """Go to the next (-1: previous) use of the name under the cursor."""
        self._look_up("use", step)

    def action_back_in_jumps(self) -> None:
        """Return to where the last jump started."""
        self._revisit(self.history.back, "no jump to go back from")

    def action_forward_in_jumps(self) -> None:
        """Return to where the last step back started."""
        self._revisit(self.history.forward, "no jump to go forward to")

    def warn(self, message: str) -> None:
        """Say why there is nothing to show, or nowhere to go."""
        # One at a time: notifications cover the line facts.
        self.app.clear_notifications()
        self.notify(printable_line(message), severity="warning", timeout=3, markup=False)

    def to_line(self, line: int) -> None:
        """Jump to a line number."""
        for pane, _ in self.panes.active_document():
            self._jump(pane, line, "")

    def _to_peak(self, pane: CodePane, document: Document, line: int | None) -> None:
        """Go to the peak in a stage from a pane of Python, which goes to the peak's own line."""
        stage = self.panes.pane_with_peak(document.live_in)
        if line is None and stage is None:
            self.warn(f"{short_file(pane.showing)} has no {LANDMARKS['peak'].name}")
            return
        self.history.push(position_of(pane))
        if line is not None:
            pane.go_to(line)
            self.panes.link(pane)  # first: it moves the panes to the nearest of the line's places
        if stage is not None and stage.document is not None:
            stage.go_to(stage.document.peak_of((pane.showing, pane.line)) or stage.line)
            if line is None:
                self.panes.activate(stage)

    def _look_up(self, kind: str, step: int) -> None:
        for pane, document in self.panes.active_document():
            word = pane.cursor.word
            if not word:
                self.warn("no name under the cursor")
            elif document.stage == "python":
                self.warn("definitions and uses are known in stages, not in Python")
            else:
                self.run_in_thread(
                    partial(self.bench.occurrences, self.key, pane.showing, word, pane.line),
                    partial(self._to_occurrence, position_of(pane), kind, step),
                    group="occurrences",
                )

    def _to_occurrence(self, start: Position, kind: str, step: int, found: Occurrences) -> None:
        """Go to the next (-1: previous) occurrence of a name, if the cursor is still there."""
        pane, document, name = start.pane, start.pane.document, found.name
        if document is None or pane is not self.panes.active or position_of(pane) != start:
            return  # the user has moved on
        lines: Sequence[int] = found.uses if kind == "use" else found.definitions
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
        for pane, _ in self.panes.active_document():
            position = step(position_of(pane))
            if position is None:
                self.warn(problem)
            else:
                self.panes.show(position.pane, position.showing, position.at)
                self.panes.activate(position.pane)

    def _jump(
        self, pane: CodePane, line: int | None, problem: str, column: int | None = None
    ) -> None:
        if line is None:
            self.warn(problem)
            return
        self.history.push(position_of(pane))
        pane.go_to(line, column)
