"""Lines highlighted one by one look as in the whole text."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irlens.isa.dialects import syntax_of
from irlens.isa.highlight import KINDS
from irlens.tui.code.highlighting import HighlightedLines
from irlens.tui.code.text import CodeText

SAMPLES = Path(__file__).parents[3] / "samples" / "captures"
STAGES = [
    pytest.param(path, id=f"{path.parent.name}-{path.suffix[1:]}")
    for path in sorted(SAMPLES.glob("*/*"))
    if path.suffix in {".ttir", ".ttgir", ".llir", ".ptx", ".amdgcn", ".json"}
]


def kinds(stage: str, text: str) -> list[list[tuple[str, str]]]:
    code = CodeText(text, stage)
    lines = HighlightedLines(stage, code.shown)
    return [lines.pieces(index) for index in range(len(code))]


@pytest.mark.parametrize("path", STAGES)
def test_the_pieces_of_a_line_are_the_line(path: Path) -> None:
    stage = "metadata" if path.suffix == ".json" else path.suffix[1:]
    code = CodeText(path.read_text(), stage)
    lines = HighlightedLines(stage, code.shown)
    for index, line in enumerate(code.shown):
        pieces = lines.pieces(index)
        assert "".join(text for text, _ in pieces) == line
        assert {kind for _, kind in pieces} <= {*KINDS, ""}


@settings(deadline=None)  # the first of a language loads its lexer
@given(
    st.sampled_from(["python", "ptx", "sass", "amdgcn", "llir", "ttgir", "metadata", "other"]),
    st.lists(st.sampled_from(
        ['"""', "'''", '"', "'", "/*", "*/", "//", "#", ";", "\n", "x", " ", "\\", "(", "1", "\t",
         "!dbg !1", " loc(", ")", ".loc 1", "\ufeff", "漢", "\x1b"]
    )),
)  # fmt: skip
def test_nothing_is_lost_whatever_is_written(stage: str, parts: list[str]) -> None:
    code = CodeText("".join(parts), stage)
    found = kinds(stage, "".join(parts))
    assert ["".join(text for text, _ in pieces) for pieces in found] == code.shown


def test_a_string_of_several_lines_is_one_wherever_one_begins_to_look() -> None:
    text = 'a = 1\ndef f():\n    """One\n    two = 2 # no comment\n    """\n    return 3\n'
    lines = HighlightedLines("python", text.splitlines())
    assert lines.pieces(3) == [("    two = 2 # no comment", "string")]
    assert ("return", "keyword") in lines.pieces(5)


def test_quotes_in_a_comment_begin_nothing() -> None:
    lines = HighlightedLines("python", ['# it\'s """', "x = 1", '# """'])
    assert ("1", "number") in lines.pieces(1)


def test_a_comment_of_several_lines_is_one() -> None:
    lines = HighlightedLines("ptx", ["/* one", "add.s32 %r1;", "*/ add.s32 %r1;"])
    assert {kind for _, kind in lines.pieces(1)} == {"comment"}
    assert ("add", "operation") in lines.pieces(2)


@pytest.mark.parametrize(
    ("stage", "line", "aside"),
    [
        ("ttgir", "    %1 = tt.load %0 : tensor<1xf32> loc(#loc12)", "loc(#loc12)"),
        ("llir", "  %1 = add i32 %0, 1, !dbg !12", ", !dbg !12"),
        ("ptx", "    .loc 1 46 19 // softmax.py:46:19", ".loc 1 46 19"),
    ],
)
def test_debug_information_looks_like_a_comment(stage: str, line: str, aside: str) -> None:
    quiet = "".join(
        text for text, kind in HighlightedLines(stage, [line]).pieces(0) if kind == "comment"
    )
    assert aside in quiet


def test_a_line_without_an_end_is_coloured_in_part_and_shown_whole() -> None:
    line = "add.s32 %r1; " * 10_000
    pieces = HighlightedLines("ptx", [line]).pieces(0)
    assert "".join(text for text, _ in pieces) == line
    assert len(pieces) < 2_000


@pytest.mark.parametrize(
    ("stage", "line", "names"),
    [
        ("python", "def scale(x, n=4):  # of n", {"scale", "x", "n"}),
        ("python", "    for row in tl.range(0, n):", {"row", "tl", "range", "n"}),
        ("ptx", "    @%p1 ld.global.b32 %r1, [%rd1+16]; // a comment", {"%p1", "%r1", "%rd1"}),
        ("ptx", "    bra $L__BB0_2;", {"$L__BB0_2"}),
        ("sass", "/*0010*/ @!P0 IMAD.WIDE R4, R12, 0x4, UR5 ;", {"P0", "R4", "R12", "UR5"}),
        ("sass", "/*0010*/ @P0 BRA `(.L_x_1) ;", {"P0", ".L_x_1"}),
        ("amdgcn", "    v_add_u32_e32 v3, s1, v[4:5]", {"v3", "s1", "v[4:5]"}),
        ("llir", "  %12 = add i32 %.lr.ph, 1, !dbg !7", {"%12", "%.lr.ph", "!dbg", "!7"}),
        ("ttgir", "%1 = arith.addi %a, %b : i32 loc(#loc5)", {"%1", "%a", "%b", "#loc5"}),
    ],
)
def test_names_are_no_opcodes_keywords_or_numbers(stage: str, line: str, names: set[str]) -> None:
    words = {(match[0], match.start()) for match in syntax_of(stage).word.finditer(line)}
    lines = HighlightedLines(stage, [line])
    assert {word for word, column in words if lines.is_name(word, 0, column)} == names
