"""Opens the app on the screen that a test starts with."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from textual.app import App
from textual.pilot import Pilot

from irlens.session.interactive import Workbench
from irlens.tui.app import IrlensApp
from irlens.tui.screens import EntryScreen
from irlens.tui.screens.compare import CompareScreen
from irlens.tui.screens.inspector import InspectorScreen as Inspector
from irlens.tui.widgets.code_pane import CodePane
from tests.tui.waiting import settle, until

#: Columns and lines of most tests.
SIZE = (120, 40)
#: What most comparisons are of.
PAIR = ("softmax-t4", "softmax-h100")


@asynccontextmanager
async def opened(
    bench: Workbench,
    entry: str | None = None,
    size: tuple[int, int] = SIZE,
    state: Path | None = None,
) -> AsyncIterator[tuple[IrlensApp, Pilot[None]]]:
    """Open the browser, or the overview of an entry."""
    app = IrlensApp(bench, entry=entry, state=state)
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        yield app, pilot


@asynccontextmanager
async def inspecting(
    bench: Workbench, key: str = "softmax-h100", size: tuple[int, int] = SIZE
) -> AsyncIterator[tuple[Inspector, Pilot[None]]]:
    """Open the inspector and wait until it is loaded."""
    app = IrlensApp(bench)
    async with app.run_test(size=size) as pilot:
        app.show_view("inspector", key)
        await settle(pilot)
        assert isinstance(app.screen, Inspector)
        yield app.screen, pilot


@asynccontextmanager
async def reading(
    bench: Workbench, size: tuple[int, int] = SIZE
) -> AsyncIterator[tuple[CodePane, CodePane, Pilot[None]]]:
    """Open Python and PTX in the inspector; their annotations may still be loading."""
    app = IrlensApp(bench)
    async with app.run_test(size=size) as pilot:
        app.show_view("inspector", "softmax-h100")
        await until(pilot, lambda: len(app.screen.query(CodePane)) == 2)
        python, ptx = app.screen.query(CodePane)
        await until(pilot, lambda: python.document is not None and ptx.document is not None)
        await pilot.pause()  # until they have been drawn
        yield python, ptx, pilot


@asynccontextmanager
async def comparing(
    bench: Workbench, pair: tuple[str, str] = PAIR, size: tuple[int, int] = SIZE
) -> AsyncIterator[tuple[CompareScreen, Pilot[None]]]:
    """Open the comparison of two entries above the browser."""
    async with opened(bench, size=size) as (app, pilot):
        app.show_comparison(*pair)
        await settle(pilot)
        assert isinstance(app.screen, CompareScreen)
        yield app.screen, pilot


def key_of(app: IrlensApp) -> str:
    """Return the key of the entry on show; "" for none."""
    return app.screen.key if isinstance(app.screen, EntryScreen) else ""


def messages(app: App[Any]) -> list[str]:
    """Return the notifications in order."""
    return [note.message for note in app._notifications]


def screen_text(app: App[Any]) -> str:
    """Return what the terminal shows."""
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips())
