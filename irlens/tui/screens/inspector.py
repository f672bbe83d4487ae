"""The inspector: Python and stages side by side, linked line by line."""

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from irlens.model.errors import IrlensError
from irlens.model.layout import LayoutDrawing
from irlens.model.source import SourceLocation, short_file
from irlens.render.view.layout import layout_view
from irlens.tui.code.gutters import describe_chain, describe_line
from irlens.tui.code.text import values_of
from irlens.tui.screens import EntryScreen
from irlens.tui.screens.jumps import JumpActions, Position
from irlens.tui.services import Context, PassPlace, Place
from irlens.tui.widgets.code_pane import CodePane
from irlens.tui.widgets.code_view import CodeView
from irlens.tui.widgets.entry_panes import EntryContents
from irlens.tui.widgets.heading import Heading, LineFacts
from irlens.tui.widgets.key_bar import KeyBar
from irlens.tui.widgets.prompt import Prompt, SearchPrompt

#: Bindings that need the text of the active pane, and bindings that need its annotations.
_NEEDS_TEXT = frozenset(
    f"inspector.{name}"
    for name in (
        "definition", "next_use", "previous_use", "search", "next_match", "previous_match", "line",
        "copy", "copy_name", "editor", "pager", "layout",
    )
)  # fmt: skip
_NEEDS_ANNOTATIONS = frozenset(
    f"inspector.{name}"
    for name in (
        "next_finding", "previous_finding", "peak", "next_loop", "previous_loop", "next_mark",
        "previous_mark", "partner", "next_place", "previous_place", "explain", "passes",
    )
)  # fmt: skip
_STAGE_BINDINGS = frozenset({"inspector.next_stage", "inspector.previous_stage"})


class InspectorScreen(JumpActions):
    """The text of an entry's stages beside its Python."""

    VIEW = "inspector"
    HELP_TEXT = """\
Every pane marks the lines that belong to the cursor's line of Python with `▌` and scrolls to them.
`[` and `]` go to the previous and the next of those places within a pane. `/` searches all panes on
show, and `n` goes on from pane to pane; `p` finds the register peak, from Python in the stage too.
On a value of ttgir, `L` draws which lane, register or bank holds each element. `Enter` explains the
finding of a line, and `P` follows a line of Python through the passes.

The gutter shows, from the left: findings (`✗` error, `▲` warning, `•` note), line numbers, live
registers as a bar (full where one more would lower the occupancy), pipelined copies, loads and
matrix products `↓`, commits `●` and waits `○` with a bracket around each group, and a rail along
every loop.

Lines of assembly that hold only debug information are hidden; `i` shows them.
"""
    PROMPT_BINDINGS = frozenset({"inspector.search", "inspector.line"})
    LESS_IMPORTANT: ClassVar[tuple[str, ...]] = (
        "suggest", "add_pane", "compare", "recompile", "use(1)", "jump('finding', 1)",
    )  # fmt: skip
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "cycle(1)", "Stage", id="inspector.next_stage"),
        Binding("S", "cycle(-1)", "Previous stage", show=False, id="inspector.previous_stage"),
        Binding("a", "add_pane", "Add pane", id="inspector.add"),
        Binding("x", "close_pane", "Close pane", show=False, id="inspector.close"),
        Binding("greater_than_sign", "widen(1)", "Wider", show=False, id="inspector.wider"),
        Binding("less_than_sign", "widen(-1)", "Narrower", show=False, id="inspector.narrower"),
        Binding("z", "zoom", "Zoom", show=False, id="inspector.zoom"),
        Binding("i", "all_lines", "Lines without code", show=False, id="inspector.all_lines"),
        Binding("f", "jump('finding', 1)", "Finding", id="inspector.next_finding",
                tooltip="Go to the next finding in this text"),
        Binding("F", "jump('finding', -1)", "Previous finding", show=False,
                tooltip="Go to the previous finding in this text",
                id="inspector.previous_finding"),
        Binding("p", "jump('peak', 1)", "Peak", tooltip="Go to where the most registers are live",
                id="inspector.peak"),
        Binding("right_curly_bracket", "jump('loop', 1)", "Next loop", show=False,
                tooltip="Go to the next loop", id="inspector.next_loop"),
        Binding("left_curly_bracket", "jump('loop', -1)", "Previous loop", show=False,
                tooltip="Go to the previous loop", id="inspector.previous_loop"),
        Binding("right_parenthesis", "jump('mark', 1)", "Next copy, commit or wait", show=False,
                tooltip="Go to the next copy, commit or wait of a pipeline",
                id="inspector.next_mark"),
        Binding("left_parenthesis", "jump('mark', -1)", "Previous copy, commit or wait",
                show=False, tooltip="Go to the previous copy, commit or wait of a pipeline",
                id="inspector.previous_mark"),
        Binding("m", "partner", "Match", id="inspector.partner"),
        Binding("right_square_bracket", "place(1)", "Next place of the line", show=False,
                id="inspector.next_place"),
        Binding("left_square_bracket", "place(-1)", "Previous place of the line", show=False,
                id="inspector.previous_place"),
        Binding("d", "definition", "Definition", id="inspector.definition"),
        Binding("u", "use(1)", "Uses", id="inspector.next_use"),
        Binding("U", "use(-1)", "Previous use", show=False, id="inspector.previous_use"),
        Binding("L", "layout", "Layout", id="inspector.layout", show=False,
                tooltip="Draw who holds each element of the tensor or buffer of ttgir"),
        Binding("enter", "explain", "Explain the finding", id="inspector.explain", show=False,
                tooltip="Explain the finding of this line, and why it is there"),
        Binding("P", "passes", "Passes of the line", id="inspector.passes", show=False,
                tooltip="Follow this line of Python through the compiler's passes"),
        Binding("ctrl+o,alt+left", "back_in_jumps", "Jump back", show=False,
                id="inspector.return"),
        Binding("ctrl+n,alt+right", "forward_in_jumps", "Jump forward", show=False,
                id="inspector.forward"),
        Binding("slash", "search", "Search", id="inspector.search"),
        Binding("n", "find(1)", "Next match", show=False, id="inspector.next_match"),
        Binding("N", "find(-1)", "Previous match", show=False, id="inspector.previous_match"),
        Binding("colon", "line", "Go to line", show=False, id="inspector.line"),
        Binding("y", "copy", "Copy", show=False, id="inspector.copy"),
        Binding("e", "external('editor')", "Open in $EDITOR", show=False, id="inspector.editor"),
        Binding("v", "external('pager')", "Open in $PAGER", show=False, id="inspector.pager"),
        Binding("Y", "copy_name", "Copy the name", show=False, id="inspector.copy_name"),
    ]  # fmt: skip

    def __init__(self, context: Context, key: str, at: Place | None = None) -> None:
        super().__init__(context, key, at)
        self._is_laid_out = False

    def compose(self) -> ComposeResult:
        """Lay out the panes between the heading and the line facts."""
        yield Heading()
        yield self.panes
        yield LineFacts()
        yield SearchPrompt()
        yield KeyBar()

    def on_mount(self) -> None:
        """Start to load."""
        self._show_facts("loading …")
        self.run_in_thread(
            self.panes.read_contents, self._on_contents, self._on_error, group="contents"
        )
        # A large kernel's report takes a while; its text can be shown before.
        self.load_heading()

    def go_to(self, at: Place) -> None:
        """Open a position."""
        self.at = at
        if not isinstance(at, PassPlace):
            self.panes.go_to(at)

    def adopt_layout(self, other: EntryScreen) -> None:
        """Start with the panes of another inspector, at the same line of Python."""
        if isinstance(other, InspectorScreen):
            self.at = other.panes.here
            self.panes.adopt(other.panes.layout_of_panes)

    def defers(self, binding: str) -> bool:
        """Return whether the active pane lacks the text or the annotations a binding needs."""
        if not self._is_laid_out and not self.abandons_loading(binding):
            return True
        # ``active`` is updated a little later than the focus.
        pane = self.focused if isinstance(self.focused, CodePane) else self.panes.active
        needs_line = binding in (_NEEDS_TEXT | _NEEDS_ANNOTATIONS) - self.PROMPT_BINDINGS
        if needs_line and self._prompt.is_pending(self._searched):
            return True
        if pane is None or pane.complete:
            return False
        needs_text = binding in _NEEDS_TEXT or binding.startswith("code.")
        return binding in _NEEDS_ANNOTATIONS or (needs_text and pane.document is None)

    def abandons_loading(self, binding: str) -> bool:
        """Return whether a binding shows something else than what is loading."""
        if super().abandons_loading(binding) or binding == "code.unselect":
            return True
        return self._is_laid_out and binding in _STAGE_BINDINGS

    # Loading.

    def _on_contents(self, contents: EntryContents) -> None:
        async def lay_out() -> None:
            at = None if isinstance(self.at, PassPlace) else self.at
            await self.panes.lay_out(contents, at)
            self.app.call_later(self._on_laid_out)  # the focus moves as late

        self.call_later(lay_out)

    def _on_error(self, error: IrlensError) -> None:
        self.call_later(self.panes.tell, error.joined("\n"))
        self._on_laid_out()

    def _on_laid_out(self) -> None:
        self._is_laid_out = True
        if not self.panes.panes:
            self._show_facts("")  # the panes say what there is not
        self.context.keys.resume()

    @on(CodePane.Opened)
    def _on_opened(self, event: CodePane.Opened) -> None:
        self.panes.keep_document(event.pane)
        self._update_facts()
        self.context.keys.resume()

    @on(CodePane.Moved)
    def _on_moved(self, event: CodePane.Moved) -> None:
        if event.pane is self.panes.active:
            self.panes.link(event.pane)
            self._prompt.return_to_match()
            self._update_facts()

    def on_descendant_focus(self) -> None:
        """Show the facts of the line in the focused pane."""
        self._update_facts()

    def _update_facts(self) -> None:
        """Show what is known about the cursor's line."""
        for pane, document in self.panes.active_document():
            facts = describe_line(document, pane.line)
            problem = document.listing.problem or pane.problem
            self._show_facts(describe_chain(document, pane.line), facts or [problem])

    def _show_facts(self, first: str, facts: Sequence[str] = ()) -> None:
        self.query_one(LineFacts).show(first, facts)

    # Panes.

    def action_cycle(self, step: int) -> None:
        """Show the next (-1: previous) stage in the pane."""
        if not self.panes.cycle(step):
            self.notify("no pane with a stage: press a to add one", severity="warning")

    async def action_add_pane(self) -> None:
        """Add a pane."""
        if self.panes.has_room:
            await self.panes.add_next()
        else:
            self.notify("no room for another pane: press x to close one", severity="warning")

    async def action_close_pane(self) -> None:
        """Close the active pane, unless it is the last one."""
        pane = self.panes.active
        if pane is not None and len(self.panes.panes) > 1:
            await self.panes.close(pane)
            self.panes.remember_layout()

    def action_widen(self, step: int) -> None:
        """Give the active pane a larger (negative: smaller) share of the width."""
        if pane := self.panes.active:
            pane.resize_by(step)

    def action_zoom(self) -> None:
        """Show the active pane alone, or all panes."""
        self.panes.zoom(None if self.panes.is_zoomed else self.panes.active)

    def action_all_lines(self) -> None:
        """Show or hide the lines without code."""
        if pane := self.panes.active:
            pane.fold(not pane.folded)
            pane.describe()

    # What the compiler did.

    def action_layout(self) -> None:
        """Draw the layout of the value under the cursor, or else of the line's first with one."""
        for pane, document in self.panes.active_document():
            cursor = pane.cursor
            is_chosen = cursor.word.startswith("%") and cursor.column != cursor.indent
            names = [cursor.word] if is_chosen else values_of(cursor.text)
            if document.stage != "ttgir":
                self.warn("layouts are those of values of ttgir: show that stage")
            elif not names:
                self.warn("no value on this line")
            else:
                draw = partial(self.bench.layout, self.key, names, pane.line)
                self.run_in_thread(draw, self._show_layout, group="layout")

    def _show_layout(self, drawing: LayoutDrawing) -> None:
        if self.is_current:
            self.context.navigator.show_drawing(layout_view(drawing))

    def action_explain(self) -> None:
        """Explain the finding of the line, and find out why it is there."""
        for pane, document in self.panes.active_document():
            findings = document.findings.get(pane.line, ())
            if findings:
                self.context.navigator.show_finding(self.key, findings[0])
            else:
                self.warn("no finding on this line: press f for the next one")

    def action_passes(self) -> None:
        """Follow the line of Python at the cursor through the compiler's passes."""
        if (here := self.panes.here) is not None:
            self.context.navigator.show_view("passes", self.key, here)
        else:
            self.warn("this line comes from no line of Python")

    # The prompt.

    @property
    def _prompt(self) -> SearchPrompt:
        return self.query_one(SearchPrompt)

    @property
    def _searched(self) -> list[CodePane]:
        """The visible panes, from the active one to the right and around."""
        panes = [pane for pane in self.panes.panes if pane.display]
        at = panes.index(self.panes.active) if self.panes.active in panes else 0
        return [*panes[at:], *panes[:at]]

    @property
    def _searched_names(self) -> str:
        names = [short_file(pane.showing) for pane in self.panes.panes if pane.display]
        return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))

    def action_search(self) -> None:
        """Ask for text to search for in all visible panes."""
        if any(self.panes.active_document()):
            self._prompt.search(self._searched, self._searched_names)

    def action_find(self, step: int) -> None:
        """Go to the next (-1: previous) match, from pane to pane."""
        if any(self.panes.active_document()):
            self._prompt.find(self._searched, self._searched_names, step)

    @on(CodePane.Unselected)
    def _on_unselected(self) -> None:
        for pane in self.panes.panes:
            pane.search.start(None)

    @on(CodeView.Searched)
    def _on_searched(self, event: CodeView.Searched) -> None:
        self._prompt.on_searched(event.view)
        self.context.keys.resume()

    @on(SearchPrompt.Jumped)
    def _on_search_jumped(self, event: SearchPrompt.Jumped) -> None:
        if isinstance(event.view, CodePane):
            self.history.push(Position(event.view, event.view.showing, event.start))

    def action_line(self) -> None:
        """Ask for a line to go to."""
        if any(self.panes.active_document()):
            self._prompt.open("line, or file.py:line")

    @on(Prompt.Submitted)
    def _on_line_submitted(self, event: Prompt.Submitted) -> None:
        self._prompt.close()
        answer = event.value.strip()
        file, _, number = answer.rpartition(":")
        is_number = number.isdecimal() and len(number) < 19
        if not is_number or (file and file not in self.panes.contents.names):
            self.warn(f"'{answer}' is not a line number or file.py:line")
        elif file:
            self.go_to(SourceLocation(file, int(number)))
        else:
            self.to_line(int(number))

    # Copying and external programs.

    def action_copy(self) -> None:
        """Copy the selected lines, or the cursor's."""
        for pane, _ in self.panes.active_document():
            self.context.navigator.copy(pane.copied)

    def action_copy_name(self) -> None:
        """Copy the name under the cursor."""
        for pane, _ in self.panes.active_document():
            if word := pane.cursor.word:
                self.context.navigator.copy(word)
            else:
                self.warn("no name under the cursor")

    def action_external(self, kind: str) -> None:
        """Open the text in the user's editor or pager, at the cursor's line."""
        for pane, document in self.panes.active_document():
            # A name of our own: the file's name is untrusted.
            name = f"kernel.{'py' if document.stage == 'python' else document.stage}"
            text = document.listing.text
            self.context.navigator.open_externally(kind, name=name, text=text, line=pane.line)
