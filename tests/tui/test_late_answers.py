"""Late results leave alone what the user has chosen, typed or scrolled to."""

import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot
from textual.widgets import OptionList

from irlens.model.capture import Disassembly
from irlens.model.errors import ToolError
from irlens.model.listing import StageListing
from irlens.model.report import Report
from irlens.model.source import Span
from irlens.session.exchange import Entry
from irlens.session.interactive import Workbench
from irlens.session.listed_entries import entry_of_report
from irlens.tui.app import IrlensApp
from irlens.tui.code.search import Hit, Query
from irlens.tui.entries.table import EntryTable
from irlens.tui.screens.compare import CompareScreen
from irlens.tui.screens.dialogs import TextDialog
from irlens.tui.screens.entry_picker import EntryPicker
from irlens.tui.screens.inspector import InspectorScreen as Inspector
from irlens.tui.screens.overview import OverviewScreen as Overview
from irlens.tui.screens.recompile_form import Field, RecompileForm
from irlens.tui.widgets import Panel
from irlens.tui.widgets.prompt import Prompt
from tests.tui.conftest import FakeWorkbench, Late, load_report
from tests.tui.opening import SIZE, opened, reading
from tests.tui.waiting import settle, until

Hold = Callable[..., Late]


def is_annotated(key: str, stage: str, *, annotated: bool = True) -> bool:
    return annotated


# The inspector.


async def test_the_cursor_stays_where_the_kernel_begins_if_it_was_put_there(
    bench: Workbench, late: Hold
) -> None:
    analysed = late("listing", is_annotated)
    async with reading(bench) as (_, ptx, pilot):
        await pilot.press("tab", "G", "g", "l")
        assert (ptx.line, ptx.cursor.column) == (1, 1)
        analysed.go.set()
        await settle(pilot)
        assert ptx.complete
        assert (ptx.line, ptx.cursor.column) == (1, 1)


async def test_the_scroll_position_stays(bench: Workbench, late: Hold) -> None:
    analysed = late("listing", is_annotated)
    async with reading(bench) as (_, ptx, pilot):
        ptx.scroll_to(y=200, animate=False, immediate=True)
        analysed.go.set()
        await settle(pilot)
        assert ptx.complete
        assert ptx.scroll_y == 200


async def test_a_pane_that_was_left_does_not_draw_the_others_to_it(
    bench: Workbench, late: Hold
) -> None:
    analysed = late("listing", is_annotated)
    async with reading(bench) as (python, ptx, pilot):
        await pilot.press("tab", "j", "j", "j", "shift+tab", "colon", "5", "0", "enter")
        assert python.line == 50
        analysed.go.set()
        await settle(pilot)
        assert python.line == 50
        assert ptx.line in ptx.linked


async def test_the_last_place_that_was_asked_for_is_gone_to(bench: Workbench, late: Hold) -> None:
    listing = late("listing")
    app = IrlensApp(bench)
    async with app.run_test(size=SIZE) as pilot:
        app.show_view("inspector", "softmax-h100", Span("ptx", 40, 40))
        await until(pilot, listing.asked.is_set)
        app.show_view("inspector", "softmax-h100", Span("ptx", 100, 100))
        await pilot.pause(0.3)  # the text alone is asked for, too
        listing.go.set()
        await settle(pilot)
        assert isinstance(app.screen, Inspector)
        pane = app.screen.panes.active
        assert pane is not None
        assert (pane.showing, pane.line) == ("ptx", 100)


@pytest.mark.parametrize("keys", [["j"], ["tab"], ["s"]])
async def test_a_definition_that_is_found_late_does_not_take_the_cursor_away(
    bench: Workbench, late: Hold, keys: list[str]
) -> None:
    async with reading(bench) as (_, ptx, pilot):
        await settle(pilot)
        found = late("occurrences")
        await pilot.press("tab", "slash", *"setp", "full_stop", *"ge", "enter", "w", "w", "w", "w")
        await settle(pilot)
        await pilot.press("d")
        await until(pilot, found.asked.is_set)
        await pilot.press(*keys)
        while not ptx.complete:
            await pilot.pause()
        place = ptx.showing, ptx.position
        found.go.set()
        await settle(pilot)
        assert (ptx.showing, ptx.position) == place


async def test_a_definition_is_found_while_the_text_is_analysed(
    bench: Workbench, late: Hold
) -> None:
    analysed, found = late("listing", is_annotated), late("occurrences")
    async with reading(bench) as (_, ptx, pilot):
        await pilot.press("tab", "slash", *"setp", "full_stop", *"ge", "enter")
        await until(pilot, lambda: "setp.ge" in ptx.cursor.text)
        line = ptx.line
        await pilot.press("w", "w", "w", "w", "d")
        await until(pilot, found.asked.is_set)
        analysed.go.set()
        await until(pilot, lambda: ptx.complete)
        found.go.set()
        await settle(pilot)
        assert ptx.line < line


async def test_a_text_that_cannot_be_analysed_stays(
    bench: Workbench, late: Hold, monkeypatch: pytest.MonkeyPatch
) -> None:
    listing = bench.listing

    def failing(key: str, stage: str, *, annotated: bool = True) -> StageListing:
        if annotated:
            raise ToolError("nvdisasm failed")
        return listing(key, stage, annotated=annotated)

    monkeypatch.setattr(bench, "listing", failing)
    analysed = late("listing", is_annotated)
    async with reading(bench) as (_, ptx, pilot):
        await pilot.press("tab", "j", "j")
        line = ptx.line
        analysed.go.set()
        await settle(pilot)
        assert ptx.document is not None
        assert ptx.line == line
        assert "not analysed" in str(ptx.border_subtitle)
        assert "nvdisasm failed" in str(pilot.app.screen.query_one("#facts").render())


async def test_a_search_that_ends_late_does_not_take_the_cursor_away(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Late(lambda *_: None, lambda *_: True)
    hits = Query.hits

    def slow(self: Query, lines: object, stop: object) -> list[Hit]:
        found()
        return hits(self, lines, stop)  # type: ignore[arg-type]

    async with reading(bench) as (_, ptx, pilot):
        await settle(pilot)
        monkeypatch.setattr(Query, "hits", slow)
        await pilot.press("tab", "slash", "x", "enter", "j", "j")
        place = ptx.position
        found.go.set()
        await settle(pilot)
        assert ptx.position == place
        assert ptx.search.hits
        await pilot.press("n")
        assert ptx.position in ptx.search.hits


# What is compiled.


async def test_a_compiled_entry_waits_until_typing_ends(bench: FakeWorkbench) -> None:
    bench.compiled.clear()
    app = IrlensApp(bench)
    async with app.run_test(size=SIZE) as pilot:
        app.show_view("inspector", "softmax-h100")
        await settle(pilot)
        app.context.compilations.start("softmax-h100", {"num_stages": "2"})
        await pilot.press("slash", "m", "a")
        bench.compiled.set()
        await until(pilot, lambda: app.context.compilations.running is None)
        await pilot.press("x")
        assert app.screen.query_one(Prompt).value == "max"
        assert isinstance(app.screen, Inspector)
        assert app.screen.key == "softmax-h100"
        await pilot.press("enter")
        await settle(pilot)
        assert app.screen.key == "softmax-t4"


@pytest.mark.parametrize("changes", [{"num_stages": "2"}, {"maxnreg": "1"}])
async def test_a_compilation_result_does_not_cover_a_dialog(
    bench: FakeWorkbench, changes: dict[str, str]
) -> None:
    bench.compiled.clear()
    async with opened(bench, "softmax-h100") as (app, pilot):
        app.context.compilations.start("softmax-h100", changes)
        await pilot.press("r")
        await until(pilot, lambda: bool(app.screen.query(Field)))
        bench.compiled.set()
        await until(pilot, lambda: app.context.compilations.running is None)
        await pilot.pause()
        assert isinstance(app.screen, RecompileForm)
        await pilot.press("escape")
        await settle(pilot)
        failed = "maxnreg" in changes
        assert isinstance(app.screen, TextDialog if failed else Overview)
        if isinstance(app.screen, Overview):
            assert app.screen.key == "softmax-t4"


async def test_changes_chosen_during_a_compilation_are_kept(bench: FakeWorkbench) -> None:
    bench.compiled.clear()
    async with opened(bench, "softmax-h100") as (app, pilot):
        app.context.compilations.start("softmax-h100", {"num_stages": "2"})
        app.context.compilations.start("softmax-h100", {"num_warps": "4"})
        bench.compiled.set()
        await settle(pilot)
        assert bench.recompiled == [("softmax-h100", {"num_stages": "2"})]
        assert app.context.compilations.pending_changes["softmax-h100"] == {"num_warps": "4"}


# The comparison.


async def test_a_stage_that_is_compared_late_does_not_touch_another(
    bench: Workbench, late: Hold, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = bench.code

    def failing(before: str, after: str, stage: str) -> object:
        if stage == "ttgir":
            raise ToolError("cannot")
        return code(before, after, stage)

    monkeypatch.setattr(bench, "code", failing)
    ttgir = late("code", lambda before, after, stage: stage == "ttgir")
    app = IrlensApp(bench)
    async with app.run_test(size=SIZE) as pilot:
        app.show_comparison("softmax-t4", "softmax-h100")
        await until(pilot, lambda: bool(getattr(app.screen, "stages", ())))
        assert isinstance(app.screen, CompareScreen)
        view = app.screen
        await until(pilot, lambda: view.diff.difference is not None)
        view.show_stage("ttgir")
        await until(pilot, ttgir.asked.is_set)
        view.show_stage("ptx")
        await pilot.press("G")
        row = view.diff.row
        ttgir.go.set()
        await settle(pilot)
        assert view.stage == "ptx"
        assert view.diff.difference is not None
        assert view.diff.row == row


async def test_the_figures_of_a_comparison_move_no_code(
    bench: Workbench, late: Hold, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "code", FakeWorkbench().code)  # which asks for no figures here
    figures = late("compare")
    app = IrlensApp(bench)
    async with app.run_test(size=(120, 50)) as pilot:
        app.show_comparison("softmax-t4", "softmax-h100")
        await until(pilot, lambda: isinstance(app.screen, CompareScreen) and app.screen.is_settled)
        assert isinstance(app.screen, CompareScreen)
        diff = app.screen.diff
        height = diff.size.height
        await until(pilot, lambda: diff.max_scroll_y > 100)
        diff.scroll_to(y=100, animate=False, immediate=True)
        figures.go.set()
        await settle(pilot)
        assert diff.size.height < height
        assert diff.scroll_y == 100


# Lists that grow.


@asynccontextmanager
async def growing(
    bench: FakeWorkbench, monkeypatch: pytest.MonkeyPatch, entry: str | None = None
) -> AsyncIterator[tuple[IrlensApp, Late, Pilot[None]]]:
    """Fifty entries are listed; when they are told to go fifty others come before them."""
    report = load_report("softmax-h100")
    names = [f"softmax-{number:03}" for number in range(100)]
    made = [replace(entry_of_report(name, report, name), kernel=name) for name in names]
    others = Late(lambda: None, lambda: True)

    def entries() -> Iterator[Entry]:
        yield from made[50:]
        time.sleep(0.1)  # so that they are handed over
        yield made[99]
        others()
        yield from made[:50]

    monkeypatch.setattr(bench, "entries", entries)
    app = IrlensApp(bench, entry=entry)
    async with app.run_test(size=SIZE) as pilot:
        try:
            yield app, others, pilot
        finally:
            others.go.set()


@pytest.mark.parametrize(
    ("keys", "scrolled"),
    [(["j", "j", "j"], None), (["j", "k"], None), (["G"], None), (["j"], 10), ([], 10)],
)
async def test_visible_rows_stay_while_the_list_grows(
    bench: FakeWorkbench, monkeypatch: pytest.MonkeyPatch, keys: list[str], scrolled: int | None
) -> None:
    async with growing(bench, monkeypatch) as (app, others, pilot):
        await until(pilot, lambda: bool(app.screen.query(EntryTable)))
        table = app.screen.query_one(EntryTable)
        await until(pilot, lambda: len(table.rows.shown) == 50)
        await pilot.press(*keys)
        if scrolled is not None:
            table.scroll_to(y=scrolled, animate=False, immediate=True)
        top = table.scroll_offset.y
        seen, chosen = table.rows.shown[top], table.current
        others.go.set()
        await settle(pilot)
        assert len(table.rows.shown) == 100
        assert table.rows.shown[table.scroll_offset.y] == seen
        assert table.current == (chosen if keys else table.rows.shown[0])


async def test_the_first_row_is_the_first_until_the_cursor_is_moved(
    bench: FakeWorkbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with growing(bench, monkeypatch) as (app, others, pilot):
        await until(pilot, lambda: bool(app.screen.query(EntryTable)))
        table = app.screen.query_one(EntryTable)
        await until(pilot, lambda: len(table.rows.shown) == 50)
        others.go.set()
        await settle(pilot)
        assert (table.row, table.current, table.scroll_offset.y) == (0, "softmax-000", 0)


@pytest.mark.parametrize("keys", [[], ["j", "j"], ["j", "k"]])
async def test_the_picked_entry_stays_while_others_arrive(
    bench: FakeWorkbench, monkeypatch: pytest.MonkeyPatch, keys: list[str]
) -> None:
    async with growing(bench, monkeypatch, "softmax-h100") as (app, others, pilot):
        await settle(pilot)
        await pilot.press("c")
        await until(pilot, lambda: bool(app.screen.query(OptionList)))
        options = app.screen.query_one(OptionList)
        await until(pilot, lambda: len(options.options) == 50)
        await pilot.press(*keys)
        chosen = options.highlighted_option
        others.go.set()
        await settle(pilot)
        assert len(options.options) == 100
        assert chosen is not None
        assert options.highlighted_option is not None
        expected = chosen.id if keys == ["j", "j"] else "softmax-000"
        assert options.highlighted_option.id == expected


async def test_entries_can_be_picked_while_others_arrive(
    bench: FakeWorkbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with growing(bench, monkeypatch) as (app, others, pilot):
        await until(pilot, lambda: bool(app.screen.query(EntryTable)))
        table = app.screen.query_one(EntryTable)
        await until(pilot, lambda: len(table.rows.shown) == 50)
        await pilot.press("c")
        await until(pilot, lambda: isinstance(app.screen, EntryPicker))
        others.go.set()
        await settle(pilot)
        assert len(app.screen.query_one(OptionList).options) == 99


# The overview.


@pytest.mark.parametrize("keys", [["f"], ["G"], ["ctrl+d"], []])
async def test_visible_panels_stay_when_the_disassembly_arrives(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch, keys: list[str]
) -> None:
    report, with_sass = bench.report, Late(lambda: None, lambda: True)

    def slow(key: str, disassembly: Disassembly = Disassembly.SKIP) -> Report:
        found = report(key, disassembly)
        if disassembly is Disassembly.SKIP:
            return found
        with_sass()
        (finding, *_) = found.findings
        return replace(found, findings=[finding, finding, finding, *found.findings])

    monkeypatch.setattr(bench, "report", slow)
    app = IrlensApp(bench, entry="spill-h100")
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "what if?" in str(app.screen.query_one("#occupancy").render()))
        await pilot.press(*keys)
        await pilot.pause()
        overview = app.screen.query_one("#overview")
        top = overview.region.y
        panels = list(app.screen.query(Panel))
        first = next(each for each in panels if each.display and each.region.bottom > top)
        at, is_end = first.region.y, overview.scroll_y == overview.max_scroll_y
        height = overview.max_scroll_y
        with_sass.go.set()
        await settle(pilot)
        await pilot.pause()
        assert overview.max_scroll_y > height
        assert app.focused is not None
        if is_end:
            assert overview.scroll_y == overview.max_scroll_y
        else:
            assert first.region.y == at


async def test_an_explanation_is_not_shown_on_another_screen(bench: Workbench, late: Hold) -> None:
    explained = late("explain")
    async with opened(bench, "spill-h100") as (app, pilot):
        await pilot.press("f", "enter")
        await until(pilot, explained.asked.is_set)
        await pilot.press("escape", "2")
        explained.go.set()
        await settle(pilot)
        assert isinstance(app.screen, Inspector)
