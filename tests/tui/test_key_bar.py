"""The key bar: whole keys at every width."""

import pytest
from textual.pilot import Pilot

from irlens.session.interactive import Workbench
from irlens.tui.app import IrlensApp
from irlens.tui.widgets.key_bar import KeyBar

PLACES = {
    "browser": [],
    "overview": ["1"],
    "findings": ["1", "f"],
    "inspector": ["2"],
    "comparison": ["1", "c", "enter"],
    "picking": ["1", "c"],
    "form": ["1", "r"],
    "help": ["1", "question_mark"],
}


async def open_place(pilot: Pilot[None], place: str) -> None:
    app = pilot.app
    assert isinstance(app, IrlensApp)
    for key in PLACES[place]:
        if key in "12":
            app.show_view("overview" if key == "1" else "inspector", "softmax-h100")
        else:
            await pilot.press(key)
        await pilot.pause()
        await app.workers.wait_for_complete()
        await pilot.pause()


def drawn(pilot: Pilot[None]) -> str:
    return str(pilot.app.screen.query_one(KeyBar).content)


@pytest.mark.parametrize("place", PLACES)
async def test_keys_are_whole_at_every_width(bench: Workbench, place: str) -> None:
    async with IrlensApp(bench).run_test(size=(250, 40)) as pilot:
        await open_place(pilot, place)
        every = [hint.strip() for hint in drawn(pilot).split("  ")]
        before = len(every)
        for width in (200, 160, 119, 100, 80):
            await pilot.resize_terminal(width, 40)
            await pilot.pause()
            line = drawn(pilot)
            kept = [hint.strip() for hint in line.split("  ")]
            assert len(line) <= width
            assert set(kept) <= set(every)
            assert len(kept) <= before
            before = len(kept)
            for never_left_out in ("? Help", "q Quit"):
                assert (never_left_out in kept) == (never_left_out in every)


async def test_a_narrow_inspector_keeps_the_most_important_keys(bench: Workbench) -> None:
    async with IrlensApp(bench).run_test(size=(80, 24)) as pilot:
        await open_place(pilot, "inspector")
        for hint in ("? Help", "esc Back", "s Stage", "p Peak", "/ Search", "q Quit"):
            assert hint in drawn(pilot)
        assert "Add pane" not in drawn(pilot)


async def test_no_hint_is_text_while_something_is_typed(bench: Workbench) -> None:
    async with IrlensApp(bench).run_test(size=(120, 40)) as pilot:
        await open_place(pilot, "inspector")
        await pilot.press("slash")
        await pilot.pause()
        assert "esc Cancel" in drawn(pilot)
        assert "/ Search" not in drawn(pilot)
        await pilot.press("escape")
        await pilot.pause()
        assert "/ Search" in drawn(pilot)
        assert "esc Back" in drawn(pilot)


async def test_a_click_presses_the_key(bench: Workbench) -> None:
    async with IrlensApp(bench).run_test(size=(120, 40)) as pilot:
        await open_place(pilot, "overview")
        view = pilot.app.screen
        await pilot.click(KeyBar, offset=(drawn(pilot).index("? Help"), 0))
        await pilot.pause()
        assert pilot.app.screen is not view
