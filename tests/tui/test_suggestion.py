"""Suggesting a faster configuration: the background compilation, the dialog, what it leads to."""

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from textual.command import CommandList, CommandPalette
from textual.pilot import Pilot
from textual.widgets import Markdown, OptionList, Static

from irlens.artifacts.load import load
from irlens.model.capture import Capture
from irlens.model.errors import IrlensError
from irlens.model.suggestion import Suggestion
from irlens.render import render
from irlens.render.options import Options
from irlens.session.exchange import Inquiry
from irlens.session.interactive import Workbench
from irlens.sweeps import worker_pool
from irlens.tui.app import IrlensApp
from irlens.tui.screens.compare import CompareScreen
from irlens.tui.screens.dialogs import TextDialog
from irlens.tui.screens.inspector import InspectorScreen as Inspector
from irlens.tui.screens.overview import OverviewScreen as Overview
from irlens.tui.screens.recompile_form import RecompileForm
from irlens.tui.screens.suggestion import SuggestionDialog
from irlens.tui.widgets.compile_status import CompileStatus
from tests.running import InlinePool, irlens
from tests.session.compiled import compiled_here, never_asked
from tests.tui.conftest import SAMPLES, load_suggestion
from tests.tui.opening import key_of, messages, opened
from tests.tui.waiting import PATIENCE, settle, until

if TYPE_CHECKING:
    from tests.tui.conftest import FakeWorkbench

ENTRY = "softmax-h100"


async def suggest(pilot: Pilot[None]) -> SuggestionDialog:
    await pilot.press("t")
    await until(pilot, lambda: isinstance(pilot.app.screen, SuggestionDialog))
    await settle(pilot)
    screen = pilot.app.screen
    assert isinstance(screen, SuggestionDialog)
    return screen


def words_of(dialog: SuggestionDialog) -> list[str]:
    """Return the words on the dialog, from top to bottom."""
    options = [str(each.prompt) for each in dialog.query_one(OptionList).options]
    above, below = (str(dialog.query_one(name, Static).content) for name in ("#above", "#below"))
    return " ".join([above, *options, below]).split()


# The dialog.


@pytest.mark.parametrize("width", [60, 80, 120, 250])
async def test_it_says_what_the_command_line_says(bench: "FakeWorkbench", width: int) -> None:
    async with opened(bench, ENTRY, size=(width, 40)) as (_, pilot):
        dialog = await suggest(pilot)
        # The dialog's keys stand for the commands.
        options = Options(width=dialog.query_one("#above").size.width, subject=None)
        printed = render("text", "suggestion", load_suggestion(), options)
        # The title of the dialog has the kernel's name.
        # Where a line ends there is no dot between phrases.
        _, *expected = printed.replace(" · ", " ").split()
        shown, told = _words_beside_bars(words_of(dialog)), _words_beside_bars(expected)
        assert shown == told


def _words_beside_bars(words: list[str]) -> list[str]:
    return [each for each in words if each != "·" and not set(each) & set("█▉▊▋▌▍▎▏─┤…")]


async def test_a_choice_is_opened_like_a_recompiled_entry(bench: "FakeWorkbench") -> None:
    async with opened(bench, ENTRY) as (app, pilot):
        await suggest(pilot)
        await pilot.press("enter")
        await settle(pilot)
        assert bench.recompiled == [(ENTRY, {"num_warps": "16", "num_stages": "3"})]
        assert isinstance(app.screen, Overview)
        assert key_of(app) == "softmax-t4"
        await pilot.press("comma")
        await settle(pilot)
        assert key_of(app) == ENTRY


async def test_another_choice_is_compared(bench: "FakeWorkbench") -> None:
    async with opened(bench, ENTRY) as (app, pilot):
        await suggest(pilot)
        await pilot.press("j", "c")
        await settle(pilot)
        assert bench.recompiled == [(ENTRY, {"num_warps": "16"})]
        assert isinstance(app.screen, CompareScreen)
        assert (app.screen.before, app.screen.after) == (ENTRY, "softmax-t4")
        await pilot.press("escape")
        await settle(pilot)
        assert key_of(app) == "softmax-t4"


async def test_the_current_configuration_is_no_choice(bench: "FakeWorkbench") -> None:
    async with opened(bench, ENTRY) as (app, pilot):
        dialog = await suggest(pilot)
        choices = dialog.query_one(OptionList)
        seen = []
        for _ in range(4):
            assert choices.highlighted is not None
            seen.append(choices.options[choices.highlighted].id)
            await pilot.press("j")
        assert seen == ["0", "1", "2", "0"]
        await pilot.press("escape")
        assert key_of(app) == ENTRY
        assert bench.recompiled == []


async def test_without_neighbours_there_is_nothing_to_open(
    bench: "FakeWorkbench", monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = msgspec.structs.replace(load_suggestion(), best=[], is_better=False)
    monkeypatch.setattr(bench, "suggest", lambda *_: alone)
    async with opened(bench, ENTRY) as (app, pilot):
        dialog = await suggest(pilot)
        assert "nothing near is better" in str(dialog.query_one("#above", Static).content)
        await pilot.press("enter", "c")
        assert app.screen is dialog
        await pilot.press("escape")
        assert bench.recompiled == []


async def test_it_is_in_the_palette_the_key_bar_and_the_help(bench: "FakeWorkbench") -> None:
    async with opened(bench, ENTRY) as (app, pilot):
        await pilot.press("question_mark")
        await settle(pilot)
        assert isinstance(app.screen, TextDialog)
        assert "Suggest" in app.screen.query_one(Markdown).source
        await pilot.press("q", "ctrl+p")
        await until(pilot, lambda: isinstance(app.screen, CommandPalette))
        await pilot.press(*"suggest a faster configuration")
        found = app.screen.query_one(CommandList)
        await until(pilot, lambda: found.option_count == 1 and found.highlighted == 0)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, SuggestionDialog))
        assert bench.suggested == [ENTRY]


# While it runs, and where it cannot be offered.


async def test_keys_work_while_it_runs_and_it_waits_for_the_form(bench: "FakeWorkbench") -> None:
    bench.compiled.clear()
    async with opened(bench, ENTRY) as (app, pilot):
        await pilot.press("t")
        await until(pilot, lambda: "2 of 5" in str(app.screen.query_one(CompileStatus).content))
        told = str(app.screen.query_one(CompileStatus).content)
        assert "compiling neighbours" in told
        assert "esc cancels" in told
        await pilot.press("2")
        await until(pilot, lambda: isinstance(app.screen, Inspector))
        await pilot.press("j", "t")
        assert "another compilation" in messages(app)[-1]
        await pilot.press("r")
        await until(pilot, lambda: isinstance(app.screen, RecompileForm))
        bench.compiled.set()
        await settle(pilot)
        assert isinstance(app.screen, RecompileForm)
        await pilot.press("escape")
        await settle(pilot)
        assert isinstance(app.screen, SuggestionDialog)


async def test_escape_cancels(bench: "FakeWorkbench") -> None:
    bench.compiled.clear()
    async with opened(bench, ENTRY) as (app, pilot):
        await pilot.press("t")
        await until(pilot, lambda: bool(bench.suggested))
        await pilot.press("escape")
        await settle(pilot)
        assert isinstance(app.screen, Overview)
        assert not app.screen.query_one(CompileStatus).display
        assert "cancelled" in messages(app)[-1]


async def test_it_is_kept_for_who_has_left(bench: "FakeWorkbench") -> None:
    bench.compiled.clear()
    async with opened(bench, ENTRY) as (app, pilot):
        await pilot.press("t")
        await until(pilot, lambda: bool(bench.suggested))
        app.show_browser()
        bench.compiled.set()
        await settle(pilot)
        assert "a suggestion for softmax_kernel is ready" in messages(app)[-1]
        app.show_view("overview", ENTRY)
        await settle(pilot)
        await suggest(pilot)
        assert bench.suggested == [ENTRY], "compiled once"


async def test_why_there_is_none_is_one_line(bench: "FakeWorkbench") -> None:
    async with opened(bench, "spill-h100") as (app, pilot):
        await pilot.press("t")
        await settle(pilot)
        assert isinstance(app.screen, Overview)
        assert "source is unknown" in messages(app)[-1]


async def test_quitting_ends_it(bench: "FakeWorkbench") -> None:
    bench.compiled.clear()
    async with opened(bench, ENTRY) as (_, pilot):
        await pilot.press("t")
        await until(pilot, lambda: bool(bench.suggested))
        await pilot.press("q")
    assert bench.cancelled.is_set()


# For real.


async def test_the_fastest_neighbour_of_softmax_becomes_an_entry() -> None:
    bench, key = compiled_here()
    async with opened(bench, key) as (app, pilot):
        dialog = await suggest(pilot)
        said = words_of(dialog)
        assert "current" in said
        assert dialog._suggestion.current.settings["num_stages"] == 4
        # A formula of the description computes BLOCK_SIZE.
        assert dialog._suggestion.settings == {"num_warps": 8, "num_stages": 4}
        best = dialog._suggestion.best[0]
        await pilot.press("enter")
        await until(pilot, lambda: app.context.compilations.running is None and key_of(app) != key)
        await settle(pilot)
        report = bench.report(key_of(app))
        assert report.config.num_warps == best.trial.settings.get("num_warps", 8)
        assert report.time is not None
        assert best.trial.figures is not None
        assert report.time.estimate_us == pytest.approx(best.trial.figures["time"])


async def test_the_keys_go_on_and_the_workers_end_with_the_app(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started: list[subprocess.Popen[bytes]] = []

    class Stopped(subprocess.Popen[bytes]):
        """A process that never gets ahead, however quick the machine is."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            os.kill(self.pid, signal.SIGSTOP)
            started.append(self)

    bench, key = compiled_here()
    stopping = SimpleNamespace(Popen=Stopped, PIPE=subprocess.PIPE)
    monkeypatch.setattr("irlens.session.child.subprocess", stopping)
    async with opened(bench, key) as (app, pilot):
        await pilot.press("t")
        await until(pilot, lambda: bool(started))
        await pilot.press("2")
        await until(pilot, lambda: isinstance(app.screen, Inspector))
        await pilot.press("q")
    [process] = started
    while process.poll() is None:
        await asyncio.sleep(0.01)
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)


def _alive(group: int) -> list[int]:
    """Return the processes of a group; those that have ended may wait for their parent."""
    alive = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended meanwhile
            state, _, number, *_ = path.read_text().rpartition(")")[2].split()
            if int(number) == group and state not in "ZX":
                alive.append(int(path.parent.name))
    return alive


def test_the_workers_of_a_suggestion_end_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    bench, key = compiled_here()
    seen: dict[int, list[int]] = {}

    started: list[subprocess.Popen[bytes]] = []

    class Noted(subprocess.Popen[bytes]):
        """The child, which leads a group of processes."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            started.append(self)

    class Cancelling(Inquiry):
        """Cancels as soon as several configurations are chosen."""

        def __setattr__(self, name: str, value: Any) -> None:
            super().__setattr__(name, value)
            if name == "reached" and value and not value.endswith(" of 1") and not seen:
                seen[started[0].pid] = _alive(started[0].pid)
                self.cancel()

    noting = SimpleNamespace(Popen=Noted, PIPE=subprocess.PIPE)
    monkeypatch.setattr("irlens.session.child.subprocess", noting)
    with pytest.raises(IrlensError, match="cancelled"):
        bench.suggest(key, Cancelling())
    ((group, processes),) = seen.items()
    assert len(processes) > 1, "the child and its workers"
    end = time.monotonic() + PATIENCE
    while _alive(group):
        assert time.monotonic() < end
        time.sleep(0.01)


def _session(name: str) -> tuple[Workbench, str]:
    (capture,) = load(SAMPLES / "captures" / name)
    assert isinstance(capture, Capture)
    bench = Workbench(name, lambda: iter([capture]), request_for=never_asked)
    (key,) = {entry.key for entry in bench.entries()}
    return bench, key


def test_a_time_that_is_unknown_is_said_before_anything_is_compiled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench, key = _session("softmax-mi300x")
    monkeypatch.setattr("irlens.session.child.subprocess", None)
    with pytest.raises(IrlensError, match="estimated time of the current configuration is unknown"):
        bench.suggest(key, Inquiry())


def test_the_same_is_suggested_for_a_capture_and_for_its_kernel() -> None:
    """The capture repeats every constexpr, and the request of the kernel none."""
    bench, key = compiled_here()
    suggestion = bench.suggest(key, Inquiry())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worker_pool, "LocalPool", InlinePool)
        ran = irlens("suggest", "softmax", "-t", "h100", "--num-stages", "4", "--format", "json")
    assert ran.code == 0, ran.err
    printed = msgspec.json.decode(ran.raw, type=Suggestion)
    assert suggestion.settings == printed.settings
    assert [each.changed for each in suggestion.best] == [each.changed for each in printed.best]
    assert [each.time_ratio for each in suggestion.best] == [
        each.time_ratio for each in printed.best
    ]
    assert suggestion.compiled == printed.compiled


def test_looks_as_it_did(bench: "FakeWorkbench", snap_compare: Callable[..., bool]) -> None:
    async def show(pilot: Pilot[None]) -> None:
        await settle(pilot)
        await suggest(pilot)

    for size in ((80, 24), (120, 40), (250, 60)):
        app = IrlensApp(bench, entry=ENTRY)
        assert snap_compare(app, terminal_size=size, run_before=show)
