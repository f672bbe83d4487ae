"""The recompile form, background compilations, and their results on screen."""

import asyncio
import os
import signal
import subprocess
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot
from textual.widgets import Markdown, Static

from irlens.tui.app import IrlensApp
from irlens.tui.screens.browser import BrowserScreen
from irlens.tui.screens.compare import CompareScreen
from irlens.tui.screens.dialogs import TextDialog
from irlens.tui.screens.inspector import InspectorScreen as Inspector
from irlens.tui.screens.overview import OverviewScreen as Overview
from irlens.tui.screens.recompile_form import Field, RecompileForm, stepped
from irlens.tui.widgets.compile_status import ChangesSince, CompileStatus
from irlens.tui.widgets.key_bar import KeyBar
from tests.session.compiled import compiled_here
from tests.tui.opening import key_of, messages, opened
from tests.tui.waiting import settle, until

if TYPE_CHECKING:
    from tests.tui.conftest import FakeWorkbench


ENTRY = "softmax-h100"


async def open_form(pilot: Pilot[None]) -> RecompileForm:
    await pilot.press("r")
    await until(pilot, lambda: bool(pilot.app.screen.query(Field)))
    await settle(pilot)
    screen = pilot.app.screen
    assert isinstance(screen, RecompileForm)
    return screen


def status(app: IrlensApp) -> CompileStatus:
    return app.screen.query_one(CompileStatus)


# The form.


@pytest.mark.parametrize(
    ("value", "choices", "step", "expected"),
    [
        ("4", (), 1, "5"), ("4", (), -1, "3"), ("0", (), -1, "0"), ("64", (), 1, "128"),
        ("64", (), -1, "32"), ("8", (), -1, "4"), ("12", (), 1, "13"),
        ("b", ("a", "b", "c"), 1, "c"), ("c", ("a", "b", "c"), 1, "c"),
        ("a", ("a", "b"), -1, "a"), ("x", ("a", "b"), 1, None), ("none", (), 1, None),
        ("-3", (), 1, None),
    ],
)  # fmt: skip
def test_a_step(value: str, choices: tuple[str, ...], step: int, expected: str | None) -> None:
    assert stepped(value, choices, step) == expected


async def test_arrows_change_values_and_enter_compiles(bench: "FakeWorkbench") -> None:
    async with opened(bench, ENTRY) as (app, pilot):
        form = await open_form(pilot)
        await pilot.press("left", "left", "down", "right")
        stages, warps, *_ = form.query(Field)
        assert (stages.value, warps.value) == ("2", "16")
        assert "was 4" in str(form.query(".-was").first(Static).content)
        assert "32" in str(form.query_one("#choices", Static).content)
        await pilot.press("enter")
        await settle(pilot)
        assert bench.recompiled == [("softmax-h100", {"num_stages": "2", "num_warps": "16"})]
        assert key_of(app) == "softmax-t4"


async def test_values_can_be_typed_and_completed(bench: "FakeWorkbench") -> None:
    async with opened(bench, ENTRY) as (_, pilot):
        form = await open_form(pilot)
        await pilot.press("tab", "tab", "tab", *"2048", "up", "down", "down", "right")
        await pilot.press("tab", "a", "1")
        assert str(form.query_one("#choices", Static).content) == "→ a100 "
        await pilot.press("right", "enter")
        await settle(pilot)
        ((_, changes),) = bench.recompiled
        assert changes == {"BLOCK_SIZE": "2048", "PRECISE": "true", "target": "a100"}


async def test_a_field_shows_only_what_is_typed(bench: "FakeWorkbench") -> None:
    async with opened(bench, ENTRY) as (_, pilot):
        form = await open_form(pilot)
        await pilot.press("down", "3")
        await settle(pilot)
        assert "→ 32 " in str(form.query_one("#choices", Static).content)
        warps = next(field for field in form.query(Field) if field.setting.name == "num_warps")
        assert [strip.text.strip() for strip in warps.render_lines(warps.size.region)] == ["3"]
        await pilot.press("enter")
        await settle(pilot)
        assert bench.recompiled == [("softmax-h100", {"num_warps": "3"})]


async def test_the_form_says_which_keys_it_has(bench: "FakeWorkbench") -> None:
    async with opened(bench, ENTRY, size=(80, 24)) as (_, pilot):
        form = await open_form(pilot)
        for _ in form.query(Field):
            await pilot.press("down")
            await settle(pilot)
            told = str(form.query_one(KeyBar).content)
            for what in ("Less", "More", "Compile", "Help", "Cancel", "As compiled"):
                assert what in told


async def test_arguments_follow_the_settings_with_their_expressions(bench: "FakeWorkbench") -> None:
    async with opened(bench, ENTRY) as (_, pilot):
        form = await open_form(pilot)
        columns, tensor = list(form.query(Field))[-2:]
        assert columns.parent is not None
        assert tensor.parent is not None
        beside = tensor.parent.query_one(".-was", Static)
        assert str(beside.content) == "= fp32[n_rows, n_cols]"
        await pilot.press("up", "right")
        assert tensor.value == "fp16", "a dtype alone keeps the shape"
        assert str(beside.content) == "● was fp32[4096, 1024]"
        await pilot.press("up", *"781", "enter")
        await settle(pilot)
        assert bench.recompiled == [("softmax-h100", {"n_cols": "781", "input_ptr": "fp16"})]


async def test_the_form_can_be_reset_and_left(bench: "FakeWorkbench") -> None:
    async with opened(bench, ENTRY) as (app, pilot):
        form = await open_form(pilot)
        await pilot.press("right", "down", "left", "ctrl+r")
        assert not any(field.is_changed for field in form.query(Field))
        await pilot.press("left", "escape")
        await settle(pilot)
        assert isinstance(app.screen, Overview)
        assert bench.recompiled == []


async def test_without_a_source_there_is_no_form(bench: "FakeWorkbench") -> None:
    async with opened(bench, "spill-h100") as (app, pilot):
        await pilot.press("r")
        await settle(pilot)
        assert isinstance(app.screen, Overview)
        assert "source is unknown" in messages(app)[-1]


async def test_a_source_that_is_gone_says_so(
    bench: "FakeWorkbench", delete: Callable[[str], None]
) -> None:
    async with opened(bench, ENTRY) as (app, pilot):
        delete("softmax-h100")
        await pilot.press("r")
        await settle(pilot)
        assert "cannot read softmax-h100" in messages(app)[-1]


# While it runs.


async def test_keys_work_while_it_runs_and_the_view_follows(bench: "FakeWorkbench") -> None:
    bench.compiled.clear()
    async with opened(bench, ENTRY) as (app, pilot):
        await open_form(pilot)
        await pilot.press("left", "enter")
        await until(pilot, lambda: status(app).display)
        told = str(status(app).content)
        assert "compiling num_stages=3" in told
        assert "esc cancels" in told
        await pilot.press("2")
        await until(pilot, lambda: isinstance(app.screen, Inspector))
        assert status(app).display
        await pilot.press("j", "j", "r")
        await until(pilot, lambda: isinstance(app.screen, RecompileForm))
        await pilot.press("enter")
        await pilot.pause()
        assert "another compilation" in messages(app)[-1]
        bench.compiled.set()
        await settle(pilot)
        assert isinstance(app.screen, Inspector), "the same view of the new entry"
        assert app.screen.key == "softmax-t4"
        assert not status(app).display


async def test_escape_cancels_and_everything_stays(bench: "FakeWorkbench") -> None:
    bench.compiled.clear()
    async with opened(bench, ENTRY) as (app, pilot):
        await open_form(pilot)
        await pilot.press("left", "enter")
        await until(pilot, lambda: bool(bench.recompiled))
        await pilot.press("escape")
        await settle(pilot)
        assert isinstance(app.screen, Overview)
        assert key_of(app) == "softmax-h100"
        assert not status(app).display
        assert "cancelled" in messages(app)[-1]
        form = await open_form(pilot)
        assert form.query(Field).first().value == "3", "what was tried is there again"


async def test_escape_may_come_before_anything_is_compiled(bench: "FakeWorkbench") -> None:
    async with opened(bench, ENTRY) as (app, pilot):
        app.context.compilations.start(ENTRY, {"num_stages": "2"})
        app.context.compilations.cancel()
        await settle(pilot)
        assert bench.recompiled == []
        assert key_of(app) == ENTRY
        assert "cancelled" in messages(app)[-1]


async def test_the_user_is_not_taken_away_from_another_screen(bench: "FakeWorkbench") -> None:
    bench.compiled.clear()
    async with opened(bench, ENTRY) as (app, pilot):
        await open_form(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: bool(bench.recompiled))
        app.show_browser()
        await until(pilot, lambda: isinstance(app.screen, BrowserScreen))
        bench.compiled.set()
        await settle(pilot)
        assert isinstance(app.screen, BrowserScreen)
        assert "compiled softmax_kernel" in messages(app)[-1]


async def test_quitting_ends_the_compilation(bench: "FakeWorkbench") -> None:
    bench.compiled.clear()
    async with opened(bench, ENTRY) as (_, pilot):
        await open_form(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: bool(bench.recompiled))
        await pilot.press("q")
    assert bench.cancelled.is_set()


# What came of it.


async def test_changes_are_summarized_and_one_key_shows_all(bench: "FakeWorkbench") -> None:
    async with opened(bench, ENTRY) as (app, pilot):
        assert not app.screen.query_one(ChangesSince).display
        await open_form(pilot)
        await pilot.press("enter")
        await settle(pilot)
        told = app.screen.query_one(ChangesSince)
        assert told.display
        assert "sm_90 → sm_75" in str(told.content)
        assert "pipelined → not pipelined" in str(told.content)
        await pilot.press("c")
        await settle(pilot)
        assert isinstance(app.screen, CompareScreen)
        assert (app.screen.before, app.screen.after) == ("softmax-h100", "softmax-t4")


async def test_the_summary_of_changes_has_room(bench: "FakeWorkbench") -> None:
    async with opened(bench, ENTRY, size=(80, 24)) as (app, pilot):
        comparison = bench.compare("softmax-h100", "softmax-t4")
        sides = [comparison.before, comparison.after]
        long = [replace(side, label=f"{side.label} {'x=1 ' * 30}") for side in sides]
        comparison = replace(comparison, before=long[0], after=long[1])
        await open_form(pilot)
        bench.compare = lambda *_: comparison  # type: ignore[method-assign]
        await pilot.press("up", "up", *"2", "enter")
        await settle(pilot)
        told = str(app.screen.query_one(ChangesSince).content)
        assert told.startswith("n_cols=2")
        assert "pipelined → not pipelined" in told


async def test_the_inspector_stays_at_its_line(bench: "FakeWorkbench") -> None:
    async with opened(bench, ENTRY) as (app, pilot):
        await pilot.press("2")
        await settle(pilot)
        await pilot.press(*"jjjjjjjjj")
        inspector = app.screen
        assert isinstance(inspector, Inspector)
        here = inspector.panes.here
        await open_form(pilot)
        await pilot.press("enter")
        await settle(pilot)
        followed = app.screen
        assert isinstance(followed, Inspector)
        assert followed.key == "softmax-t4"
        assert followed.panes.here == here
        assert here is not None


async def test_compilations_are_kept_in_a_row(bench: "FakeWorkbench") -> None:
    async with opened(bench, ENTRY) as (app, pilot):
        for _ in range(2):
            await open_form(pilot)
            await pilot.press("enter")
            await settle(pilot)
        seen = [key_of(app)]
        for key in ("comma", "comma", "comma", "full_stop", "full_stop", "full_stop"):
            await pilot.press(key)
            await settle(pilot)
            seen.append(key_of(app))
        h100, t4, mi300x = "softmax-h100", "softmax-t4", "softmax-mi300x"
        assert seen == [mi300x, t4, h100, h100, t4, mi300x, mi300x]
        assert "compilation 3 of 3" in str(app.screen.query_one(ChangesSince).content)


async def test_a_failure_is_shown_at_length_and_the_view_stays(bench: "FakeWorkbench") -> None:
    async with opened(bench, ENTRY) as (app, pilot):
        await open_form(pilot)
        await pilot.press("down", "down", *"8", "enter")
        await settle(pilot)
        assert isinstance(app.screen, TextDialog)
        told = app.screen.query_one(Markdown).source
        assert "Failed to compile maxnreg=8" in told
        assert "ptxas has failed" in told
        assert "[red]```" in told
        assert "\x1b" not in told
        await pilot.press("j", "escape")
        await settle(pilot)
        assert key_of(app) == "softmax-h100"


async def test_a_capture_deleted_while_it_runs(
    bench: "FakeWorkbench", delete: Callable[[str], None]
) -> None:
    bench.compiled.clear()
    async with opened(bench, ENTRY) as (app, pilot):
        await open_form(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: bool(bench.recompiled))
        delete("softmax-h100")
        bench.compiled.set()
        await settle(pilot)
        assert key_of(app) == "softmax-t4", "what was compiled is shown without what moved"
        assert "compilation 2 of 2" in str(app.screen.query_one(ChangesSince).content)


# For real.


async def test_softmax_goes_from_four_stages_to_two() -> None:
    bench, key = compiled_here()
    async with opened(bench, key) as (app, pilot):
        before = key_of(app)
        await open_form(pilot)
        await pilot.press("left", "left", "enter")
        await until(
            pilot, lambda: app.context.compilations.running is None and key_of(app) != before
        )
        await settle(pilot)
        told = str(app.screen.query_one(ChangesSince).content)
        assert "num_stages=4 → num_stages=2" in told
        assert "stages achieved 4 → 2" in told


async def test_a_real_compilation_never_holds_up_the_keys_and_can_be_cancelled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started: list[subprocess.Popen[bytes]] = []

    class Stopped(subprocess.Popen[bytes]):
        """A compiler that never gets ahead, however quick the machine is."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            os.kill(self.pid, signal.SIGSTOP)
            started.append(self)

    bench, key = compiled_here()
    stopping = SimpleNamespace(Popen=Stopped, PIPE=subprocess.PIPE)
    monkeypatch.setattr("irlens.session.child.subprocess", stopping)
    async with opened(bench, key) as (app, pilot):
        await open_form(pilot)
        await pilot.press("left", "enter")
        await until(pilot, lambda: bool(started))
        [process] = started
        turns = 0
        while turns < 20:  # the loop turns while the compiler is at work
            await asyncio.sleep(0)
            turns += 1
        await pilot.press("escape")
        await settle(pilot)
        assert process.poll() is not None
        with pytest.raises(ProcessLookupError):
            os.killpg(process.pid, 0)
        assert "cancelled" in messages(app)[-1]
        assert threading.active_count() < 20


def test_looks_as_it_did(bench: "FakeWorkbench", snap_compare: Callable[..., bool]) -> None:
    async def show_form(pilot: Pilot[None]) -> None:
        await settle(pilot)
        await open_form(pilot)
        await pilot.press("left", "down", "down", "down", "down", "down")
        await settle(pilot)

    for size in ((80, 24), (120, 40), (250, 60)):
        app = IrlensApp(bench, entry="softmax-h100")
        assert snap_compare(app, terminal_size=size, run_before=show_form)


def test_what_moved_looks_as_it_did(
    bench: "FakeWorkbench", snap_compare: Callable[..., bool]
) -> None:
    async def compile_it(pilot: Pilot[None]) -> None:
        await settle(pilot)
        await open_form(pilot)
        await pilot.press("enter")
        await settle(pilot)

    for size in ((80, 24), (120, 40), (250, 60)):
        app = IrlensApp(bench, entry="softmax-h100")
        assert snap_compare(app, terminal_size=size, run_before=compile_it)


async def test_the_inspector_adopts_the_layout(bench: "FakeWorkbench") -> None:
    app = IrlensApp(bench)
    async with app.run_test(size=(160, 40)) as pilot:
        app.show_view("inspector", "softmax-h100")
        await settle(pilot)
        assert isinstance(app.screen, Inspector)
        python, *_, ptx = app.screen.panes.panes
        await pilot.press("greater_than_sign", "greater_than_sign", "shift+tab", "i")
        await pilot.press("slash", *"ex2", "enter", "z")
        await settle(pilot)
        assert ptx.has_focus
        line, width = python.line, python.weight
        assert "tl.exp" in python.cursor.text
        app.context.compilations.start("softmax-h100", {"num_stages": "2"})
        await settle(pilot)
        for keys, key in (([], "softmax-t4"), (["comma"], "softmax-h100")):
            await pilot.press(*keys)
            await settle(pilot)
            assert isinstance(app.screen, Inspector)
            assert app.screen.key == key
            first, *_, last = app.screen.panes.panes
            assert last.has_focus
            assert last.showing == "ptx"
            assert not last.folded
            assert last.search.query is not None
            assert last.search.hits
            assert last.line in last.linked
            assert app.screen.panes.is_zoomed
            assert (first.line, first.weight, first.display) == (line, width, False)


async def test_the_overview_goes_on_at_the_same_panel(bench: "FakeWorkbench") -> None:
    async with opened(bench, ENTRY, size=(80, 24)) as (app, pilot):
        await pilot.press("w")
        top = app.screen.query_one("#overview").scroll_y
        assert top > 0
        app.context.compilations.start("softmax-h100", {"num_stages": "2"})
        await settle(pilot)
        await pilot.pause()
        assert key_of(app) == "softmax-t4"
        assert app.focused is not None
        assert app.focused.id == "occupancy"
        assert app.screen.query_one("#overview").scroll_y > 0
        assert app.screen.query_one("#overview").region.overlaps(app.focused.region)
