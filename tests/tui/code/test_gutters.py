"""Gutters: every cell of them, whatever the width of the pane."""

import msgspec
import pytest
from msgspec import structs
from rich.cells import cell_len

from irlens.model.listing import LoopRange, PipelineAnnotation, StageListing
from irlens.model.report import Finding
from irlens.model.schedule import Control
from irlens.render.view.drawings import RegisterBudget, register_budget
from irlens.render.view.memory_traffic import LineTraffic
from irlens.tui.code import Document, python_document, stage_document
from irlens.tui.code.gutters import (
    STYLES,
    HeatGutter,
    LoopGutter,
    ScheduleGutter,
    TrafficGutter,
    describe_line,
    gutters_for,
)
from tests.tui.conftest import load_report


def document(budget: RegisterBudget | None = None) -> Document:
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
    return Document("ptx", listing, {4: [finding]}, "ptx", budget=budget)


def moving() -> Document:
    listing = StageListing.unannotated("ttir", "".join(f"line {line}\n" for line in range(1, 13)))
    traffic = {
        3: LineTraffic(
            bytes=16777216,
            distinct_bytes=1 << 20,
            sectors="1.00 ×",
            wasteful=False,
            words=("load x_ptr 16.8 MB, coalesced",),
        ),
        5: LineTraffic(
            bytes=512,
            distinct_bytes=512,
            sectors="4.00 ×",
            wasteful=True,
            words=("store y_ptr 512 B", "load z_ptr 4 B"),
        ),
    }
    return Document("ttir", listing, {}, "ttir", traffic=traffic)


def drawn(gutter: object, line: int, cursor: int = 1) -> str:
    return "".join(text for text, _ in gutter.cells(line, cursor))  # type: ignore[attr-defined]


@pytest.mark.parametrize("room", [20, 37, 50, 79, 80, 200])
def test_every_gutter_is_as_wide_as_it_says_on_every_line(room: int) -> None:
    for gutter in (*gutters_for(document(), room), *gutters_for(moving(), room)):
        for line in range(1, 13):
            cells = gutter.cells(line, 5)
            assert sum(cell_len(text) for text, _ in cells) == gutter.width
            assert {style for _, style in cells} <= {*STYLES, ""}


def test_control_fields_are_shown_where_there_is_room_and_told_in_words() -> None:
    fields, control = "B0-2---:R-:W1:-:S04", Control(4, 1, None, 0b101)
    listing = msgspec.structs.replace(
        document().listing, stage="sass", control={1: control, 12: control}
    )
    scheduled = Document("sass", listing, {}, "sass")
    kinds = [[type(each) for each in gutters_for(scheduled, room)] for room in (60, 100, 120)]
    assert [ScheduleGutter in each for each in kinds] == [False, True, True]
    narrow, whole = ScheduleGutter(scheduled, 100), ScheduleGutter(scheduled, 120)
    assert drawn(narrow, 1) == "0-2---  4 "
    assert drawn(whole, 1) == f"{fields} "
    assert drawn(whole, 2).isspace()
    assert "waits for scoreboard 0, 2, sets 1 when written, stalls 4 cycles" in describe_line(
        scheduled, 1
    )
    for gutter in (narrow, whole):
        assert {len(drawn(gutter, line)) for line in (1, 2, 12)} == {gutter.width}


def test_bytes_stand_beside_the_accesses_and_many_sectors_have_a_sign() -> None:
    assert [drawn(TrafficGutter(moving(), 80), line) for line in (2, 3, 5)] == [
        "        ", "16.8 MB ", "  512 B!"
    ]  # fmt: skip
    assert [drawn(TrafficGutter(moving(), 110), line) for line in (3, 5)] == [
        "16.8 MB of 1.05 MB 1.00 × ", "  512 B   of 512 B 4.00 ×!"
    ]  # fmt: skip
    assert describe_line(moving(), 3) == ["load x_ptr 16.8 MB, coalesced"]
    assert describe_line(moving(), 5) == ["store y_ptr 512 B", "load z_ptr 4 B"]
    assert not any(isinstance(each, TrafficGutter) for each in gutters_for(moving(), 79))


def test_lines_of_python_and_of_the_ttir_have_their_accesses() -> None:
    report = load_report("softmax-h100")
    python = python_document("softmax.py", "\n" * 60, "softmax_kernel", report)
    assert sorted(python.traffic) == [50, 54]
    assert python.traffic[50].words == ("load input_ptr 16.8 MB, coalesced, 16 B per thread",)
    listing = StageListing.unannotated("ttir", "\n" * 60)
    assert sorted(stage_document(listing, report).traffic) == [28, 48]
    ptx = StageListing.unannotated("ptx", "\n" * 60)
    assert not stage_document(ptx, report).traffic


def test_only_the_peak_fills_the_bar() -> None:
    narrow, wide = HeatGutter(document(), 40), HeatGutter(document(), 100)
    assert [drawn(narrow, line) for line in range(1, 8)] == [
        "  ", "▁ ", "▁ ", "▂ ", "▄ ", "▇ ", "█ "
    ]  # fmt: skip
    assert [line for line in range(1, 13) if "████" in drawn(wide, line)] == [7]
    assert drawn(wide, 5) == "20 ██   "
    assert drawn(wide, 1).isspace()


def test_the_register_budget_fills_the_bar() -> None:
    budget = RegisterBudget(80, "occupancy falls beyond 80 allocated")
    with_budget = document(budget)
    narrow, wide = HeatGutter(with_budget, 40), HeatGutter(with_budget, 100)
    assert drawn(narrow, 7) == "▄ ", "the peak is half of the budget"
    assert wide.cells(7, 1) == [("40 ██   ", "cool")]
    tight = HeatGutter(document(RegisterBudget(20, "")), 100)
    assert [line for line in range(1, 13) if "████" in drawn(tight, line)] == [5, 6, 7, 8]
    told = describe_line(with_budget, 7)
    assert "40 live virtual registers, peak 40, occupancy falls beyond 80 allocated" in told


@pytest.mark.parametrize(
    ("name", "registers", "words"),
    [
        ("softmax-h100", 32, "occupancy falls beyond"),  # 33 would be allocated as 40
        ("softmax-mi300x", 64, "occupancy falls beyond"),
        ("specialized-h100-4", 255, "at most 255 can be allocated"),
    ],
)
def test_the_budget_is_what_keeps_the_occupancy(name: str, registers: int, words: str) -> None:
    report = load_report(name)
    budget = register_budget(report)
    assert budget is not None
    assert budget.registers == registers
    assert budget.words.startswith(words)
    occupancy = report.occupancy
    assert occupancy is not None
    curve = next(each for each in occupancy.curves if each.resource == "registers")
    fits = [max(step for step in curve.steps if step[0] <= at)[1] for at in (registers, curve.at)]
    assert fits == [occupancy.blocks_per_sm] * 2


def test_no_budget_without_an_occupancy() -> None:
    report = structs.replace(load_report("softmax-h100"), occupancy=None)
    assert register_budget(report) is None


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
