"""The inspector: Python and stages side by side, each pane at what another's cursor is at."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType

from irlens.model.listing import Occurrences
from irlens.model.source import SourceLocation
from irlens.model.text import printable_line
from irlens.tui.code.document import LANDMARKS, Document, following, other_line, partner_line
from irlens.tui.code.search import Hit
from irlens.tui.code.text import spans_of
from irlens.tui.screens.base import Place
from irlens.tui.screens.panes import PanesScreen
from irlens.tui.screens.searching import SearchingScreen
from irlens.tui.screens.trail import Position, Trail, position_of
from irlens.tui.widgets.linked_pane import LinkedPane
from irlens.tui.widgets.prompt import Prompt
from irlens.tui.widgets.searched import SearchedText

#: What needs the text, and what needs to know more of it, by the names of bindings.
_OF_TEXT = frozenset(
    f"inspector.{name}"
    for name in (
        "definition", "next_use", "previous_use", "search", "next_match", "previous_match", "line",
        "copy", "copy_name", "editor", "pager",
    )
)  # fmt: skip
_OF_ANALYSIS = frozenset(
    f"inspector.{name}"
    for name in (
        "next_finding", "previous_finding", "peak", "next_loop", "previous_loop", "next_mark",
        "previous_mark", "partner", "next_place", "previous_place",
    )
)  # fmt: skip


class View(PanesScreen, SearchingScreen):
    """The text of an entry's stages beside its Python."""

    HELP_TEXT = """\
The cursor's line of Python is marked in every pane, and each of them comes to it: `▌`. `[` and `]`
go through its places in a pane.

Beside the code, from the left: findings (`✗` error, `▲` warning, `•` note), the line's number, its
live registers as a bar (only the peak fills it), pipelined copies, loads and matrix products `↓`,
commits `●` and waits `○` with a bracket around those that belong together, and a rail for every
loop.

Of machine code, lines with nothing but debug information are left out; `i` shows them.
"""
    PROMPTS: ClassVar[frozenset[str]] = frozenset({"inspector.search", "inspector.line"})
    LESS_IMPORTANT: ClassVar[tuple[str, ...]] = (
        "add_pane", "compare", "recompile", "use(1)", "jump('finding', 1)",
    )  # fmt: skip
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f", "jump('finding', 1)", "Finding", id="inspector.next_finding"),
        Binding("F", "jump('finding', -1)", "Previous finding", show=False,
                id="inspector.previous_finding"),
        Binding("p", "jump('peak', 1)", "Peak", id="inspector.peak"),
        Binding("right_curly_bracket", "jump('loop', 1)", "Next loop", show=False,
                id="inspector.next_loop"),
        Binding("left_curly_bracket", "jump('loop', -1)", "Previous loop", show=False,
                id="inspector.previous_loop"),
        Binding("right_parenthesis", "jump('mark', 1)", "Next copy, commit or wait", show=False,
                id="inspector.next_mark"),
        Binding("left_parenthesis", "jump('mark', -1)", "Previous copy, commit or wait",
                show=False, id="inspector.previous_mark"),
        Binding("m", "partner", "Match", id="inspector.partner"),
        Binding("right_square_bracket", "place(1)", "Next place of the line", show=False,
                id="inspector.next_place"),
        Binding("left_square_bracket", "place(-1)", "Previous place of the line", show=False,
                id="inspector.previous_place"),
        Binding("d", "definition", "Definition", id="inspector.definition"),
        Binding("u", "use(1)", "Uses", id="inspector.next_use"),
        Binding("U", "use(-1)", "Previous use", show=False, id="inspector.previous_use"),
        Binding("ctrl+o,alt+left", "back_in_jumps", "Back in jumps", show=False,
                id="inspector.return"),
        Binding("ctrl+n,alt+right", "forward_in_jumps", "Forward in jumps", show=False,
                id="inspector.forward"),
        Binding("slash", "search", "Search", id="inspector.search"),
        Binding("n", "find(1)", "Next match", show=False, id="inspector.next_match"),
        Binding("N", "find(-1)", "Previous match", show=False, id="inspector.previous_match"),
        Binding("colon", "line", "Go to line", show=False, id="inspector.line"),
        Binding("y", "copy", "Copy", show=False, id="inspector.copy"),
        Binding("e", "outside('editor')", "Open in $EDITOR", show=False, id="inspector.editor"),
        Binding("v", "outside('pager')", "Open in $PAGER", show=False, id="inspector.pager"),
        Binding("Y", "copy_name", "Copy the name", show=False, id="inspector.copy_name"),
    ]  # fmt: skip

    def __init__(self, key: str, at: Place | None = None) -> None:
        super().__init__(key, at)
        self._trail = Trail()

    def is_too_early(self, binding: str) -> bool:
        """Return whether the pane in use has no text yet, or not what is to be known of it."""
        # Which pane is in use is told a little later than which has the focus.
        pane = self.focused if isinstance(self.focused, LinkedPane) else self.linked.active
        is_of_line = binding in (_OF_TEXT | _OF_ANALYSIS) - self.PROMPTS
        if super().is_too_early(binding) or (is_of_line and self._is_seeking):
            return True
        if pane is None or pane.complete:
            return False
        is_of_text = binding in _OF_TEXT or binding.startswith("code.")
        return binding in _OF_ANALYSIS or (is_of_text and pane.document is None)

    def leads_away(self, binding: str) -> bool:
        """Return whether the matches that are looked for are not wanted any more."""
        return binding == "code.unselect" or super().leads_away(binding)

    # Jumps, which remember where they came from.

    def action_jump(self, landmark: str, step: int) -> None:
        """Go to the next (-1: previous) of something."""
        for pane, document in self._in_use():
            mark = LANDMARKS[landmark]
            line = following(mark.lines(document), pane.line, step)
            self._jump(pane, line, f"{pane.showing} tells of no {mark.name}")

    def action_partner(self) -> None:
        """Go from a commit to the wait that retires its group, and back."""
        for pane, document in self._in_use():
            missing = "nothing on this line belongs to a pipelined group; ) goes to the next"
            if mark := document.mark(pane.line):
                missing = f"what belongs to this {document.role(mark)} is not known"
            self._jump(pane, partner_line(document, pane.line), missing)

    def action_place(self, step: int) -> None:
        """Go to the next (-1: previous) run of lines that belong to the same line of Python."""
        for pane, _ in self._in_use():
            missing = f"{pane.showing} has no other place of this line of Python"
            self._jump(pane, other_line(pane.places, pane.line, step), missing)

    def action_definition(self) -> None:
        """Go to where the name under the cursor is defined."""
        self._look_up("definition", lambda found: found.definitions, -1)

    def action_use(self, step: int) -> None:
        """Go to the next (-1: previous) use of the name under the cursor."""
        self._look_up("use", lambda found: found.uses, step)

    def action_back_in_jumps(self) -> None:
        """Go back to where the last jump came from."""
        self._follow(self._trail.back, "there is no jump to go back from")

    def action_forward_in_jumps(self) -> None:
        """Go to where the last step back came from."""
        self._follow(self._trail.forward, "there is no jump to go forward to")

    def _follow(self, step: Callable[[Position], Position | None], missing: str) -> None:
        for pane, _ in self._in_use():
            position = step(position_of(pane))
            if position is None:
                self._miss(missing)
            else:
                self.show(position.pane, position.showing, position.at)
                self.linked.use(position.pane)

    def _look_up(self, what: str, lines: Callable[[Occurrences], Sequence[int]], step: int) -> None:
        for pane, document in self._in_use():
            word = pane.word
            if not word:
                self._miss("there is no name under the cursor")
            elif document.stage == "python":
                self._miss("definitions and uses are known in stages, not in Python")
            else:
                call = partial(self.bench.occurrences, self.key, pane.showing, word, pane.line)
                then = partial(self._looked_up, position_of(pane), what, lines, step)
                self.ask(call, then, group="occurrences")

    def _looked_up(
        self,
        asked: Position,
        what: str,
        lines: Callable[[Occurrences], Sequence[int]],
        step: int,
        found: Occurrences,
    ) -> None:
        pane, document = asked.pane, asked.pane.document
        if document is None or pane is not self.linked.active or position_of(pane) != asked:
            return  # the user has gone on
        line = other_line(sorted(lines(found)), pane.line, step)
        spans = spans_of(found.name, document.text.shown[line - 1], document.stage) if line else []
        column = spans[0][0] if spans else None
        known = found.definitions or found.uses
        missing = f"has no other {what}" if known else "is no register, value or label"
        self._jump(pane, line, f"{found.name} {missing}", column)

    def _jump(
        self, pane: LinkedPane, line: int | None, missing: str, column: int | None = None
    ) -> None:
        if line is None:
            self._miss(missing)
            return
        self._trail.leave(position_of(pane))
        pane.go_to(line, column)

    def _miss(self, sentence: str) -> None:
        # One is enough: they stand over what is told of the line.
        self.app.clear_notifications()
        self.notify(printable_line(sentence), severity="warning", timeout=3, markup=False)

    def _in_use(self) -> Iterator[tuple[LinkedPane, Document]]:
        """Yield the pane in use, if it shows a text."""
        pane = self.linked.active
        if pane is not None and pane.document is not None:
            yield pane, pane.document

    # What is asked for at the prompt.

    @property
    def searched(self) -> SearchedText | None:
        """The pane in use."""
        return next((pane for pane, _ in self._in_use()), None)

    @property
    def searched_name(self) -> str:
        """What that shows."""
        return self.linked.active.showing if self.linked.active else ""

    def sought(self, text: SearchedText, start: Hit) -> None:
        """Remember where a search came from."""
        if isinstance(text, LinkedPane):
            self._trail.leave(Position(text, text.showing, start))

    def action_line(self) -> None:
        """Ask which line to go to."""
        if any(self._in_use()):
            self._prompt.open("line", "line, or file.py:line")

    @on(Prompt.Submitted)
    def _answered(self, event: Prompt.Submitted) -> None:
        if self._prompt.purpose == "line":
            self._prompt.close()
            for pane, _ in self._in_use():
                self._go_to_line(pane, event.value.strip())

    def _go_to_line(self, pane: LinkedPane, answer: str) -> None:
        file, _, number = answer.rpartition(":")
        if not number.isdecimal() or (file and file not in self.names):
            self._miss(f"{answer or 'nothing'} is neither a line nor file.py:line")
        elif file:
            self.go_to(SourceLocation(file, int(number)))
        else:
            self._jump(pane, int(number), "")

    # What leaves the screen.

    def action_copy(self) -> None:
        """Copy the selected lines, or the cursor's."""
        for pane, _ in self._in_use():
            self.lens.copy(pane.copied)

    def action_copy_name(self) -> None:
        """Copy the name under the cursor."""
        for pane, _ in self._in_use():
            if word := pane.word:
                self.lens.copy(word)
            else:
                self._miss("there is no name under the cursor")

    def action_outside(self, kind: str) -> None:
        """Show the text in the user's own editor or pager, at the same line."""
        for pane, document in self._in_use():
            # The copy has a name of ours: that of the file is a stranger's.
            name = f"kernel.{'py' if document.stage == 'python' else document.stage}"
            self.show_outside(kind, name=name, text=document.listing.text, line=pane.line)
