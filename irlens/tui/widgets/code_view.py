"""A text drawn line by line as it is looked at, with gutters beside it and marks in it."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.strip import Strip

from irlens.tui.code import gutters
from irlens.tui.code.document import Document
from irlens.tui.code.gutters import gutters_for
from irlens.tui.code.highlighting import Highlight, HighlightedLines, Painter
from irlens.tui.code.search import Hit
from irlens.tui.code.text import cell_at, spans_of, word_at
from irlens.tui.widgets.searched import SearchedText

_LINES = ("cursor", "linked", "selected")
_STYLES = (*gutters.STYLES, "link", "match")
_UNDERLINED, _REVERSED = Style(underline=True), Style(reverse=True)
_LINK_SIGN, _CURSOR_SIGN = "▌", "▶"


class CodeView(SearchedText):
    """Shows a document; where its cursor is and what is marked is for others to say.

    Attributes:
        document: What is shown, ``None`` where there is only a sentence to show.
        line: 1-based line of the cursor.
        column: Its column in the drawn line, from 0.
        linked: Lines that belong to what another pane's cursor is at.
        selected: The first and the last selected line.
        folded: Whether lines without code are left out.
    """

    LINES = _LINES
    STYLES = _STYLES
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"code-view--{name}" for name in (*_LINES, *_STYLES)}
    DEFAULT_CSS = """
    CodeView {
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
        self.line, self.column = 1, 0
        self.linked: frozenset[int] = frozenset()
        self.selected: tuple[int, int] | None = None
        self.folded = True
        self._highlighted: HighlightedLines | None = None
        self._painter: Painter | None = None

    def show(self, document: Document) -> None:
        """Show a text, with the cursor at its beginning."""
        self.document = document
        self._highlighted = HighlightedLines(document.stage, document.text.shown)
        self.line, self.column = 1, 0
        self.linked, self.selected = frozenset(), None
        self._lay_out()
        self.scroll_to(0, 0, animate=False, immediate=True)

    def show_note(self, note: str) -> None:
        """Show a sentence instead of a text."""
        self.document = self._highlighted = self._painter = None
        super().show_note(note)

    @property
    def searched_lines(self) -> Iterable[tuple[int, str]]:
        """The lines, those that are left out, too."""
        return enumerate(self.document.text.shown if self.document else (), 1)

    @property
    def position(self) -> Hit:
        """The cursor's line and column."""
        return self.line, self.column

    @property
    def copied(self) -> str:
        """What is worth copying: the selected lines, or else the cursor's, as the file has them."""
        first, last = self.selected or (self.line, self.line)
        return "\n".join(self.document.text.lines[first - 1 : last]) if self.document else ""

    @property
    def line_text(self) -> str:
        """The cursor's line as it is drawn."""
        shown = self.document.text.shown if self.document else []
        return shown[self.line - 1] if self.line <= len(shown) else ""

    @property
    def word(self) -> str:
        """The word under the cursor."""
        stage = self.document.stage if self.document else ""
        return word_at(self.line_text, self.column, stage)

    @property
    def _named(self) -> str:
        """The word under the cursor, if it is a name: the same one is marked wherever it stands."""
        word, lines = self.word, self._highlighted
        names = lines is not None and lines.is_name(word, self.line - 1, self.column)
        return word if names else ""

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

    def on_resize(self, event: events.Resize) -> None:
        """Fit the gutters to the pane."""
        self._lay_out()

    def _lay_out(self) -> None:
        if self.document is None or self._highlighted is None:
            return
        beside = gutters_for(self.document, self.scrollable_content_region.width)
        self._painter = Painter(self._highlighted, beside)
        # A cell past the end of the longest line, for the cursor.
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
        document, focused = self.document, self.has_focus
        if document is None or not (focused or self.sought):
            return
        text, palette = document.text.shown[line - 1], self.palette("")
        if focused:
            for first, last in spans_of(self._named, text, document.stage):
                yield first, last, _UNDERLINED
        if self.sought is not None:
            for first, last in self.sought.spans(text):
                yield first, last, palette["match"]
        if focused and line == self.line:
            yield self.column, self.column + 1, _REVERSED

    def _cells_at_cursor(self) -> tuple[int, int]:
        """The cells of the code where the cursor begins and where the name under it ends."""
        begin = cell_at(self.line_text, self.column)
        return begin, begin + max(len(self.word), 1)
