"""The dialog of a finding: why it is there, found out in the background."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.pilot import Pilot
from textual.widgets import Static

from irlens.tui.app import IrlensApp
from irlens.tui.screens.finding import FindingDialog
from irlens.tui.screens.overview import Findings
from irlens.tui.screens.overview import OverviewScreen as Overview
from irlens.tui.widgets import Panel
from irlens.tui.widgets.compile_status import InquiryStatus
from tests.tui.opening import inspecting, opened, screen_text
from tests.tui.waiting import rest, settle, until

if TYPE_CHECKING:
    from tests.tui.conftest import FakeWorkbench, Late

#: An entry with findings whose source is known.
ENTRY = "softmax-t4"


def why_of(app: IrlensApp) -> str:
    return " ".join(str(app.screen.query_one("#why", Panel).content).split())


async def test_it_says_why_and_the_overview_keeps_it(bench: "FakeWorkbench") -> None:
    async with opened(bench, ENTRY) as (app, pilot):
        await pilot.press("f", "enter")
        await settle(pilot)
        told = why_of(app)
        assert told.startswith("proved: the finding goes with its cause")
        assert "Decided by TritonGPUCoalesce, pass 9" in told
        assert "known to be multiples of 16: the finding is gone; the estimated time stays" in told
        await pilot.press("escape")
        await settle(pilot)
        below = " ".join(str(app.screen.query_one(Findings).content).split())
        assert "proved: the finding goes with its cause" in below
        assert "decided by TritonGPUCoalesce, pass 9" in below


async def test_it_is_asked_once(bench: "FakeWorkbench", late: "Callable[..., Late]") -> None:
    async with opened(bench, ENTRY) as (app, pilot):
        await pilot.press("f", "enter")
        await settle(pilot)
        again = late("why")
        await pilot.press("escape", "enter")
        await settle(pilot)
        assert "proved" in why_of(app)
        assert not again.asked.is_set()


async def test_keys_work_while_it_is_found_out_and_closing_cancels(
    bench: "FakeWorkbench",
) -> None:
    async with opened(bench, ENTRY) as (app, pilot):
        bench.compiled.clear()
        await pilot.press("f", "enter")
        await until(pilot, lambda: isinstance(app.screen, FindingDialog))
        status = app.screen.query_one(InquiryStatus)
        await until(pilot, lambda: "2 of 5" in str(status.content))
        assert "esc cancels" in str(status.content)
        await pilot.press("j", "escape")
        await rest(app)
        assert isinstance(app.screen, Overview)
        await until(pilot, bench.cancelled.is_set)


async def test_where_nothing_compiles_it_says_so_and_what_the_finding_means(
    bench: "FakeWorkbench",
) -> None:
    async with opened(bench, "spill-h100") as (app, pilot):
        await pilot.press("f", "enter")
        await settle(pilot)
        told = "unknown: the kernel's source is unknown; name the source instead"
        assert why_of(app) == told
        assert "What it means" in screen_text(app)


async def test_a_line_of_code_leads_to_its_finding(bench: "FakeWorkbench") -> None:
    async with inspecting(bench, ENTRY) as (screen, pilot):
        await pilot.press("g", "enter")
        assert any("no finding on this line" in note.message for note in screen.app._notifications)
        await pilot.press("f", "enter")
        await settle(pilot)
        assert isinstance(pilot.app.screen, FindingDialog)


def test_looks_as_it_did(bench: "FakeWorkbench", snap_compare: Callable[..., bool]) -> None:
    async def show(pilot: Pilot[None]) -> None:
        await settle(pilot)
        await pilot.press("f", "enter")
        await settle(pilot)
        assert pilot.app.screen.query(Static)

    for size in ((80, 24), (120, 40), (220, 60)):
        app = IrlensApp(bench, entry=ENTRY)
        assert snap_compare(app, terminal_size=size, run_before=show)
