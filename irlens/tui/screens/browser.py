"""The browser: all kernels and configurations."""

from collections.abc import Iterator
from functools import partial
from typing import ClassVar

from msgspec.structs import replace
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Input

from irlens.model.errors import IrlensError
from irlens.model.report import Report
from irlens.model.text import printable_line
from irlens.session.exchange import Entry
from irlens.tui.drawing import DIM
from irlens.tui.entries.cells import MARKS
from irlens.tui.entries.rows import MOST_RIVALS
from irlens.tui.entries.summary import EntrySummary, tally
from irlens.tui.entries.table import EntryTable
from irlens.tui.help import Command
from irlens.tui.screens import IrlensScreen, view_bindings
from irlens.tui.screens.dialogs import SORT_COLUMNS, SortDialog
from irlens.tui.services import VIEWS, Context
from irlens.tui.services.threads import stream_from_thread
from irlens.tui.widgets.heading import Heading
from irlens.tui.widgets.key_bar import KeyBar
from irlens.tui.widgets.prompt import Prompt

#: Seconds for which the cursor rests on an entry before its report is loaded.
_REST = 0.12
#: Entries that are completed at a time; those that have come into sight meanwhile are next.
_AT_A_TIME = 32
#: Seconds after which the times of the entries are drawn again.
_MINUTE = 60
#: Columns from which the summary is beside the table instead of below it.
_WIDE = 110
#: Bindings that act on the entry under the cursor.
_NEEDS_ROW = frozenset(
    f"browser.{name}"
    for name in ("next", "previous", "fold", "recompile", "compare", "copy", *VIEWS)
)


class BrowserScreen(IrlensScreen):
    """The list of entries; Enter opens one."""

    HELP_TEXT = "\n".join(
        [
            "All kernels and configurations, those of a kernel by their estimated time.",
            "`fastest`, and `as fast` within 3 % of it, compare configurations for the same GPU",
            "and the same scalar arguments; one that `reads less` leaves out a part of the work.",
            "",
            "Registers and occupancy come from the binaries at once, what has to be analysed",
            "follows for the rows in sight, and for all rows where their order depends on it.",
            f"Of more than {MOST_RIVALS} configurations that compare, `o` `e` marks the fastest.",
            "",
            *(f"* `{sign}` {meaning}" for sign, meaning in MARKS.items()),
            "* `3/4▾` three of four requested pipeline stages achieved; `2/?` two of an",
            "  unknown number",
            "* `1✗ 2▲ 3•` findings: errors, warnings, notes",
            "",
            "Without KERNEL the list begins with the kernels of the current folder, then come the",
            "newest captures and irlens's samples. `▸` stands before a kernel with several",
            "configurations, of which the fastest or the newest is shown: `space` unfolds them.",
            "",
            "`/` filters: an entry must contain every word. `spills`, `cannot launch`, `error` and",
            "`num_warps=4` are words as well. `o` and a letter sort: `o` `r` sorts by registers, a",
            "second time in reverse.",
            "",
            "The settings column starts with those that distinguish the entries of a kernel. `›`",
            "after the titles means that more columns follow: `l` pans to them.",
        ]
    )

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "search", "Search", id="browser.search"),
        Binding("n", "next(1)", "Next match", id="browser.next", show=False),
        Binding("N", "next(-1)", "Previous match", id="browser.previous", show=False),
        Binding("escape", "back", "Show all", id="browser.show_all", show=False),
        Binding("space", "fold", "Unfold or fold", id="browser.fold", show=False),
        Binding("o", "sort", "Sort", id="browser.sort"),
        Binding("r", "recompile", "Recompile", id="browser.recompile"),
        Binding("c", "compare", "Compare", id="browser.compare"),
        *view_bindings("browser"),
        Binding("s", "toggle_summary", "Summary", id="browser.summary", show=False),
        Binding("y", "copy", "Copy the path", id="browser.copy", show=False),
        Binding("R", "reload", "Reload", id="browser.reload", show=False),
    ]  # fmt: skip

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._rest_timer: Timer | None = None
        #: Whether more entries may come.
        self.is_listing = True
        #: Keys of the entries that were completed, or are being completed.
        self._completed: set[str] = set()
        self._is_completing = False

    def compose(self) -> ComposeResult:
        """Lay out the table and the summary between the heading and the prompt."""
        yield Heading()
        with Container(id="browser"):
            yield EntryTable()
            with VerticalScroll(id="summary", can_focus=False):
                yield EntrySummary()
        yield Prompt()
        yield KeyBar()

    def on_mount(self) -> None:
        """Start to list the entries."""
        preferences, table = self.context.preferences, self.table
        # By name is the usual order of all listings but one of sections.
        is_usual = (preferences.sort, preferences.descending) == ("kernel", False)
        table.rows.sorted_by = "" if is_usual else preferences.sort
        table.rows.descending = preferences.descending
        table.focus()
        self.set_class(preferences.layout.get("browser.summary") == "off", "-no-summary")
        self._update()
        self.set_interval(_MINUTE, self.table.update_times)
        # Draw first: a thread that reads holds the interpreter's lock.
        self.call_after_refresh(self.action_reload)

    def on_screen_resume(self) -> None:
        """Update the entry under the cursor: it may have been compiled while it was open."""
        entry = self._current
        if entry is not None and entry.config is None and not entry.problem:
            find = partial(self.bench.entry, entry.key)
            self.run_in_thread(find, lambda updated: self.add([updated]), group="entry")

    def on_resize(self) -> None:
        """Place the summary where it fits."""
        self.set_class(self.size.width < _WIDE, "-stacked")

    def defers(self, binding: str) -> bool:
        """Return whether a binding needs a row, and none has been listed yet."""
        needs_row = binding in _NEEDS_ROW or binding.startswith("table.")
        return needs_row and self.is_listing and not self.table.rows.shown

    def abandons_loading(self, binding: str) -> bool:
        """Return whether a binding asks for other rows than those to come."""
        is_global = binding.startswith("browser.") and binding not in _NEEDS_ROW
        return is_global or super().abandons_loading(binding)

    @property
    def may_cancel(self) -> bool:
        """Whether a compilation is running."""
        return self.context.compilations.running is not None

    @property
    def is_resting(self) -> bool:
        """Whether a report will be loaded if the cursor stays where it is."""
        return self._rest_timer is not None

    @property
    def is_reading(self) -> bool:
        """Whether entries are being listed, or those in sight analysed."""
        return self.is_listing or self._is_completing

    @property
    def table(self) -> EntryTable:
        """The table."""
        return self.query_one(EntryTable)

    def add(self, entries: list[Entry]) -> None:
        """Add entries, or replace known ones."""
        self.table.add(entries)
        self._update()

    def add_compiled(self, origin: str, entry: Entry) -> None:
        """Add a compiled entry; the cursor moves there if it is still on its origin."""
        follows = self.table.current == origin
        self.add([entry])
        if follows:
            self.table.select(entry.key)

    def sort_by(self, column: str) -> None:
        """Sort by a column; by the current one again, in reverse."""
        self.table.sort_by(column)
        self._complete()
        self.context.preferences.sort = self.table.rows.sorted_by
        self.context.preferences.descending = self.table.rows.descending

    def commands(self) -> Iterator[Command]:
        """Yield a command that sorts for each column."""
        for name, column in SORT_COLUMNS.items():
            keys = f"keys {self._key('browser.sort')} {column.letter}"
            description = f"Sort the entries by {column.label}; again in reverse · {keys}"
            yield Command(f"Sort by {column.label}", description, partial(self.sort_by, name))

    def _key(self, binding: str) -> str:
        active = (each.binding for each in self.active_bindings.values())
        keys = (self.app.get_key_display(each) for each in active if each.id == binding)
        return next(keys, "")

    def action_reload(self) -> None:
        """List all entries again."""
        self.is_listing = True
        self._completed.clear()
        self.table.clear()
        self._update()
        stream_from_thread(
            self, self.bench.entries, self._add_listed, self._on_listed, self._on_error
        )

    def action_search(self) -> None:
        """Filter the list."""
        self.query_one(Prompt).open("filter by words")

    def action_back(self) -> None:
        """Cancel the running compilation, or else clear the filter."""
        if self.may_cancel:
            self.context.compilations.cancel()
        else:
            self._filter("")

    def action_next(self, step: int) -> None:
        """Go to the next (-1: previous) row, wrapping around."""
        table = self.table
        if table.rows.shown:
            table.move_to((table.row + step) % len(table.rows.shown))

    def action_fold(self) -> None:
        """Unfold the other configurations of the kernel under the cursor, or fold them again."""
        self.table.toggle()
        self._update()

    def action_sort(self) -> None:
        """Ask for a sort column."""

        def on_chosen(column: str | None) -> None:
            if column is not None:
                self.sort_by(column)

        self.app.push_screen(SortDialog(*self.table.rows.order), on_chosen)

    def action_toggle_summary(self) -> None:
        """Show or hide the summary."""
        self.toggle_class("-no-summary")
        state = "off" if self.has_class("-no-summary") else "on"
        self.context.preferences.layout["browser.summary"] = state

    def action_compare(self) -> None:
        """Compare the entry under the cursor."""
        if (key := self.table.current) is not None:
            self.compare(key)

    def action_recompile(self) -> None:
        """Ask for other settings of the entry under the cursor, and compile with them."""
        if (key := self.table.current) is not None:
            self.context.navigator.show_recompile_form(key)

    def action_view(self, name: str) -> None:
        """Open the entry under the cursor in a view."""
        if (entry := self._current) is not None:
            self._open(name, entry)

    def action_copy(self) -> None:
        """Copy the path of the entry under the cursor."""
        if (entry := self._current) is not None:
            self.context.navigator.copy(entry.place or entry.kernel)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter while words are being typed."""
        self._filter(event.value)

    def on_input_submitted(self) -> None:
        """Return to the table."""
        self.query_one(Prompt).close()

    def on_prompt_cancelled(self) -> None:
        """Clear the filter."""
        self._filter("")

    def on_entry_table_title_clicked(self, event: EntryTable.TitleClicked) -> None:
        """Sort by the clicked column."""
        self.sort_by("occupancy" if event.column == "bar" else event.column)

    def on_entry_table_opened(self, event: EntryTable.Opened) -> None:
        """Open the entry."""
        self._open("overview", self.table.rows.entries[event.key])

    def on_entry_table_scrolled(self) -> None:
        """Complete the entries that have come into sight."""
        self._complete()

    def on_entry_table_highlighted(self) -> None:
        """Summarize the entry under the cursor; with its report once the cursor rests there."""
        entry = self._current
        self.query_one(EntrySummary).show(entry, None)
        if self._rest_timer is not None:
            self._rest_timer.stop()
            self._rest_timer = None
        if entry is not None and entry.config is not None and not entry.problem:
            self._rest_timer = self.set_timer(_REST, self._load_report)

    def _add_listed(self, entries: list[Entry]) -> None:
        """Add listed entries; those in sight may have been completed before they come again."""
        known = self.table.rows.entries
        self.add(
            [
                entry
                for entry in entries
                if entry.is_complete or not (entry.key in known and known[entry.key].is_complete)
            ]
        )

    def _complete(self) -> None:
        """Complete the next entries: those in sight, and what their marks or their order need."""
        if self._is_completing or not self.is_attached:
            return
        rows, in_sight = self.table.rows, self.table.in_sight
        others = rows.entries if rows.needs_all_complete else rows.rivals(in_sight)
        keys = [*in_sight, *others]
        due = [
            key
            for key in dict.fromkeys(keys)
            if key not in self._completed and not rows.entries[key].is_complete
        ][:_AT_A_TIME]
        if not due:
            return
        self._completed.update(due)
        self._is_completing = True
        find = partial(self.bench.complete, due)
        stream_from_thread(
            self, find, self.add, self._on_completed, lambda _: self._on_completed(),
            group="complete",
        )  # fmt: skip

    def _on_completed(self) -> None:
        self._is_completing = False
        self._complete()

    def _load_report(self) -> None:
        self._rest_timer = None
        if (entry := self._current) is None:
            return

        def show(report: Report) -> None:
            current = self._current
            if current is not None and current.key == entry.key:
                self.query_one(EntrySummary).show(current, report)

        def fail(error: IrlensError) -> None:
            if entry.key in self.table.rows.entries:  # it was readable a moment ago
                self.add([replace(entry, problem=error.message)])

        self.run_in_thread(partial(self.bench.report, entry.key), show, fail, group="summary")

    def _open(self, view: str, entry: Entry) -> None:
        if entry.problem:
            self.context.navigator.show_error(IrlensError(entry.problem))
        else:
            self.context.navigator.show_view(view, entry.key)

    def _filter(self, words: str) -> None:
        self.table.filter(words)
        self._update()

    @property
    def _current(self) -> Entry | None:
        key = self.table.current
        return self.table.rows.entries[key] if key is not None else None

    def _on_listed(self) -> None:
        self.is_listing = False
        self._update()

    def _on_error(self, error: IrlensError) -> None:
        self._on_listed()
        self.context.navigator.show_error(error)

    def _update(self) -> None:
        """Update the heading, and let the keys act that waited for a row."""
        rows = self.table.rows
        right = tally(rows.entries.values(), shown=rows.matching, listing=self.is_listing)
        left = Content.assemble(("irlens  ", "bold"), printable_line(self.bench.title))
        if words := " ".join(rows.words):
            left += Content.assemble(("  /", DIM), words)
        self.query_one(Heading).show(left, right)
        self.context.keys.resume()
        self._complete()
