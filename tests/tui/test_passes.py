"""The passes of the compiler beside the source: stepping, following a line, finding operations."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from textual.pilot import Pilot
from textual.widgets import OptionList

from irlens.model.source import SourceLocation
from irlens.tui.app import IrlensApp
from irlens.tui.screens import EntryScreen
from irlens.tui.screens.inspector import InspectorScreen as Inspector
from irlens.tui.screens.passes import PassesScreen, PassList
from irlens.tui.services import PassPlace
from irlens.tui.widgets.code_pane import CodePane
from irlens.tui.widgets.diff_view import DiffView
from irlens.tui.widgets.heading import LineFacts
from tests.tui.opening import inspecting, messages, opened, screen_text
from tests.tui.waiting import settle, until

if TYPE_CHECKING:
    from tests.tui.conftest import FakeWorkbench, Late

ENTRY = "softmax-h100"
COALESCE, PIPELINE = 9, 31


async def open_passes(pilot: Pilot[None]) -> PassesScreen:
    await pilot.press("3")
    await settle(pilot)
    assert isinstance(pilot.app.screen, PassesScreen)
    return pilot.app.screen


def numbers(screen: PassesScreen) -> list[int]:
    return [int(each.id or 0) for each in screen.query_one(OptionList).options]


def facts(screen: PassesScreen) -> str:
    return " ".join(str(screen.query_one(LineFacts).content).split())


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (220, 60)])
async def test_the_passes_that_change_something_are_listed(
    bench: "FakeWorkbench", size: tuple[int, int]
) -> None:
    async with opened(bench, ENTRY, size=size) as (_, pilot):
        screen = await open_passes(pilot)
        assert screen.passes is not None
        changing = [run.number for run in screen.passes.runs if run.changed]
        assert numbers(screen) == changing
        assert PIPELINE in changing
        assert len(changing) == 22  # as `irlens passes softmax --num-stages 4` says
        assert all(each in screen_text(pilot.app) for each in ("InlinerPass", "22 of 75"))


async def test_s_steps_through_them_and_shows_what_each_changed(bench: "FakeWorkbench") -> None:
    async with opened(bench, ENTRY) as (_, pilot):
        screen = await open_passes(pilot)
        assert screen.number == 1
        diff = screen.query_one(DiffView)
        while screen.number < PIPELINE:
            await pilot.press("s")
        await settle(pilot)
        assert str(diff.border_title).startswith("31 TritonGPUPipeline {")
        added = [line.after.text for line in diff.lines if line.mark == "+" and line.after]
        assert sum("ttg.async_copy_global_to_local" in text for text in added) == 4
        assert "86 → 149 lines" in facts(screen)
        assert "+4 ttg.async_commit_group" in facts(screen)
        await pilot.press("S")
        await settle(pilot)
        assert screen.number == 30
        await pilot.press("enter", "s")  # the code has the focus, and s steps on
        await settle(pilot)
        assert screen.number == PIPELINE


async def test_f_follows_a_line_of_python(bench: "FakeWorkbench") -> None:
    async with opened(bench, ENTRY) as (_, pilot):
        screen = await open_passes(pilot)
        source = screen.query_one(CodePane)
        source.focus()
        source.go_to(50)  # row = tl.load(...)
        await pilot.press("f")
        await settle(pilot)
        followed = bench.line_through_passes(ENTRY, screen.followed.source)  # type: ignore[union-attr]
        steps = [step.number for step in followed.steps if step.number]
        assert numbers(screen) == [n for n in steps if screen.passes.runs[n - 1].changed]  # type: ignore[union-attr]
        assert 33 not in numbers(screen), "it changes the IR, and not this line"
        while screen.number < PIPELINE:
            await pilot.press("s")
        await settle(pilot)
        assert "softmax.py:50 is then %row = ttg.local_alloc" in facts(screen)
        here = screen.query_one(DiffView).current
        assert here is not None
        assert "%row" in here.text
        await pilot.press("f")
        await settle(pilot)
        assert len(numbers(screen)) == 22


async def test_a_pass_that_is_asked_for_is_shown_although_it_leaves_the_line_alone(
    bench: "FakeWorkbench",
) -> None:
    """A pass decides a finding by what it does not do."""
    async with opened(bench, ENTRY) as (app, pilot):
        assert isinstance(app.screen, EntryScreen)
        place = PassPlace(SourceLocation("softmax.py", 50), COALESCE + 1)
        app.screen.context.navigator.show_view("passes", ENTRY, place)
        await settle(pilot)
        screen = app.screen
        assert isinstance(screen, PassesScreen)
        assert screen.number == COALESCE + 1
        assert COALESCE + 1 in numbers(screen)
        assert "it changes nothing" in screen_text(app)


async def test_a_line_without_code_says_which_have(bench: "FakeWorkbench") -> None:
    async with opened(bench, ENTRY) as (app, pilot):
        screen = await open_passes(pilot)
        source = screen.query_one(CodePane)
        source.focus()
        source.go_to(3)
        await pilot.press("f")
        await settle(pilot)
        assert "no pass has code from softmax.py:3" in messages(app)[-1]
        assert len(numbers(screen)) == 22


async def test_o_finds_the_pass_that_brings_an_operation(bench: "FakeWorkbench") -> None:
    async with opened(bench, ENTRY) as (app, pilot):
        screen = await open_passes(pilot)
        await pilot.press("o", *"async_wait", "enter")
        await settle(pilot)
        assert screen.number == PIPELINE
        assert "TritonGPUPipeline (ttgir), brings the first ttg.async_wait" in messages(app)[-1]
        await pilot.press("O", *"tt.load", "enter")
        await settle(pilot)
        assert "removes the last tt.load" in messages(app)[-1]
        await pilot.press("o", *"tt.nothing", "enter")
        await settle(pilot)
        assert "tt.nothing" in messages(app)[-1]


async def test_enter_alone_takes_the_operation_at_the_cursor(bench: "FakeWorkbench") -> None:
    async with opened(bench, ENTRY) as (app, pilot):
        screen = await open_passes(pilot)
        await pilot.press("o", *"ttg.barrier", "enter")
        await settle(pilot)
        number = screen.number
        diff = screen.query_one(DiffView)
        row = next(row for row, line in enumerate(diff.lines) if "ttg.barrier" in line.text)
        diff.go_to(row)
        await pilot.press("o", "enter")
        await settle(pilot)
        assert "brings the first ttg.barrier" in messages(app)[-1]
        assert screen.number == number


async def test_the_inspector_leads_to_the_passes_of_a_line(bench: "FakeWorkbench") -> None:
    async with inspecting(bench, ENTRY) as (screen, pilot):
        screen.panes.panes[0].go_to(50)
        await pilot.press("P")
        await settle(pilot)
        passes = pilot.app.screen
        assert isinstance(passes, PassesScreen)
        assert passes.followed is not None
        assert passes.followed.source.line == 50
        assert passes.query_one(CodePane).line == 50


async def test_keys_that_need_the_passes_wait_for_them(bench: "FakeWorkbench") -> None:
    async with opened(bench, ENTRY) as (app, pilot):
        bench.compiled.clear()
        await pilot.press("3")
        await until(pilot, lambda: "2 of 5" in screen_text(app))
        await pilot.press("s", "s")
        bench.compiled.set()
        await settle(pilot)
        assert isinstance(app.screen, PassesScreen)
        assert app.screen.number == numbers(app.screen)[2]


async def test_escape_cancels_and_r_asks_again(bench: "FakeWorkbench") -> None:
    async with opened(bench, ENTRY) as (app, pilot):
        bench.compiled.clear()
        await pilot.press("3")
        await until(pilot, lambda: "2 of 5" in screen_text(app))
        await pilot.press("escape")
        await until(pilot, bench.cancelled.is_set)
        await settle(pilot)
        assert "cancelled: press R to ask again" in screen_text(app)
        bench.compiled.set()
        await pilot.press("R")
        await settle(pilot)
        assert isinstance(app.screen, PassesScreen)
        assert len(numbers(app.screen)) == 22


async def test_a_late_change_is_not_that_of_another_pass(
    bench: "FakeWorkbench", late: "Callable[..., Late]"
) -> None:
    async with opened(bench, ENTRY) as (_, pilot):
        screen = await open_passes(pilot)
        held = late("pass_change", lambda _, number: number == numbers(screen)[1])
        await pilot.press("s")
        await until(pilot, held.asked.is_set)
        await pilot.press("s")
        held.go.set()
        await settle(pilot)
        expected = bench.pass_change(ENTRY, numbers(screen)[2])
        shown = screen.query_one(DiffView).difference
        assert shown is not None
        assert shown.comparison == expected


async def test_the_list_has_keys_and_the_inspector_is_near(bench: "FakeWorkbench") -> None:
    async with opened(bench, ENTRY) as (app, pilot):
        screen = await open_passes(pilot)
        assert screen.query_one(PassList).has_focus
        await pilot.press("G")
        await settle(pilot)
        assert screen.number == numbers(screen)[-1]
        await pilot.press("z")
        assert not screen.query_one(CodePane).display or screen.has_class("-other-source")
        await pilot.press("2")
        await settle(pilot)
        assert isinstance(app.screen, Inspector)


def test_looks_as_it_did(bench: "FakeWorkbench", snap_compare: Callable[..., bool]) -> None:
    async def show(pilot: Pilot[None]) -> None:
        await settle(pilot)
        await open_passes(pilot)
        await pilot.press("o", *"async_wait", "enter")
        await settle(pilot)
        pilot.app.clear_notifications()

    for size in ((80, 24), (120, 40), (220, 60)):
        app = IrlensApp(bench, entry=ENTRY)
        assert snap_compare(app, terminal_size=size, run_before=show)
