"""The page of the text format: wrapping, and what never reaches a terminal."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irlens.render.text_page import Page
from irlens.render.view.nodes import Run, text


def test_lines_break_between_items_and_continue_under_the_first() -> None:
    page = Page(width=40, color=False)
    items = [text("8 blocks/SM"), text("64 of 64 warps"), text("limited by registers")]
    page.flow(items, first=text("Occupancy"), indent=12)
    assert page.text().splitlines() == [
        "Occupancy   8 blocks/SM   64 of 64 warps",
        "            limited by registers",
    ]


def test_an_item_wider_than_a_line_breaks_at_its_spaces() -> None:
    page = Page(width=40, color=False)
    page.flow([text("a sentence that is too long for what is left of the line")], indent=4)
    assert page.text().splitlines() == [
        "    a sentence that is too long for what",
        "    is left of the line",
    ]


@given(st.lists(st.text("abc", min_size=1, max_size=9), min_size=1), st.integers(40, 120))
def test_no_line_is_wider_than_the_page_and_no_word_is_lost(words: list[str], width: int) -> None:
    page = Page(width=width, color=False)
    page.flow([text(word) for word in words], first=text("Label"), indent=12, gap=" ")
    lines = page.text().splitlines()
    assert all(len(line) <= width for line in lines)
    assert " ".join(lines).split() == ["Label", *words]


@given(st.text(max_size=40))
def test_nothing_untrusted_reaches_the_terminal_raw(name: str) -> None:
    page = Page(width=80, color=True)
    page.flow([text(Run(name, "strong")), text(name)], first=text(name), indent=12)
    unpainted = re.sub(r"\x1b\[[0-9;]*m", "", page.text())
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", unpainted)


def test_colour_only_repeats_what_the_words_say() -> None:
    def write(color: bool) -> str:
        page = Page(width=80, color=color)
        page.flow([text(Run("differs", "bad")), text("from"), text(Run("it", "dim"))])
        return page.text()

    assert re.sub(r"\x1b\[[0-9;]*m", "", write(True)) == write(False)


@pytest.mark.parametrize("width", range(40, 90, 3))
def test_a_unit_and_a_mark_stay_with_their_number(width: int) -> None:
    page = Page(width=width, color=False)
    words = "moved 1,024 B in 12.5 µs, 100 % at 3.2 TB/s ✓ and 0.06 × before (4 CTAs) B side"
    for shift in range(12):
        item = (Run("x" * shift + " " + words), Run(" 7 KB"), Run(" ✗", "bad"))
        page.flow([item, (Run("next"),)], first=(Run("Title"),), indent=12)
    lines = [line.strip() for line in page.text().splitlines()]
    assert not [line for line in lines if re.match(r"(B in|µs|%|TB/s|✓|×|CTAs|KB|✗)", line)]
    assert max(map(len, page.text().splitlines())) <= width
    assert " ".join(lines).count("7 KB ✗") == 12


def test_spaces_are_kept() -> None:
    page = Page(width=40, color=False)
    page.flow([(Run("a  b " * 12),)])
    assert page.text().split() == ["a", "b"] * 12
