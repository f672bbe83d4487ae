"""A text with a cursor that the keys and the mouse move."""

from collections.abc import Sequence
from typing import ClassVar, Literal, TypeAlias

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from irlens.tui.code.document import Document, nearest
from irlens.tui.code.search import Hit
from irlens.tui.code.text import column_at, word_starts
from irlens.tui.widgets.code_view import CodeView

# Lines that stay visible before and behind the cursor, and cells beside it.
_CONTEXT, _MARGIN = 2, 4

_Reveal: TypeAlias = Literal["near", "centre", "top"]


class CodePane(CodeView):
    """Code to walk about in, linked to what the cursor of another pane is at."""

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
        Binding("escape", "unselect", "Unselect", show=False, id="code.unselect"),
    ]

    class Moved(Message):
        """The cursor went to another line or column.

        Attributes:
            pane: Whose.
        """

        def __init__(self, pane: "CodePane") -> None:
            super().__init__()
            self.pane = pane

    def __init__(self) -> None:
        super().__init__()
        self._goal = 0
        self._anchor: int | None = None
        self._links: Sequence[int] = ()
        self._dragging = False
        #: Whether the user has moved the cursor, and where it was scrolled to because of it.
        self._is_moved, self._top = False, 0
        #: How the cursor comes into sight once there is something to see.
        self._unseen: _Reveal = "centre"

    def show(self, document: Document) -> None:
        """Show a text, with the cursor at its beginning."""
        self._goal, self._anchor, self._links = 0, None, ()
        self._is_moved, self._top = False, 0
        super().show(document)
        self.search(self.sought)

    def annotate(self, document: Document) -> None:
        """Show the same text with more known of it, the cursor where it is."""
        self.document = document
        self._lay_out()

    def begin(self) -> None:
        """Go to where the kernel begins, with what follows in view."""
        if self.document is not None:
            self._put(self.document.begin)
            self._reveal("top")

    def go_to(self, line: int, column: int | None = None) -> None:
        """Move the cursor, and tell of it.

        Args:
            line: 1-based; the nearest there is.
            column: From 0; where the line's text begins, unless told.
        """
        if self.document is not None:
            self.fold(self.folded and line in self.document.code_lines)
            self._put(line, column)
            self._reveal("centre")
            self._tell()

    def fold(self, folded: bool) -> None:
        """Leave out the lines without code, or show them again."""
        if folded != self.folded:
            self.folded = folded
            self._lay_out()
            self._put(self.line, self.column)
            self._reveal("centre")

    def link(self, lines: Sequence[int], *, follow: bool) -> None:
        """Mark lines, in ascending order, as belonging to what another pane's cursor is at.

        Args:
            lines: 1-based.
            follow: Whether this cursor goes to the nearest of them that can be seen, or to the
                nearest of all where none can.
        """
        self._links, self.linked = lines, frozenset(lines)
        seen = [line for line in self.visible_lines if line in self.linked]
        goal = nearest(seen or lines, self.line) if follow else None
        if goal is not None and goal != self.line:
            self._put(goal)
            self._reveal("centre")
        self.refresh()

    @property
    def is_moved(self) -> bool:
        """Whether the user has gone elsewhere since the text is shown, or has scrolled."""
        return self._is_moved or round(self.scroll_y) != self._top

    @property
    def places(self) -> list[int]:
        """The first line of each run of linked lines."""
        return self.document.runs(self._links) if self.document else []

    def go_to_position(self, position: Hit) -> None:
        """Move the cursor, and tell of it."""
        self.go_to(*position)

    def describe(self) -> None:
        """Say nothing: what a pane shows is known to those that have a title."""

    def action_move(self, step: int) -> None:
        """Move by lines."""
        self._step(step)

    def action_page(self, pages: float) -> None:
        """Move by pages."""
        self._step(round(self.scrollable_content_region.height * pages))

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
        """Move by words, within the line."""
        stage = self.document.stage if self.document else ""
        starts = [at for at in word_starts(self.line_text, stage) if (at - self.column) * step > 0]
        if starts:
            self._to_column(starts[0 if step > 0 else -1])

    def action_line_start(self) -> None:
        """Go to where the line's text begins, or to its first column from there."""
        begin = _indent(self.line_text)
        self._to_column(0 if self.column == begin else begin)

    def action_line_end(self) -> None:
        """Go to the line's last character."""
        self._to_column(len(self.line_text) - 1)

    def action_select(self, step: int) -> None:
        """Move by lines and select those between."""
        if self.rows:
            row = min(max(self.row_of(self.line) + step, 0), len(self.rows) - 1)
            self._select_to(self.rows[row])

    def action_unselect(self) -> None:
        """Select nothing, and show no matches."""
        self._anchor = self.selected = None
        self.search(None)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave escape to the screen where there is nothing to unselect."""
        return action != "unselect" or self.selected is not None or self.sought is not None

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Go where the mouse points."""
        at = event.get_content_offset(self)
        if at is not None and self.rows:
            self._put(self._line_at(at.y))
            cell = max(at.x - self.gutter_width, 0) + round(self.scroll_x)
            self._to_column(column_at(self.line_text, cell))
            self._dragging = True
            self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Select the lines that the mouse is drawn over."""
        if self._dragging and (line := self._line_at(event.y - self.gutter.top)) != self.line:
            self._select_to(line)

    def on_mouse_up(self) -> None:
        """Select no more."""
        self._dragging = False
        self.release_mouse()

    def on_resize(self, event: events.Resize) -> None:
        """Keep the cursor in sight, if it is."""
        super().on_resize(event)
        if self.take_height(self.scrollable_content_region.height, self.row_of(self.line)):
            self._reveal(self._unseen)
            self._unseen = "centre"

    def _select_to(self, line: int) -> None:
        anchor = self.line if self._anchor is None else self._anchor
        self._put(line, keep_goal=True)
        self._anchor, self.selected = anchor, (min(anchor, self.line), max(anchor, self.line))
        self._reveal("near")
        self._tell()

    def _tell(self) -> None:
        self._is_moved = True
        self.post_message(self.Moved(self))

    def _line_at(self, y: int) -> int:
        row = min(max(round(self.scroll_y) + y, 0), len(self.rows) - 1)
        return self.rows[row]

    def _step(self, lines: int) -> None:
        if self.rows:
            row = min(max(self.row_of(self.line) + lines, 0), len(self.rows) - 1)
            self._put(self.rows[row], keep_goal=True)
            self._reveal("near")
            self._tell()

    def _to_column(self, column: int) -> None:
        if self.document is not None:
            self._put(self.line, column)
            self._reveal("near")
            self._tell()

    def _put(self, line: int, column: int | None = None, *, keep_goal: bool = False) -> None:
        self.line = self.rows[self.row_of(line)] if self.rows else 1
        wanted = self._goal if keep_goal else _indent(self.line_text) if column is None else column
        self.column = max(min(wanted, len(self.line_text) - 1), 0)
        if not keep_goal:
            self._goal = self.column
        self._anchor = self.selected = None
        self.refresh()

    def _reveal(self, to: _Reveal) -> None:
        """Scroll until the cursor is in sight.

        Args:
            to: Where it comes if it was out of sight: as near as that is, or to the centre of the
                pane; "top" brings it there wherever it was.
        """
        region = self.scrollable_content_region
        if region.height <= 0:  # not laid out yet
            self._unseen = to
            return
        index, top = self.row_of(self.line), round(self.scroll_y)
        margin = min(_CONTEXT, (region.height - 1) // 2)
        first, last = top + margin, top + region.height - 1 - margin
        if to == "top":
            top = index - margin
        elif to == "centre" and not first <= index <= last:
            top = index - region.height // 2
        else:
            top += min(index - first, 0) + max(index - last, 0)
        # By force, since a pane has no scroll bar yet when its text has just arrived.
        left = self._left(region.width)
        self.scroll_to(left, top, animate=False, immediate=True, force=True)
        self._top = round(self.scroll_y)

    def _left(self, width: int) -> int:
        """How far to scroll sideways so that the word under the cursor can be seen."""
        left, room = round(self.scroll_x), width - self.gutter_width
        begin, end = self._cells_at_cursor()
        if end + _MARGIN > left + room:
            left = end + _MARGIN - room
        return max(min(left, begin - _MARGIN), 0)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
