"""The browser, key by key."""

import time
from collections import Counter
from collections.abc import Callable, Iterator

import pytest
from msgspec.structs import replace
from textual.color import Color
from textual.pilot import Pilot
from textual.widgets import Markdown, Static

from irlens.model.config import Config
from irlens.session.exchange import Entry, Group
from irlens.session.interactive import Workbench
from irlens.tui.app import IrlensApp
from irlens.tui.entries.cells import age
from irlens.tui.entries.columns import BROWSER_COLUMNS
from irlens.tui.entries.rows import EntryRows
from irlens.tui.entries.summary import EntrySummary
from irlens.tui.entries.table import EntryTable
from irlens.tui.screens.browser import BrowserScreen
from irlens.tui.screens.compare import CompareScreen
from irlens.tui.screens.dialogs import Dialog, TextDialog
from irlens.tui.screens.inspector import InspectorScreen as Inspector
from irlens.tui.screens.overview import OverviewScreen as View
from irlens.tui.screens.recompile_form import RecompileForm
from irlens.tui.widgets.compile_status import CompileStatus
from tests.tui.conftest import DAY, FakeWorkbench
from tests.tui.opening import messages, opened, screen_text
from tests.tui.waiting import settle, until

SIZE = (160, 40)


def rows(app: IrlensApp, column: str = "kernel") -> list[str]:
    rows = app.screen.query_one(EntryTable).rows
    return ["".join(text for text, _ in rows.cells_of(key)[column][0]) for key in rows.shown]


def drawn(app: IrlensApp, line: int) -> str:
    return app.screen.query_one(EntryTable).render_line(line).text


def current(app: IrlensApp) -> str | None:
    return app.screen.query_one(EntryTable).current


async def test_lists_everything_with_its_figures(bench: Workbench) -> None:
    async with opened(bench, size=SIZE) as (app, _):
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


async def test_says_when_entries_were_captured(bench: FakeWorkbench) -> None:
    now = time.time()
    bench.captured["softmax-t4"] = now - 3.5 * DAY
    async with opened(bench, size=(200, 40)) as (app, pilot):
        assert set(rows(app, "captured")) == {"–", "1 d ago", "2 h ago", "3 d ago"}
        assert "captured" in drawn(app, 0)
        await pilot.press("o", "c")
        assert current(app) == "softmax-h100", "the newest first"
        table = app.screen.query_one(EntryTable)
        table.rows.update_times(now + DAY)
        assert rows(app, "captured")[0] == "1 d ago"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(-5, "just now"), (59, "just now"), (60, "1 min ago"), (3599, "59 min ago"), (3600, "1 h ago"),
     (DAY - 1, "23 h ago"), (29.5 * DAY, "29 d ago"), (31 * DAY, "2026-05-20")],
)  # fmt: skip
def test_ages_are_relative_for_a_month(seconds: float, words: str) -> None:
    then = time.mktime((2026, 5, 20, 12, 0, 0, 0, 0, -1))
    assert age(seconds, then) == words


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 50)])
async def test_findings_are_in_sight(bench: Workbench, size: tuple[int, int]) -> None:
    async with opened(bench, size=size) as (app, _):
        assert "findings" in drawn(app, 0)
        counts = Counter[str]()
        for cell in rows(app, "findings"):
            counts.update(
                {piece[-1]: int(piece[:-1]) for piece in cell.split() if piece[-1] in "✗▲•"}
            )
        heading = str(app.screen.query_one(".-right", Static).content)
        assert {f"{number}{sign}" for sign, number in counts.items()} <= set(heading.split())


@pytest.mark.parametrize(
    ("key", "column", "first", "last"),
    [
        ("r", "registers", "128", "–"),
        ("o", "occupancy", "100 %", "–"),
        ("l", "local", "304", "–"),
        ("m", "shared", "24,600", "–"),
        ("f", "findings", "1▲ 2• ", "–"),
        ("p", "pipelines", "4/4 ", "–"),
        ("t", "target", "gfx942", ""),
    ],
)
async def test_sorts_by_a_column_with_unknown_values_last(
    bench: Workbench, key: str, column: str, first: str, last: str
) -> None:
    async with opened(bench, size=SIZE) as (app, pilot):
        await pilot.press("o", key)
        await settle(pilot)
        assert rows(app, column)[0] == first
        assert rows(app, column)[-1] == last
        await pilot.press("o", key)
        await pilot.pause()
        assert rows(app, column)[-1] == last, "unknown comes last the other way round, too"


async def test_a_click_on_a_title_sorts(bench: Workbench) -> None:
    async with opened(bench, size=SIZE) as (app, pilot):
        await pilot.click(EntryTable, offset=(drawn(app, 0).index("regs"), 0))
        await pilot.pause()
        assert rows(app, "registers")[0] == "128"


async def test_the_cursor_stays_on_its_entry(bench: Workbench) -> None:
    async with opened(bench, size=SIZE) as (app, pilot):
        await pilot.press("j", "j")
        chosen = current(app)
        for key in ("r", "o", "o", "n"):
            await pilot.press("o", key)
            await settle(pilot)
            assert current(app) == chosen


async def test_moves_with_vim_keys(bench: Workbench) -> None:
    async with opened(bench, size=SIZE) as (app, pilot):
        await pilot.press("j", "down", "k")
        assert current(app) == "matmul-a100"
        await pilot.press("G")
        assert current(app) == "spill-h100"
        await pilot.press("g")
        assert current(app) == "broken"


async def test_a_search_keeps_the_rows_with_all_words(bench: Workbench) -> None:
    async with opened(bench, size=SIZE) as (app, pilot):
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


async def test_n_cycles_through_the_matching_rows(bench: Workbench) -> None:
    async with opened(bench, size=SIZE) as (app, pilot):
        await pilot.press("slash", *"softmax", "enter", "n", "n")
        await pilot.pause()
        third = current(app)
        await pilot.press("n")
        assert current(app) != third
        await pilot.press("N")
        assert current(app) == third


async def test_the_summary_follows_the_cursor(bench: Workbench) -> None:
    async with opened(bench, size=SIZE) as (app, pilot):
        await pilot.press("G")
        await settle(pilot)
        told = str(app.screen.query_one(EntrySummary).content)
        assert "spill_kernel" in told
        assert "304 B of local memory" in told, "the verdict"
        assert "IRL105" in told
        await pilot.press("s")
        await pilot.pause()
        assert not app.screen.query_one("#summary").display


async def test_enter_opens_an_entry_and_escape_returns(bench: Workbench) -> None:
    async with opened(bench, size=SIZE) as (app, pilot):
        await pilot.press("j", "enter")
        await settle(pilot)
        assert isinstance(app.screen, View)
        assert app.screen.key == "matmul-a100"
        await pilot.press("escape")
        await pilot.pause()
        assert isinstance(app.screen, BrowserScreen)
        assert current(app) == "matmul-a100"


async def test_an_unreadable_entry_says_why(bench: Workbench) -> None:
    async with opened(bench, size=SIZE) as (app, pilot):
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(app.screen, BrowserScreen)
        (told,) = app._notifications
        assert told.message == "add_kernel.json is broken"


async def test_a_deleted_entry_is_reported(bench: Workbench, delete: Callable[[str], None]) -> None:
    async with opened(bench, size=SIZE) as (app, pilot):
        await pilot.press("j")
        await settle(pilot)
        delete("matmul-a100")
        await pilot.press("enter")
        await settle(pilot)
        told = str(app.screen.query_one("#problem", Static).content)
        assert told == "cannot read matmul-a100: No such file or directory"
        await pilot.press("escape")
        await pilot.pause()
        assert isinstance(app.screen, BrowserScreen)


async def test_copies_the_place(bench: Workbench) -> None:
    async with opened(bench, size=SIZE) as (app, pilot):
        await pilot.press("j", "y")
        assert app.clipboard == "captures/matmul-a100"


async def test_looks_again(bench: Workbench, delete: Callable[[str], None]) -> None:
    async with opened(bench, size=SIZE) as (app, pilot):
        before = rows(app)
        await pilot.press("R")
        await settle(pilot)
        assert rows(app) == before


async def test_rows_that_arrive_do_not_move_the_one_that_is_looked_at(bench: Workbench) -> None:
    async with opened(bench, size=(80, 12)) as (app, pilot):
        table = app.screen.query_one(EntryTable)
        await pilot.press(*"jjjj")
        chosen, line = current(app), table.row - table.scroll_offset.y
        table.add(Entry(key=f"new {at}", kernel=f"a_kernel_{at:02}") for at in range(40))
        await pilot.pause()
        assert current(app) == chosen
        assert table.row - table.scroll_offset.y == line
        assert drawn(app, line + 1).split()[0] == "softmax_kernel"


async def test_until_it_is_moved_the_cursor_stays_at_the_top(bench: Workbench) -> None:
    async with opened(bench, size=(80, 12)) as (app, pilot):
        table = app.screen.query_one(EntryTable)
        table.add(Entry(key=f"new {at}", kernel=f"a_kernel_{at:02}") for at in range(40))
        await pilot.pause()
        assert (current(app), table.scroll_offset.y) == ("new 0", 0)


async def test_pages_and_clicks(bench: Workbench) -> None:
    async with opened(bench, size=(80, 24)) as (app, pilot):
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
    async with opened(bench, size=SIZE) as (app, pilot):
        await pilot.press("slash", *"pill num_w", "enter")
        await pilot.pause()
        table = app.screen.query_one(EntryTable)
        match = table.get_component_rich_style("entry-table--match")
        marked = [part.text for part in table.render_line(1) if part.style == match]
        assert marked == ["pill", "num_w"]
        assert match not in [part.style for part in table.render_line(0)]


@pytest.mark.parametrize("theme", ["irlens-dark", "irlens-light", "irlens-contrast"])
async def test_the_row_under_the_cursor_can_be_read(bench: Workbench, theme: str) -> None:
    app = IrlensApp(bench)
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


async def test_a_narrow_terminal_has_fewer_columns_and_all_of_them_whole(bench: Workbench) -> None:
    async with opened(bench, size=(300, 40)) as (app, pilot):
        table = app.screen.query_one(EntryTable)
        assert list(table.columns.widths) == list(BROWSER_COLUMNS)
        assert not table.columns.has_more
        for width in (160, 120, 100, 80, 60):
            await pilot.resize_terminal(width, 24)
            await settle(pilot)
            shown = table.columns.widths
            assert {"kernel", "registers"} <= set(shown)
            assert (
                drawn(app, 0).split()
                == [word for name in shown for word in table.rows.title(name).split()]
                + ["›"] * table.columns.has_more
            )
            assert len(drawn(app, 0)) == table.scrollable_content_region.width
        assert "local" not in table.columns.widths
        assert len(rows(app)) == 8


async def test_columns_that_do_not_fit_are_panned_to(bench: Workbench) -> None:
    async with opened(bench, size=(80, 24)) as (app, pilot):
        table = app.screen.query_one(EntryTable)
        first, seen = table.columns, set(table.columns.widths)
        assert first.has_more
        for _ in BROWSER_COLUMNS:
            await pilot.press("l")
            seen |= set(table.columns.widths)
            assert "kernel" in table.columns.widths
            assert drawn(app, 0).startswith("‹")
        assert seen == set(BROWSER_COLUMNS)
        assert not table.columns.has_more
        for _ in BROWSER_COLUMNS:
            await pilot.press("left")
        assert table.columns == first


async def test_settings_begin_with_the_differences_between_entries(bench: Workbench) -> None:
    def config(warps: int, stages: int) -> Config:
        return Config(
            num_warps=warps, num_stages=stages, num_ctas=1, maxnreg=None,
            constexprs={"BLOCK": 64}, args={"n": stages},
        )  # fmt: skip

    rows = EntryRows()
    rows.add(
        Entry(key=f"{warps} {stages}", kernel="k", config=config(warps, stages))
        for warps in (16, 4)
        for stages in (2, 3)
    )
    assert rows.shown == ["4 2", "4 3", "16 2", "16 3"], "numbers in their order"
    apart, _, rest = rows.cells_of("4 3")["settings"][0]
    assert apart == ("num_warps=4 num_stages=3 n=3", "")
    assert rest[0] == "BLOCK=64"
    rows.add([Entry(key="other", kernel="another", config=config(8, 8))])
    assert rows.cells_of("other")["settings"][0][0] == ("", ""), "alone of its kernel"


async def test_recompiles_the_entry_under_the_cursor(bench: FakeWorkbench) -> None:
    async with opened(bench, size=SIZE) as (app, pilot):
        app.screen.query_one(EntryTable).select("softmax-h100")
        bench.compiled.clear()
        await pilot.press("r")
        await settle(pilot)
        assert isinstance(app.screen, RecompileForm)
        await pilot.press("left", "enter")
        await until(pilot, lambda: app.context.compilations.running is not None)
        assert isinstance(app.screen, BrowserScreen)
        status = app.screen.query_one(CompileStatus)
        assert "esc cancels" in str(status.content)
        await pilot.press("escape")
        await settle(pilot)
        assert "cancelled" in messages(app)[-1]
        bench.compiled.set()
        await pilot.press("r")
        await settle(pilot)
        await pilot.press("enter")
        await settle(pilot)
        assert bench.recompiled == [("softmax-h100", {"num_stages": "3"})] * 2
        assert isinstance(app.screen, BrowserScreen)
        assert current(app) == "softmax-t4", "the cursor is on what has been compiled"


async def test_a_recompiled_entry_is_compared_with_its_origin(
    bench: FakeWorkbench,
) -> None:
    async with opened(bench, size=SIZE) as (app, pilot):
        app.screen.query_one(EntryTable).select("softmax-h100")
        await pilot.press("r")
        await settle(pilot)
        await pilot.press("enter")
        await settle(pilot)
        await pilot.press("c")
        await settle(pilot)
        assert isinstance(app.screen, CompareScreen)
        assert (app.screen.before, app.screen.after) == ("softmax-h100", "softmax-t4")


async def test_a_row_whose_entry_is_gone_says_so_once_it_is_looked_at(
    bench: Workbench, delete: Callable[[str], None]
) -> None:
    async with opened(bench, size=SIZE) as (app, pilot):
        delete("spill-h100")
        await pilot.press("G")
        await settle(pilot)
        spill = rows(app).index("spill_kernel")
        assert rows(app, "mark")[spill] == "✗"
        assert "cannot read spill-h100" in rows(app, "settings")[spill]
        await pilot.press("enter")
        await settle(pilot)
        assert isinstance(app.screen, BrowserScreen)


async def test_an_entry_compiled_by_opening_it_is_updated_on_return(
    bench: FakeWorkbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = Entry(key="softmax-h100", kernel="softmax")
    monkeypatch.setattr(bench, "entries", lambda: iter([named]))
    async with opened(bench, size=SIZE) as (app, pilot):
        assert rows(app, "settings") == ["not compiled yet"]
        await pilot.press("enter")
        await settle(pilot)
        await pilot.press("escape")
        await settle(pilot)
        assert rows(app) == ["softmax_kernel"]
        assert rows(app, "registers") == ["30"]


async def test_numbers_open_the_views(bench: Workbench) -> None:
    async with opened(bench, size=SIZE) as (app, pilot):
        await pilot.press("G", "2")
        await settle(pilot)
        assert isinstance(app.screen, Inspector)
        assert app.screen.key == "spill-h100"


async def test_search_order_and_place_are_there_again(bench: Workbench) -> None:
    async with opened(bench, size=SIZE) as (app, pilot):
        await pilot.press("slash", *"softmax", "enter", "o", "r", "G")
        await settle(pilot)
        before, chosen = rows(app, "registers"), current(app)
        await pilot.press("enter")
        await settle(pilot)
        assert isinstance(app.screen, View)
        await pilot.press("escape")
        await settle(pilot)
        assert rows(app, "registers") == before
        assert len(before) == 3
        assert current(app) == chosen


def _many(bench: FakeWorkbench, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """List many entries of a sample as a cache lists them: without what has to be analysed."""
    report = bench.reports["softmax-h100"]
    for at in range(number):
        kernel = f"kernel_{at:04}"
        bench.reports[kernel] = replace(report, kernel=kernel)

    def listed() -> Iterator[Entry]:
        for at in range(number):
            key = f"kernel_{at:04}"
            yield Entry(key=key, kernel=key, target=report.target, config=report.config)
        for at in range(number):
            entry = bench.entry(f"kernel_{at:04}")
            yield replace(entry, figures=None, stages=None, findings=None)

    monkeypatch.setattr(bench, "entries", listed)


async def test_only_the_rows_in_sight_are_analysed(
    bench: FakeWorkbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    _many(bench, monkeypatch, 400)
    async with opened(bench, size=(80, 24)) as (app, pilot):
        table = app.screen.query_one(EntryTable)
        asked = [key for keys in bench.completed for key in keys]
        page = table.size.height - 1
        assert asked == table.rows.shown[:page]
        assert rows(app, "findings")[: len(asked)] == ["none"] * len(asked)
        assert rows(app, "findings")[len(asked)] == "…"
        assert f"400 entries · {len(asked)} analysed" in screen_text(app)
        await pilot.press("pagedown", "pagedown")
        await settle(pilot)
        asked = [key for keys in bench.completed for key in keys]
        assert asked == table.rows.shown[: table.scroll_offset.y + 2 * page], "with the next page"
        await pilot.press("G")
        await settle(pilot)
        assert rows(app, "findings")[-1] == "none"
        before, asked = asked, [key for keys in bench.completed for key in keys]
        assert asked == [*before, *table.rows.shown[-page:]]
        bench.completed.clear()
        await pilot.press("g", "j", "k")
        await settle(pilot)
        assert not bench.completed, "once is enough"


@pytest.mark.parametrize("keys", [["o", "f"], ["slash", *"warning", "enter"]])
async def test_an_order_or_a_filter_by_findings_has_all_rows_analysed(
    bench: FakeWorkbench, monkeypatch: pytest.MonkeyPatch, keys: list[str]
) -> None:
    _many(bench, monkeypatch, 100)
    async with opened(bench, size=(80, 24)) as (app, pilot):
        await pilot.press(*keys)
        await settle(pilot)
        asked = [key for keys in bench.completed for key in keys]
        assert sorted(asked) == sorted(app.screen.query_one(EntryTable).rows.entries)
        assert "analysed" not in screen_text(app)


async def test_opens_on_the_project_with_configurations_folded(
    bench: FakeWorkbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    report, now = bench.reports["softmax-h100"], time.time()

    def listed() -> Iterator[Entry]:
        own = Group("project", "mine.py:mine")
        yield Entry(key="mine.py:mine", kernel="mine", place="mine.py", group=own)
        for at in range(12):
            bench.reports[f"swept {at}"] = report
            entry = replace(bench.entry(f"swept {at}"), kernel="swept", modified=now - at)
            yield replace(entry, group=Group("captures", "swept"))
        yield Entry(key="softmax", kernel="softmax", group=Group("samples", "softmax"))

    monkeypatch.setattr(bench, "entries", listed)
    async with opened(bench, size=(80, 24)) as (app, pilot):
        lines = [" ".join(drawn(app, line).split()) for line in range(1, 7)]
        assert lines[0] == "Kernels of this folder"
        assert lines[1].startswith("○ mine ")
        assert "mine.py not comp" in lines[1]
        assert lines[2] == "Recent captures"
        assert lines[3].startswith("▸ swept ")
        assert "+ 11 more" in lines[3]
        assert lines[4] == "Samples"
        assert "14 entries" in screen_text(app)
        assert current(app) == "mine.py:mine"
        await pilot.press("j")
        assert current(app) == "swept 0", "titles are passed over"
        await pilot.press("space", "j")
        assert current(app) == "swept 1"
        assert drawn(app, 4).split()[0] == "▾"
        await pilot.press("k", "space", "j")
        assert current(app) == "softmax"
        await pilot.press("k", "k", "k")
        assert current(app) == "mine.py:mine"
        await pilot.click(EntryTable, offset=(5, 1))
        await pilot.press("space", "G", "n")
        assert current(app) == "mine.py:mine"
        await pilot.press("slash", *"swept", "enter")
        await pilot.pause()
        assert app.screen.query_one(EntryTable).rows.matching == 12
        assert current(app) == "swept 0"


@pytest.mark.parametrize("keys", [["o"], ["j", "c"], ["G", "k", "r"]])
async def test_every_dialogue_has_help(bench: Workbench, keys: list[str]) -> None:
    async with opened(bench, size=SIZE) as (app, pilot):
        await pilot.press(*keys)
        await settle(pilot)
        dialogue = app.screen
        assert isinstance(dialogue, Dialog)
        await pilot.press("question_mark")
        await settle(pilot)
        assert isinstance(app.screen, TextDialog)
        told = app.screen.query_one(Markdown).source
        assert dialogue.HELP_TEXT.strip().splitlines()[0] in told
        assert "Cancel" in told
        await pilot.press("escape", "escape")
        await settle(pilot)
        assert isinstance(app.screen, BrowserScreen)


def test_looks_as_it_did(bench: Workbench, snap_compare: Callable[..., bool]) -> None:
    async def choose(pilot: Pilot[None]) -> None:
        await settle(pilot)
        await pilot.press("j", "j")
        await settle(pilot)

    for size in ((80, 24), (120, 40), (250, 60)):
        assert snap_compare(IrlensApp(bench), terminal_size=size, run_before=choose)
