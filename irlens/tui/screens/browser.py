"""The browser: every kernel and configuration there is."""

from collections.abc import Callable
from functools import partial
from typing import ClassVar

from msgspec.structs import replace
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.command import Provider
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Input

from irlens.model.errors import IrlensError
from irlens.model.report import Report
from irlens.model.text import printable_line
from irlens.session.workbench import Entry
from irlens.tui.asking import stream
from irlens.tui.drawing import DIM
from irlens.tui.entry_cells import MARKS
from irlens.tui.entry_tally import tally
from irlens.tui.screens.base import LensScreen
from irlens.tui.screens.sorting import SortCommands, Sorting
from irlens.tui.widgets.entry_summary import EntrySummary
from irlens.tui.widgets.entry_table import EntryTable
from irlens.tui.widgets.heading import Heading
from irlens.tui.widgets.hints import Hints
from irlens.tui.widgets.prompt import Prompt

#: Seconds for which the cursor rests on an entry before its report is asked for.
_REST = 0.12
#: Columns from which the summary stands beside the table, and not below it.
_WIDE = 110
#: What is about a row, by the names of bindings.
_OF_ROWS = frozenset(
    f"browser.{name}"
    for name in ("next", "previous", "recompile", "compare", "overview", "inspector", "copy")
)


class BrowserScreen(LensScreen):
    """The list of entries; Enter opens one."""

    HELP_TEXT = "\n".join(
        [
            "Every kernel and configuration that was found. Registers and occupancy are read",
            "from the binaries at once, stages and findings a little later.",
            "",
            *(f"* `{sign}` {meaning}" for sign, meaning in MARKS.items()),
            "* `3/4▾` three pipeline stages achieved where four were asked for",
            "* `1✗ 2▲ 3•` findings: errors, warnings, notes",
            "",
            "Type `/` and words: rows with all of them stay. `spills`, `cannot launch`, `error`",
            "and `num_warps=4` are words, too. `o` and a letter sort: `o` `r` by registers, once",
            "more the other way round.",
            "",
            "Of the settings those come first that set the entries of a kernel apart. Where there",
            "is no room for a column `›` stands at the end of the titles: `l` moves on to it.",
        ]
    )

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "search", "Search", id="browser.search"),
        Binding("n", "next(1)", "Next match", id="browser.next", show=False),
        Binding("N", "next(-1)", "Previous match", id="browser.previous", show=False),
        Binding("escape", "back", "Show all", id="browser.show_all", show=False),
        Binding("o", "sort", "Sort", id="browser.sort"),
        Binding("r", "recompile", "Recompile", id="browser.recompile"),
        Binding("c", "compare", "Compare", id="browser.compare"),
        Binding("1", "view('overview')", "Overview", id="browser.overview", show=False),
        Binding("2", "view('inspector')", "Inspector", id="browser.inspector", show=False),
        Binding("s", "toggle_summary", "Summary", id="browser.summary", show=False),
        Binding("y", "copy", "Copy the place", id="browser.copy", show=False),
        Binding("R", "reload", "Look again", id="browser.reload", show=False),
    ]

    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {SortCommands}

    def __init__(self) -> None:
        super().__init__()
        self._resting: Timer | None = None
        #: Whether more entries may come.
        self.is_listing = True

    def compose(self) -> ComposeResult:
        """Lay out heading, table, summary and prompt."""
        yield Heading()
        with Container(id="browser"):
            yield EntryTable()
            with VerticalScroll(id="summary", can_focus=False):
                yield EntrySummary()
        yield Prompt()
        yield Hints()

    def on_mount(self) -> None:
        """Begin to list."""
        remembered = self.lens.remembered
        table = self.table
        table.rows.sorted_by, table.rows.descending = remembered.sort, remembered.descending
        table.focus()
        self.set_class(remembered.layout.get("browser.summary") == "off", "-no-summary")
        self._tell()
        # A thread that reads would keep the interpreter from drawing.
        self.call_after_refresh(self.action_reload)

    def on_screen_resume(self) -> None:
        """Tell what has been found out about the entry while it was open: it may be compiled."""
        entry = self._current()
        if entry is not None and entry.config is None and not entry.problem:
            ask = partial(self.bench.entry, entry.key)
            self.ask(ask, lambda now: self.add([now]), group="entry")

    def is_too_early(self, binding: str) -> bool:
        """Return whether there is no row yet for what is about one."""
        is_of_rows = binding in _OF_ROWS or binding.startswith("table.")
        return is_of_rows and self.is_listing and not self.table.rows.shown

    def leads_away(self, binding: str) -> bool:
        """Return whether other rows are wanted than those that are looked for."""
        is_about_all = binding.startswith("browser.") and binding not in _OF_ROWS
        return is_about_all or super().leads_away(binding)

    @property
    def is_resting(self) -> bool:
        """Whether a report will be asked for if the cursor stays where it is."""
        return self._resting is not None

    @property
    def table(self) -> EntryTable:
        """The table."""
        return self.query_one(EntryTable)

    def action_reload(self) -> None:
        """Look anew at what there is."""
        self.is_listing = True
        self.table.clear()
        self._tell()
        stream(self, self.bench.entries, self.add, self._listed, self._failed)

    def action_search(self) -> None:
        """Narrow the list down."""
        self.query_one(Prompt).open("search", "words that rows must have")

    @property
    def may_cancel(self) -> bool:
        """Whether something is being compiled."""
        return self.lens.recompiling.running is not None

    def action_back(self) -> None:
        """Cancel what is being compiled; if nothing is, forget what was searched for."""
        if self.may_cancel:
            self.lens.recompiling.cancel()
        else:
            self._show_all()

    def _show_all(self) -> None:
        self.table.narrow_down("")
        self._tell()

    def action_next(self, step: int) -> None:
        """Go to another of the rows that were found, round and round."""
        table = self.table
        if table.rows.shown:
            table.move_to((table.row + step) % len(table.rows.shown))

    def action_sort(self) -> None:
        """Ask by which column to sort."""

        def chosen(column: str | None) -> None:
            if column is not None:
                self.sort_by(column)

        rows = self.table.rows
        self.app.push_screen(Sorting(rows.sorted_by, descending=rows.descending), chosen)

    def sort_by(self, column: str) -> None:
        """Sort by a column, by the same one again the other way round."""
        self.table.sort_by(column)
        self.lens.remembered.sort = self.table.rows.sorted_by
        self.lens.remembered.descending = self.table.rows.descending

    def action_toggle_summary(self) -> None:
        """Show or hide the summary."""
        self.toggle_class("-no-summary")
        shown = "off" if self.has_class("-no-summary") else "on"
        self.lens.remembered.layout["browser.summary"] = shown

    def action_compare(self) -> None:
        """Compare the entry under the cursor."""
        if (key := self.table.current) is not None:
            self.compare(key)

    def action_recompile(self) -> None:
        """Ask what to choose anew for the entry under the cursor, and compile it again."""
        if (key := self.table.current) is not None:
            self.recompile(key)

    def action_view(self, name: str) -> None:
        """Open the entry under the cursor in one of its views."""
        if (entry := self._current()) is not None:
            self._open(name, entry)

    def action_copy(self) -> None:
        """Copy where the entry lies."""
        if (entry := self._current()) is not None:
            self.lens.copy(entry.place or entry.kernel)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Narrow down while words are being typed."""
        self.table.narrow_down(event.value)
        self._tell()

    def on_input_submitted(self) -> None:
        """Return to the rows that are left."""
        self.query_one(Prompt).close()

    def on_prompt_cancelled(self) -> None:
        """Show all rows again."""
        self._show_all()

    def on_entry_table_title_clicked(self, event: EntryTable.TitleClicked) -> None:
        """Sort by the column that was clicked."""
        self.sort_by("occupancy" if event.column == "bar" else event.column)

    def on_entry_table_opened(self, event: EntryTable.Opened) -> None:
        """Open the entry."""
        self._open("overview", self.table.rows.entries[event.key])

    def _open(self, view: str, entry: Entry) -> None:
        if entry.problem:
            self.lens.tell_error(IrlensError(entry.problem))
        else:
            self.lens.show_view(view, entry.key)

    def on_entry_table_highlighted(self) -> None:
        """Tell of the entry under the cursor, in full once the cursor rests there."""
        entry = self._current()
        self.query_one(EntrySummary).tell(entry, None)
        if self._resting is not None:
            self._resting.stop()
            self._resting = None
        if entry is not None and entry.config is not None and not entry.problem:
            self._resting = self.set_timer(_REST, self._ask_for_report)

    def on_resize(self) -> None:
        """Put the summary where there is room for it."""
        self.set_class(self.size.width < _WIDE, "-stacked")

    def _ask_for_report(self) -> None:
        self._resting = None
        if (entry := self._current()) is None:
            return

        def tell(report: Report) -> None:
            current = self._current()
            if current is not None and current.key == entry.key:
                self.query_one(EntrySummary).tell(current, report)

        def fail(error: IrlensError) -> None:
            if entry.key in self.table.rows.entries:  # and it could be read a moment ago
                self.add([replace(entry, problem=error.message)])

        self.ask(lambda: self.bench.report(entry.key), tell, fail, group="summary")

    def _current(self) -> Entry | None:
        key = self.table.current
        return self.table.rows.entries[key] if key is not None else None

    def add(self, entries: list[Entry]) -> None:
        """Show entries, or what is new about entries that are shown."""
        self.table.add(entries)
        self._tell()

    def add_compiled(self, origin: str, entry: Entry) -> None:
        """Show what has been compiled; the cursor goes there if it is still on its origin."""
        follows = self.table.current == origin
        self.add([entry])
        if follows:
            self.table.select(entry.key)

    def _listed(self) -> None:
        self.is_listing = False
        self._tell()

    def _failed(self, error: IrlensError) -> None:
        self._listed()
        self.lens.tell_error(error)

    def _tell(self) -> None:
        rows = self.table.rows
        right = tally(rows.entries.values(), shown=len(rows.shown), listing=self.is_listing)
        left = Content.assemble(("irlens  ", "bold"), printable_line(self.bench.title))
        if words := " ".join(rows.wanted):
            left += Content.assemble(("  /", DIM), words)
        self.query_one(Heading).show(left, right)
        self.lens.keyboard.go_on()
