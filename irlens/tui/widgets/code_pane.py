"""A pane of code: loads a document, and moves its cursor with keys and the mouse."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, TypeAlias

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message

from irlens.model.errors import IrlensError
from irlens.model.source import short_file
from irlens.model.text import plural, printable_line
from irlens.tui.code import Document
from irlens.tui.code.text import column_at
from irlens.tui.services.threads import run_in_thread
from irlens.tui.widgets.document_view import DocumentView

#: Share of the width of a new pane, the smallest and the largest one.
_WEIGHT, _MIN_WEIGHT, _MAX_WEIGHT = 6, 2, 18

#: What to do where there is no code.
_OTHER_STAGE = "press s for another stage, 1 for the figures"

#: Fetches a document, annotated (``True``) or, faster, as plain text.
Fetch: TypeAlias = Callable[[bool], Document]

#: Seconds without an answer after which the plain text is fetched; before that the annotated
#: document may arrive, and drawing the text twice would be wasted.
_PATIENCE = 0.15


class CodePane(DocumentView):
    """A view of one document among others; its plain text first if the annotations take a while.

    Attributes:
        complete: Whether loading has ended, with all annotations or an error.
        weight: Share of the width, relative to the other panes.
        problem: Why the document has no annotations; "" if it has.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "move(1)", "Down", show=False, id="code.down"),
        Binding("k,up", "move(-1)", "Up", show=False, id="code.up"),
        Binding("h,left", "move_column(-1)", "Left", show=False, id="code.left"),
        Binding("l,right", "move_column(1)", "Right", show=False, id="code.right"),
        Binding("w", "move_word(1)", "Next word", show=False, id="code.next_word"),
        Binding("W", "move_word(-1)", "Previous word", show=False, id="code.previous_word"),
        Binding("0,home", "line_start", "Start of line", show=False, id="code.line_start"),
        Binding("dollar_sign,end", "line_end", "End of line", show=False, id="code.line_end"),
        Binding("ctrl+d", "page(0.5)", "Half a page down", show=False, id="code.half_down"),
        Binding("ctrl+u", "page(-0.5)", "Half a page up", show=False, id="code.half_up"),
        Binding("pagedown,ctrl+f", "page(1)", "Page down", show=False, id="code.page_down"),
        Binding("pageup,ctrl+b", "page(-1)", "Page up", show=False, id="code.page_up"),
        Binding("g,ctrl+home", "first", "First line", show=False, id="code.first"),
        Binding("G,ctrl+end", "last", "Last line", show=False, id="code.last"),
        Binding("J,shift+down", "select(1)", "Select down", show=False, id="code.select_down"),
        Binding("K,shift+up", "select(-1)", "Select up", show=False, id="code.select_up"),
        Binding("escape", "unselect", "Clear selection", show=False, id="code.unselect"),
    ]

    @dataclass
    class Moved(Message):
        """The user moved the cursor."""

        pane: "CodePane"

    class Unselected(Message):
        """The user cleared the selection and the search."""

    @dataclass
    class Opened(Message):
        """The pane shows a document, or a note about why it cannot.

        Attributes:
            at: The requested line, if one was requested.
        """

        pane: "CodePane"
        at: int | None

    def __init__(self) -> None:
        super().__init__()
        self.weight = _WEIGHT
        self.problem = ""
        self.showing = ""
        self.complete = True
        #: Whether the text has arrived, and the line and column to open then.
        self._has_text = False
        self._requested: tuple[int, int] | None = None
        self._dragging = False

    # Loading.

    def open(self, name: str, fetch: Fetch, at: tuple[int, int] | None = None) -> None:
        """Load a document and show it.

        Args:
            fetch: Called in a thread, possibly twice.
            at: Line (from 1) and column to open.
        """
        if name == self.showing and not self.complete:
            self._requested = at or self._requested
            return
        self._requested = at
        self.showing, self.complete, self._has_text = name, False, False
        self.show_note(f"loading {name} …")
        self.describe()
        run_in_thread(self, partial(fetch, True), self._on_annotated, self._on_error)
        self.set_timer(_PATIENCE, partial(self._fetch_text, name, fetch))

    def present(self, document: Document, at: tuple[int, int] | None = None) -> None:
        """Show a document that is loaded already."""
        self._requested = at
        self.showing, self.complete, self._has_text = document.name, True, True
        self.workers.cancel_node(self)
        self._show_text(document)

    def _fetch_text(self, name: str, fetch: Fetch) -> None:
        if not self.complete and self.showing == name and not self._has_text:
            # The call for the annotated document fails as well, and reports the error.
            run_in_thread(
                self, partial(fetch, False), self._on_text, lambda _: None, group="plain text"
            )

    def _on_text(self, document: Document) -> None:
        if not self.complete and self.showing == document.name:
            self._has_text = True
            self._show_text(document)

    def _show_text(self, document: Document) -> None:
        """Show a text at the requested position, or where the kernel begins."""
        self.problem = ""
        if not document.listing.text.strip():
            self.show_note(f"{document.name} is empty: the compiler left nothing\n{_OTHER_STAGE}")
            self.describe()
            self.post_message(self.Opened(self, None))
            return
        self.show(document)
        if self.folded and not document.code_lines:
            self.fold(False)  # nothing but comments and debug information
        if self._requested is None:
            self.begin()
        else:
            self.go_to(*self._requested)
        self.post_message(self.Opened(self, self._requested and self._requested[0]))

    def _on_annotated(self, document: Document) -> None:
        """Add annotations; the cursor stays where the user has moved it."""
        self.complete = True
        if not self._has_text:
            self._has_text = True
            self._show_text(document)
            return
        if self.document is None:  # it is empty
            return
        is_moved = self.is_moved
        self.annotate(document)
        if not is_moved:
            self.begin()  # only the annotated document knows where the kernel begins
        self.post_message(self.Opened(self, self.line if is_moved else None))

    def _on_error(self, error: IrlensError) -> None:
        """Show the error if there is no text."""
        self.complete = True
        message = error.joined("; ")
        if self.document is None:
            self.show_note(f"{self.showing} cannot be shown: {message}\n{_OTHER_STAGE}")
        else:
            self.problem = message
        self.describe()
        self.post_message(self.Opened(self, None))

    # The pane among others.

    def resize_by(self, step: int) -> None:
        """Take a larger (negative: smaller) share of the width."""
        self.weight = min(max(self.weight + step, _MIN_WEIGHT), _MAX_WEIGHT)
        self.styles.width = f"{self.weight}fr"

    def describe(self) -> None:
        """Show the document's name, the position and the state in the border."""
        document = self.document
        registers = (
            f" · {document.registers}" if document is not None and document.registers else ""
        )
        self.border_title = Content(printable_line(f"{short_file(self.showing)}{registers}"))
        if document is None:
            self.border_subtitle = ""
            return
        lines = len(document)
        parts = [self.search.status, f"{self.line}/{lines}"]
        if places := len(self.places):
            parts.append(plural(places, "place"))
        if hidden := lines - len(self.cursor.rows):
            parts.append(f"{hidden} hidden")
        if not self.complete:
            parts.append("analysing …")
        elif self.problem:
            parts.append("not analysed")
        self.border_subtitle = " · ".join(filter(None, parts))

    def _report_move(self) -> None:
        super()._report_move()
        self.post_message(self.Moved(self))

    # Keys and mouse.

    def action_move(self, step: int) -> None:
        """Move by lines."""
        if self.cursor.rows:
            self.cursor.move(self.cursor.line_after(step))
            self._on_moved()

    def action_page(self, pages: float) -> None:
        """Move by pages."""
        self.action_move(round(self.scrollable_content_region.height * pages))

    def action_first(self) -> None:
        """Go to the first line."""
        self.go_to(1)

    def action_last(self) -> None:
        """Go to the last line."""
        self.go_to(len(self.document) if self.document else 1)

    def action_move_column(self, step: int) -> None:
        """Move by characters."""
        self._to_column(self.cursor.column + step)

    def action_move_word(self, step: int) -> None:
        """Move by words within the line."""
        start = self.cursor.word_start(step)
        if start is not None:
            self._to_column(start)

    def action_line_start(self) -> None:
        """Go to the line's first character, and from there to its first column."""
        indent = self.cursor.indent
        self._to_column(0 if self.cursor.column == indent else indent)

    def action_line_end(self) -> None:
        """Go to the line's last character."""
        self._to_column(len(self.cursor.text) - 1)

    def action_select(self, step: int) -> None:
        """Move by lines, and select those passed."""
        if self.cursor.rows:
            self._select_to(self.cursor.line_after(step))

    def action_unselect(self) -> None:
        """Clear the selection and the search."""
        self.cursor.unselect()
        self.search.start(None)
        self.post_message(self.Unselected())

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave Escape to the screen if there is nothing to clear."""
        has_something = self.cursor.selected is not None or self.search.query is not None
        return action != "unselect" or has_something

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Move the cursor to the mouse."""
        at = event.get_content_offset(self)
        if at is not None and self.cursor.rows:
            self.cursor.put(self._line_at(at.y))
            cell = max(at.x - self.gutter_width, 0) + round(self.scroll_x)
            self._to_column(column_at(self.cursor.text, cell))
            self._dragging = True
            self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Select the lines that the mouse is dragged over."""
        if self._dragging and (line := self._line_at(event.y - self.gutter.top)) != self.line:
            self._select_to(line)

    def on_mouse_up(self) -> None:
        """End the selection."""
        self._dragging = False
        self.release_mouse()

    def _line_at(self, y: int) -> int:
        return self.cursor.line_at(round(self.scroll_y) + y)

    def _to_column(self, column: int) -> None:
        if self.document is not None:
            self.cursor.put(self.line, column)
            self._on_moved()

    def _select_to(self, line: int) -> None:
        self.cursor.select_to(line)
        self._on_moved()

    def _on_moved(self) -> None:
        self.refresh()
        self._reveal("near")
        self._report_move()
