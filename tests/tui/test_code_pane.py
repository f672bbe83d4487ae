"""The code pane by itself: keys, mouse, highlights and malicious text."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from irlens.model.listing import PipelineAnnotation, StageListing
from irlens.model.source import SourceLocation
from irlens.tui.code import Document, stage_document
from irlens.tui.code.search import query_for
from irlens.tui.themes import DEFAULTS, THEMES
from irlens.tui.widgets.code_pane import CodePane

LINES = 300


class Host(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.moves: list[int] = []
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = THEMES[0].name

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return DEFAULTS

    def compose(self) -> ComposeResult:
        yield CodePane()

    def on_code_pane_moved(self, event: CodePane.Moved) -> None:
        self.moves.append(event.pane.line)


def document(text: str = "", stage: str = "ptx") -> Document:
    text = text or "".join(f"    add.s32 %r{line}, %r{line - 1}, 1;\n" for line in range(1, LINES))
    count = text.count("\n")
    listing = StageListing(
        stage=stage,
        text=text,
        chains=[(SourceLocation("kernel.py", line),) for line in range(1, 11)],
        chain=[line % 10 for line in range(count)],
        live=[line % 40 for line in range(count)],
        peak=39,
        loops=[],
        marks=[PipelineAnnotation(line=2, role="commit", pipeline=0)],
    )
    return stage_document(listing, None)


@asynccontextmanager
async def showing(
    shown: Document, size: tuple[int, int] = (80, 24)
) -> AsyncIterator[tuple[CodePane, Pilot[None]]]:
    app = Host()
    async with app.run_test(size=size) as pilot:
        pane = app.query_one(CodePane)
        pane.show(shown)
        pane.focus()
        await pilot.pause()
        yield pane, pilot


def drawn(pane: CodePane, row: int) -> str:
    return pane.render_line(row).text


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        ("j", 2), ("down", 2), ("j j k", 2), ("k", 1), ("G", LINES - 1), ("G j", LINES - 1),
        ("G g", 1), ("ctrl+d", 12), ("ctrl+d ctrl+u", 1), ("pagedown", 23), ("ctrl+f ctrl+b", 1),
        ("ctrl+end ctrl+home", 1), ("pagedown pagedown pageup", 23),
    ],
)  # fmt: skip
async def test_keys_move_by_lines(keys: str, line: int) -> None:
    async with showing(document()) as (pane, pilot):
        await pilot.press(*keys.split())
        assert pane.line == line
        assert pane.line in pane.visible_lines


@pytest.mark.parametrize(
    ("keys", "column", "word"),
    [
        ("l", 1, ""), ("right l h", 1, ""), ("left", 0, ""), ("w", 4, "add.s32"),
        ("w w", 12, "%r1"), ("w w w", 17, "%r0"), ("w w w W", 12, "%r1"),
        ("dollar_sign", 23, ""),
        ("end 0", 4, "add.s32"), ("dollar_sign 0 0", 0, ""), ("home", 4, "add.s32"),
    ],
)  # fmt: skip
async def test_keys_move_within_a_line(keys: str, column: int, word: str) -> None:
    async with showing(document()) as (pane, pilot):
        await pilot.press(*keys.split())
        assert (pane.cursor.column, pane.cursor.word) == (column, word)


async def test_the_column_is_kept_over_shorter_lines() -> None:
    async with showing(document("a long line\nb\nanother long line\n")) as (pane, pilot):
        await pilot.press("end", "j")
        assert pane.cursor.column == 0
        await pilot.press("j")
        assert pane.cursor.column == 10


async def test_lines_are_selected_and_copied_as_the_file_has_them() -> None:
    async with showing(document("\ta\n\tb\x1b\n\tc\n")) as (pane, pilot):
        assert pane.copied == "\ta"
        await pilot.press("J", "shift+down", "K")
        assert pane.cursor.selected == (1, 2)
        assert pane.copied == "\ta\n\tb\x1b"
        await pilot.press("escape")
        assert pane.cursor.selected is None
        await pilot.press("J", "j")
        assert pane.cursor.selected is None


async def test_the_mouse_puts_the_cursor_and_selects() -> None:
    async with showing(document()) as (pane, pilot):
        await pilot.click(CodePane, offset=(pane.gutter_width + 13, 5))
        assert (pane.line, pane.cursor.word) == (5, "%r5")
        await pilot.mouse_down(CodePane, offset=(20, 3))
        await pilot.hover(CodePane, offset=(20, 6))
        await pilot.mouse_up(CodePane, offset=(20, 6))
        assert pane.cursor.selected == (3, 6)
        await pilot.hover(CodePane, offset=(20, 9))
        assert pane.cursor.selected == (3, 6)


async def test_a_click_below_the_text_is_one_on_its_last_line() -> None:
    async with showing(document("a\nb\n")) as (pane, pilot):
        await pilot.click(CodePane, offset=(20, 15))
        assert pane.line == 2


async def test_the_users_moves_are_reported_but_following_is_not() -> None:
    async with showing(document()) as (pane, pilot):
        pane.link([100, 101, 150], follow=True)
        await pilot.pause()
        assert (pane.line, pane.places) == (100, [100, 150])
        assert pane.line in pane.visible_lines
        await pilot.press("j")
        assert pilot.app.moves == [101]  # type: ignore[attr-defined]


async def test_a_pane_stays_where_it_is_if_a_linked_line_is_seen() -> None:
    async with showing(document()) as (pane, pilot):
        await pilot.press("j", "j")
        pane.link([9, 200], follow=True)
        assert (pane.line, pane.scroll_y) == (9, 0)
        pane.link([], follow=True)
        assert pane.line == 9


async def test_linked_lines_and_the_cursor_have_a_sign() -> None:
    async with showing(document()) as (pane, _):
        pane.link([3], follow=False)
        assert ["▶" in drawn(pane, row) for row in range(4)] == [True, False, False, False]
        assert ["▌" in drawn(pane, row) for row in range(4)] == [False, False, True, False]


async def test_search_wraps_around() -> None:
    async with showing(document()) as (pane, pilot):
        pane.search.start(query_for("%r[57]\\b"))
        assert pane.search.status == "searching …"
        await pilot.app.workers.wait_for_complete()
        assert {line for line, _ in pane.search.hits} == {5, 6, 7, 8}
        places = []
        for _ in pane.search.hits:
            assert pane.search.find(1)
            places.append(pane.position)
        assert places == pane.search.hits
        assert pane.search.status == f"match {len(places)}/{len(places)}"
        assert pane.search.find(1)
        assert pane.position == places[0]
        assert pane.search.find(-1)
        assert pane.position == places[-1]
        await pilot.press("k")
        assert pane.search.status == f"{len(places)} matches"
        pane.search.start(query_for("nowhere"))
        await pilot.app.workers.wait_for_complete()
        assert not pane.search.find(1)
        assert pane.search.status == "no match"
        await pilot.press("escape")
        assert pane.search.query is None


async def test_lines_without_code_are_left_out_until_one_is_gone_to() -> None:
    text = "a\n\t.loc 1 2 3\nb\n\nc\n"
    async with showing(document(text)) as (pane, pilot):
        assert list(pane.visible_lines) == [1, 3, 5]
        await pilot.press("j", "j")
        assert pane.line == 5
        pane.go_to(2)
        assert list(pane.visible_lines) == [1, 2, 3, 4, 5]
        assert pane.line == 2
        pane.fold(True)
        assert pane.line == 3


async def test_the_name_under_the_cursor_is_scrolled_into_sight() -> None:
    async with showing(document("x" * 500 + " %r7\n")) as (pane, pilot):
        await pilot.press("end")
        assert "%r7" in drawn(pane, 0)
        await pilot.press("0")
        assert pane.scroll_x == 0


@pytest.mark.parametrize("size", [(80, 24), (37, 10), (12, 4), (250, 60)])
async def test_hostile_text_is_inert_and_every_row_is_as_wide_as_the_pane(
    size: tuple[int, int],
) -> None:
    text = (
        "\x1b]0;title\x07\x1b[2J\n\x9b31m\u202ereversed\n漢字\tab漢\n\x00\n" + "漢" * 300 + "\n\n"
    )
    async with showing(document(text), size) as (pane, pilot):
        for keys in ("j", "j", "j", "j", "end", "h"):
            await pilot.press(keys)
            for row in range(pane.scrollable_content_region.height):
                strip = pane.render_line(row)
                assert strip.cell_length == pane.scrollable_content_region.width
                assert not any(character < " " or "\x7f" <= character <= "\x9f" for character in
                               strip.text)  # fmt: skip
                assert "\u202e" not in strip.text
        assert pane.document is not None
        assert pane.document.text.shown[0] == "\\x1b]0;title\\x07\\x1b[2J"


@pytest.mark.parametrize("act", [
    lambda pane: pane.show_note("reading \x1b[31m…"),
    lambda pane: pane.show(document("\n")),
    lambda pane: pane.show(Document("ptx", StageListing(
        stage="ptx", text="", chains=[], chain=[], live=[], peak=None, loops=[], marks=[]), {},
        "ptx")),
])  # fmt: skip
async def test_every_key_is_safe_where_there_is_nothing(act: Callable[[CodePane], None]) -> None:
    async with showing(document()) as (pane, pilot):
        act(pane)
        for binding in CodePane.BINDINGS:
            for key in binding.key.split(","):  # type: ignore[union-attr]
                await pilot.press(key)
        await pilot.click(CodePane, offset=(20, 3))
        pane.search.start(query_for("x"))
        pane.link([1, 2], follow=True)
        assert "\x1b" not in drawn(pane, 0)
        assert pane.cursor.word == ""
        assert pane.copied in {"", "\n"}


async def test_resize_keeps_the_cursor_visible_and_fits_the_gutters() -> None:
    async with showing(document(), (120, 40)) as (pane, pilot):
        await pilot.press("G")
        wide = pane.gutter_width
        await pilot.resize_terminal(40, 12)
        await pilot.pause()
        assert pane.gutter_width < wide
        assert pane.line in pane.visible_lines


async def test_another_theme_has_other_colours() -> None:
    async with showing(document()) as (pane, pilot):
        before = pane.render_line(3)
        pilot.app.theme = THEMES[1].name
        await pilot.pause()
        after = pane.render_line(3)
        assert before.text == after.text
        assert [segment.style for segment in before] != [segment.style for segment in after]
