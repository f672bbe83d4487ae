"""Base class of the views of code: lines drawn on demand in the colours of the theme."""

from abc import ABCMeta, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Size
from textual.message import Message
from textual.message_pump import _MessagePumpMeta
from textual.scroll_view import ScrollView
from textual.strip import Strip

from irlens.isa.highlight import KINDS
from irlens.model.text import printable_line
from irlens.tui.code.highlighting import Palette
from irlens.tui.code.search import Hit
from irlens.tui.widgets.scrolling import VisibleRows, place_scrollbar
from irlens.tui.widgets.text_search import TextSearch


class _AbstractWidget(_MessagePumpMeta, ABCMeta):
    """The metaclass of Textual's widgets, for one with abstract methods."""


class CodeView(ScrollView, metaclass=_AbstractWidget, can_focus=True):
    """Code with a cursor and a search.

    Attributes:
        LINES: Kinds of lines with a style of their own.
        STYLES: Styles of parts of a line, besides the syntax highlighting's.
        search: The search in the code.
    """

    # Textual's selection tags every segment of every line; here whole lines are selected.
    ALLOW_SELECT = False
    LINES: ClassVar[tuple[str, ...]] = ("cursor",)
    STYLES: ClassVar[tuple[str, ...]] = ("match", "line-number")
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"code-view--{name}" for name in ("cursor", "match", "line-number", *KINDS)
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
        & > .code-view--comment { color: $dim; }
        & > .code-view--keyword { color: $primary; }
        & > .code-view--type { color: $foreground 82%; }
        & > .code-view--operation { color: $primary; }
        & > .code-view--value { color: $secondary; }
        & > .code-view--function { color: $accent; }
        & > .code-view--label { color: $accent; text-style: bold; }
        & > .code-view--number { color: $foreground 85%; }
        & > .code-view--string { color: $success; }
        & > .code-view--punctuation { color: $foreground 75%; }
        & > .code-view--cursor { background: $foreground 10%; }
        & > .code-view--line-number { color: $dim; }
        & > .code-view--match { background: $warning; color: $background; }
    }
    """

    class Searched(Message):
        """A search has ended.

        Attributes:
            view: The view.
        """

        def __init__(self, view: "CodeView") -> None:
            super().__init__()
            self.view = view

    def __init__(self) -> None:
        super().__init__()
        self.search = TextSearch(self, self, self._on_search_changed)
        self.visible_rows = VisibleRows(self)
        self._palettes: dict[str, Palette] = {}
        self._note = ""

    @property
    @abstractmethod
    def searched_lines(self) -> Iterable[tuple[int, str]]:
        """Lines as drawn, by ascending number."""

    @property
    @abstractmethod
    def position(self) -> Hit:
        """The cursor."""

    @abstractmethod
    def go_to_position(self, position: Hit) -> None:
        """Move the cursor."""

    def cursor_positions(self, hits: list[Hit]) -> Sequence[Hit]:
        """Return the positions of matches as the cursor takes them."""
        return hits

    @abstractmethod
    def describe(self) -> None:
        """Update the border's titles."""

    def show_note(self, note: str) -> None:
        """Show one sentence instead of code: that it is loading, or why there is none."""
        self._note = printable_line(note)
        self.virtual_size = Size(0, 0)
        self.refresh()

    def note_line(self, y: int) -> Strip:
        """Return a row of the view while it shows a note."""
        plain = self.palette("")[""]
        note = [Segment(f" {self._note}", plain)] if y == 0 else []
        return Strip(note).crop_extend(0, self.scrollable_content_region.width, plain)

    def cut(self, code: Strip, left: int, room: int, palette: Palette) -> Strip:
        """Return the part of a line that is in view, with a sign at an end where it goes on.

        Args:
            code: The whole line.
            left: The first cell in view.
            room: Cells of the view.
            palette: The styles on the line.
        """
        shown = code.crop_extend(left, left + room, palette[""])
        if left and code.crop(0, left).text.strip() and room > 1:
            shown = Strip([Segment("‹", palette["line-number"]), *shown.crop(1)])
        if code.cell_length > left + room > left:
            shown = Strip([*shown.crop(0, room - 1), Segment("›", palette["line-number"])])
        return shown

    def palette(self, kind: str) -> Palette:
        """Return the styles on a kind of line: "" for an ordinary one, others as in ``LINES``."""
        if not self._palettes:
            base = self.rich_style
            lines = {"": base} | {name: base + self._component(name) for name in self.LINES}
            names = (*KINDS, *self.STYLES)
            own: Mapping[str, Style] = {name: self._component(name) for name in names}
            self._palettes = {
                line: {name: style + part for name, part in own.items()} | {"": style}
                for line, style in lines.items()
            }
        return self._palettes[kind]

    def notify_style_update(self) -> None:
        """Drop the styles of the previous theme."""
        super().notify_style_update()
        self._palettes.clear()

    def watch_show_vertical_scrollbar(self, shown: bool) -> None:
        """Place the scrollbar when it appears."""
        place_scrollbar(self, shown)

    def _component(self, name: str) -> Style:
        """Return only what a component sets, with its colours blended into the view's."""
        own = self.get_component_rich_style(f"code-view--{name}", partial=True)
        blended = self.get_component_rich_style(f"code-view--{name}")
        return own + Style(
            color=blended.color if own.color else None,
            bgcolor=blended.bgcolor if own.bgcolor else None,
        )

    def _on_search_changed(self, has_ended: bool) -> None:
        self.describe()
        self.refresh()
        self.refresh_bindings()  # escape ends a search
        if has_ended:
            self.post_message(self.Searched(self))
