"""Keys pressed before their content is loaded: each acts in its turn, and none is lost."""

from collections.abc import Callable

import pytest

from irlens.session.interactive import Workbench
from irlens.tui.app import IrlensApp
from irlens.tui.entries.table import EntryTable
from irlens.tui.screens.browser import BrowserScreen
from irlens.tui.screens.compare import CompareScreen
from irlens.tui.screens.entry_picker import EntryPicker
from irlens.tui.screens.inspector import InspectorScreen as Inspector
from irlens.tui.screens.overview import OverviewScreen as Overview
from irlens.tui.screens.recompile_form import RecompileForm
from irlens.tui.widgets.what_if import WhatIf
from tests.tui.conftest import FakeWorkbench, Late
from tests.tui.opening import SIZE, inspecting, messages, opened, reading
from tests.tui.waiting import press_at_once, settle, until

Hold = Callable[..., Late]


async def test_a_search_can_be_typed_before_its_prompt_is_open(bench: Workbench) -> None:
    async with inspecting(bench) as (view, pilot):
        pane = view.panes.panes[0]
        begun = pane.position
        press_at_once(pilot, "slash", *"max", "enter", "n")
        await settle(pilot)
        assert len(view.panes.panes) == 2, "x closes a pane"
        assert pane.search.query is not None
        assert pane.search.query.text == "max"
        _, second, *_ = (hit for hit in pane.search.hits if hit > begun)
        assert pane.position == second


async def test_a_key_that_is_held_down_is_not_queued(bench: Workbench) -> None:
    async with inspecting(bench) as (view, pilot):
        await pilot.press("g", "j")
        pane = view.panes.panes[0]
        begun, taken = pane.line, []
        enqueue = view.context.keys._enqueue
        view.context.keys._enqueue = lambda key: taken.append(key) or enqueue(key)  # type: ignore[func-returns-value, method-assign]
        press_at_once(pilot, *"j" * 20)
        await settle(pilot)
        assert pane.line == begun + 20
        assert not taken
        press_at_once(pilot, "slash", "slash", "slash", "enter")
        await settle(pilot)
        assert pane.search.query is not None
        assert pane.search.query.text == "//", "a key that opens something is"
        assert len(taken) > 3


async def test_keys_go_through_screens_that_are_not_there_yet(bench: Workbench) -> None:
    app = IrlensApp(bench, entry="softmax-h100")
    async with app.run_test(size=SIZE) as pilot:
        press_at_once(pilot, "2", "G", "tab", "slash", *"commit", "enter", "m", "y")
        await settle(pilot)
        assert isinstance(app.screen, Inspector)
        python, ptx = app.screen.panes.panes
        assert python.document is not None
        assert "cp.async.wait_group" in ptx.cursor.text
        assert "wait_group" in app.clipboard
        press_at_once(pilot, "1", "c", "slash", *"t4", "enter", "enter", "G", "k", "2")
        await settle(pilot)
        assert isinstance(app.screen, Inspector)
        assert app.screen.key == "softmax-t4"


async def test_keys_wait_for_the_first_text(bench: Workbench, late: Hold) -> None:
    listing = late("listing")
    contents = late("stages")
    app = IrlensApp(bench)
    async with app.run_test(size=SIZE) as pilot:
        app.show_view("inspector", "softmax-h100")
        await until(pilot, contents.asked.is_set)
        press_at_once(pilot, "tab", "G", "slash", *"max", "enter", "y")
        await pilot.pause()
        contents.go.set()
        await until(pilot, listing.asked.is_set)
        assert isinstance(app.screen, Inspector)
        view = app.screen
        await until(pilot, lambda: len(view.panes.panes) == 2)
        await until(pilot, lambda: view.panes.panes[1].has_focus)
        listing.go.set()
        await settle(pilot)
        ptx = view.panes.panes[1]
        assert "max" in ptx.cursor.text
        assert app.clipboard == ptx.copied
        await pilot.press("ctrl+o")
        assert ptx.document is not None
        assert ptx.line == ptx.cursor.rows[-1]


async def test_only_keys_whose_content_is_loading_are_deferred(
    bench: Workbench, late: Hold
) -> None:
    analysed = late("listing", lambda *_, annotated: annotated)
    async with reading(bench) as (_, ptx, pilot):
        await pilot.press("tab", "j", "j")
        line = ptx.line
        await pilot.press("right_parenthesis", "j")
        assert ptx.line == line
        waits = ") j queued: still loading"
        await until(pilot, lambda: waits in " ".join(messages(pilot.app)))
        analysed.go.set()
        await settle(pilot)
        assert ptx.document is not None
        copies = sorted(ptx.document.marks)
        assert ptx.cursor.rows[ptx.cursor.row_of(ptx.line) - 1] in copies


async def test_enter_may_come_from_before_the_app_had_the_terminal(bench: Workbench) -> None:
    app = IrlensApp(bench)
    async with app.run_test(size=SIZE) as pilot:
        press_at_once(pilot, "slash", *"spill", "ctrl+j", "ctrl+j")
        await settle(pilot)
        assert isinstance(app.screen, Overview)
        assert app.screen.key == "spill-h100"


@pytest.mark.parametrize(
    ("keys", "screen"),
    [
        (["G", "escape"], BrowserScreen),
        (["slash", "q", "escape", "escape"], BrowserScreen),
        (["slash", "q", "1"], Inspector),
        (["slash", "q", "enter", "1"], Overview),
        (["j", "s", "1"], Overview),
    ],
)
async def test_keys_that_lead_elsewhere_are_not_deferred(
    bench: Workbench, late: Hold, keys: list[str], screen: type
) -> None:
    contents = late("stages")
    app = IrlensApp(bench)
    async with app.run_test(size=SIZE) as pilot:
        app.show_view("inspector", "softmax-h100")
        await until(pilot, contents.asked.is_set)
        press_at_once(pilot, *keys)
        await pilot.pause()
        await pilot.pause()
        assert isinstance(app.screen, screen)
        contents.go.set()
        await settle(pilot)
        assert isinstance(app.screen, screen)


async def test_the_app_is_left_although_keys_wait(bench: Workbench, late: Hold) -> None:
    report = late("report")
    app = IrlensApp(bench, entry="softmax-h100")
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, report.asked.is_set)
        press_at_once(pilot, "G", "q")
        await until(pilot, lambda: app._exit)


async def test_keys_wait_for_the_overview(bench: Workbench, late: Hold) -> None:
    report = late("report")
    app = IrlensApp(bench, entry="spill-h100")
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, report.asked.is_set)
        press_at_once(pilot, "w", "left", "left", "y", "f", "j", "G")
        await pilot.pause()
        assert not app.clipboard
        report.go.set()
        await settle(pilot)
        demand = app.screen.query_one(WhatIf).demand
        assert demand is not None
        assert demand.registers == 126
        assert "what if" in app.clipboard
        overview = app.screen.query_one("#overview")
        await until(pilot, lambda: overview.scroll_y == overview.max_scroll_y > 0)


async def test_keys_wait_for_a_comparison(bench: Workbench, late: Hold) -> None:
    code, stages = late("code"), late("stages")
    async with opened(bench) as (app, pilot):
        app.show_comparison("softmax-t4", "softmax-h100")
        await until(pilot, stages.asked.is_set)
        press_at_once(pilot, "s", "S", "colon", *"100", "enter", "y")
        await pilot.pause()
        stages.go.set()
        await until(pilot, code.asked.is_set)
        assert isinstance(app.screen, CompareScreen)
        code.go.set()
        await settle(pilot)
        assert app.screen.stage == "ptx"
        line = app.screen.diff.current
        assert line is not None
        assert line.after is not None
        assert abs(line.after.number - 100) < 10
        assert app.clipboard


async def test_keys_wait_for_the_form(bench: FakeWorkbench, late: Hold) -> None:
    settings = late("settings")
    async with opened(bench, "softmax-h100") as (app, pilot):
        press_at_once(pilot, "r", "backspace", "2", "down", "left", "enter")
        await until(pilot, settings.asked.is_set)
        assert isinstance(app.screen, RecompileForm)
        settings.go.set()
        await settle(pilot)
        assert bench.recompiled == [("softmax-h100", {"num_stages": "2", "num_warps": "4"})]


async def test_a_form_can_be_closed_while_it_loads(bench: Workbench, late: Hold) -> None:
    settings = late("settings")
    async with opened(bench, "softmax-h100") as (app, pilot):
        press_at_once(pilot, "r", "2", "escape")
        await until(pilot, settings.asked.is_set)
        await until(pilot, lambda: isinstance(app.screen, Overview))
        settings.go.set()
        await settle(pilot)
        assert isinstance(app.screen, Overview)


async def test_enter_waits_for_the_first_row(bench: Workbench, late: Hold) -> None:
    entries = late("entries")
    app = IrlensApp(bench)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, entries.asked.is_set)
        press_at_once(pilot, "slash", *"spill", "enter", "enter")
        await pilot.pause()
        assert isinstance(app.screen, BrowserScreen)
        entries.go.set()
        await settle(pilot)
        assert isinstance(app.screen, Overview)
        assert app.screen.key == "spill-h100"


async def test_keys_that_wait_for_a_row_are_forgotten_when_other_rows_are_wanted(
    bench: Workbench, late: Hold
) -> None:
    entries = late("entries")
    app = IrlensApp(bench)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, entries.asked.is_set)
        press_at_once(pilot, "enter", "slash", *"spill", "enter")
        entries.go.set()
        await settle(pilot)
        assert isinstance(app.screen, BrowserScreen)
        assert app.screen.query_one(EntryTable).current == "spill-h100"


async def test_picking_waits_for_the_first_entry(bench: Workbench, late: Hold) -> None:
    entries = late("entries")
    async with opened(bench, "softmax-h100") as (app, pilot):
        press_at_once(pilot, "c", "enter")
        await until(pilot, entries.asked.is_set)
        assert isinstance(app.screen, EntryPicker)
        entries.go.set()
        await settle(pilot)
        assert isinstance(app.screen, CompareScreen)
        assert app.screen.before == "softmax-h100"
