"""The layout of a value of ttgir, drawn above the inspector."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.containers import VerticalScroll
from textual.pilot import Pilot

from irlens.tui.app import IrlensApp
from irlens.tui.screens.dialogs import DrawingDialog
from irlens.tui.screens.inspector import InspectorScreen as Inspector
from irlens.tui.widgets import Panel
from irlens.tui.widgets.code_pane import CodePane
from tests.tui.opening import inspecting, messages
from tests.tui.waiting import settle

if TYPE_CHECKING:
    from tests.tui.conftest import FakeWorkbench


async def show_ttgir(pilot: Pilot[None], screen: Inspector, line: str) -> CodePane:
    """Show ttgir in the second pane, and go to a line with some text."""
    pane = screen.panes.panes[1]
    pane.focus()
    await pilot.pause()
    while pane.showing != "ttgir":
        await pilot.press("s")
        await settle(pilot)
    assert pane.document is not None
    shown = pane.document.text.shown
    pane.go_to(next(number for number, text in enumerate(shown, 1) if line in text))
    return pane


async def test_a_layout_is_drawn_of_the_value_under_the_cursor(bench: "FakeWorkbench") -> None:
    async with inspecting(bench) as (screen, pilot):
        pane = await show_ttgir(pilot, screen, "%mask = tt.splat")
        await pilot.press("L")
        await settle(pilot)
        app = pilot.app
        assert isinstance(app.screen, DrawingDialog)
        told = str(app.screen.query_one(Panel).content)
        # The encoding: sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [8].
        assert "each thread holds 4 elements" in told
        rows = [line.split() for line in told.splitlines()]
        assert ["0", *(f"w0 l{lane}" for lane in range(8))] == " ".join(
            next(row for row in rows if row[:2] == ["0", "w0"])
        ).replace(" w", "|w").split("|")
        await pilot.press("escape")
        await pilot.pause()
        assert pane.has_focus


async def test_a_layout_is_that_of_the_first_value_with_one(bench: "FakeWorkbench") -> None:
    async with inspecting(bench) as (screen, pilot):
        pane = await show_ttgir(pilot, screen, '%numerator = "tt.reduce"(%row_27)')
        await pilot.press("L")
        await settle(pilot)
        dialog = pilot.app.screen
        assert isinstance(dialog, DrawingDialog)
        title = str(dialog.query_one(VerticalScroll).border_title)
        assert title == "softmax_kernel: %row_27", "the number in front of it has no layout"
        await pilot.press("escape")
        pane.go_to(pane.line, pane.cursor.indent + 1)
        await pilot.press("L")
        await settle(pilot)
        assert messages(pilot.app)[-1] == "neither a tensor nor a buffer: %numerator"


async def test_what_has_no_layout_says_so(bench: "FakeWorkbench") -> None:
    async with inspecting(bench) as (screen, pilot):
        await pilot.press("L")
        assert "layouts are those of values of ttgir" in messages(pilot.app)[-1]
        await show_ttgir(pilot, screen, "%row_start = tt.get_program_id")
        await pilot.press("L")
        await settle(pilot)
        assert messages(pilot.app)[-1] == "neither a tensor nor a buffer: %row_start"
        await show_ttgir(pilot, screen, "tt.return")
        await pilot.press("L")
        await settle(pilot)
        assert messages(pilot.app)[-1] == "no value on this line"


def test_looks_as_it_did(bench: "FakeWorkbench", snap_compare: Callable[..., bool]) -> None:
    async def show(pilot: Pilot[None]) -> None:
        app = pilot.app
        assert isinstance(app, IrlensApp)
        await settle(pilot)
        app.show_view("inspector", "softmax-h100")
        await settle(pilot)
        assert isinstance(app.screen, Inspector)
        await show_ttgir(pilot, app.screen, "%mask = tt.splat")
        await pilot.press("L")
        await settle(pilot)

    for size in ((80, 24), (120, 40), (220, 60)):
        assert snap_compare(IrlensApp(bench), terminal_size=size, run_before=show)
