"""The browser's table: a row for each kernel and configuration, drawn on demand."""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from msgspec.structs import replace
from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from irlens.session.exchange import Entry
from irlens.tui.entries.layout import Columns, RowStyle, arrange, draw_row
from irlens.tui.entries.rows import EntryRows
from irlens.tui.widgets import VisibleRows, place_scrollbar

#: The least cells of the kernels' names.
_MIN_NAME = 24


class EntryTable(ScrollView, can_focus=True):
    """Entries under a row of titles; the cursor follows its entry when that moves.

    Until the user moves the cursor it stays on the first row, whichever entry that is.

    Attributes:
        rows: The rows; change them only through the methods of the table.
    """

    # Textual's selection tags every segment of every line.
    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "entry-table--titles",
        "entry-table--cursor",
        "entry-table--hover",
        "entry-table--match",
    }
    DEFAULT_CSS = """
    EntryTable {
        background: $background;
        scrollbar-size: 0 1;
        scrollbar-gutter: stable;
        & > .entry-table--titles { background: $surface; color: $dim; }
        & > .entry-table--cursor {
            background: $block-cursor-blurred-background;
            color: $block-cursor-blurred-foreground;
        }
        &:focus > .entry-table--cursor {
            background: $block-cursor-background;
            color: $block-cursor-foreground;
            text-style: $block-cursor-text-style;
        }
        & > .entry-table--hover { background: $block-hover-background; }
        & > .entry-table--match { background: $warning; color: $background; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Open", id="table.open"),
        Binding("j,down", "move(1)", "Down", id="table.down", show=False),
        Binding("k,up", "move(-1)", "Up", id="table.up", show=False),
        Binding("g,home", "first", "First", id="table.first", show=False),
        Binding("G,end", "last", "Last", id="table.last", show=False),
        Binding("ctrl+d,pagedown", "page(1)", "Page down", id="table.page_down", show=False),
        Binding("ctrl+u,pageup", "page(-1)", "Page up", id="table.page_up", show=False),
        Binding("l,right", "pan(1)", "Right", id="table.right", show=False),
        Binding("h,left", "pan(-1)", "Left", id="table.left", show=False),
    ]

    class Highlighted(Message):
        """The cursor has moved to another entry."""

    class Scrolled(Message):
        """Other rows have come into sight."""

    @dataclass
    class Opened(Message):
        """The user opens an entry."""

        key: str

    @dataclass
    class TitleClicked(Message):
        """The user clicked a column's title."""

        column: str

    def __init__(self) -> None:
        super().__init__()
        self.rows = EntryRows()
        self.row = 0
        self.columns = Columns({}, 0, has_more=False)
        self._visible_rows = VisibleRows(self)
        #: The entry that the user moved the cursor to, and the last one that was reported.
        self._chosen: str | None = None
        self._reported: str | None = None
        self._hovered = -1
        self._styles_of: dict[str, RowStyle] = {}

    @property
    def current(self) -> str | None:
        """The key of the entry under the cursor, ``None`` if the table is empty."""
        key = self._key_of(self.row)
        return None if key is None or self.rows.heading(key) else key

    @property
    def in_sight(self) -> list[str]:
        """The keys of the rows in sight, and of those on the next page where the list is scrolled.

        Who opens an entry from the top of a long list does not wait for rows further down.
        """
        top = self.scroll_offset.y
        rows = self.rows.shown[top : top + (2 if top else 1) * max(self._page, 1)]
        return [row for row in rows if not self.rows.heading(row)]

    def clear(self) -> None:
        """Remove all entries."""
        self.rows.clear()
        self._changed()

    def add(self, entries: Iterable[Entry]) -> None:
        """Add entries, or replace known ones."""
        # Rows move while a cache is read: the row that the user looks at stays in place.
        top = self.scroll_offset.y
        is_visible = top <= self.row < top + max(self._page, 1)
        anchor = (self._chosen if is_visible else self._key_of(top)) or ""
        offset = (self.row if is_visible else top) - top
        self.rows.add(entries)
        self._lay_out()
        self._report_cursor()
        if anchor in self.rows.shown:
            self._scroll(self.rows.shown.index(anchor) - offset)
        if is_visible:
            self._follow_cursor()

    def sort_by(self, column: str) -> None:
        """Sort by a column; by the current one again, in reverse."""
        self.rows.sort_by(column)
        self._changed()

    def filter(self, words: str) -> None:
        """Show only the entries that contain every word."""
        self.rows.filter(words)
        self._styles_of.clear()
        self._changed()

    def update_times(self) -> None:
        """Say again how long ago the entries were captured."""
        self.rows.update_times(time.time())
        self.refresh()

    def move_to(self, row: int) -> None:
        """Move the cursor to a row, from 0, or to the nearest one."""
        if self.rows.shown:
            step = 1 if row > self.row else -1
            self.row = self._nearest(min(max(row, 0), len(self.rows.shown) - 1), step)
            self._chosen = self.current
            self._follow_cursor()

    def select(self, key: str) -> None:
        """Move the cursor to an entry, if it is shown."""
        if key in self.rows.shown:
            self.move_to(self.rows.shown.index(key))

    def toggle(self) -> None:
        """Unfold the other configurations of the cursor's kernel, or fold them again."""
        if (key := self.current) is not None:
            self.rows.toggle(key)
            self._changed()

    def action_open(self) -> None:
        """Open the entry under the cursor."""
        if self.current is not None:
            self.post_message(self.Opened(self.current))

    def action_move(self, step: int) -> None:
        """Move the cursor."""
        self.move_to(self.row + step)

    def action_first(self) -> None:
        """Go to the first row, and stay there whichever entry it is."""
        self.move_to(0)
        self._chosen = None

    def action_last(self) -> None:
        """Go to the last row."""
        self.move_to(len(self.rows.shown) - 1)

    def action_page(self, step: int) -> None:
        """Move by pages."""
        rows = step * max(self._page, 1)
        self.scroll_relative(y=rows, animate=False, force=True, immediate=True)
        self.move_to(self.row + rows)

    def action_pan(self, step: int) -> None:
        """Pan by a column."""
        self._arrange(max(self.columns.panned + step, 0))
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        """Sort by a title; move the cursor to a row, or open the cursor's."""
        if event.y == 0:
            column = self.columns.at(event.x)
            if column is not None:
                self.post_message(self.TitleClicked(column))
            return
        row = self._entry_at(event.y)
        if row < 0:
            return
        if row == self.row:
            self.action_open()
        self.move_to(row)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Highlight the row under the mouse."""
        self._hover(self._entry_at(event.y))

    def on_leave(self) -> None:
        """Highlight no row."""
        self._hover(-1)

    def on_resize(self) -> None:
        """Keep the cursor visible if it was."""
        was_visible = self._visible_rows.resize(self._page, self.row)
        self._lay_out()
        if was_visible:
            self._follow_cursor()
        else:
            self._report_cursor()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Say that other rows are in sight."""
        super().watch_scroll_y(old_value, new_value)
        if round(old_value) != round(new_value):
            self.post_message(self.Scrolled())

    def watch_show_vertical_scrollbar(self, shown: bool) -> None:
        """Place the scrollbar when it appears."""
        if shown:
            place_scrollbar(self)

    def notify_style_update(self) -> None:
        """Drop the styles of the previous theme."""
        super().notify_style_update()
        self._styles_of.clear()

    def render_line(self, y: int) -> Strip:
        """Return the titles, or a row."""
        row = self._row_at(y)
        if y == 0:
            return self._titles()
        if row < 0:
            return Strip.blank(self._room, self.rich_style)
        if title := self.rows.heading(self.rows.shown[row]):
            style = self._row_style("titles").line
            return Strip([Segment(f" {title}", style)]).adjust_cell_length(self._room, style)
        kind = "cursor" if row == self.row else "hover" if row == self._hovered else ""
        texts = self.rows.texts_of(self.rows.shown[row])
        return draw_row(texts, self.columns.widths, self._room, self._row_style(kind))

    @property
    def _room(self) -> int:
        """Cells of a row, without the scrollbar."""
        return self.scrollable_content_region.width

    @property
    def _page(self) -> int:
        """Number of visible rows."""
        return self.size.height - 1

    def _row_at(self, y: int) -> int:
        """Return the row at a line of the widget, -1 for none."""
        row = y - 1 + self.scroll_offset.y
        return row if y > 0 and row < len(self.rows.shown) else -1

    def _entry_at(self, y: int) -> int:
        """Return the row of the entry at a line of the widget, -1 for none."""
        row: int = self._row_at(y)
        return -1 if row >= 0 and self.rows.heading(self.rows.shown[row]) else row

    def _nearest(self, row: int, step: int) -> int:
        """Return the row of the nearest entry in a direction, or else in the other one."""
        shown = self.rows.shown
        for found in (*range(row, len(shown) if step > 0 else -1, step), *range(len(shown))):
            if not self.rows.heading(shown[found]):
                return int(found)
        return row

    def _arrange(self, panned: int) -> None:
        """Choose the columns; long names leave room for figures."""
        needs, room = self.rows.needs, self._room
        name = min(needs.widths["kernel"], max(room // 3, _MIN_NAME))
        needs = replace(needs, widths={**needs.widths, "kernel": name})
        self.columns = arrange(needs, room, panned)

    def _hover(self, row: int) -> None:
        if row != self._hovered:
            self._hovered = row
            self.refresh()

    def _key_of(self, row: int) -> str | None:
        return self.rows.shown[row] if row < len(self.rows.shown) else None

    def _changed(self) -> None:
        """Redraw; the cursor stays on its entry, and is scrolled to."""
        self._lay_out()
        self._follow_cursor()

    def _lay_out(self) -> None:
        """Find the cursor's entry among the rows, and the columns that fit."""
        shown = self.rows.shown
        self.row = shown.index(self._chosen) if self._chosen in shown else self._nearest(0, 1)
        self._arrange(self.columns.panned)
        self.virtual_size = Size(self._room, len(shown) + 1)

    def _scroll(self, top: int) -> None:
        if top != self.scroll_offset.y:
            self.scroll_to(y=top, animate=False, force=True, immediate=True)

    def _follow_cursor(self) -> None:
        """Scroll to the cursor, and report it if it is on another entry."""
        top, rows = self.scroll_offset.y, max(self._page, 1)
        first = self.row
        while first and self.rows.heading(self.rows.shown[first - 1]):
            first -= 1  # with the title of its section
        self._scroll(min(max(top, self.row - rows + 1), first))
        self._report_cursor()

    def _report_cursor(self) -> None:
        """Redraw, and report the cursor if it is on another entry."""
        if self.current != self._reported:
            self._reported = self.current
            self.post_message(self.Highlighted())
        self.refresh()

    def _titles(self) -> Strip:
        """Return the titles, with an arrow at an end beyond which there is more."""
        style, columns = self._row_style("titles"), self.columns
        titles = {name: [(self.rows.title(name), "")] for name in columns.widths}
        strip = draw_row(titles, columns.widths, self._room, style)
        if columns.panned:
            strip = Strip([Segment("‹", style.line), *strip.crop(1)])
        if columns.has_more:
            strip = Strip([*strip.crop(0, self._room - 1), Segment("›", style.line)])
        return strip

    def _row_style(self, kind: str) -> RowStyle:
        """Return the styles of the titles, the cursor's row, the hovered row or ("") another."""
        if kind not in self._styles_of:
            component = self.get_component_rich_style
            line = component(f"entry-table--{kind}") if kind else self.rich_style
            words = self.rows.words if kind != "titles" else ()
            match = component("entry-table--match")
            self._styles_of[kind] = RowStyle(line, match, words, self.app.theme_variables)
        return self._styles_of[kind]
