"""A line as it is drawn: nothing in it steers the terminal, and columns and cells agree."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from irlens.tui.code.text import (
    CodeText,
    cell_at,
    column_at,
    spans_of,
    width,
    word_at,
    word_starts,
)
from tests.tables import each_row

texts = st.text(
    alphabet=st.one_of(
        st.characters(),
        st.sampled_from("\t\n\r\x00\x1b\x9b\u202e\u2066\u0301漢字👩‍🚀\ud800%[];ab1 "),
    )
)


@given(texts)
def test_every_line_is_drawn_and_none_can_steer_the_terminal(text: str) -> None:
    code = CodeText(text, "ptx")
    assert len(code.shown) == len(code.lines)
    for line in code.shown:
        line.encode("utf-8")
        for character in line:
            assert unicodedata.category(character) not in {"Cc", "Cs"}
            assert character not in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


@given(texts)
def test_the_width_is_that_of_the_widest_line(text: str) -> None:
    code = CodeText(text, "python")
    assert code.width == max((cell_len(line) for line in code.shown), default=0)


@given(st.text(alphabet="ab 漢字\u0301é", max_size=20), st.data())
def test_the_column_at_the_cell_of_a_column_is_that_column(line: str, data: st.DataObject) -> None:
    column = data.draw(st.integers(0, len(line)))
    found = column_at(line, cell_at(line, column))
    # Characters without a width of their own stand in the cell of their neighbour.
    assert cell_at(line, found) >= cell_at(line, column) or found == len(line)
    assert width(line[min(found, column) : max(found, column)]) == 0


def test_cells_within_a_wide_character_are_its_own() -> None:
    assert [column_at("a漢b", cell) for cell in range(5)] == [0, 1, 1, 2, 3]


def test_tabs_lead_to_the_next_stop_however_wide_the_text_before_them() -> None:
    code = CodeText("a\tb\n漢\tb\nabcd\te\n", "ptx")
    assert code.shown == ["a   b", "漢  b", "abcd    e"]
    assert code.lines == ["a\tb", "漢\tb", "abcd\te"]


def test_the_empty_columns_of_nvdisasm_are_cut_and_all_else_keeps_its_place() -> None:
    sass = (
        "kernel:\n"
        "        /*0000*/                   MOV R1, R2 ;\n"
        "        /*0010*/              @!P0 BRA `(.L_x_1) ;\n"
    )
    assert CodeText(sass, "sass").shown == [
        "kernel:",
        "/*0000*/      MOV R1, R2 ;",
        "/*0010*/ @!P0 BRA `(.L_x_1) ;",
    ]
    assert CodeText(sass, "ptx").shown == sass.splitlines()


@each_row(
    ("stage", "line", "column", "word"),
    [
        ("ptx", "    mad.lo.s32 %r12, %r1, 4, %r3;", 15, "%r12"),
        ("ptx", "    mad.lo.s32 %r12, %r1, 4, %r3;", 18, "%r12"),
        ("ptx", "    mad.lo.s32 %r12, %r1, 4, %r3;", 19, ""),
        ("ptx", "    bra $L__BB0_2;", 9, "$L__BB0_2"),
        ("ptx", "    mad.lo.s32 %r12, %r1, 4, %r3;", 9, "mad.lo.s32"),
        ("ptx", "    mov.u32 %r1, %ctaid.x;", 18, "%ctaid"),
        ("ptx", "    .reg .b32 %r<110>;", 10, ".b32"),
        (
            "ptx",
            "    ld.global.L1::evict_last.b32 { %r1 }, [ %rd1 + 0 ];",
            16,
            "ld.global.L1::evict_last.b32",
        ),
        ("ttgir", "%b_50 = tt.splat %K#1 : i32 -> tensor<1x32xi32, #blocked>", 1, "%b_50"),
        ("ttgir", "%b_50 = tt.splat %K#1 : i32 -> tensor<1x32xi32, #blocked>", 52, "#blocked"),
        ("ttgir", "%b_50 = tt.splat %K#1 : i32 -> tensor<1x32xi32, #blocked>", 18, "%K"),
        ("llir", "  %12 = add i32 %.lr.ph, 1, !dbg !7", 17, "%.lr.ph"),
        ("sass", "/*0010*/ @!P0 IMAD.WIDE R4.64, R12.reuse, UR5", 24, "R4"),
        ("sass", "/*0010*/ @!P0 IMAD.WIDE R4.64, R12.reuse, UR5", 12, "P0"),
        ("sass", "/*0010*/ @!P0 IMAD.WIDE R4.64, R12.reuse, UR5", 43, "UR5"),
        ("sass", "/*0010*/ @!P0 IMAD.WIDE R4.64, R12.reuse, UR5", 20, "IMAD.WIDE"),
        ("sass", "/*0010*/ @!P0 IMAD.WIDE R4.64, R12.reuse, UR5", 27, ""),
        ("sass", "/*0010*/ @P0 BRA `(.L_x_1)", 21, ".L_x_1"),
        ("amdgcn", "    v_add_u32 v3, v[4:5], s1", 18, "v[4:5]"),
        ("amdgcn", "    v_add_f16 v3.l, v4.h, v5.l", 14, "v3.l"),
        ("python", "    row = tl.load(ptr)", 4, "row"),
    ],
)
def test_the_word_under_the_cursor(stage: str, line: str, column: int, word: str) -> None:
    assert word_at(line, column, stage) == word


def test_a_word_stands_where_it_is_whole() -> None:
    assert spans_of("%r1", "add %r1, %r12, %r1;", "ptx") == [(4, 7), (15, 18)]
    assert spans_of("", "add", "ptx") == []
    assert word_starts("add.s32 %r1, %tid.x, 2", "ptx") == [0, 8, 13, 21]
