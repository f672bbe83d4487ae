"""Gutters: every cell of them, whatever the width of the pane."""

import pytest
from rich.cells import cell_len

from irlens.model.listing import LoopRange, PipelineAnnotation, StageListing
from irlens.model.report import Finding
from irlens.tui.code.document import Document
from irlens.tui.code.gutters import STYLES, HeatGutter, LoopGutter, gutters_for


def document() -> Document:
    listing = StageListing(
        stage="ptx",
        text="".join(f"line {line}\n" for line in range(1, 13)),
        chains=[],
        chain=[-1] * 12,
        live=[-1, 0, 3, 10, 20, 39, 40, 20, 10, -1, -1, -1],
        peak=40,
        loops=[
            LoopRange(first=2, last=11, depth=1, source=None),
            LoopRange(first=4, last=9, depth=2, source=None),
            LoopRange(first=5, last=8, depth=3, source=None),
            LoopRange(first=6, last=7, depth=4, source=None),
        ],
        marks=[
            PipelineAnnotation(line=3, role="copy", pipeline=0, partners=(5,)),
            PipelineAnnotation(line=5, role="commit", pipeline=0, partners=(8,)),
            PipelineAnnotation(line=8, role="wait", pipeline=0, partners=(5,)),
        ],
    )
    finding = Finding(
        code="IRL000", severity="warning", message="", hint="", stage="ptx", line=4, source=None
    )
    return Document("ptx", listing, {4: [finding]}, "ptx")


def drawn(gutter: object, line: int, cursor: int = 1) -> str:
    return "".join(text for text, _ in gutter.cells(line, cursor))  # type: ignore[attr-defined]


@pytest.mark.parametrize("room", [20, 37, 50, 79, 80, 200])
def test_every_gutter_is_as_wide_as_it_says_on_every_line(room: int) -> None:
    for gutter in gutters_for(document(), room):
        for line in range(1, 13):
            cells = gutter.cells(line, 5)
            assert sum(cell_len(text) for text, _ in cells) == gutter.width
            assert {style for _, style in cells} <= {*STYLES, ""}


def test_only_the_peak_fills_the_bar() -> None:
    narrow, wide = HeatGutter(document(), 40), HeatGutter(document(), 100)
    assert [drawn(narrow, line) for line in range(1, 8)] == [
        "  ", "▁ ", "▁ ", "▂ ", "▄ ", "▇ ", "█ "
    ]  # fmt: skip
    assert [line for line in range(1, 13) if "████" in drawn(wide, line)] == [7]
    assert drawn(wide, 5) == "20 ██   "
    assert drawn(wide, 1).isspace()


def test_rails_stand_for_loops_and_a_number_for_what_has_no_rail() -> None:
    assert [drawn(LoopGutter(document()), line) for line in range(1, 13)] == [
        "    ", "╭   ", "│   ", "│╭  ", "││╭ ", "││4 ", "││4 ", "││╰ ", "│╰  ", "│   ", "╰   ",
        "    ",
    ]  # fmt: skip


def test_marks_are_told_by_signs_and_where_there_is_room_by_words() -> None:
    narrow = gutters_for(document(), 40)[3]
    wide = gutters_for(document(), 100)[3]
    assert [drawn(narrow, line) for line in (3, 4, 5, 8, 9)] == ["┏↓ ", "┃  ", "┣● ", "┗○ ", "   "]
    assert drawn(wide, 5) == "┣● commit  "


def test_the_partners_of_the_cursor_s_mark_stand_out() -> None:
    pipeline = gutters_for(document(), 40)[3]
    assert ("○", "partner") in pipeline.cells(8, 5)
    assert ("○", "wait") in pipeline.cells(8, 4)
    assert ("●", "partner") in pipeline.cells(5, 3)  # the commit of a copy
