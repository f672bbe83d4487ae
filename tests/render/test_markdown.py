"""Markdown as a CommonMark library reads it: our own markup, and nothing that a capture wrote."""

import html
import re
from functools import partial
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from irlens.diff.report.comparisons import against_first, match
from irlens.model.report import Finding, Report
from irlens.model.source import SourceLocation
from irlens.render import Options, render
from irlens.render.markdown import MOST_CHARACTERS, MOST_ROWS, UNFOLDED, Document, code, escape

REPORTS = Path(__file__).parents[2] / "samples" / "reports"
SOFTMAX = msgspec.json.decode((REPORTS / "softmax-h100.json").read_bytes(), type=Report)
REPORTS_WRITER = partial(render, "markdown", "reports")
COMPARISONS_WRITER = partial(render, "markdown", "comparisons")
HOSTILE = (
    "<script>alert(1)</script>", "</pre></details><img src=x onerror=alert(1)>", "a|b|c", "`tick`",
    "``` \n# heading\n- item", "**bold** _it_ ~~no~~", "[x](javascript:alert(1))", "![i](http://x/y)",
    "<!-- irlens:diff -->", "\x1b[31mred\x1b]0;t\x07", "line\r\nbreak", "https://evil.example/a",
    "www.evil.example", "@everyone", "owner/repo#1", "\\|x\\`", "&lt;b&gt;&#124;", "\u202egnp.exe",
    "__init__", "1. x", "<https://evil.example>", "| --- |", "$x$", "a@b.example", "-", "#", ">",
)  # fmt: skip
#: The HTML that our own documents are made of.
OWN_BLOCK = re.compile(
    r"<!-- irlens:(?:inspect|diff) -->\n?|<details><summary><code>[^<>]*</code></summary>\n?"
    r"|<pre>\n[^<>]*</pre>\n?|</details>\n?"
)
OWN_INLINE = {"code_inline", "text", "softbreak", "strong_open", "strong_close"}


def parse(text: str) -> list[Token]:
    # `gfm-like` links bare addresses, as code hosts do.
    return MarkdownIt("gfm-like").parse(text)


def inline(tokens: list[Token]) -> list[Token]:
    return [child for token in tokens for child in token.children or []]


def assert_inert(text: str) -> None:
    tokens = parse(text)
    for token in tokens:
        assert token.type != "html_block" or OWN_BLOCK.fullmatch(token.content), token.content
        assert token.type not in ("fence", "code_block", "heading_open", "hr", "blockquote_open")
    for child in inline(tokens):
        assert child.type in OWN_INLINE or (
            child.type == "html_inline" and child.content in ("<code>", "</code>")
        ), child
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)


def assert_short(text: str) -> None:
    assert len(text) <= MOST_CHARACTERS
    assert sum(token.type == "tr_open" for token in parse(text)) <= MOST_ROWS + 1  # its header


def hostile(name: str) -> Report:
    source = SourceLocation(name, 48)
    finding = Finding(
        code=name, severity="warning", message=f"about {name} here", hint=name, stage=name,
        line=1, source=source,
    )  # fmt: skip
    replace = msgspec.structs.replace
    return replace(
        SOFTMAX,
        kernel=name,
        config=replace(SOFTMAX.config, constexprs={name: name}, args={name: name}),
        pipelines=[replace(SOFTMAX.pipelines[0], source=source, loop=name)],
        loads=[replace(SOFTMAX.loads[0], source=source, element=name)],
        findings=[finding],
        triton_version=name,
        code={f"{name}:48": name},
    )


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_inert(name: str) -> None:
    report = hostile(name)
    texts = [
        REPORTS_WRITER([report], Options()),
        REPORTS_WRITER([report, SOFTMAX], Options()),
        COMPARISONS_WRITER(match([SOFTMAX], [report]), Options()),
        COMPARISONS_WRITER(match([report] * 2, [SOFTMAX]), Options()),
        COMPARISONS_WRITER(against_first([SOFTMAX, report, SOFTMAX]), Options()),
    ]
    for text in texts:
        assert_inert(text)
        assert text.count("\n<details>") == text.count("\n</details>")


def shown(markdown: str) -> str:
    """What a reader sees of one paragraph."""
    return "".join(
        child.content for child in inline(parse(markdown)) if child.type != "html_inline"
    )


@given(st.text(max_size=60))
def test_a_name_in_a_table_is_read_as_it_is(text: str) -> None:
    document = Document("diff")
    document.table(["a", "b"], [[code(f"x{text}"), escape(f"x {text}")]], right=())
    tokens = parse(document.text())
    cells = [t.children or [] for t in tokens if t.type == "inline"]
    assert len(cells) == 4
    assert_inert(document.text())
    seen = "".join(c.content for c in cells[2] if c.type != "html_inline")
    plain = re.sub(r"\\x[0-9a-f]{2}|\\u[0-9a-f]{4}", "", seen)
    assert seen.startswith("x")
    assert [c for c in plain if c.isalnum()] == [
        c for c in re.sub(r"\\x[0-9a-f]{2}|\\u[0-9a-f]{4}", "", f"x{printed(text)}") if c.isalnum()
    ]


def printed(text: str) -> str:
    from irlens.model.text import printable_line

    return printable_line(text)


@pytest.mark.parametrize(
    "text",
    ["softmax_kernel on sm_90", "4 → 5 (+1)", "100 %", "a <b> | `c` @d", "time <= 1.05 * baseline"],
)
def test_what_is_told_is_what_is_read(text: str) -> None:
    assert html.unescape(shown(escape(text))) == text


def test_a_condition_is_read_without_boxes_around_its_signs() -> None:
    assert "code" not in escape("occupancy >= 0.5 * baseline")


def test_the_type_of_a_tensor_is_one_word() -> None:
    told = escape("x_ptr=fp32[512, 4096] y → bf16[64, 8, 2], 3")
    assert told == "`x_ptr=fp32[512, 4096]` y → `bf16[64, 8, 2]`, 3"
    assert escape("a[0 b]c [") == "`a[0 b]c` `[`"
    told = "`x.to(tl.int64)`. (a:3, `b[0]`)"
    assert escape("x.to(tl.int64). (a:3, b[0])") == told


def test_many_comparisons_are_a_list_of_which_the_rest_is_folded() -> None:
    """36 rows of two columns of sentences, and 36 folds, were six screens, on a phone sixty."""
    resources = msgspec.structs.replace(SOFTMAX.resources, registers=200)
    resized = msgspec.structs.replace(SOFTMAX, resources=resources)
    pairs = [(SOFTMAX, resized)] * 30
    comparisons = [match([one], [two]) for one, two in pairs]
    joined = msgspec.structs.replace(comparisons[0], pairs=[each.pairs[0] for each in comparisons])
    written = COMPARISONS_WRITER(joined, Options())
    assert_inert(written)
    assert "| kernel |" not in written
    top, fold, *_ = written.split("<details>")
    assert top.count("\n- **softmax") == UNFOLDED
    assert fold.startswith(f"<summary><code>{30 - UNFOLDED} more items</code></summary>")
    assert written.count("<details>") == 2


def test_the_first_line_lets_a_bot_find_its_comment() -> None:
    assert REPORTS_WRITER([SOFTMAX], Options()).startswith("<!-- irlens:inspect -->\n")
    same = match([SOFTMAX], [SOFTMAX])
    assert COMPARISONS_WRITER(same, Options()) == (
        "<!-- irlens:diff -->\n\n**softmax_kernel on sm_90**: no difference\n"
    )


class TestShort:
    def many(self, number: int, offset: int) -> list[Report]:
        replace = msgspec.structs.replace
        return [
            replace(
                SOFTMAX,
                kernel=f"kernel_{index}",
                resources=replace(SOFTMAX.resources, registers=30 + offset),
            )
            for index in range(number)
        ]

    def test_many_kernels(self) -> None:
        text = COMPARISONS_WRITER(match(self.many(120, 0), self.many(120, 2)), Options())
        assert_inert(text)
        assert_short(text)
        assert "**120 of 120 differ · 120 without change in time**" in text
        assert "<code>108 more items</code>" in text
        assert text.count("\n- **kernel_") == 120
        assert "<code>all 120 in full</code>" in text.replace("&#95;", "_")
        assert re.search(r"… and [\d,]+ more lines", text)

    def test_much_that_has_no_counterpart(self) -> None:
        long = [msgspec.structs.replace(one, kernel=f"k{i}_" + "x" * 300) for i, one in
                enumerate(self.many(500, 0))]  # fmt: skip
        text = COMPARISONS_WRITER(match([SOFTMAX, *long], [SOFTMAX]), Options())
        assert_short(text)
        told = text.count("\n- removed: ")
        assert f"\n… and {500 - told} more items\n" in text

    def test_long_names_and_reports(self) -> None:
        name = "<&" * 50_000
        texts = [
            REPORTS_WRITER([hostile(name)], Options()),
            REPORTS_WRITER([SOFTMAX] * 60, Options(details=frozenset({"pressure", "mix"}))),
            COMPARISONS_WRITER(match([SOFTMAX], [hostile(name)]), Options()),
        ]
        for text in texts:
            assert_short(text)
            assert_inert(text)
            assert text.count("\n<details>") == text.count("\n</details>")


def test_amds_figures_are_told_in_amds_words() -> None:
    report = msgspec.json.decode((REPORTS / "softmax-mi300x.json").read_bytes(), type=Report)
    in_place = msgspec.structs.replace(report.pipelines[0], kind=None, achieved_stages=1)
    page = REPORTS_WRITER([msgspec.structs.replace(report, pipelines=[in_place])], Options())
    glance, _, _ = page.partition("<details>")
    assert "32 of 32 waves" in glance
    assert "| LDS | 32 B per workgroup |" in glance
    assert "1 of 4 stages ✗ | loads at `softmax.py:48`" in glance
    glance = glance.replace("num_warps", "")
    assert not any(word in glance for word in ("warp", "CTA", "block", "shared", "None"))
