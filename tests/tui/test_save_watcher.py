"""A saved kernel is recompiled and shown."""

import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from textual.pilot import Pilot
from textual.widgets import Markdown

from irlens import gpus as arch
from irlens.artifacts.load import load
from irlens.compiler import Request
from irlens.model.errors import CaptureError
from irlens.session.compilation import Compiler
from irlens.session.interactive import Workbench
from irlens.tui.screens.dialogs import TextDialog
from irlens.tui.screens.inspector import InspectorScreen as Inspector
from irlens.tui.services import preferences
from irlens.tui.widgets.compile_status import ChangesSince
from tests.session.compiled import never_asked
from tests.tui.opening import key_of, opened
from tests.tui.waiting import settle, until

if TYPE_CHECKING:
    from tests.tui.conftest import FakeWorkbench

CAPTURES = Path(__file__).parents[2] / "samples" / "captures"
SAVED = "softmax.py"
KERNEL = """
import triton
import triton.language as tl
{imports}

IRLENS_KERNELS = {{
    "scale": {{"args": {{"x": "fp32[n]", "n": 1024}}, "sizes": {{"n": 1024}},
               "constexprs": {{"BLOCK": 1024}}}},
}}


@triton.autotune(configs=[triton.Config({{}}, num_warps=w) for w in {warps}], key=["n"])
@triton.jit
def scale(x, n, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    tl.store(x + cols, tl.load(x + cols, mask=cols < n) * {factor}, mask=cols < n)
"""


@pytest.fixture
def bench(bench: "FakeWorkbench") -> "FakeWorkbench":
    bench.followed = {"softmax-h100", "softmax-t4", "softmax-mi300x"}
    return bench


async def save(pilot: Pilot[None], bench: "FakeWorkbench", shown: str) -> None:
    """Save the kernel, and wait until an entry is shown for it."""
    bench.saves.append(SAVED)
    await until(pilot, lambda: key_of(pilot.app) == shown)  # type: ignore[arg-type]
    await settle(pilot)


async def test_a_save_is_compiled_and_its_changes_are_shown(bench: "FakeWorkbench") -> None:
    async with opened(bench, "softmax-h100") as (app, pilot):
        await pilot.press("2")
        await settle(pilot)
        await save(pilot, bench, "softmax-t4")
        assert bench.recompiled == [("softmax-h100", {})]
        assert isinstance(app.screen, Inspector)
        told = str(app.screen.query_one(ChangesSince).content)
        assert told.startswith("softmax.py (saved)  ! 7.8 × the time: ")
        assert "verdict pipelined → not pipelined" in " ".join(told.split())
        assert "compilation 2 of 2" in told
        await save(pilot, bench, "softmax-mi300x")
        assert bench.recompiled[1:] == [("softmax-t4", {})]


async def test_an_error_is_shown_until_the_next_save(bench: "FakeWorkbench") -> None:
    bench.mistakes.extend(["softmax.py:51: first", "softmax.py:51: second"])
    async with opened(bench, "softmax-h100") as (app, pilot):

        def told() -> str:
            if not isinstance(app.screen, TextDialog):
                return ""
            return "".join(text.source for text in app.screen.query(Markdown))

        bench.saves.append(SAVED)
        await until(pilot, lambda: "Failed to compile softmax.py (saved)" in told())
        assert "softmax.py:51: first" in told()
        bench.saves.append(SAVED)
        await until(pilot, lambda: "softmax.py:51: second" in told())
        assert len(app.screen_stack) == 3, "one after the other, not one over the other"
        await save(pilot, bench, "softmax-t4")


async def test_a_save_during_a_compilation_is_compiled_next(
    bench: "FakeWorkbench",
) -> None:
    async with opened(bench, "softmax-h100") as (app, pilot):
        bench.compiled.clear()
        app.context.compilations.start("softmax-h100", {"num_stages": "2"})
        await until(pilot, lambda: len(bench.recompiled) == 1)
        bench.saves.append(SAVED)
        await until(pilot, lambda: bool(bench.refused))
        bench.compiled.set()
        await until(pilot, lambda: key_of(app) == "softmax-mi300x")
        await settle(pilot)
        assert bench.recompiled == [("softmax-h100", {"num_stages": "2"}), ("softmax-t4", {})]


async def test_a_refused_save_is_not_lost(
    bench: "FakeWorkbench",
) -> None:
    async with opened(bench, "softmax-h100") as (app, pilot):
        bench.saves.append(SAVED)
        while bench.saves:  # until it is told, without giving the app a turn to hear it
            time.sleep(0.001)
        app.context.save_watcher.resume()
        await until(pilot, lambda: key_of(app) == "softmax-t4")
        await settle(pilot)
        assert bench.recompiled == [("softmax-h100", {})]


async def test_recompiling_on_save_can_be_turned_off(
    bench: "FakeWorkbench", tmp_path: Path
) -> None:
    state = tmp_path / "tui.json"
    async with opened(bench, "softmax-h100", state=state) as (app, pilot):
        await pilot.press("A")
        bench.saves.append(SAVED)
        await pilot.pause(0.2)
        await settle(pilot)
        assert bench.recompiled == []
    assert not preferences.load(state).follow
    async with opened(bench, "softmax-h100", state=state) as (app, pilot):
        assert key_of(app) == "softmax-h100"
        await pilot.press("A")
        await until(pilot, lambda: key_of(app) == "softmax-t4")
        await settle(pilot)
    assert preferences.load(state).follow


async def test_the_browser_watches_nothing(bench: "FakeWorkbench") -> None:
    async with opened(bench, "softmax-h100") as (app, pilot):
        await pilot.press("escape")
        await settle(pilot)
        bench.saves.append(SAVED)
        await pilot.pause(0.2)
        assert bench.recompiled == []
        app.show_view("overview", "softmax-h100")
        await until(pilot, lambda: key_of(app) == "softmax-t4")
        await settle(pilot)


# For real.


def saved(bench: Workbench, key: str, patience: float = 60.0) -> str:
    """What was saved since an entry was compiled; "" if nothing was."""
    stop = threading.Event()
    timer = threading.Timer(patience, stop.set)
    timer.start()
    try:
        return bench.saved(key, stop, lambda _: True)
    finally:
        timer.cancel()


def is_as_saved(bench: Workbench, key: str) -> bool:
    """Whether an entry is what its files hold, as far as is told in a moment."""
    return saved(bench, key, 0.3) == ""


def test_an_entry_is_recompiled_as_requested(tmp_path: Path) -> None:
    path, helper = tmp_path / "k.py", tmp_path / "helper_of_this.py"
    text = KERNEL.format(imports="import helper_of_this", warps=[2, 4], factor=2)
    path.write_text(text)
    helper.write_text("A = 1\n")
    request = Request(kernel=str(path), target=arch.find("h100").target)
    origins = [(capture, request) for capture in Compiler().compile(request)]
    captures = [capture for capture, _ in origins]
    bench = Workbench("k", lambda: iter(captures), request_for=never_asked, origins=origins)
    keys = {each.config.num_warps: each.key for each in bench.entries() if each.config}
    assert keys.keys() == {2, 4}
    assert is_as_saved(bench, keys[2])

    path.write_text(text.replace("* 2", "* 3"))
    assert saved(bench, keys[4]) == "k.py"
    made = bench.remake(keys[4])
    assert made.config is not None
    assert made.config.num_warps == 4, "of the autotuner's configurations the same"
    assert bench.code(keys[4], made.key, "ptx").different
    assert is_as_saved(bench, made.key)
    assert is_as_saved(bench, keys[4]), "it was followed, and may be looked at as it was"
    assert saved(bench, keys[2]) == "k.py", "it is older than what was saved"

    path.write_text(text.replace("[2, 4]", "["))
    assert saved(bench, made.key) == "k.py"
    with pytest.raises(CaptureError, match=r"k\.py"):
        bench.remake(made.key)
    helper.write_text("A = 2\n")
    assert saved(bench, made.key) == "helper_of_this.py", "anything may mend it"

    path.write_text(text.replace("[2, 4]", "[8]"))
    assert saved(bench, made.key) == "k.py"
    other = bench.remake(made.key)
    assert other.config is not None
    assert other.config.num_warps == 8, "what the file says now, where what it said is gone"


def test_only_entries_compiled_here_are_watched() -> None:
    bench = Workbench("x", lambda: load(CAPTURES / "softmax-h100"), request_for=never_asked)
    (key,) = {entry.key for entry in bench.entries()}
    assert bench.saved(key, threading.Event(), lambda _: True) == ""
    with pytest.raises(CaptureError, match="source is unknown"):
        bench.remake(key)
