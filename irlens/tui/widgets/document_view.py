"""A view of a document: its text beside the gutters, a cursor, and the lines linked to it."""

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.strip import Strip

from irlens.tui.code import Document, gutters, nearest
from irlens.tui.code.cursor import Cursor
from irlens.tui.code.gutters import gutters_for
from irlens.tui.code.highlighting import Highlight, HighlightedLines, Painter
from irlens.tui.code.search import Hit
from irlens.tui.code.text import cell_at, spans_of
from irlens.tui.widgets import Reveal, revealing
from irlens.tui.widgets.code_view import CodeView

_LINES = ("cursor", "linked", "selected")
_STYLES = (*gutters.STYLES, "link", "match")
_UNDERLINED, _REVERSED = Style(underline=True), Style(reverse=True)
_LINK_SIGN, _CURSOR_SIGN = "▌", "▶"
#: Lines that stay visible above and below the cursor, and cells beside it.
_CONTEXT, _MARGIN = 2, 4


class DocumentView(CodeView):
    """Shows a document, and marks the lines that belong to another view's cursor.

    Attributes:
        document: The document; ``None`` while a note is shown instead.
    """

    LINES = _LINES
    STYLES = _STYLES
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"code-view--{name}" for name in (*_LINES, *_STYLES)}
    DEFAULT_CSS = """
    DocumentView {
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

    def __init__(self) -> None:
        super().__init__()
        self.document: Document | None = None
        self.cursor = Cursor()
        self.linked: frozenset[int] = frozenset()
        self.folded = True
        self._highlighted: HighlightedLines | None = None
        self._painter: Painter | None = None
        self._links: Sequence[int] = ()
        #: Whether the user has moved the cursor, and the scroll position that followed from it.
        self._is_moved, self._top = False, 0
        #: How to reveal the cursor once the view has a height.
        self._pending_reveal: Reveal = "centre"

    # Content.

    def show(self, document: Document) -> None:
        """Show a document with the cursor at its beginning."""
        self.document = document
        self._highlighted = HighlightedLines(document.stage, document.text.shown)
        self.cursor = Cursor(document.text.shown, document.stage)
        self.linked, self._links = frozenset(), ()
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
        self.cursor = Cursor()
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
            self._put(self.line, self.cursor.column)
            self._reveal("centre")

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

    # What is at the cursor.

    @property
    def line(self) -> int:
        """1-based line of the cursor."""
        return self.cursor.line

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
        return self.cursor.line, self.cursor.column

    def go_to_position(self, position: Hit) -> None:
        """Move the cursor, and report it."""
        self.go_to(*position)

    @property
    def copied(self) -> str:
        """The selected lines, or else the cursor's, as in the file."""
        first, last = self.cursor.selected or (self.line, self.line)
        return "\n".join(self.document.text.lines[first - 1 : last]) if self.document else ""

    @property
    def visible_lines(self) -> Sequence[int]:
        """The 1-based lines in the viewport."""
        top = round(self.scroll_y)
        return self.cursor.rows[top : top + self.scrollable_content_region.height]

    @property
    def gutter_width(self) -> int:
        """Cells beside the code."""
        return self._painter.gutter_width + 1 if self._painter else 0

    def on_resize(self, event: events.Resize) -> None:
        """Fit the gutters to the view; keep the cursor visible if it was."""
        self._lay_out()
        height = self.scrollable_content_region.height
        if self.visible_rows.resize(height, self.cursor.row):
            self._reveal(self._pending_reveal)
            self._pending_reveal = "centre"

    # Drawing.

    def render_line(self, y: int) -> Strip:
        """Return a row of the view."""
        scroll_x, scroll_y = self.scroll_offset
        width, palette = self.scrollable_content_region.width, self.palette("")
        if self._painter is None:
            return self.note_line(y)
        if scroll_y + y >= len(self.cursor.rows):
            return Strip.blank(width, palette[""])
        line = self.cursor.rows[scroll_y + y]
        palette = self.palette(self._kind(line))
        sign = _LINK_SIGN if line in self.linked else _CURSOR_SIGN if line == self.line else " "
        beside = [*self._painter.gutter(line, self.line, palette), Segment(sign, palette["link"])]
        code = Strip(self._painter.code(line, palette, self._highlights(line)))
        room = max(width - self.gutter_width, 0)
        return Strip([*beside, *self.cut(code, scroll_x, room, palette)])

    def _lay_out(self) -> None:
        if self.document is None or self._highlighted is None:
            return
        document, width = self.document, self.scrollable_content_region.width
        self.cursor.rows = document.code_lines if self.folded else range(1, len(document) + 1)
        self._painter = Painter(self._highlighted, gutters_for(document, width))
        # One cell past the end of the longest line, for the cursor.
        columns = self.gutter_width + document.text.width + 1
        self.virtual_size = Size(columns, len(self.cursor.rows))
        self.refresh()

    def _kind(self, line: int) -> str:
        selected = self.cursor.selected
        if selected and selected[0] <= line <= selected[1]:
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
            yield self.cursor.column, self.cursor.column + 1, _REVERSED

    @property
    def _name_at_cursor(self) -> str:
        """The word under the cursor if it is a name; its other occurrences are underlined."""
        word, lines = self.cursor.word, self._highlighted
        is_name = lines is not None and lines.is_name(word, self.line - 1, self.cursor.column)
        return word if is_name else ""

    # Scrolling.

    def _put(self, line: int, column: int | None = None) -> None:
        self.cursor.put(line, column)
        self.refresh()

    def _reveal(self, how: Reveal) -> None:
        """Scroll until the cursor is visible."""
        region = self.scrollable_content_region
        if region.height <= 0:  # not laid out yet
            self._pending_reveal = how
            return
        row, top = self.cursor.row, round(self.scroll_y)
        top = revealing(row, top, region.height, how, context=_CONTEXT)
        # By force: a view whose text has just arrived has no scroll bar yet.
        left = self._left(region.width)
        self.scroll_to(left, top, animate=False, immediate=True, force=True)
        self._top = round(self.scroll_y)

    def _left(self, width: int) -> int:
        """The horizontal scroll position at which the word under the cursor is visible."""
        left, room = round(self.scroll_x), width - self.gutter_width
        begin = cell_at(self.cursor.text, self.cursor.column)
        end = begin + max(len(self.cursor.word), 1)
        if end + _MARGIN > left + room:
            left = end + _MARGIN - room
        return max(min(left, begin - _MARGIN), 0)

    def _report_move(self) -> None:
        """Note that the user has moved the cursor."""
        self._is_moved = True
