"""The app: keys, themes, preferences and errors."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.command import CommandList, CommandPalette
from textual.events import Resize
from textual.geometry import Size
from textual.pilot import Pilot
from textual.widgets import Markdown, Static

from irlens.model.errors import IrlensError
from irlens.session.interactive import Workbench
from irlens.tui.app import IrlensApp
from irlens.tui.entries.table import EntryTable
from irlens.tui.help import Commands
from irlens.tui.screens import MIN_HEIGHT, MIN_WIDTH, TooSmall
from irlens.tui.screens.browser import BrowserScreen
from irlens.tui.screens.dialogs import TextDialog
from irlens.tui.screens.inspector import InspectorScreen as Inspector
from irlens.tui.screens.overview import OverviewScreen as Overview
from irlens.tui.services import keymap, preferences
from irlens.tui.themes import CONTRAST, DARK, LIGHT
from tests.tui.opening import opened
from tests.tui.waiting import settle, until


async def test_help_lists_every_key_of_the_screen(bench: Workbench) -> None:
    async with opened(bench, "softmax-h100") as (app, pilot):
        known = {
            active.binding.description
            for active in app.screen.active_bindings.values()
            if active.binding.id and active.binding.description
        }
        await pilot.press("question_mark")
        await pilot.pause()
        assert isinstance(app.screen, TextDialog)
        told = app.screen.query_one(Markdown).source
        assert {what for what in known if what not in told} == set()
        await pilot.press("q")
        await pilot.pause()
        assert not isinstance(app.screen, TextDialog)


async def test_the_palette_runs_actions(bench: Workbench) -> None:
    async with opened(bench) as (app, pilot):
        await pilot.press("ctrl+p")
        await until(pilot, lambda: isinstance(app.screen, CommandPalette))
        await pilot.press(*"by registers")
        found = app.screen.query_one(CommandList)
        await until(pilot, lambda: found.option_count == 1 and found.highlighted == 0)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, BrowserScreen))
        table = app.screen.query_one(EntryTable)
        await until(pilot, lambda: table.rows.sorted_by == "registers")


async def test_the_palette_lists_screen_actions_before_movement(
    bench: Workbench,
) -> None:
    async with opened(bench) as (app, _):
        told = [str(hit.text) async for hit in Commands(app.screen).discover()]
        moving = [name.startswith("Here: ") for name in told[: told.index("Theme")]]
        assert moving == sorted(moving)
        assert told.index("Compare") < told.index("Here: Down")


async def test_the_palette_starts_with_irlens_s_own_actions_and_describes_each(
    bench: Workbench,
) -> None:
    async with opened(bench) as (app, pilot):
        hits = [hit async for hit in Commands(app.screen).discover()]
        titles = [str(hit.text) for hit in hits]
        own = [number for number, hit in enumerate(hits) if " · key" in (hit.help or "")]
        assert own == list(range(len(own))), "Textual's own come last"
        assert titles[len(own) :] == ["Theme", "Maximize", "Screenshot"]
        assert all(len(hit.help or "") > len(" · key x") for hit in hits)
        app.show_view("inspector", "softmax-h100")
        await settle(pilot)
        described = {str(hit.text): str(hit.help) async for hit in Commands(app.screen).discover()}
        assert described["Previous stage"] == "Show the previous stage in the pane · key S"
        assert described["Finding"] == "Go to the next finding in this text · key f"
        assert not [each for each in described.values() if "(-1" in each or "negative" in each]


async def test_a_failure_is_wrapped_to_the_dialog(bench: Workbench) -> None:
    async with opened(bench, size=(80, 24)) as (app, pilot):
        names = [f"option_{number}" for number in range(30)]
        app.show_failure("it", IrlensError("a\n  ^ here", hint=f"known: {', '.join(names)}"))
        await settle(pilot)
        drawn = [strip.text for strip in app.screen._compositor.render_strips()]
        assert {name for name in names if any(name in line for line in drawn)} == set(names)
        assert any(line.find("  ^ here") > 0 for line in drawn)


async def test_themes_cycle_and_are_remembered(bench: Workbench, tmp_path: Path) -> None:
    state = tmp_path / "state" / "tui.json"
    app = IrlensApp(bench, state=state)
    async with app.run_test() as pilot:
        await settle(pilot)
        assert app.theme == DARK
        await pilot.press("T")
        assert app.theme == LIGHT
        await pilot.press("T", "o", "r")
        assert app.theme == CONTRAST
    again = IrlensApp(bench, state=state)
    async with again.run_test() as pilot:
        await settle(pilot)
        assert again.theme == CONTRAST
        table = again.screen.query_one(EntryTable)
        assert (table.rows.sorted_by, table.rows.descending) == ("registers", True)


@pytest.mark.parametrize("content", [b"", b"{", b'{"theme": 3}', b"\xff"])
def test_a_damaged_memory_is_forgotten(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "tui.json"
    path.write_bytes(content)
    assert preferences.load(path) == preferences.Preferences()


def test_preferences_that_cannot_be_saved_are_ignored(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    preferences.save(tmp_path / "file" / "tui.json", preferences.Preferences())
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]


async def test_an_unknown_theme_falls_back_to_the_default(bench: Workbench, tmp_path: Path) -> None:
    state = tmp_path / "tui.json"
    preferences.save(state, preferences.Preferences(theme="of-another-version"))
    assert IrlensApp(bench, state=state).theme == DARK


async def test_textuals_own_themes_work_too(bench: Workbench) -> None:
    app = IrlensApp(bench, entry="softmax-h100")
    async with app.run_test() as pilot:
        await settle(pilot)
        for theme in sorted(app.available_themes):
            app.theme = theme
            await pilot.pause()


async def test_a_small_terminal_says_so(bench: Workbench) -> None:
    async with opened(bench, "softmax-h100", size=(50, 12)) as (app, pilot):
        assert app.screen.query_one(TooSmall).display
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert not app.screen.query_one(TooSmall).display


async def test_the_list_has_rows_in_the_smallest_terminal(bench: Workbench) -> None:
    async with opened(bench, size=(MIN_WIDTH, MIN_HEIGHT)) as (app, _):
        assert not app.screen.query_one(TooSmall).display
        assert app.screen.query_one(EntryTable).content_size.height >= 4


async def test_any_size_can_be_shown(bench: Workbench) -> None:
    async with opened(bench, "matmul-b200") as (_, pilot):
        for size in ((1, 1), (60, 16), (99, 31), (100, 32), (300, 100), (10, 200), (200, 3)):
            await pilot.resize_terminal(*size)
            await pilot.pause()


async def test_quitting_does_not_wait_for_answers(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    import threading

    never = threading.Event()
    monkeypatch.setattr(bench, "report", lambda *_, **__: never.wait(60))
    app = IrlensApp(bench, entry="softmax-h100")
    async with app.run_test() as pilot:
        await pilot.pause()
        await pilot.press("q")
    assert not never.is_set()


async def test_a_click_on_a_view_in_the_heading_shows_it(bench: Workbench) -> None:
    async with opened(bench, "softmax-h100") as (app, pilot):
        for name, view in (("2 Inspector", Inspector), ("1 Overview", Overview)):
            heading = app.screen.query_one("Heading > .-right", Static)
            at = str(heading.content).index(name) + heading.styles.padding.left
            await pilot.click(heading, offset=(at, 0))
            await settle(pilot)
            assert isinstance(app.screen, view)


async def test_only_the_views_of_one_entry_are_kept(bench: Workbench) -> None:
    app = IrlensApp(bench)
    async with app.run_test() as pilot:
        await settle(pilot)
        for key in ("softmax-h100", "matmul-a100", "spill-h100"):
            app.show_view("overview", key)
            await settle(pilot)
        assert list(app._views) == ["overview spill-h100"]


def test_every_binding_has_a_name_of_its_own_and_words() -> None:
    found = list(keymap.bindings())
    assert len(found) > 50
    by_name: dict[str | None, set[str]] = {}
    for binding in found:
        assert binding.id, f"{binding.key} has no name: it could not be changed"
        assert binding.description, f"{binding.id} has no words: no help could tell of it"
        by_name.setdefault(binding.id, set()).add(binding.action)
    assert {name: actions for name, actions in by_name.items() if len(actions) > 1} == {}


@pytest.fixture
def keys(tmp_path: Path) -> Callable[[str], Path]:
    def write(content: str) -> Path:
        path = tmp_path / "keys.toml"
        path.write_text(content)
        return path

    return write


def test_keys_are_read(keys: Callable[[str], Path], tmp_path: Path) -> None:
    path = keys('quit = "ctrl+x, Q"\n[browser]\nsearch = "ctrl+f"\n')
    assert keymap.read(path) == {"quit": "ctrl+x, Q", "browser.search": "ctrl+f"}
    assert keymap.read(keys('quit = "tilde, f5"')) == {"quit": "tilde, f5"}
    # A dialogue hides what is below it.
    assert keymap.read(keys('choices.down = "b"')) == {"choices.down": "b"}
    assert keymap.read(keys('what_if.much_more = "x"')) == {"what_if.much_more": "x"}
    assert keymap.read(tmp_path / "none.toml") == {}
    assert keymap.read(keys("")) == {}


@pytest.mark.parametrize(
    ("content", "message", "hint"),
    [
        ('quti = "x"', "unknown binding 'quti'", "did you mean quit?"),
        ('zzz = "x"', "unknown binding 'zzz'", "irlens tui --keys lists all bindings"),
        ("quit = 3", "quit = 3 is not a key", "write one line"),
        ('quit = "ctrl+"', "is not a key", "write one line"),
        ("quit", "keys.toml: Expected", "write one line"),
        (
            '[browser]\nsearch = "o"',
            "o is assigned to both browser.search and browser.sort",
            "another",
        ),
        ('quit = "c"', "c is assigned to both", "another"),
        ('inspector.peak = "q"', "q is assigned to both inspector.peak and quit", "another"),
        ('view.back = "s"', "s is assigned to both", "another"),
        ('code.up = "j"', "j is assigned to both code.down and code.up", "another"),
        ('code.up = "x"', "x is assigned to both code.up and inspector.close", "another"),
        ('inspector.close = "h"', "h is assigned to both code.left and inspector.close", "another"),
        ('diff.down = "q"', "q is assigned to both diff.down and quit", "another"),
        (
            'choices.down = "slash"',
            "is assigned to both choices.down and picking.search",
            "another",
        ),
    ],
)
def test_a_mistake_in_the_keymap_is_reported(
    keys: Callable[[str], Path], content: str, message: str, hint: str
) -> None:
    with pytest.raises(IrlensError) as caught:
        keymap.read(keys(content))
    assert message in caught.value.message
    assert hint in (caught.value.hint or "")


def test_all_keys_as_they_are_listed_are_a_file_that_changes_nothing(
    keys: Callable[[str], Path],
) -> None:
    known = {binding.id: binding.key for binding in keymap.bindings()}
    assert keymap.read(keys("\n".join(keymap.lines()))) == known


async def test_other_keys_work(bench: Workbench) -> None:
    app = IrlensApp(bench, keymap={"browser.sort.registers": "ctrl+f"})
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("o", "ctrl+f")
        await settle(pilot)
        assert app.screen.query_one(EntryTable).rows.sorted_by == "registers"


async def test_the_heading_has_the_keys_that_work(bench: Workbench) -> None:
    app = IrlensApp(bench, entry="softmax-h100", keymap={"view.inspector": "f2,f3"})
    async with app.run_test() as pilot:
        for key, view, expected in (
            ("1", Overview, "1 Overview  f2  3  4  5"),
            ("f2", Inspector, "1  f2 Inspector  3  4  5"),
        ):
            await pilot.press(key)
            await settle(pilot)
            assert isinstance(app.screen, view)
            heading = str(app.screen.query_one("Heading > .-right", Static).content)
            assert heading == expected


def test_help_looks_as_it_did(bench: Workbench, snap_compare: Callable[..., bool]) -> None:
    app = IrlensApp(bench, entry="softmax-h100")

    async def open_help(pilot: Pilot[None]) -> None:
        await settle(pilot)
        await pilot.press("question_mark")
        await settle(pilot)

    assert snap_compare(app, terminal_size=(120, 40), run_before=open_help)


async def test_sizes_that_wait_behind_each_other_come_to_an_end(bench: Workbench) -> None:
    app = IrlensApp(bench, entry="softmax-h100")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        screen = app.screen
        app._size = Size(121, 40)
        seen: list[Size] = []
        for size in (Size(120, 24), app._size):
            screen.post_message(Resize(size, size))
            screen.call_later(seen.append, size)  # else the later one takes the other's place
        # An endless exchange would leave no turn to anything else, not to a limit of time either.
        layouts = 0
        lay_out = screen._refresh_layout

        def counted(*args: Any, **options: Any) -> None:
            nonlocal layouts
            layouts += 1
            if layouts < 50:
                lay_out(*args, **options)

        screen._refresh_layout = counted  # type: ignore[method-assign]
        await settle(pilot)
        assert layouts < 50
        assert screen.size == app._size
