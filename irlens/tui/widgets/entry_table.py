"""The table of the browser: one row for each kernel and configuration, drawn as it is looked at."""

from collections.abc import Iterable
from typing import ClassVar

from msgspec.structs import replace
from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from irlens.session.workbench import Entry
from irlens.tui.entry_columns import Columns, arrange
from irlens.tui.entry_line import Ink, row_of
from irlens.tui.entry_rows import EntryRows
from irlens.tui.widgets.scrolling import Scrolling

#: The least that is left of kernels' names, in cells.
_LEAST_NAME = 24


class EntryTable(Scrolling):
    """Entries under a line of titles; the cursor is on an entry, wherever that moves.

    Until the cursor is moved it is on the first row, whichever entry that is.

    Attributes:
        rows: The rows. What changes them is a method here, so that it is drawn.
        columns: The columns that can be seen.
    """

    # Textual's selection would have to tag every piece of every line.
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
        """The cursor is on another entry."""

    class Opened(Message):
        """An entry is asked for.

        Attributes:
            key: The entry's.
        """

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    class TitleClicked(Message):
        """The title of a column was clicked.

        Attributes:
            column: The column's name.
        """

        def __init__(self, column: str) -> None:
            super().__init__()
            self.column = column

    def __init__(self) -> None:
        super().__init__()
        self.rows = EntryRows()
        self.row = 0
        self._here: str | None = None
        self._told: str | None = None
        self._hovered = -1
        self._inks: dict[str, Ink] = {}
        self.columns = Columns({}, 0, more=False)

    @property
    def current(self) -> str | None:
        """The key of the entry under the cursor, ``None`` if the table is empty."""
        return self._key_of(self.row)

    def clear(self) -> None:
        """Forget the entries."""
        self.rows.clear()
        self._changed()

    def add(self, entries: Iterable[Entry]) -> None:
        """Show entries, or what is new about entries that are shown."""
        # Rows move while a cache is read: the one that the user looks at stays where it is.
        top = self.scroll_offset.y
        is_seen = top <= self.row < top + max(self._page, 1)
        looked_at = (self._here if is_seen else self._key_of(top)) or ""
        below_top = (self.row if is_seen else top) - top
        self.rows.add(entries)
        self._changed(follow=False)
        if looked_at in self.rows.shown:
            self._scroll(self.rows.shown.index(looked_at) - below_top)
        self._look(follow=is_seen)

    def sort_by(self, column: str) -> None:
        """Sort by a column; by the same column again, the other way round."""
        self.rows.choose(column)
        self._changed()

    def narrow_down(self, words: str) -> None:
        """Show only the entries in which every word occurs; all if there is none."""
        self.rows.narrow_down(words)
        self._inks.clear()
        self._changed()

    def move_to(self, row: int) -> None:
        """Put the cursor on a row, from 0, or on the nearest there is."""
        if self.rows.shown:
            self.row = min(max(row, 0), len(self.rows.shown) - 1)
            self._here = self.current
            self._look()

    def select(self, key: str) -> None:
        """Put the cursor on an entry, if its row is shown."""
        if key in self.rows.shown:
            self.move_to(self.rows.shown.index(key))

    def action_open(self) -> None:
        """Ask for the entry under the cursor."""
        if self.current is not None:
            self.post_message(self.Opened(self.current))

    def action_move(self, step: int) -> None:
        """Move the cursor."""
        self.move_to(self.row + step)

    def action_first(self) -> None:
        """Go to the first row, and stay there whichever entry that is."""
        self.move_to(0)
        self._here = None

    def action_last(self) -> None:
        """Go to the last row."""
        self.move_to(len(self.rows.shown) - 1)

    def action_page(self, step: int) -> None:
        """Go on by as many rows as can be seen."""
        rows = step * max(self._page, 1)
        self.scroll_relative(y=rows, animate=False, force=True, immediate=True)
        self.move_to(self.row + rows)

    def action_pan(self, step: int) -> None:
        """Move the text to the side by a column."""
        self._arrange(max(self.columns.moved + step, 0))
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        """Sort by a title; go to a row, or open the one that the cursor is on."""
        if event.y == 0:
            column = self.columns.at(event.x)
            if column is not None:
                self.post_message(self.TitleClicked(column))
            return
        row = self._row_at(event.y)
        if row < 0:
            return
        if row == self.row:
            self.action_open()
        self.move_to(row)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Show which row a click is for."""
        self._hover(self._row_at(event.y))

    def on_leave(self) -> None:
        """Show no row a click is for."""
        self._hover(-1)

    def on_resize(self) -> None:
        """Keep the cursor in sight, if it is."""
        self._changed(follow=self.take_height(self._page, self.row))

    def notify_style_update(self) -> None:
        """Take the colours of another theme."""
        super().notify_style_update()
        self._inks.clear()

    def render_line(self, y: int) -> Strip:
        """Draw the titles, or a row."""
        row = self._row_at(y)
        if y == 0:
            return self._titles()
        if row < 0:
            return Strip.blank(self._room, self.rich_style)
        kind = "cursor" if row == self.row else "hover" if row == self._hovered else ""
        cells = self.rows.cells_of(self.rows.shown[row])
        told = {name: cells[name][0] for name in self.columns.widths}
        return row_of(told, self.columns.widths, self._room, self._ink(kind))

    @property
    def _room(self) -> int:
        """The cells of a line, beside the bar that scrolls."""
        return self.scrollable_content_region.width

    @property
    def _page(self) -> int:
        """The rows that can be seen."""
        return self.size.height - 1

    def _row_at(self, y: int) -> int:
        """Return the row that is drawn in a line, -1 for none."""
        row = y - 1 + self.scroll_offset.y
        return row if y > 0 and row < len(self.rows.shown) else -1

    def _arrange(self, moved: int) -> None:
        """Choose the columns; long names leave room for the figures beside them."""
        needs, room = self.rows.needs, self._room
        name = min(needs.widths["kernel"], max(room // 3, _LEAST_NAME))
        needs = replace(needs, widths={**needs.widths, "kernel": name})
        self.columns = arrange(needs, room, moved)

    def _hover(self, row: int) -> None:
        if row != self._hovered:
            self._hovered = row
            self.refresh()

    def _key_of(self, row: int) -> str | None:
        return self.rows.shown[row] if row < len(self.rows.shown) else None

    def _changed(self, *, follow: bool = True) -> None:
        """Draw anew; the cursor stays on its entry, and comes into sight if it is followed."""
        shown = self.rows.shown
        self.row = shown.index(self._here) if self._here in shown else 0
        self._arrange(self.columns.moved)
        self.virtual_size = Size(self._room, len(shown) + 1)
        self._look(follow=follow)

    def _scroll(self, top: int) -> None:
        if top != self.scroll_offset.y:
            self.scroll_to(y=top, animate=False, force=True, immediate=True)

    def _look(self, *, follow: bool = True) -> None:
        """Bring the cursor into sight if it is followed, and say so if it is on another entry."""
        if follow:
            top, rows = self.scroll_offset.y, max(self._page, 1)
            self._scroll(min(max(top, self.row - rows + 1), self.row))
        if self.current != self._told:
            self._told = self.current
            self.post_message(self.Highlighted())
        self.refresh()

    def _titles(self) -> Strip:
        """Draw the titles, with a sign at an end beyond which there is more."""
        ink, columns = self._ink("titles"), self.columns
        told = {name: [(self.rows.title(name), "")] for name in columns.widths}
        strip = row_of(told, columns.widths, self._room, ink)
        if columns.moved:
            strip = Strip([Segment("‹", ink.line), *strip.crop(1)])
        if columns.more:
            strip = Strip([*strip.crop(0, self._room - 1), Segment("›", ink.line)])
        return strip

    def _ink(self, kind: str) -> Ink:
        """Return what a kind of line is written with: a part of the table, or "" for a row."""
        if kind not in self._inks:
            part = self.get_component_rich_style
            line = part(f"entry-table--{kind}") if kind else self.rich_style
            words = self.rows.wanted if kind != "titles" else ()
            match = part("entry-table--match")
            self._inks[kind] = Ink(line, match, words, self.app.theme_variables)
        return self._inks[kind]
