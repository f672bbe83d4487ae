"""A pane of code with gutters and a cursor that keys and the mouse move."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar, Literal, TypeAlias

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from irlens.model.text import plural, printable_line
from irlens.tui.code import gutters
from irlens.tui.code.document import Document, nearest
from irlens.tui.code.gutters import gutters_for
from irlens.tui.code.highlighting import Highlight, HighlightedLines, Painter
from irlens.tui.code.search import Hit
from irlens.tui.code.text import cell_at, column_at, spans_of, word_at, word_starts
from irlens.tui.widgets.code_view import CodeView
from irlens.tui.widgets.document_loader import DocumentLoader, Fetch

_LINES = ("cursor", "linked", "selected")
_STYLES = (*gutters.STYLES, "link", "match")
_UNDERLINED, _REVERSED = Style(underline=True), Style(reverse=True)
_LINK_SIGN, _CURSOR_SIGN = "▌", "▶"
#: Lines that stay visible above and below the cursor, and cells beside it.
_CONTEXT, _MARGIN = 2, 4
#: Share of the width of a new pane, the smallest and the largest one.
_WEIGHT, _MIN_WEIGHT, _MAX_WEIGHT = 6, 2, 18

#: How the cursor comes into sight: with as little scrolling as possible, in the centre of the pane,
#: or at its top even if it was visible.
_Reveal: TypeAlias = Literal["near", "centre", "top"]


class CodePane(CodeView):
    """Shows a document, and marks the lines that belong to another pane's cursor.

    Attributes:
        document: The document; ``None`` while a note is shown instead.
        line: 1-based line of the cursor.
        column: Column of the cursor in the line as drawn, from 0.
        linked: Lines that belong to the cursor of another pane.
        selected: The first and the last selected line.
        folded: Whether lines without code are hidden.
        weight: Share of the width, relative to the other panes.
        problem: Why the document has no annotations; "" if it has.
    """

    LINES = _LINES
    STYLES = _STYLES
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"code-view--{name}" for name in (*_LINES, *_STYLES)}
    DEFAULT_CSS = """
    CodePane {
        height: 1fr;
        &:focus { border: heavy $primary; }
        & > .code-view--error { color: $error; text-style: bold; }
        & > .code-view--warning { color: $warning; text-style: bold; }
        & > .code-view--note { color: $primary; text-style: bold; }
        & > .code-view--cool { color: $dim; }
        & > .code-view--warm { color: $warning; }
        & > .code-view--hot { color: $error; text-style: bold; }
        & > .code-view--copy { color: $secondary; }
        & > .code-view--commit { color: $success; }
        & > .code-view--wait { color: $warning; }
        & > .code-view--partner { text-style: reverse bold; }
        & > .code-view--bracket { color: $dim; }
        & > .code-view--loop { color: $accent 70%; }
        & > .code-view--cursor-number { color: $foreground; text-style: bold; }
        & > .code-view--linked { background: $primary 14%; }
        & > .code-view--link { color: $primary; }
        & > .code-view--selected { background: $primary 35%; }
    }
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

    class Moved(Message):
        """The user moved the cursor.

        Attributes:
            pane: The pane.
        """

        def __init__(self, pane: "CodePane") -> None:
            super().__init__()
            self.pane = pane

    class Opened(Message):
        """The pane shows a document, or a note about why it cannot.

        Attributes:
            pane: The pane.
            at: The requested line, if one was requested.
        """

        def __init__(self, pane: "CodePane", at: int | None) -> None:
            super().__init__()
            self.pane = pane
            self.at = at

    def __init__(self) -> None:
        super().__init__()
        self.document: Document | None = None
        self.line, self.column = 1, 0
        self.linked: frozenset[int] = frozenset()
        self.selected: tuple[int, int] | None = None
        self.folded = True
        self.weight = _WEIGHT
        self.problem = ""
        self._loader = DocumentLoader(self, self)
        #: Line and column to open when the text has arrived.
        self._requested: tuple[int, int] | None = None
        self._highlighted: HighlightedLines | None = None
        self._painter: Painter | None = None
        #: Column that vertical moves aim for.
        self._goal = 0
        self._anchor: int | None = None
        self._links: Sequence[int] = ()
        self._dragging = False
        #: Whether the user has moved the cursor, and the scroll position that followed from it.
        self._is_moved, self._top = False, 0
        #: How to reveal the cursor once the pane has a height.
        self._pending_reveal: _Reveal = "centre"

    # Loading.

    @property
    def showing(self) -> str:
        """The stage or Python file that is shown or loading."""
        return self._loader.name

    @property
    def complete(self) -> bool:
        """Whether loading has ended, with all annotations or an error."""
        return self._loader.is_complete

    def open(self, name: str, fetch: Fetch, at: tuple[int, int] | None = None) -> None:
        """Load a document and show it.

        Args:
            name: The document's name.
            fetch: Called in a thread, possibly twice.
            at: Line (from 1) and column to open.
        """
        if name == self.showing and not self.complete:
            self._requested = at or self._requested
            return
        self._requested = at
        self._loader.load(name, fetch)

    def present(self, document: Document, at: tuple[int, int] | None = None) -> None:
        """Show a document that is loaded already."""
        self._requested = at
        self._loader.show(document)

    def on_loading(self, name: str) -> None:
        """Show that a document is loading."""
        self.show_note(f"loading {name} …")
        self.describe()

    def on_text(self, document: Document) -> None:
        """Show a text at the requested position, or where the kernel begins."""
        self.problem = ""
        self.show(document)
        if self._requested is None:
            self.begin()
        else:
            self.go_to(*self._requested)
        self.post_message(self.Opened(self, self._requested and self._requested[0]))

    def on_annotated(self, document: Document) -> None:
        """Add annotations; the cursor stays where the user has moved it."""
        is_moved = self.is_moved
        self.annotate(document)
        if not is_moved:
            self.begin()  # only the annotated document knows where the kernel begins
        self.post_message(self.Opened(self, self.line if is_moved else None))

    def on_load_error(self, message: str) -> None:
        """Show the error if there is no text."""
        if self.document is None:
            self.show_note(message)
        else:
            self.problem = message
        self.describe()
        self.post_message(self.Opened(self, None))

    # Content.

    def show(self, document: Document) -> None:
        """Show a document with the cursor at its beginning."""
        self.document = document
        self._highlighted = HighlightedLines(document.stage, document.text.shown)
        self.line, self.column, self._goal = 1, 0, 0
        self.linked, self._links = frozenset(), ()
        self.selected = self._anchor = None
        self._is_moved, self._top = False, 0
        self._lay_out()
        self.scroll_to(0, 0, animate=False, immediate=True)
        self.search.restart()

    def annotate(self, document: Document) -> None:
        """Show the same text with annotations; the cursor stays."""
        self.document = document
        self._lay_out()

    def show_note(self, note: str) -> None:
        """Show one sentence instead of code."""
        self.document = self._highlighted = self._painter = None
        super().show_note(note)

    def begin(self) -> None:
        """Go to where the kernel begins, with the lines below it in view."""
        if self.document is not None:
            self._put(self.document.begin)
            self._reveal("top")

    def go_to(self, line: int, column: int | None = None) -> None:
        """Move the cursor, and report it.

        Args:
            line: 1-based line, or the nearest one.
            column: Column from 0; by default the first character of the line.
        """
        if self.document is not None:
            self.fold(self.folded and line in self.document.code_lines)
            self._put(line, column)
            self._reveal("centre")
            self._report_move()

    def fold(self, folded: bool) -> None:
        """Hide or show the lines without code."""
        if folded != self.folded:
            self.folded = folded
            self._lay_out()
            self._put(self.line, self.column)
            self._reveal("centre")

    def resize_by(self, step: int) -> None:
        """Take a larger (negative: smaller) share of the width."""
        self.weight = min(max(self.weight + step, _MIN_WEIGHT), _MAX_WEIGHT)
        self.styles.width = f"{self.weight}fr"

    def link(self, lines: Sequence[int], *, follow: bool) -> None:
        """Mark the lines that belong to another pane's cursor.

        Args:
            lines: 1-based, ascending.
            follow: Whether this cursor moves to the nearest of them that is visible, or to the
                nearest one if none is.
        """
        self._links, self.linked = lines, frozenset(lines)
        visible = [line for line in self.visible_lines if line in self.linked]
        goal = nearest(visible or lines, self.line) if follow else None
        if goal is not None and goal != self.line:
            self._put(goal)
            self._reveal("centre")
        self.refresh()

    def describe(self) -> None:
        """Show the document's name, the position and the state in the border."""
        self.border_title = Content(printable_line(self.showing))
        if self.document is None:
            self.border_subtitle = ""
            return
        lines = len(self.document)
        parts = [self.search.status, f"{self.line}/{lines}"]
        if places := len(self.places):
            parts.append(plural(places, "place"))
        if hidden := lines - len(self.rows):
            parts.append(f"{hidden} hidden")
        if not self.complete:
            parts.append("analysing …")
        elif self.problem:
            parts.append("not analysed")
        self.border_subtitle = " · ".join(filter(None, parts))

    # What is at the cursor.

    @property
    def is_moved(self) -> bool:
        """Whether the user has moved the cursor or scrolled since the text was shown."""
        return self._is_moved or round(self.scroll_y) != self._top

    @property
    def places(self) -> list[int]:
        """The first line of each run of linked lines."""
        return self.document.runs(self._links) if self.document else []

    @property
    def searched_lines(self) -> Iterable[tuple[int, str]]:
        """All lines, hidden ones included."""
        return enumerate(self.document.text.shown if self.document else (), 1)

    @property
    def position(self) -> Hit:
        """Line and column of the cursor."""
        return self.line, self.column

    def go_to_position(self, position: Hit) -> None:
        """Move the cursor, and report it."""
        self.go_to(*position)

    @property
    def copied(self) -> str:
        """The selected lines, or else the cursor's, as in the file."""
        first, last = self.selected or (self.line, self.line)
        return "\n".join(self.document.text.lines[first - 1 : last]) if self.document else ""

    @property
    def line_text(self) -> str:
        """The cursor's line as drawn."""
        shown = self.document.text.shown if self.document else []
        return shown[self.line - 1] if self.line <= len(shown) else ""

    @property
    def word(self) -> str:
        """The word under the cursor."""
        stage = self.document.stage if self.document else ""
        return word_at(self.line_text, self.column, stage)

    @property
    def rows(self) -> Sequence[int]:
        """The 1-based line in each row, from the first to the last."""
        if self.document is None:
            return ()
        return self.document.code_lines if self.folded else range(1, len(self.document) + 1)

    def row_of(self, line: int) -> int:
        """Return the row, from 0, of a line or of the next one that is not hidden."""
        return max(min(bisect_left(self.rows, line), len(self.rows) - 1), 0)

    @property
    def visible_lines(self) -> Sequence[int]:
        """The 1-based lines in the viewport."""
        top = round(self.scroll_y)
        return self.rows[top : top + self.scrollable_content_region.height]

    @property
    def gutter_width(self) -> int:
        """Cells beside the code."""
        return self._painter.gutter_width + 1 if self._painter else 0

    # Keys and mouse.

    def action_move(self, step: int) -> None:
        """Move by lines."""
        if self.rows:
            self._put(self._line_after(step), keep_goal=True)
            self._reveal("near")
            self._report_move()

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
        self._to_column(self.column + step)

    def action_move_word(self, step: int) -> None:
        """Move by words within the line."""
        stage = self.document.stage if self.document else ""
        starts = [at for at in word_starts(self.line_text, stage) if (at - self.column) * step > 0]
        if starts:
            self._to_column(starts[0 if step > 0 else -1])

    def action_line_start(self) -> None:
        """Go to the line's first character, and from there to its first column."""
        indent = _indent(self.line_text)
        self._to_column(0 if self.column == indent else indent)

    def action_line_end(self) -> None:
        """Go to the line's last character."""
        self._to_column(len(self.line_text) - 1)

    def action_select(self, step: int) -> None:
        """Move by lines, and select those passed."""
        if self.rows:
            self._select_to(self._line_after(step))

    def action_unselect(self) -> None:
        """Clear the selection and the search."""
        self._anchor = self.selected = None
        self.search.start(None)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave Escape to the screen if there is nothing to clear."""
        has_something = self.selected is not None or self.search.query is not None
        return action != "unselect" or has_something

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Move the cursor to the mouse."""
        at = event.get_content_offset(self)
        if at is not None and self.rows:
            self._put(self._line_at(at.y))
            cell = max(at.x - self.gutter_width, 0) + round(self.scroll_x)
            self._to_column(column_at(self.line_text, cell))
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

    def on_resize(self, event: events.Resize) -> None:
        """Fit the gutters to the pane; keep the cursor visible if it was."""
        self._lay_out()
        height = self.scrollable_content_region.height
        if self.visible_rows.resize(height, self.row_of(self.line)):
            self._reveal(self._pending_reveal)
            self._pending_reveal = "centre"

    # Drawing.

    def render_line(self, y: int) -> Strip:
        """Return a row of the pane."""
        scroll_x, scroll_y = self.scroll_offset
        width, palette = self.scrollable_content_region.width, self.palette("")
        if self._painter is None:
            return self.note_line(y)
        if scroll_y + y >= len(self.rows):
            return Strip.blank(width, palette[""])
        line = self.rows[scroll_y + y]
        palette = self.palette(self._kind(line))
        sign = _LINK_SIGN if line in self.linked else _CURSOR_SIGN if line == self.line else " "
        beside = [*self._painter.gutter(line, self.line, palette), Segment(sign, palette["link"])]
        code = Strip(self._painter.code(line, palette, self._highlights(line)))
        room = max(width - self.gutter_width, 0)
        return Strip([*beside, *code.crop_extend(scroll_x, scroll_x + room, palette[""])])

    def _lay_out(self) -> None:
        if self.document is None or self._highlighted is None:
            return
        width = self.scrollable_content_region.width
        self._painter = Painter(self._highlighted, gutters_for(self.document, width))
        # One cell past the end of the longest line, for the cursor.
        columns = self.gutter_width + self.document.text.width + 1
        self.virtual_size = Size(columns, len(self.rows))
        self.refresh()

    def _kind(self, line: int) -> str:
        if self.selected and self.selected[0] <= line <= self.selected[1]:
            return "selected"
        if line == self.line:
            return "cursor"
        return "linked" if line in self.linked else ""

    def _highlights(self, line: int) -> Iterator[Highlight]:
        document, focused, query = self.document, self.has_focus, self.search.query
        if document is None or not (focused or query):
            return
        text, palette = document.text.shown[line - 1], self.palette("")
        if focused:
            for first, last in spans_of(self._name_at_cursor, text, document.stage):
                yield first, last, _UNDERLINED
        if query is not None:
            for first, last in query.spans(text):
                yield first, last, palette["match"]
        if focused and line == self.line:
            yield self.column, self.column + 1, _REVERSED

    @property
    def _name_at_cursor(self) -> str:
        """The word under the cursor if it is a name; its other occurrences are underlined."""
        word, lines = self.word, self._highlighted
        is_name = lines is not None and lines.is_name(word, self.line - 1, self.column)
        return word if is_name else ""

    # Moving.

    def _select_to(self, line: int) -> None:
        anchor = self.line if self._anchor is None else self._anchor
        self._put(line, keep_goal=True)
        self._anchor, self.selected = anchor, (min(anchor, self.line), max(anchor, self.line))
        self._reveal("near")
        self._report_move()

    def _report_move(self) -> None:
        self._is_moved = True
        self.post_message(self.Moved(self))

    def _line_after(self, step: int) -> int:
        row = min(max(self.row_of(self.line) + step, 0), len(self.rows) - 1)
        return self.rows[row]

    def _line_at(self, y: int) -> int:
        row = min(max(round(self.scroll_y) + y, 0), len(self.rows) - 1)
        return self.rows[row]

    def _to_column(self, column: int) -> None:
        if self.document is not None:
            self._put(self.line, column)
            self._reveal("near")
            self._report_move()

    def _put(self, line: int, column: int | None = None, *, keep_goal: bool = False) -> None:
        self.line = self.rows[self.row_of(line)] if self.rows else 1
        wanted = self._goal if keep_goal else _indent(self.line_text) if column is None else column
        self.column = max(min(wanted, len(self.line_text) - 1), 0)
        if not keep_goal:
            self._goal = self.column
        self._anchor = self.selected = None
        self.refresh()

    def _reveal(self, how: _Reveal) -> None:
        """Scroll until the cursor is visible."""
        region = self.scrollable_content_region
        if region.height <= 0:  # not laid out yet
            self._pending_reveal = how
            return
        row, top = self.row_of(self.line), round(self.scroll_y)
        margin = min(_CONTEXT, (region.height - 1) // 2)
        first, last = top + margin, top + region.height - 1 - margin
        if how == "top":
            top = row - margin
        elif how == "centre" and not first <= row <= last:
            top = row - region.height // 2
        else:
            top += min(row - first, 0) + max(row - last, 0)
        # By force: a pane whose text has just arrived has no scroll bar yet.
        left = self._left(region.width)
        self.scroll_to(left, top, animate=False, immediate=True, force=True)
        self._top = round(self.scroll_y)

    def _left(self, width: int) -> int:
        """The horizontal scroll position at which the word under the cursor is visible."""
        left, room = round(self.scroll_x), width - self.gutter_width
        begin = cell_at(self.line_text, self.column)
        end = begin + max(len(self.word), 1)
        if end + _MARGIN > left + room:
            left = end + _MARGIN - room
        return max(min(left, begin - _MARGIN), 0)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
