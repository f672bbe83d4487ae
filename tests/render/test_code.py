"""Compared code in every format, out of hand-made records."""

from markdown_it import MarkdownIt

from irlens.model.code import CODE_SCHEMA, CodeComparison, CodeComparisons, CodeHunk, CodeRow
from irlens.model.comparison import Side
from irlens.model.config import Config
from irlens.render import Options, render

HOSTILE = "\tx ``` </pre><script>alert(1)</script> \x1b[31m @someone\n``````\n<b>"


def comparisons(text: str, *, rows: int = 1) -> CodeComparisons:
    config = Config(num_warps=4, num_stages=1, num_ctas=1, maxnreg=None, constexprs={}, args={})
    side = Side(kernel=text, target=None, triton_version=None, config=config, label=text)
    row = CodeRow(
        kind="changed", before_line=1, after_line=2, before=text, after=f"{text}!",
        before_words=((1, 2),), after_words=((1, 2),),
    )  # fmt: skip
    pair = CodeComparison(
        stage="ptx", before=side, after=side, different=True, added=0, removed=0, changed=rows,
        before_lines=1, after_lines=2, hunks=[CodeHunk(heading=text, rows=[row] * rows)],
    )  # fmt: skip
    return CodeComparisons(
        schema=CODE_SCHEMA, different=True, pairs=[pair], missing=[text], added=[side]
    )


def rendered(form: str, subject: CodeComparisons, view: Options | None = None) -> str:
    return render(form, "code", subject, view or Options())


def test_hostile_text_is_inert_in_markdown() -> None:
    text = rendered("markdown", comparisons(HOSTILE))
    assert "\x1b" not in text
    tokens = MarkdownIt("commonmark").parse(text)
    (fence,) = (token for token in tokens if token.type == "fence")
    assert fence.info == "diff"
    assert "<script>alert(1)</script>" in fence.content
    outside = "".join(token.content for token in tokens if token.type != "fence")
    assert "<script" not in outside
    assert "@someone" not in outside


def test_hostile_text_is_inert_in_a_terminal() -> None:
    for view in (Options(), Options(side_by_side=True), Options(color=True)):
        text = rendered("text", comparisons(HOSTILE), view)
        assert "\x1b[31m @" not in text
        assert "\\x1b[31m @" in text
        assert "\\n``````" in text


def test_a_long_diff_fits_a_comment_and_says_what_is_missing() -> None:
    text = rendered("markdown", comparisons("mov.b32 %r1, %r2;" * 4, rows=2_000))
    assert len(text) <= 65_000
    assert "more lines" in text
    tokens = MarkdownIt("commonmark").parse(text)
    assert sum(token.type == "fence" for token in tokens) == 1


def test_what_moved_in_a_line_is_marked_under_it() -> None:
    lines = rendered("text", comparisons("add.s32 x")).splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("-"))
    assert lines[at + 1].index("^") == lines[at].index("dd")
    assert lines[at + 1][0] == "~"
