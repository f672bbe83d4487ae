"""The browser, key by key."""

from collections.abc import Callable

import pytest
from textual.color import Color
from textual.pilot import Pilot

from irlens.tui.app import Lens
from irlens.tui.screens.browser import BrowserScreen
from irlens.tui.screens.overview import View
from irlens.tui.widgets.entry_summary import EntrySummary
from irlens.tui.widgets.entry_table import EntryTable
from irlens.tui.workbench import Entry, Workbench

SIZE = (160, 40)


async def settle(pilot: Pilot[None]) -> None:
    """Wait until everything that was asked has been answered and drawn."""
    await pilot.pause(0.15)
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()


def rows(app: Lens, column: str = "kernel") -> list[str]:
    rows = app.screen.query_one(EntryTable).rows
    return ["".join(text for text, _ in rows.cells_of(key)[column][0]) for key in rows.shown]


def drawn(app: Lens, line: int) -> str:
    return app.screen.query_one(EntryTable).render_line(line).text


def current(app: Lens) -> str | None:
    return app.screen.query_one(EntryTable).current


async def test_lists_everything_with_its_figures(bench: Workbench) -> None:
    app = Lens(bench)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        assert rows(app) == [
            "add_kernel", "matmul_kernel", "matmul_kernel", "matmul_tma_kernel", "softmax_kernel",
            "softmax_kernel", "softmax_kernel", "spill_kernel",
        ]  # fmt: skip
        spill = rows(app).index("spill_kernel")
        assert rows(app, "mark")[spill] == "!"
        assert drawn(app, 1).lstrip().startswith("✗")
        assert rows(app, "registers")[spill] == "128"
        assert rows(app, "local")[spill] == "304"
        assert rows(app, "findings")[spill] == "1▲ 2• "
        assert "is broken" in rows(app, "settings")[0]


@pytest.mark.parametrize(
    ("key", "column", "first", "last"),
    [
        ("r", "registers", "128", "–"),
        ("o", "occupancy", "████  100 %", "–"),
        ("m", "shared", "24,600", "–"),
        ("f", "findings", "1▲ 2• ", "–"),
        ("p", "pipelines", "4/4 ", "–"),
        ("t", "target", "gfx942", ""),
    ],
)
async def test_sorts_by_a_column_with_what_is_unknown_at_the_end(
    bench: Workbench, key: str, column: str, first: str, last: str
) -> None:
    app = Lens(bench)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.press(key)
        await pilot.pause()
        assert rows(app, column)[0] == first
        assert rows(app, column)[-1] == last
        await pilot.press(key)
        await pilot.pause()
        assert rows(app, column)[-1] == last, "unknown comes last the other way round, too"


async def test_a_click_on_a_title_sorts(bench: Workbench) -> None:
    app = Lens(bench)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.click(EntryTable, offset=(33, 0))
        await pilot.pause()
        assert rows(app, "registers")[0] == "128"


async def test_the_cursor_stays_on_its_entry(bench: Workbench) -> None:
    app = Lens(bench)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.press("j", "j")
        chosen = current(app)
        for key in ("r", "o", "o", "a"):
            await pilot.press(key)
            await pilot.pause()
            assert current(app) == chosen


async def test_moves_with_vim_keys(bench: Workbench) -> None:
    app = Lens(bench)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.press("j", "down", "k")
        assert current(app) == "matmul-a100"
        await pilot.press("G")
        assert current(app) == "spill-h100"
        await pilot.press("g")
        assert current(app) == "broken"


async def test_a_search_keeps_the_rows_with_all_words(bench: Workbench) -> None:
    app = Lens(bench)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.press("slash", *"softmax h100")
        await pilot.pause()
        assert rows(app, "target") == ["sm_90"]
        await pilot.press("escape")
        await pilot.pause()
        assert len(rows(app)) == 8
        await pilot.press("slash", *"spills", "enter")
        await pilot.pause()
        assert rows(app) == ["spill_kernel"]
        await pilot.press("escape")
        await pilot.press("slash", *"Softmax", "enter")
        await pilot.pause()
        assert rows(app) == [], "a capital letter asks for exactly that"


async def test_n_goes_round_the_rows_that_were_found(bench: Workbench) -> None:
    app = Lens(bench)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.press("slash", *"softmax", "enter", "n", "n")
        await pilot.pause()
        third = current(app)
        await pilot.press("n")
        assert current(app) != third
        await pilot.press("N")
        assert current(app) == third


async def test_the_summary_follows_the_cursor(bench: Workbench) -> None:
    app = Lens(bench)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.press("G")
        await settle(pilot)
        told = str(app.screen.query_one(EntrySummary).content)
        assert "spill_kernel" in told
        assert "304 B per thread" in told
        assert "IRL105" in told
        await pilot.press("s")
        await pilot.pause()
        assert not app.screen.query_one("#summary").display


async def test_enter_opens_an_entry_and_escape_returns(bench: Workbench) -> None:
    app = Lens(bench)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.press("j", "enter")
        await settle(pilot)
        assert isinstance(app.screen, View)
        assert app.screen.key == "matmul-a100"
        await pilot.press("escape")
        await pilot.pause()
        assert isinstance(app.screen, BrowserScreen)
        assert current(app) == "matmul-a100"


async def test_what_cannot_be_read_says_why(bench: Workbench) -> None:
    app = Lens(bench)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(app.screen, BrowserScreen)
        (told,) = app._notifications
        assert told.message == "add_kernel.json is broken"


async def test_an_entry_deleted_meanwhile_says_so(
    bench: Workbench, delete: Callable[[str], None]
) -> None:
    app = Lens(bench)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        delete("matmul-a100")
        await pilot.press("j", "enter")
        await settle(pilot)
        (told,) = app._notifications
        assert told.message == "cannot read matmul-a100: No such file or directory"
        await pilot.press("escape")
        await pilot.pause()
        assert isinstance(app.screen, BrowserScreen)


async def test_copies_the_place(bench: Workbench) -> None:
    app = Lens(bench)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.press("j", "y")
        assert app.clipboard == "captures/matmul-a100"


async def test_looks_again(bench: Workbench, delete: Callable[[str], None]) -> None:
    app = Lens(bench)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        before = rows(app)
        await pilot.press("R")
        await settle(pilot)
        assert rows(app) == before


async def test_rows_that_arrive_do_not_move_the_one_that_is_looked_at(bench: Workbench) -> None:
    app = Lens(bench)
    async with app.run_test(size=(80, 12)) as pilot:
        await settle(pilot)
        table = app.screen.query_one(EntryTable)
        await pilot.press(*"jjjj")
        chosen, line = current(app), table.row - table.scroll_offset.y
        table.add(Entry(key=f"new {at}", kernel=f"a_kernel_{at:02}") for at in range(40))
        await pilot.pause()
        assert current(app) == chosen
        assert table.row - table.scroll_offset.y == line
        assert drawn(app, line + 1).split()[0] == "softmax_kernel"


async def test_until_it_is_moved_the_cursor_stays_at_the_top(bench: Workbench) -> None:
    app = Lens(bench)
    async with app.run_test(size=(80, 12)) as pilot:
        await settle(pilot)
        table = app.screen.query_one(EntryTable)
        table.add(Entry(key=f"new {at}", kernel=f"a_kernel_{at:02}") for at in range(40))
        await pilot.pause()
        assert (current(app), table.scroll_offset.y) == ("new 0", 0)


async def test_pages_and_clicks(bench: Workbench) -> None:
    app = Lens(bench)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        table = app.screen.query_one(EntryTable)
        table.add(Entry(key=f"new {at}", kernel=f"z_kernel_{at:02}") for at in range(40))
        await pilot.press("ctrl+d")
        page = table.row
        assert page == table.size.height - 1
        await pilot.press("ctrl+d", "ctrl+u")
        assert table.row == page
        await pilot.press("g")
        await pilot.click(EntryTable, offset=(5, 3))
        await pilot.pause()
        assert current(app) == "matmul-b200"
        await pilot.click(EntryTable, offset=(5, 3))
        await settle(pilot)
        assert isinstance(app.screen, View)


async def test_the_words_that_were_found_are_marked(bench: Workbench) -> None:
    app = Lens(bench)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.press("slash", *"pill num_w", "enter")
        await pilot.pause()
        table = app.screen.query_one(EntryTable)
        match = table.get_component_rich_style("entry-table--match")
        marked = [part.text for part in table.render_line(1) if part.style == match]
        assert marked == ["pill", "num_w"]
        assert match not in [part.style for part in table.render_line(0)]


@pytest.mark.parametrize("theme", ["irlens-dark", "irlens-light", "irlens-contrast"])
async def test_the_row_under_the_cursor_can_be_read(bench: Workbench, theme: str) -> None:
    app = Lens(bench)
    async with app.run_test(size=SIZE) as pilot:
        app.theme = theme
        await settle(pilot)
        await pilot.press("G")
        table = app.screen.query_one(EntryTable)
        for part in table.render_line(table.row + 1):
            assert part.style is not None
            assert part.style.color is not None
            assert part.style.bgcolor is not None
            ink, paper = map(Color.from_rich_color, (part.style.color, part.style.bgcolor))
            assert abs(ink.brightness - paper.brightness) > 0.3, part


async def test_a_narrow_terminal_has_fewer_columns(bench: Workbench) -> None:
    app = Lens(bench)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        table = app.screen.query_one(EntryTable)
        assert "local" in table.rows.columns
        assert "local B" in drawn(app, 0)
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert "local" not in table.rows.columns
        assert "local B" not in drawn(app, 0)
        assert len(rows(app)) == 8


def test_looks_as_it_did(bench: Workbench, snap_compare: Callable[..., bool]) -> None:
    for size in ((80, 24), (120, 40), (250, 60)):
        assert snap_compare(Lens(bench), press=["j", "j"], terminal_size=size, run_before=settle)
