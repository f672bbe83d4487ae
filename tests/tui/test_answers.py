"""The variants and the limits of a kernel: the same tables as the commands, in the background."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from textual.pilot import Pilot

from irlens.model.limits import Limits
from irlens.model.variants import Variants
from irlens.render import render
from irlens.render.options import Options
from irlens.tui.app import IrlensApp
from irlens.tui.screens.answers import AnswerScreen
from irlens.tui.screens.inspector import InspectorScreen as Inspector
from irlens.tui.widgets import Panel
from tests.tui.conftest import load_answer
from tests.tui.opening import opened, screen_text
from tests.tui.waiting import settle, until

if TYPE_CHECKING:
    from tests.tui.conftest import FakeWorkbench

ENTRY = "softmax-h100"


def answer_of(app: IrlensApp) -> str:
    return str(app.screen.query_one(Panel).content)


@pytest.mark.parametrize("width", [80, 120, 220])
async def test_variants_are_those_of_the_command(bench: "FakeWorkbench", width: int) -> None:
    async with opened(bench, ENTRY, size=(width, 60)) as (app, pilot):
        await pilot.press("4")
        await settle(pilot)
        assert answer_of(app).startswith("1 variant for 1 launch")
        assert "a varies it: n_cols=1..131072" in answer_of(app)
        await pilot.press("a", *["backspace"] * 6, *"256", "enter")
        await settle(pilot)
        assert bench.asked == [("variants",), ("variants", "n_cols=1..256")]
        room = app.screen.query_one(Panel).content_size.width
        options = Options(width=room, subject=None)
        printed = render("text", "variants", load_answer("variants", Variants), options)
        _, _, rows = printed.partition("\n")  # the heading of the screen has the first line
        assert [line.rstrip() for line in answer_of(app).splitlines()] == rows.splitlines()


async def test_limits_are_those_of_the_command(bench: "FakeWorkbench") -> None:
    async with opened(bench, ENTRY) as (app, pilot):
        await pilot.press("5")
        await settle(pilot)
        options = Options(width=app.screen.query_one(Panel).content_size.width, subject=None)
        printed = render("text", "limits", load_answer("limits", Limits), options)
        _, _, rows = printed.partition("\n")
        assert answer_of(app).startswith(rows.rstrip("\n"))
        await pilot.press("a", "enter")
        await settle(pilot)
        assert bench.asked == [("limits",), ("limits", "n_elements")]


async def test_it_is_asked_in_the_background_and_can_be_cancelled(bench: "FakeWorkbench") -> None:
    async with opened(bench, ENTRY) as (app, pilot):
        bench.compiled.clear()
        await pilot.press("4")
        await until(pilot, lambda: "2 of 5" in screen_text(app))
        await pilot.press("2")
        await until(pilot, lambda: isinstance(app.screen, Inspector))
        await pilot.press("4", "escape")
        await until(pilot, bench.cancelled.is_set)
        await settle(pilot)
        assert isinstance(app.screen, AnswerScreen)
        assert "cancelled" in answer_of(app)
        bench.compiled.set()
        await pilot.press("R")
        await settle(pilot)
        assert "1 variant" in answer_of(app)


async def test_leaving_the_entry_ends_the_question(bench: "FakeWorkbench") -> None:
    async with opened(bench) as (app, pilot):
        app.show_view("limits", ENTRY)
        bench.compiled.clear()
        await until(pilot, lambda: "2 of 5" in screen_text(app))
        app.show_view("overview", "softmax-t4")
        await until(pilot, bench.cancelled.is_set)


async def test_where_nothing_compiles_it_says_so(bench: "FakeWorkbench") -> None:
    async with opened(bench, "spill-h100") as (app, pilot):
        await pilot.press("5")
        await settle(pilot)
        assert answer_of(app) == "the kernel's source is unknown; name the source instead"


@pytest.mark.parametrize("view", ["variants", "limits"])
def test_looks_as_it_did(
    bench: "FakeWorkbench", snap_compare: Callable[..., bool], view: str
) -> None:
    async def show(pilot: Pilot[None]) -> None:
        await settle(pilot)
        if view == "variants":
            await pilot.press("4", "a", *["backspace"] * 6, *"256", "enter")
        else:
            await pilot.press("5")
        await settle(pilot)

    for size in ((80, 24), (120, 40), (220, 60)):
        app = IrlensApp(bench, entry=ENTRY)
        assert snap_compare(app, terminal_size=size, run_before=show)
