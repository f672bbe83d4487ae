"""A text drawn line by line as it is looked at, with gutters beside it and marks in it."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from irlens.model.text import printable_line
from irlens.tui.code import colours, gutters
from irlens.tui.code.colours import Colours
from irlens.tui.code.document import Document
from irlens.tui.code.gutters import gutters_for
from irlens.tui.code.painting import Highlight, Painter
from irlens.tui.code.searching import spans
from irlens.tui.code.text import cell_at, spans_of, word_at

_OWN_STYLES = (
    "cursor", "cursor-cell", "linked", "link", "match", "word", "selected",
)  # fmt: skip
_LINK_SIGN, _CURSOR_SIGN = "▌", "▶"


class CodeView(ScrollView, can_focus=True):
    """Shows a document; where its cursor is and what is marked is for others to say.

    Attributes:
        document: What is shown, ``None`` where there is only a sentence to show.
        line: 1-based line of the cursor.
        column: Its column in the drawn line, from 0.
        linked: Lines that belong to what another pane's cursor is at.
        selected: The first and the last selected line.
        pattern: What is searched for.
        folded: Whether lines that only hold debug information are left out.
    """

    ALLOW_SELECT = True
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"code-view--{name}" for name in (*colours.KINDS, *gutters.STYLES, *_OWN_STYLES)
    }
    DEFAULT_CSS = """
    CodeView {
        background: $surface;
        color: $foreground;
        border: round $border-blurred;
        border-title-color: $text-muted;
        border-subtitle-color: $text-muted;
        scrollbar-size: 0 1;
        overflow: auto;
        &:focus {
            border: round $primary;
            border-title-color: $primary;
            border-title-style: bold;
        }
        & > .code-view--comment { color: $foreground 45%; }
        & > .code-view--keyword { color: $primary; }
        & > .code-view--type { color: $foreground 65%; }
        & > .code-view--operation { color: $primary; }
        & > .code-view--value { color: $secondary; }
        & > .code-view--function { color: $accent; }
        & > .code-view--label { color: $accent; text-style: bold; }
        & > .code-view--number { color: $foreground 85%; }
        & > .code-view--string { color: $success; }
        & > .code-view--punctuation { color: $foreground 55%; }
        & > .code-view--error { color: $error; text-style: bold; }
        & > .code-view--warning { color: $warning; text-style: bold; }
        & > .code-view--note { color: $primary; text-style: bold; }
        & > .code-view--cool { color: $foreground 45%; }
        & > .code-view--warm { color: $warning; }
        & > .code-view--hot { color: $error; text-style: bold; }
        & > .code-view--copy { color: $secondary; }
        & > .code-view--commit { color: $success; }
        & > .code-view--wait { color: $warning; }
        & > .code-view--partner { text-style: reverse bold; }
        & > .code-view--bracket { color: $foreground 55%; }
        & > .code-view--loop { color: $accent 70%; }
        & > .code-view--cursor { background: $foreground 10%; }
        & > .code-view--line-number { color: $foreground 40%; }
        & > .code-view--cursor-number { color: $foreground; text-style: bold; }
        & > .code-view--cursor-cell { text-style: reverse; }
        & > .code-view--linked { background: $primary 14%; }
        & > .code-view--link { color: $primary; }
        & > .code-view--match { background: $warning; color: $background; }
        & > .code-view--word { text-style: underline; }
        & > .code-view--selected { background: $primary 35%; }
    }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, classes=classes)
        self.document: Document | None = None
        self.line, self.column = 1, 0
        self.linked: frozenset[int] = frozenset()
        self.selected: tuple[int, int] | None = None
        self.pattern: re.Pattern[str] | None = None
        self.folded = True
        self._note = ""
        self._colours: Colours | None = None
        self._painter: Painter | None = None

    def show(self, document: Document) -> None:
        """Show a text, with the cursor at its beginning."""
        self.document = document
        self._colours = Colours(document.stage, document.text.shown)
        self.line, self.column = 1, 0
        self.linked, self.selected = frozenset(), None
        self._lay_out()
        self.scroll_to(0, 0, animate=False, immediate=True)

    def show_note(self, note: str) -> None:
        """Show a sentence instead of a text: that it is being read, or why it cannot be."""
        self.document = self._colours = self._painter = None
        self._note = printable_line(note)
        self.virtual_size = Size(0, 0)
        self.refresh()

    @property
    def line_text(self) -> str:
        """The cursor's line as it is drawn."""
        shown = self.document.text.shown if self.document else []
        return shown[self.line - 1] if self.line <= len(shown) else ""

    @property
    def word(self) -> str:
        """The name under the cursor."""
        stage = self.document.stage if self.document else ""
        return word_at(self.line_text, self.column, stage)

    @property
    def gutter_width(self) -> int:
        """Cells beside the code."""
        return self._painter.gutter_width + 1 if self._painter else 0

    @property
    def rows(self) -> Sequence[int]:
        """The 1-based line in each row, from the text's first to its last."""
        if self.document is None:
            return ()
        return self.document.code_lines if self.folded else range(1, len(self.document) + 1)

    @property
    def visible_lines(self) -> Sequence[int]:
        """The 1-based lines that can be seen."""
        top = round(self.scroll_y)
        return self.rows[top : top + self.scrollable_content_region.height]

    def row_of(self, line: int) -> int:
        """Return the row, from 0, of a line or of the next one that has a row."""
        return max(min(bisect_left(self.rows, line), len(self.rows) - 1), 0)

    def render_line(self, y: int) -> Strip:
        """Draw a row of the pane."""
        scroll_x, scroll_y = self.scroll_offset
        width, style = self.scrollable_content_region.width, self.rich_style
        if self.document is None or self._painter is None:
            note = [Segment(f" {self._note}", style)] if y == 0 else []
            return Strip(note).crop_extend(0, width, style)
        if scroll_y + y >= len(self.rows):
            return Strip.blank(width, style)
        line = self.rows[scroll_y + y]
        style += self._line_style(line)
        beside = Strip(self._beside(line, self._painter)).apply_style(style)
        code = Strip(self._painter.code(line, self._highlights(line)))
        room = max(width - beside.cell_length, 0)
        code = code.crop_extend(scroll_x, scroll_x + room, None).apply_style(style)
        return Strip.join([beside, code.apply_offsets(scroll_x, line - 1)])

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the text that the mouse has selected."""
        if self.document is None:
            return None
        return selection.extract("\n".join(self.document.text.shown)), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        """Draw what the mouse has selected."""
        self.refresh()

    def notify_style_update(self) -> None:
        """Take the colours of another theme."""
        super().notify_style_update()
        self._lay_out()

    def on_resize(self, event: events.Resize) -> None:
        """Fit the gutters to the pane."""
        self._lay_out()

    def _lay_out(self) -> None:
        if self.document is None or self._colours is None:
            return
        beside = gutters_for(self.document, self.scrollable_content_region.width)
        names = (*colours.KINDS, *gutters.STYLES)
        self._painter = Painter(
            self._colours, beside, {name: self._component(name) for name in names}
        )
        # A cell past the end of the longest line, for the cursor.
        columns = self.gutter_width + self.document.text.width + 1
        self.virtual_size = Size(columns, len(self.rows))
        self.refresh()

    def _component(self, name: str) -> Style:
        """Return what a component sets by itself, with its colours blended into the pane's."""
        own = self.get_component_rich_style(f"code-view--{name}", partial=True)
        blended = self.get_component_rich_style(f"code-view--{name}")
        return own + Style(
            color=blended.color if own.color else None,
            bgcolor=blended.bgcolor if own.bgcolor else None,
        )

    def _line_style(self, line: int) -> Style:
        if self.selected and self.selected[0] <= line <= self.selected[1]:
            return self._component("selected")
        if line == self.line:
            return self._component("cursor")
        return self._component("linked") if line in self.linked else Style.null()

    def _beside(self, line: int, painter: Painter) -> Iterator[Segment]:
        yield from painter.gutter(line, self.line)
        sign = _LINK_SIGN if line in self.linked else _CURSOR_SIGN if line == self.line else " "
        yield Segment(sign, self._component("link"))

    def _highlights(self, line: int) -> Iterator[Highlight]:
        if self.document is None:
            return
        text = self.document.text.shown[line - 1]
        if self.has_focus:
            for first, last in spans_of(self.word, text, self.document.stage):
                yield first, last, self._component("word")
        if self.pattern is not None:
            for first, last in spans(self.pattern, text):
                yield first, last, self._component("match")
        if self.text_selection and (span := self.text_selection.get_span(line - 1)):
            first, last = span
            yield first, len(text) if last == -1 else last, self._component("selected")
        if line == self.line and self.has_focus:
            yield self.column, self.column + 1, self._component("cursor-cell")

    def _cells_at_cursor(self) -> tuple[int, int]:
        """The cells of the code where the cursor begins and where the name under it ends."""
        begin = cell_at(self.line_text, self.column)
        return begin, begin + max(len(self.word), 1)
