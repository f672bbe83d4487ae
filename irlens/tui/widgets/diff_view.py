"""A view of the differences in one stage, unified or side by side."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.strip import Strip

from irlens.model.text import count, plural
from irlens.tui.code import following
from irlens.tui.code.difference import Difference, DiffLine, Half
from irlens.tui.code.highlighting import Highlight, Painter, Palette
from irlens.tui.code.search import Hit
from irlens.tui.widgets import revealing
from irlens.tui.widgets.code_view import CodeView

_LINES = ("cursor", "removed", "added", "missing", "heading")
_STYLES = ("match", "line-number", "minus", "plus", "tilde", "removed-word", "added-word", "place")
_SIGN_STYLE = {"-": "minus", "+": "plus", "~": "tilde"}
_CURSOR_SIGN = "▶"
#: Lines that stay visible above and below the cursor, and cells that an arrow key scrolls.
_CONTEXT, _CELLS = 3, 8


class DiffView(CodeView):
    """Shows a difference.

    Attributes:
        difference: The difference; ``None`` while a note is shown instead.
        row: Row of the cursor, from 0.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "move(1)", "Down", show=False, id="diff.down"),
        Binding("k,up", "move(-1)", "Up", show=False, id="diff.up"),
        Binding("h,left", "sideways(-1)", "Scroll left", show=False, id="diff.left"),
        Binding("l,right", "sideways(1)", "Scroll right", show=False, id="diff.right"),
        Binding("0,home", "sideways(-1000000)", "Line's start", show=False, id="diff.line_start"),
        Binding("dollar_sign,end", "sideways(1000000)", "Line's end", show=False,
                id="diff.line_end"),
        Binding("ctrl+d", "page(0.5)", "Half a page down", show=False, id="diff.half_down"),
        Binding("ctrl+u", "page(-0.5)", "Half a page up", show=False, id="diff.half_up"),
        Binding("pagedown,ctrl+f,space", "page(1)", "Page down", show=False, id="diff.page_down"),
        Binding("pageup,ctrl+b", "page(-1)", "Page up", show=False, id="diff.page_up"),
        Binding("g,ctrl+home", "first", "First line", show=False, id="diff.first"),
        Binding("G,ctrl+end", "last", "Last line", show=False, id="diff.last"),
        Binding("right_square_bracket", "hunk(1)", "Next change", id="diff.next_hunk"),
        Binding("left_square_bracket", "hunk(-1)", "Previous change", id="diff.previous_hunk",
                show=False),
    ]  # fmt: skip

    LINES = _LINES
    STYLES = _STYLES
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"code-view--{name}" for name in (*_LINES, *_STYLES)}
    DEFAULT_CSS = """
    DiffView {
        & > .code-view--removed { background: $error 13%; }
        & > .code-view--added { background: $success 13%; }
        & > .code-view--missing { background: $foreground 4%; }
        & > .code-view--heading { background: $panel; color: $accent; }
        & > .code-view--place { color: $text-muted; }
        & > .code-view--minus { color: $error; text-style: bold; }
        & > .code-view--plus { color: $success; text-style: bold; }
        & > .code-view--tilde { color: $warning; text-style: bold; }
        & > .code-view--removed-word { background: $error 32%; text-style: bold underline; }
        & > .code-view--added-word { background: $success 32%; text-style: bold underline; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self.difference: Difference | None = None
        self.split = False
        self.row = 0
        self._painter: Painter | None = None
        #: Rows with the first changed line of a change.
        self._hunks: Sequence[int] = ()

    def show(self, difference: Difference) -> None:
        """Show a difference with the cursor at the first change."""
        self.difference = difference
        self._painter = Painter(difference.highlighted, ())
        self._set_rows()
        self.go_to(self._hunks[0] if self._hunks else 0)

    def show_note(self, note: str) -> None:
        """Show one sentence instead: that nothing differs, or why that is unknown."""
        self.difference = self._painter = None
        self._hunks = ()
        self.search.restart()
        self.border_subtitle = ""
        super().show_note(note)

    @property
    def lines(self) -> Sequence[DiffLine]:
        """The rows."""
        shown = self.difference
        return (shown.split if self.split else shown.unified) if shown else ()

    @property
    def current(self) -> DiffLine | None:
        """The cursor's row."""
        return self.lines[self.row] if self.lines else None

    def toggle_split(self) -> None:
        """Switch between side by side and unified; the cursor keeps its line."""
        here, self.split = self.current, not self.split
        self._set_rows()
        if here is not None:
            wanted = {half.at for half in here.halves}
            rows = (
                row
                for row, line in enumerate(self.lines)
                if line is here or any(half.at in wanted for half in line.halves)
            )
            self.go_to(next(rows, 0))

    @property
    def searched_lines(self) -> Iterable[tuple[int, str]]:
        """The rows; one with both sides occurs twice."""
        return ((row, half.text) for row, line in enumerate(self.lines) for half in line.halves)

    @property
    def position(self) -> Hit:
        """The cursor's row; the column is always 0."""
        return self.row, 0

    def go_to_position(self, position: Hit) -> None:
        """Move the cursor to a row."""
        self.go_to(position[0])

    def cursor_positions(self, hits: list[Hit]) -> Sequence[Hit]:
        """Return the rows with matches."""
        return sorted({(row, 0) for row, _ in hits})

    def describe(self) -> None:
        """Show the current change and match in the border."""
        if self.difference is not None:
            at = bisect_right(self._hunks, self.row)
            changes = f"{count(at)} of {plural(len(self._hunks), 'change')}"
            parts = [self.search.status, changes if self._hunks else "no difference"]
            self.border_subtitle = " · ".join(filter(None, parts))

    def go_to(self, row: int) -> None:
        """Move the cursor to a row, and scroll until it is visible."""
        self.row = max(min(row, len(self.lines) - 1), 0)
        height = self.scrollable_content_region.height
        self.refresh()
        if height > 0:
            top = revealing(self.row, round(self.scroll_y), height, "near", context=_CONTEXT)
            self.scroll_to(y=top, animate=False, immediate=True)
        self.describe()

    def action_move(self, step: int) -> None:
        """Move by lines."""
        self.go_to(self.row + step)

    def action_page(self, pages: float) -> None:
        """Move by pages."""
        self.go_to(self.row + round(self.scrollable_content_region.height * pages))

    def action_first(self) -> None:
        """Go to the first line."""
        self.go_to(0)

    def action_last(self) -> None:
        """Go to the last line."""
        self.go_to(len(self.lines) - 1)

    def action_hunk(self, step: int) -> None:
        """Go to the next (-1: previous) change, wrapping around."""
        row = following(self._hunks, self.row, step)
        if row is not None:
            self.go_to(row)

    def action_sideways(self, step: int) -> None:
        """Scroll sideways."""
        self.scroll_to(x=self.scroll_x + step * _CELLS, animate=False, immediate=True)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Move the cursor to the mouse."""
        at = event.get_content_offset(self)
        if at is not None:
            self.go_to(round(self.scroll_y) + at.y)

    def on_resize(self) -> None:
        """Fit the rows to the view; keep the cursor visible if it was."""
        was_visible = self.visible_rows.resize(self.scrollable_content_region.height, self.row)
        if self.difference is not None:
            self._lay_out()
            if was_visible:
                self.go_to(self.row)

    def render_line(self, y: int) -> Strip:
        """Return a row of the view."""
        scroll_x, scroll_y = self.scroll_offset
        width, row = self.scrollable_content_region.width, scroll_y + y
        plain = self.palette("")
        if self._painter is None:
            return self.note_line(y)
        if row >= len(self.lines):
            return Strip.blank(width, plain[""])
        line = self.lines[row]
        sign = Segment(_CURSOR_SIGN if row == self.row else " ", plain["tilde"])
        if line.mark == "@":
            return self._heading(line, sign, width)
        drawn = self._side_by_side if self.split else self._unified
        over = "cursor" if row == self.row else ""
        return Strip([sign, *drawn(line, over, scroll_x, width - 1)])

    def _heading(self, line: DiffLine, sign: Segment, width: int) -> Strip:
        palette = self.palette("heading")
        heading, where = line.heading
        text = [Segment(f" {heading}  " if heading else " ", palette[""])]
        strip = Strip([sign, *text, Segment(where, palette["place"])])
        return strip.crop_extend(0, width, palette[""])

    def _unified(self, line: DiffLine, over: str, left: int, width: int) -> Iterable[Segment]:
        kind = {"-": "removed", "+": "added"}.get(line.mark, "")
        palette = self.palette(over or kind)
        numbers = [self._number(half) for half in (line.before, line.after)]
        yield Segment(f"{line.mark} ", palette[_SIGN_STYLE.get(line.mark, "")])
        yield Segment(f"{' '.join(numbers)}  ", palette["line-number"])
        *_, shown = line.halves
        yield from self._code(shown, palette, kind, left, width - self._beside + 1)

    def _side_by_side(self, line: DiffLine, over: str, left: int, width: int) -> Iterable[Segment]:
        room = self._room(width + 1)
        for half, mark, kind in ((line.before, "-", "removed"), (line.after, "+", "added")):
            moved = kind if line.mark in ("~", mark) else ""
            palette = self.palette(over or (moved if half else "missing"))
            if kind == "added":
                sign = self.palette(over)[_SIGN_STYLE.get(line.mark, "")]
                yield Segment(f" {line.mark} ", sign)
            yield Segment(f"{self._number(half)} ", palette["line-number"])
            if half is None:
                yield Segment(" " * room, palette[""])
            else:
                yield from self._code(half, palette, moved, left, room)

    def _code(
        self, half: Half, palette: Palette, moved: str, left: int, room: int
    ) -> Iterable[Segment]:
        if self._painter is None:
            return []
        code = Strip(self._painter.code(half.at + 1, palette, self._highlights(half, moved)))
        return self.cut(code, left, max(room, 0), palette)

    def _highlights(self, half: Half, moved: str) -> Iterator[Highlight]:
        plain = self.palette("")
        if moved:
            word: Style = plain[f"{moved}-word"]
            yield from ((first, last, word) for first, last in half.moved)
        if self.search.query is not None:
            for first, last in self.search.query.spans(half.text):
                yield first, last, plain["match"]

    def _number(self, half: Half | None) -> str:
        digits = self.difference.digits if self.difference else 0
        return f"{half.number if half else '':>{digits}}"

    @property
    def _beside(self) -> int:
        """Cells beside the code in the unified view: signs and two line numbers."""
        return 6 + 2 * (self.difference.digits if self.difference else 0)

    def _room(self, width: int) -> int:
        """Cells for the code of each side, side by side."""
        digits = self.difference.digits if self.difference else 0
        return max((width - 1 - 3 - 2 * (digits + 1)) // 2, 1)

    def _set_rows(self) -> None:
        """Lay out other rows, and search them again."""
        self._hunks = [
            row
            for row, line in enumerate(self.lines)
            if line.mark not in " @" and self.lines[row - 1].mark in " @"
        ]
        self.search.restart()
        self._lay_out()

    def _lay_out(self) -> None:
        if self.difference is None:
            return
        width = self.scrollable_content_region.width
        room = self._room(width) if self.split else width - self._beside
        hidden = max(self.difference.width + 1 - room, 0)
        self.virtual_size = Size(width + hidden, len(self.lines))
