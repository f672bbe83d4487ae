"""The comparison, key by key, and differences of every kind and size."""

import re
import threading
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.pilot import Pilot
from textual.widgets import Markdown, OptionList, Static

from irlens.model.code import CodeComparison, CodeHunk, CodeRow
from irlens.model.comparison import Side
from irlens.model.config import Config
from irlens.model.errors import IrlensError
from irlens.model.source import Span
from irlens.session.interactive import Workbench
from irlens.tui.app import IrlensApp
from irlens.tui.code.difference import Difference
from irlens.tui.screens import stage_comparison
from irlens.tui.screens.browser import BrowserScreen
from irlens.tui.screens.compare import CompareScreen
from irlens.tui.screens.entry_picker import EntryPicker
from irlens.tui.screens.inspector import InspectorScreen as Inspector
from irlens.tui.screens.overview import OverviewScreen as Overview
from irlens.tui.widgets import Panel
from tests.tui.opening import PAIR, comparing, messages, opened
from tests.tui.waiting import PATIENCE, settle, until


def moved(screen: CompareScreen) -> str:
    """The figures, their columns one space apart."""
    return re.sub(" +", " ", str(screen.query_one(Panel).content))


def drawn(screen: CompareScreen) -> list[str]:
    return [screen.diff.render_line(y).text for y in range(screen.diff.size.height)]


def heading(screen: CompareScreen, side: str = "left") -> str:
    return str(screen.query_one(f"Heading > .-{side}", Static).content)


# How one comes there.


async def test_one_key_picks_the_other_side_those_of_the_same_kernel_first(
    bench: Workbench,
) -> None:
    async with opened(bench, "softmax-h100") as (app, pilot):
        await pilot.press("c")
        await settle(pilot)
        assert isinstance(app.screen, EntryPicker)
        options = app.screen.query_one(OptionList)
        first, second, third = (str(options.get_option_at_index(at).prompt) for at in range(3))
        assert first.startswith("sm_75")
        assert second.startswith("gfx942")
        assert third.startswith(("matmul_kernel", "spill_kernel"))
        told = [str(each.prompt) for each in options.options]
        others = [row.split("  ")[0].split() for row in told if row.startswith("matmul_kernel")]
        assert [target for _, target in map(tuple, others)] == ["sm_80", "sm_100"]
        assert "add_kernel" not in str([each.prompt for each in options.options]), "it is broken"
        await pilot.press("j", "k", "enter")
        await settle(pilot)
        assert isinstance(app.screen, CompareScreen)
        assert (app.screen.before, app.screen.after) == ("softmax-h100", "softmax-t4")
        assert heading(app.screen) == "softmax_kernel  sm_90 → sm_75"
        assert heading(app.screen, "right") == "", "it is not for one of the two"
        await pilot.press("escape")
        await settle(pilot)
        assert isinstance(app.screen, Overview)


@pytest.mark.parametrize("start", ["browser", "overview", "inspector"])
async def test_it_can_be_asked_for_everywhere(bench: Workbench, start: str) -> None:
    async with opened(bench, None if start == "browser" else "softmax-h100") as (app, pilot):
        if start == "inspector":
            await pilot.press("2")
        else:
            await pilot.press("j")
        await settle(pilot)
        here = app.screen
        await pilot.press("c")
        await settle(pilot)
        await pilot.press("enter")
        await settle(pilot)
        assert isinstance(app.screen, CompareScreen)
        await pilot.press("b")
        await settle(pilot)
        assert app.screen is here


async def test_picking_can_be_narrowed_down_and_left(bench: Workbench) -> None:
    async with opened(bench, "softmax-h100") as (app, pilot):
        await pilot.press("c")
        await settle(pilot)
        options = app.screen.query_one(OptionList)
        all_of_them = options.option_count
        await pilot.press("slash", *"gfx942", "enter")
        assert options.option_count == 1
        await pilot.press("slash", *"nothing like it")
        assert "no entry matches" in str(app.screen.query_one("#title", Static).content)
        await pilot.press("escape")
        assert options.option_count == all_of_them
        await pilot.press("G")
        assert options.highlighted == all_of_them - 1
        await pilot.press("g", "ctrl+d", "ctrl+u", "escape")
        await settle(pilot)
        assert isinstance(app.screen, Overview)


# What it shows.


async def test_figures_and_code_that_moved(bench: Workbench) -> None:
    async with comparing(bench) as (screen, _):
        told = moved(screen)
        assert "verdict not pipelined pipelined" in told
        assert "shared memory 32 B 12,320 B" in told
        assert screen.stage == "ptx"
        assert "ttgir" in str(screen.query_one("#stages", Static).content)
        assert any(line.lstrip("▶").startswith("-") for line in drawn(screen))
        assert "of " in str(screen.diff.border_subtitle)


async def test_the_stages_come_one_after_the_other_with_how_much_moved(bench: Workbench) -> None:
    async with comparing(bench) as (screen, pilot):
        seen = []
        for _ in screen.stages:
            await pilot.press("s")
            await settle(pilot)
            seen.append(screen.stage)
        assert sorted(seen) == sorted(screen.stages)
        assert screen.stage == "ptx"
        await pilot.press("S")
        await settle(pilot)
        assert screen.stage == seen[-2]
        told = str(screen.query_one("#stages", Static).content)
        assert "source =" in told
        code = bench.code(*PAIR, "ttgir")
        assert f"ttgir {code.added + code.removed + code.changed}" in told


async def test_a_click_on_a_stage_shows_it(bench: Workbench) -> None:
    async with comparing(bench) as (screen, pilot):
        stages = screen.query_one("#stages", Static)
        at = str(stages.content).index("ttgir") + stages.styles.padding.left
        await pilot.click(stages, offset=(at, 0))
        await settle(pilot)
        assert screen.stage == screen.diff.border_title == "ttgir"
        assert screen.context.preferences.layout["compare.stage"] == "ttgir"


async def test_the_sides_can_be_exchanged_and_another_one_picked(bench: Workbench) -> None:
    async with comparing(bench) as (screen, pilot):
        await pilot.press("x")
        await settle(pilot)
        assert (screen.before, screen.after) == ("softmax-h100", "softmax-t4")
        assert "verdict pipelined not pipelined" in moved(screen)
        await pilot.press("c")
        await settle(pilot)
        await pilot.press("j", "enter")
        await settle(pilot)
        assert (screen.before, screen.after) == ("softmax-h100", "softmax-mi300x")
        assert "AMD" in heading(screen) or "gfx942" in heading(screen)
        assert screen.stage in ("ttgir", "llir", "metadata"), "one that both have"


async def test_an_entry_equals_itself(bench: Workbench) -> None:
    async with comparing(bench, ("softmax-h100", "softmax-h100")) as (screen, pilot):
        assert heading(screen, "right") == "sm_90"
        assert "no difference" in moved(screen)
        assert "ptx is identical on both sides" in drawn(screen)[0]
        await pilot.press("j", "right_square_bracket", "y", "enter")
        await settle(pilot)
        assert isinstance(pilot.app.screen, Inspector)


async def test_side_by_side_where_there_is_room_or_by_a_key(bench: Workbench) -> None:
    async with comparing(bench) as (screen, pilot):
        assert not screen.diff.split
        await pilot.resize_terminal(170, 40)
        await settle(pilot)
        assert screen.diff.split
        here = screen.diff.current
        await pilot.press("u")
        assert not screen.diff.split
        assert here is not None
        assert screen.diff.current is not None
        assert set(screen.diff.current.halves) <= set(here.halves), "the cursor stays"
        await pilot.resize_terminal(180, 40)
        await settle(pilot)
        assert not screen.diff.split, "what the user chose stays"


async def test_details_fold(bench: Workbench) -> None:
    async with comparing(bench) as (screen, pilot):
        height = screen.query_one("#deltas").size.height
        await pilot.press("d")
        await settle(pilot)
        assert screen.query_one("#deltas").size.height < height
        await pilot.press("shift+tab", "j", "k", "d")
        await settle(pilot)
        assert screen.query_one("#deltas").size.height == height


@pytest.mark.parametrize("split", [False, True])
async def test_keys_move_the_cursor(bench: Workbench, split: bool) -> None:
    async with comparing(bench) as (screen, pilot):
        diff = screen.diff
        if split:
            await pilot.press("u")
        first = diff.row
        assert diff.lines[first].mark in "-+~", "it begins where something moved"
        for keys, row in (
            ("j", first + 1), ("k", first), ("down down up", first + 1), ("g", 0), ("k", 0),
            ("G", len(diff.lines) - 1), ("j", len(diff.lines) - 1), ("ctrl+home", 0),
            ("right_square_bracket", first), ("left_square_bracket", diff._hunks[-1]),
        ):  # fmt: skip
            await pilot.press(*keys.split())
            assert diff.row == row, keys
            top = round(diff.scroll_y)
            assert top <= diff.row < top + diff.scrollable_content_region.height
        await pilot.press("g", "pagedown", "ctrl+d", "ctrl+u", "ctrl+b")
        assert diff.row == 0
        await pilot.press("l", "right", "h")
        assert diff.scroll_x in (0, 8)
        await pilot.press("dollar_sign", "0")
        assert diff.scroll_x == 0


async def test_search_covers_the_shown_rows(bench: Workbench) -> None:
    async with comparing(bench) as (screen, pilot):
        await pilot.press("slash", *"commit_group", "enter")
        await settle(pilot)
        first = screen.diff.current
        assert first is not None
        assert "commit_group" in first.text
        await pilot.press("n")
        second = screen.diff.row
        assert screen.diff.current is not first
        await pilot.press("N")
        assert screen.diff.current is first
        await pilot.press("slash", *"mbarrier", "escape")
        assert screen.diff.current is first
        await pilot.press("slash", *"no such thing", "enter")
        await settle(pilot)
        assert "no match" in messages(pilot.app)[-1]
        assert second != screen.diff.row


async def test_goes_to_a_line(bench: Workbench) -> None:
    async with comparing(bench) as (screen, pilot):
        await pilot.press("colon", *"60", "enter")
        line = screen.diff.current
        assert line is not None
        assert line.after is not None
        assert abs(line.after.number - 60) < 20
        await pilot.press("colon", *"x", "enter")
        assert messages(pilot.app)[-1] == "'x' is not a line number"


async def test_copies_a_change_as_a_diff(bench: Workbench) -> None:
    async with comparing(bench) as (_, pilot):
        await pilot.press("y")
        head, *lines = pilot.app.clipboard.splitlines()
        assert head.startswith("@@ -")
        assert {line[0] for line in lines} <= set(" -+")


async def test_enter_opens_the_line_on_the_side_that_has_it(bench: Workbench) -> None:
    async with comparing(bench) as (screen, pilot):
        line = screen.diff.current
        assert line is not None
        await pilot.press("enter")
        await settle(pilot)
        shown = pilot.app.screen
        assert isinstance(shown, Inspector)
        half = line.after or line.before
        assert half is not None
        assert shown.key == (PAIR[1] if line.after else PAIR[0])
        assert shown.at == Span("ptx", half.number, half.number)


async def test_a_view_of_the_second_side(bench: Workbench) -> None:
    async with comparing(bench) as (_, pilot):
        await pilot.press("1")
        await settle(pilot)
        assert isinstance(pilot.app.screen, Overview)
        assert pilot.app.screen.key == PAIR[1]
        await pilot.press("escape")
        await settle(pilot)
        assert isinstance(pilot.app.screen, BrowserScreen)


async def test_a_deleted_entry_is_reported(bench: Workbench, delete: Callable[[str], None]) -> None:
    delete(PAIR[1])
    async with comparing(bench) as (screen, pilot):
        assert heading(screen) == "these entries cannot be compared"
        assert messages(pilot.app)[-1].startswith("cannot read softmax-h100")
        await pilot.press("s", "x", "u", "d", "n", "escape", "enter")
        await settle(pilot)


async def test_a_stage_that_fails_says_why(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    compare = bench.code

    def code(before: str, after: str, stage: str) -> CodeComparison:
        if stage == "ptx":
            raise IrlensError("there is no disassembler")
        return compare(before, after, stage)

    monkeypatch.setattr(bench, "code", code)
    async with comparing(bench) as (screen, pilot):
        assert "there is no disassembler" in drawn(screen)[0]
        await pilot.press("s")
        await settle(pilot)
        assert "there is no disassembler" not in drawn(screen)[0]


async def test_no_key_waits_for_an_answer(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    never = threading.Event()
    monkeypatch.setattr(bench, "code", lambda *_: never.wait())
    async with opened(bench, PAIR[0]) as (app, pilot):
        app.show_comparison(*PAIR)
        await until(pilot, lambda: isinstance(app.screen, CompareScreen))
        screen = app.screen
        assert isinstance(screen, CompareScreen)
        await until(pilot, lambda: screen.is_mounted and "pipelined" in moved(screen))
        await until(pilot, lambda: "comparing ptx" in drawn(screen)[0])
        await pilot.press("s", "j", "u", "d", "slash", "a", "escape", "x", "G", "y")
        assert screen.before == PAIR[1]
        await pilot.press("escape")
        await pilot.pause()
        assert isinstance(app.screen, Overview)
        assert not never.is_set()


async def test_answers_about_other_sides_are_dropped(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    compare, late = bench.code, threading.Event()
    asked: list[tuple[str, str]] = []

    def code(before: str, after: str, stage: str) -> CodeComparison:
        asked.append((before, after))
        if before == PAIR[0]:
            late.wait(60)
        return compare(before, after, stage)

    monkeypatch.setattr(bench, "code", code)
    async with opened(bench, PAIR[0]) as (app, pilot):
        app.show_comparison(*PAIR)
        await until(pilot, lambda: (PAIR[0], PAIR[1]) in asked)
        await pilot.press("x")
        await until(pilot, lambda: (PAIR[1], PAIR[0]) in asked)
        late.set()
        await settle(pilot)
        screen = app.screen
        assert isinstance(screen, CompareScreen)
        assert screen.diff.difference is not None
        told = screen.diff.difference.comparison
        assert (told.before.label, told.after.label) == ("sm_90", "sm_75")


async def test_any_size_can_be_shown(bench: Workbench) -> None:
    async with comparing(bench) as (screen, pilot):
        for size in ((1, 1), (60, 16), (149, 31), (150, 32), (300, 100), (10, 200), (200, 3)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            await pilot.press("j", "u", "l")
            drawn(screen)


async def test_the_help_tells_every_key(bench: Workbench) -> None:
    async with comparing(bench) as (screen, pilot):
        known = {
            active.binding.description
            for active in screen.active_bindings.values()
            if active.binding.id and active.binding.description
        }
        await pilot.press("question_mark")
        await pilot.pause()
        told = pilot.app.screen.query_one(Markdown).source
        assert {what for what in known if what not in told} == set()


# Drawings.


def side(label: str) -> Side:
    config = Config(num_warps=4, num_stages=2, num_ctas=1, maxnreg=None, constexprs={}, args={})
    return Side(kernel="k", target=None, triton_version=None, config=config, label=label)


def comparison(hunks: list[CodeHunk], lines: int = 9) -> CodeComparison:
    return CodeComparison(
        stage="ptx", before=side("a"), after=side("b"), different=True, added=1, removed=1,
        changed=1, before_lines=lines, after_lines=lines, hunks=hunks,
    )  # fmt: skip


def row(kind: str, before: str | None, after: str | None, line: int = 1) -> CodeRow:
    return CodeRow(
        kind=kind,  # type: ignore[arg-type]
        before_line=None if before is None else line,
        after_line=None if after is None else line,
        before=before,
        after=after,
        before_words=((0, 1),) if kind == "changed" else (),
        after_words=((0, 1),) if kind == "changed" else (),
    )


TEXT = st.text(
    st.characters(exclude_categories=["Cs"]) | st.sampled_from("\t\x1b\n\u202e"), min_size=1
)
ROWS = st.one_of(
    st.builds(lambda a, b: row("changed", a, b), TEXT, TEXT),
    st.builds(lambda a: row("removed", a, None), TEXT),
    st.builds(lambda a: row("added", None, a), TEXT),
    st.builds(lambda a: row("same", a, a), TEXT),
)


@given(st.lists(st.lists(ROWS, min_size=1, max_size=4), max_size=4))
def test_both_drawings_have_every_line_once(hunks: list[list[CodeRow]]) -> None:
    shown = Difference(comparison([CodeHunk(heading="f", rows=rows) for rows in hunks]))
    rows = [row for rows in hunks for row in rows]
    assert len(shown.split) == len(hunks) + len(rows)
    changed = sum(row.kind == "changed" for row in rows)
    assert len(shown.unified) == len(shown.split) + changed
    for lines in (shown.split, shown.unified):
        assert sum(len([*line.halves]) for line in lines) == sum(
            (row.before is not None) + (row.after is not None) for row in rows
        )
    assert not any(
        ord(char) < 32 or ord(char) == 0x202E for line in shown.split
        for half in line.halves for char in half.text
    )  # fmt: skip


async def test_a_hundred_thousand_lines_are_drawn_as_they_are_looked_at(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = 100_000
    rows = [row("changed", f"add %r{at}", f"sub %r{at}", at + 1) for at in range(number)]
    hunks = [CodeHunk(heading="f", rows=rows[at : at + 50]) for at in range(0, number, 50)]
    large = comparison(hunks, number)
    monkeypatch.setattr(bench, "code", lambda *_: large)
    async with comparing(bench) as (screen, pilot):
        for key in ("G", "k", "right_square_bracket", "u", "G", "pageup", "u", "g", "j"):
            await pilot.press(key)
            assert any(str(line) for line in drawn(screen))
        assert screen.diff.row == 1


def test_looks_as_it_did(
    bench: Workbench, snap_compare: Callable[..., bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Every stage is counted, however slow the machine is.
    monkeypatch.setattr(stage_comparison, "_SLOW", PATIENCE)
    for size in ((80, 24), (120, 40), (250, 60)):
        app = IrlensApp(bench, entry="softmax-t4")

        async def open_it(pilot: Pilot[None], app: IrlensApp = app) -> None:
            await settle(pilot)
            app.show_comparison(*PAIR)
            await settle(pilot)

        assert snap_compare(app, terminal_size=size, run_before=open_it)


def test_picking_looks_as_it_did(bench: Workbench, snap_compare: Callable[..., bool]) -> None:
    async def open_it(pilot: Pilot[None]) -> None:
        await settle(pilot)
        await pilot.press("c")
        await settle(pilot)

    app = IrlensApp(bench, entry="softmax-h100")
    assert snap_compare(app, terminal_size=(80, 24), run_before=open_it)
