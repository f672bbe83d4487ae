"""A check in every format: inert and short, whatever the kernels are called."""

import csv
import io
import re
from pathlib import Path

import msgspec
import pytest
from markdown_it import MarkdownIt

from irlens.model.check import BudgetFigure, Check, CheckedKernel, Problem
from irlens.model.comparison import Delta
from irlens.model.source import SourceLocation
from irlens.render import Options, render
from irlens.render.markdown import MOST_CHARACTERS, MOST_ROWS
from irlens.render.view.check_verdicts import budget_verdict

SAMPLES = Path(__file__).parents[2] / "samples"
FAILED = msgspec.json.decode((SAMPLES / "checks" / "failed.json").read_bytes(), type=Check)
HOSTILE = (
    "<script>alert(1)</script>", "</pre></details><img src=x>", "a|b|c", "`tick`", "**bold**",
    "[x](javascript:alert(1))", "\x1b[31mred\x1b]0;t\x07", "line\r\nbreak", "https://evil.example/a",
    "@everyone", "owner/repo#1", "\u202egnp.exe", "<!-- irlens:diff -->",
)  # fmt: skip
replace = msgspec.structs.replace


def hostile(name: str) -> Check:
    kernel = FAILED.kernels[0]
    movement = replace(
        kernel.movements[0], reason=name, source=SourceLocation(name, 3), pipeline=name,
        delta=Delta(path=name, unit="word", before=name, after=name * 2, change=None,
                    weight="much"),
    )  # fmt: skip
    verdict = replace(kernel.budgets[0], expression=name, place=name, reason=name)
    named = replace(
        kernel, asked=name, side=replace(kernel.side, kernel=name, label=name),
        movements=[movement], budgets=[verdict], code={f"{name}:3": name},
    )  # fmt: skip
    problem = Problem(kind="missing", fails=True, message=name, hint=name, file=name, line=None)
    return replace(FAILED, kernels=[named], problems=[problem], unchecked=[named.side])


def many(count: int) -> Check:
    kernel = FAILED.kernels[0]

    def numbered(index: int) -> CheckedKernel:
        return replace(kernel, side=replace(kernel.side, label=f"num_warps={index}"))

    return replace(FAILED, kernels=[numbered(index) for index in range(count)])


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_inert(name: str) -> None:
    text = render("text", "check", hostile(name), Options(color=False))
    assert not any(control in text for control in "\x1b\x07\r\u202e")
    markdown = render("markdown", "check", hostile(name), Options())
    assert not any(control in markdown for control in "\x1b\x07\r\u202e")
    for token in MarkdownIt("gfm-like").parse(markdown):
        if token.type == "html_block":
            assert "<script" not in token.content
            assert "<img" not in token.content
        for child in token.children or []:
            assert child.type not in ("link_open", "image"), child
            assert child.type != "html_inline" or child.content in ("<code>", "</code>"), child


def test_markdown_fits_a_comment() -> None:
    markdown = render("markdown", "check", many(1000), Options())
    assert len(markdown) <= MOST_CHARACTERS
    rows = [token for token in MarkdownIt("gfm-like").parse(markdown) if token.type == "tr_open"]
    assert len(rows) == MOST_ROWS + 1
    verdicts = 5 * 1000  # each kernel has five
    assert f"{verdicts - MOST_ROWS:,} more rows" in markdown


def test_markdown_begins_with_the_verdict() -> None:
    lines = render("markdown", "check", FAILED, Options()).splitlines()
    assert lines[:3] == [
        "<!-- irlens:check -->",
        "",
        "✗ **check failed: 1 of 4 configurations failed · 2 by this change**",
    ]


def test_what_fails_comes_before_what_is_told() -> None:
    text = render("markdown", "check", many(3), Options())
    marks = [line[2] for line in text.splitlines() if line.startswith(("| ✗", "| !"))]
    assert marks == sorted(marks, key="✗!".index)
    assert set(marks) == {"✗", "!"}


def test_the_text_fits_its_width() -> None:
    for width in (80, 100, 120):
        text = render("text", "check", FAILED, Options(width=width))
        assert max(map(len, text.splitlines())) <= width


def test_colour_only_repeats_what_is_said() -> None:
    plain, painted = (
        render("text", "check", FAILED, Options(color=color)) for color in (False, True)
    )
    bare = re.sub(r"\x1b\[[\d;]*m", "", painted).splitlines()
    assert [line.rstrip() for line in bare] == plain.splitlines()


def test_csv_has_values_and_leaves_what_is_unknown_empty() -> None:
    kernel = FAILED.kernels[0]
    verdict = replace(
        kernel.budgets[0],
        expression="registers < 2 * agprs",
        figures=[
            BudgetFigure(path="resources.registers", before=None, value=26),
            BudgetFigure(path="resources.agprs", before=None, value=None),
        ],
    )
    shown = replace(FAILED, kernels=[replace(kernel, budgets=[kernel.budgets[0], verdict])])
    text = render("csv", "check", shown, Options())
    rows = [row for row in csv.DictReader(io.StringIO(text)) if row["what"].startswith("budget")]
    assert [row["arch"] for row in rows] == ["sm_100", "sm_100"]
    assert [(row["figure"], row["before"], row["now"]) for row in rows] == [
        ("occupancy.theoretical", "0.5", "0.25"),
        ("resources.registers; resources.agprs", "; ", "26; "),
    ]


def test_a_budget_and_what_was_found_are_told_apart() -> None:
    found = budget_verdict(FAILED.kernels[0].budgets[0])
    assert found.sentence.startswith("occupancy >= 0.5: 50 % → 25 %")


def test_json_is_the_record() -> None:
    text = render("json", "check", FAILED, Options())
    assert msgspec.json.decode(text, type=Check) == FAILED
