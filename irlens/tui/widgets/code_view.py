"""Base class of the views of code: lines drawn on demand in the theme's colours, and a search."""

import sys
from abc import ABCMeta, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from textwrap import wrap
from threading import Event
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Size
from textual.message import Message
from textual.message_pump import _MessagePumpMeta
from textual.scroll_view import ScrollView
from textual.strip import Strip

from irlens.isa.highlight import KINDS
from irlens.model.text import count, printable_line
from irlens.tui.code.highlighting import Palette
from irlens.tui.code.search import MOST_HITS, Hit, Query
from irlens.tui.services.threads import run_in_thread
from irlens.tui.widgets import VisibleRows, place_scrollbar

#: A position before, and one after any match.
_BEFORE: Hit = (-1, 0)
_AFTER: Hit = (sys.maxsize, 0)


class TextSearch:
    """The search in a view; it runs in a thread, so that keys keep working.

    Args:
        on_change: Called when the query or the matches change; with ``True`` when a search ends.

    Attributes:
        query: The query; ``None`` while nothing is searched for.
        hits: Matches in ascending order; empty until the search ends.
    """

    def __init__(self, view: "CodeView", on_change: Callable[[bool], None]) -> None:
        self._view, self._on_change = view, on_change
        self.query: Query | None = None
        self.hits: Sequence[Hit] = ()
        self.is_running = False
        self._stop = Event()

    def start(self, query: Query | None) -> None:
        """Search for another query; ``None`` ends the search."""
        self._stop.set()
        self._stop = Event()
        self.query, self.hits, self.is_running = query, (), query is not None
        if query is not None:
            find = partial(query.hits, self._view.searched_lines, self._stop)
            end = partial(self._end, query)
            run_in_thread(self._view, find, end, lambda _: None, group="search")  # no errors
        self._on_change(False)

    def restart(self) -> None:
        """Search again: the text has changed."""
        self.start(self.query)

    def find(self, step: int, start: Hit | None = None, *, wrap: bool = True) -> bool:
        """Go to the next (-1: previous) match.

        Args:
            start: The position to start from; by default the cursor's.
            wrap: Whether to go on at the other end of the text.

        Returns:
            Whether there is a match.
        """
        start = self._view.position if start is None else start
        index = bisect_right(self.hits, start) if step > 0 else bisect_left(self.hits, start) - 1
        if not self.hits or not (wrap or 0 <= index < len(self.hits)):
            return False
        self._view.go_to_position(self.hits[index % len(self.hits)])
        self._on_change(False)
        return True

    def find_end(self, step: int) -> bool:
        """Go to the first (-1: last) match, and return whether there is one."""
        return self.find(step, _BEFORE if step > 0 else _AFTER)

    @property
    def status(self) -> str:
        """The match at the cursor and the number of matches; "" while nothing is searched for."""
        if self.query is None:
            return ""
        if not self.hits:
            return "searching …" if self.is_running else "no match"
        more = "+" if len(self.hits) == MOST_HITS else ""
        total = f"{count(len(self.hits))}{more}"
        index = bisect_left(self.hits, self._view.position)
        if self.hits[index : index + 1] == [self._view.position]:
            return f"match {count(index + 1)}/{total}"
        return "1 match" if len(self.hits) == 1 else f"{total} matches"

    def _end(self, query: Query, hits: list[Hit]) -> None:
        if query is self.query:
            self.hits, self.is_running = self._view.cursor_positions(hits), False
            self._on_change(True)


class _AbstractWidget(_MessagePumpMeta, ABCMeta):
    """The metaclass of Textual's widgets, for one with abstract methods."""


class CodeView(ScrollView, metaclass=_AbstractWidget, can_focus=True):
    """Code with a cursor and a search.

    Attributes:
        LINES: Kinds of lines with a style of their own.
        STYLES: Styles of parts of a line, besides the syntax highlighting's.
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

    @dataclass
    class Searched(Message):
        """A search has ended."""

        view: "CodeView"

    def __init__(self) -> None:
        super().__init__()
        self.search = TextSearch(self, self._on_search_changed)
        self.visible_rows = VisibleRows(self)
        self._palettes: dict[str, Palette] = {}
        self._note: list[str] = []

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
        """Show some lines instead of code: that it is loading, or why there is none."""
        self._note = [printable_line(line) for line in note.split("\n")]
        self.virtual_size = Size(0, 0)
        self.refresh()

    def note_line(self, y: int) -> Strip:
        """Return a row of the view while it shows a note."""
        plain, width = self.palette("")[""], self.scrollable_content_region.width
        rows = [row for line in self._note for row in wrap(line, max(width - 2, 1))]
        note = [Segment(f" {rows[y]}", plain)] if y < len(rows) else []
        return Strip(note).crop_extend(0, width, plain)

    def cut(self, code: Strip, left: int, room: int, palette: Palette) -> Strip:
        """Return the part of a line that is in view, with a sign at an end where it goes on.

        Args:
            left: The first cell in view.
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
        if shown:
            place_scrollbar(self)

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
