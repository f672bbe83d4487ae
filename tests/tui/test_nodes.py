"""Nodes as the TUI draws them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irlens.diff.report import compare
from irlens.render.view.nodes import Bar, Column, Node, Row, Run, Table, text
from irlens.render.view.timeline import timeline
from irlens.tui import drawing
from irlens.tui.drawing import STYLES, shortened
from irlens.tui.panels import draw_changes
from tests.tables import each_row
from tests.tui.conftest import load_report


def drawn(node: Node, width: int) -> list[str]:
    return [row.plain for row in drawing.drawn([node], width)]


LIMITS = Table(
    columns=(Column("allowed by"), Column("blocks", numbers=True), Column(), Column()),
    rows=(
        Row((text("warps"), text("8"), Bar(1.0), text("limits"))),
        Row((text("shared memory"), text("17"), Bar(0.5), text("")), tone="dim"),
    ),
    noun="limit",
)


def test_bars_take_the_room_that_words_leave() -> None:
    assert drawn(LIMITS, 42) == [
        "allowed by     blocks",
        "warps               8  ███████████  limits",
        "shared memory      17  █████▌",
    ]
    assert drawn(LIMITS, 200)[1].count("█") == 40, "no wall of bars"


def test_a_table_says_what_it_leaves_out() -> None:
    few = Table(LIMITS.columns, LIMITS.rows, shown=1, noun="limit")
    assert drawn(few, 60)[-1] == "… and 1 more limit"


def test_code_in_a_table_is_cut_and_words_go_on() -> None:
    line = text(Run("accumulator = tl.dot(a, b, accumulator)", "code"))
    code = Table((Column("line"), Column(code=True)), (Row((text("a.py:1"), line)),))
    assert drawn(code, 30) == ["line", "a.py:1  accumulator = tl.dot(…"]
    words = Table((Column("line"), Column("why")), (Row((text("a.py:1"), text("a b c d " * 4))),))
    assert len(drawn(words, 30)) == 3
    assert all(len(row) <= 30 for row in drawn(words, 30))


def test_a_note_goes_on_below_its_row() -> None:
    noted = Table((Column("line"),), (Row((text("a.py:1"),), note="a note of several words"),))
    assert drawn(noted, 16) == ["line", "a.py:1", "    a note of", "    several", "    words"]


@pytest.mark.parametrize("width", [60, 80, 120, 200, 250])
def test_a_comparison_has_a_column_for_each_configuration(width: int) -> None:
    comparison = compare(load_report("layer_norm-b200-3.6"), load_report("layer_norm-b200-3.7"))
    rows = draw_changes(comparison, width).split()
    assert rows[0].plain.startswith("! likely 41 % more time: 65.4 µs → 92.3 µs"), "the verdict"
    titles = next(row.plain for row in rows if "Triton 3.6.0" in row.plain)
    occupancy = next(row for row in rows[1:] if row.plain.startswith("occupancy"))
    for title, value in (("Triton 3.6.0", "50 %"), ("Triton 3.7.1", "25 %")):
        assert occupancy.plain.index(value) + len(value) == titles.index(title) + len(title)
    worse = {str(span.style) for span in occupancy.spans}
    assert STYLES["worse"] in worse, "in the colour of the figures registry"
    assert all(row.cell_length <= width for row in rows)
    aside = "by unit alone" in titles
    assert aside == (width >= 130), "everything else stands beside where there is room"


@pytest.mark.parametrize(
    "name", ["softmax-h100", "softmax-mi300x", "matmul_tma-h100", "matmul-b200"]
)
def test_a_timeline_loses_steady_iterations_one_by_one(name: str) -> None:
    for pipeline in load_report(name).pipelines:
        shorter = timeline(pipeline)
        assert shorter is not None
        while shorter is not None:
            assert shorter == timeline(pipeline, shorter.steady)
            shorter = shorter.shorter()


def test_a_pipeline_of_amd_has_a_timeline_that_fits() -> None:
    node = timeline(load_report("softmax-mi300x").pipelines[0])
    assert node is not None
    rows = drawn(node, 56)
    assert rows[1].startswith("iteration ")
    assert "load issued" in rows[-2] + rows[-1]
    assert all(len(row) <= 56 for row in rows), "its key is wrapped, not cut"


@given(st.integers(0, 30), st.integers(1, 12), st.sampled_from(["", ", d shows them"]))
def test_what_is_left_out_is_marked(number: int, most: int, more: str) -> None:
    from textual.content import Content

    rows = [Content(f"row {at}") for at in range(number)]
    shown = shortened(rows, most, 40, more)
    assert len(shown) == min(number, most)
    if number > most:
        assert "…" in shown[-1].plain
    else:
        assert shown == rows


@each_row("width", range(44, 80))
def test_the_key_of_a_timeline_breaks_between_its_signs(width: int) -> None:
    node = timeline(load_report("softmax-mi300x").pipelines[0])
    assert node is not None
    rows = drawn(node, width)
    for sign in ("● load issued", "━ in flight", "┄ kept in registers", "■ computed with"):
        assert any(sign in row for row in rows)
    assert all(len(row) <= width for row in rows)
