import re

from hypothesis import given
from hypothesis import strategies as st

from irlens.render.text._page import Cell, Page, prose


def test_lines_break_between_cells_and_continue_under_the_first() -> None:
    page = Page(width=40, color=False)
    page.line("Occupancy", ["8 blocks/SM", "64 of 64 warps", "limited by registers"])
    assert page.text().splitlines() == [
        "Occupancy   8 blocks/SM   64 of 64 warps",
        "            limited by registers",
    ]


@given(st.lists(st.text("abc", min_size=1, max_size=9), min_size=1), st.integers(40, 120))
def test_no_line_is_wider_than_the_page_and_no_word_is_lost(words: list[str], width: int) -> None:
    page = Page(width=width, color=False)
    page.line("Label", words, gap=" ")
    lines = page.text().splitlines()
    assert all(len(line) <= width for line in lines)
    assert " ".join(lines).split() == ["Label", *words]


@given(st.text(max_size=40))
def test_nothing_untrusted_reaches_the_terminal_raw(text: str) -> None:
    page = Page(width=80, color=True)
    page.line("Name", [Cell(text, "bold"), *prose(text)])
    page.headline([text])
    unpainted = re.sub(r"\x1b\[[0-9;]*m", "", page.text())
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", unpainted)


def test_colour_only_repeats_what_the_words_say() -> None:
    def write(color: bool) -> str:
        page = Page(width=80, color=color)
        page.line("Run", [Cell("differs", "bad"), "from", Cell("it", "dim")])
        return page.text()

    assert re.sub(r"\x1b\[[0-9;]*m", "", write(True)) == write(False)
