"""A check in every format: inert and short, whatever the kernels are called."""

import csv
import io
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from markdown_it import MarkdownIt

from irlens.figures.judging import judge
from irlens.model.check import (
    BudgetFigure,
    Check,
    CheckedKernel,
    Judgement,
    Movement,
    Problem,
)
from irlens.model.comparison import Delta, TimeRatio
from irlens.model.estimate import RESOLUTION
from irlens.model.report import Finding
from irlens.model.source import SourceLocation
from irlens.render import Options, render
from irlens.render.markdown import MOST_CHARACTERS
from irlens.render.view.check_lines import moved_lines
from irlens.render.view.check_verdicts import budget_verdict, verdicts

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
    assert not rows, "a line for the kernel, and the figures folded"
    assert markdown.count("\n- ✗ ") == 1
    shown = markdown[: markdown.index("<details>")]
    assert shown.count("sm_100") == 1, "no more than the largest change is named"


def test_markdown_begins_with_the_verdict() -> None:
    lines = render("markdown", "check", FAILED, Options()).splitlines()
    assert lines[:2] == ["<!-- irlens:check -->", ""]
    assert lines[2].startswith("✗ **check failed: 1 of 4 configurations failed · 2 by this change")


def moved(
    name: str, target: str, us: float, judgement: Judgement = "worse", **changed: Any
) -> CheckedKernel:
    """A kernel that took 100 µs on a GPU, and whose registers moved."""
    kernel = FAILED.kernels[0]
    assert kernel.comparison is not None
    assert kernel.side.target is not None
    named = replace(kernel.side.target, product=target)
    ratio = us / 100
    time = TimeRatio(
        ratio=ratio, low=ratio * 0.9, high=ratio * 1.1, noise=abs(ratio - 1) <= RESOLUTION
    )
    before, after = (
        replace(side, target=named, kernel=name, estimate_us=value)
        for side, value in ((kernel.comparison.before, 100.0), (kernel.comparison.after, us))
    )
    pair = replace(
        kernel.comparison, before=before, after=after, time_ratio=time, not_judged={}, figures=[]
    )
    registers = changed.pop("registers", (64, 72))
    fails = changed.pop("fails", False)
    movement = Movement(
        delta=Delta(
            path="resources.registers", unit="count", before=registers[0], after=registers[1],
            change=registers[1] - registers[0], weight="some",
        ),
        judgement=judgement, fails=fails, pipeline=None, reason="",
        source=changed.pop("source", None),
    )  # fmt: skip
    return replace(
        kernel, side=replace(kernel.side, kernel=name, target=named, label=""),
        comparison=replace(pair, verdict=judge(pair, "")), movements=[movement], budgets=[],
        findings=[], outcome="failed" if fails else "warned",
    )  # fmt: skip


def lines(*kernels: CheckedKernel) -> list[str]:
    found = moved_lines([(kernel, verdicts(kernel)) for kernel in kernels])
    return [f"{each.level}: {each.words}" for each in found]


def test_a_sign_begins_no_list_in_a_comment() -> None:
    """A line of what is better, "- + fast ...", was a list in a list."""
    check = replace(FAILED, kernels=[moved("fast", "h100", 50.0)], problems=[])
    written = render("markdown", "check", check, Options())
    assert "- \\+ fast on h100: 50 % less time" in written
    lists = [each for each in MarkdownIt("gfm-like").parse(written) if "list_open" in each.type]
    assert len(lists) == 1


def test_one_cause_over_several_gpus_is_one_line() -> None:
    found = lines(
        moved("norm", "h100", 120.0),
        moved("norm", "b200", 140.0, registers=(60, 70)),
        moved("norm", "a100", 130.0, registers=(60, 66)),
    )
    assert found == [
        "warning: norm on h100, b200, a100: 20 % to 40 % more time · registers +6 to +10"
    ]


def test_the_change_in_time_comes_first_on_a_line_of_several_gpus() -> None:
    """Each GPU's own change was told, in the order of their names."""
    untimed = moved("norm", "mi300x", 100.0, fails=True)
    assert untimed.comparison is not None
    unknown = replace(untimed.comparison, time_ratio=None)
    found = lines(
        replace(untimed, comparison=replace(unknown, verdict=judge(unknown, ""))),
        moved("norm", "a100", 101.0, fails=True),
        moved("norm", "b200", 140.0, fails=True),
        moved("norm", "h100", 120.0, fails=True),
    )
    assert found == [
        "error: norm: 20 % to 40 % more time on b200, h100, no change in time on a100, "
        "neither better nor worse on mi300x · registers 64 → 72"
    ]


def test_time_decides_whether_a_kernel_got_better() -> None:
    """More registers that save time are for the better; what fails stays what fails."""
    found = lines(
        moved("slow", "h100", 150.0, judgement="better"),
        moved("fast", "h100", 50.0),
        moved("equal", "h100", 101.0),
        moved("gate", "h100", 80.0, fails=True),
    )
    assert found == [
        "error: gate on h100: 20 % less time (100 µs → 80.0 µs) · registers 64 → 72",
        "warning: slow on h100: 50 % more time (100 µs → 150 µs) · registers 64 → 72",
        "good: fast on h100: 50 % less time (100 µs → 50.0 µs) · registers 64 → 72",
        "note: equal on h100: no change in time (100 µs → 101 µs) · registers 64 → 72",
    ]


def test_a_time_within_its_noise_is_no_line() -> None:
    kernel = moved("norm", "h100", 101.0, judgement="other")
    time = Delta(
        path="time.estimate_us", unit="us", before=100.0, after=101.0, change=1.0, weight="much"
    )
    still = replace(kernel, movements=[replace(kernel.movements[0], delta=time)])
    assert not lines(still)
    top = render("markdown", "check", replace(FAILED, kernels=[still]), Options())
    assert "in time" not in top.partition("<details>")[0]


def test_what_differs_between_gpus_says_where() -> None:
    found = lines(
        moved("norm", "h100", 150.0, fails=True), moved("norm", "b200", 100.0, fails=True),
        moved("norm", "a100", 102.0, fails=True),
    )  # fmt: skip
    assert found == [
        "error: norm: 50 % more time on h100, no change in time on b200, a100 · registers 64 → 72"
    ]


def test_kernels_that_share_a_line_of_python_share_theirs() -> None:
    helper = SourceLocation("helpers.py", 7)
    found = lines(
        moved("one", "h100", 150.0, source=helper), moved("two", "h100", 160.0, source=helper),
        moved("three", "h100", 160.0, source=SourceLocation("three.py", 7)),
    )  # fmt: skip
    assert found == [
        "warning: two, one on h100: more time · registers 64 → 72",
        "warning: three on h100: 60 % more time (100 µs → 160 µs) · registers 64 → 72",
    ]


def test_a_comment_on_many_kernels_fits_a_screen() -> None:
    """Twelve kernels on three GPUs: a line for each kernel, and all figures folded."""
    kernels = [
        moved(f"kernel{number}", target, 100.0 + 5 * number)
        for number in range(12)
        for target in ("a100", "h100", "b200")
    ]
    markdown = render("markdown", "check", replace(FAILED, kernels=kernels), Options())
    top = markdown[: markdown.index("<details>")]
    assert len([line for line in top.splitlines() if line.startswith("- ")]) == 12 + 1
    assert len(top.splitlines()) <= 24
    assert top.count("<li>") == 0
    assert MarkdownIt("gfm-like").render(top).count("<ul>") == 2, "no mark begins another list"
    assert "passed" not in top


def test_no_baseline_is_said_and_nothing_is_new() -> None:
    finding = Finding(
        code="IRL202", severity="warning", message="m", hint="h", stage=None, line=None, source=None
    )
    kernel = replace(
        FAILED.kernels[0], in_baseline=False, comparison=None, movements=[], budgets=[],
        findings=[finding], outcome="warned",
    )  # fmt: skip
    bare = replace(FAILED, kernels=[kernel], problems=[], baseline=None, outcome="warned")
    top = render("markdown", "check", bare, Options()).partition("<details>")[0]
    assert "no baseline to compare with: irlens check --update writes one" in top
    assert "- ! layer_norm_kernel on b200: IRL202" in top
    assert "new IRL202" not in top
    assert "no baseline" not in render("markdown", "check", FAILED, Options())


def test_what_fails_comes_before_what_is_told() -> None:
    text = render("text", "check", many(3), Options())
    marks = [line[0] for line in text.splitlines() if line.startswith(("✗  ", "!  "))]
    assert marks == [*"✗✗!!!"] * 3


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


def test_a_budget_over_an_unknown_figure_is_not_said_to_be_broken() -> None:
    broken = FAILED.kernels[0].budgets[0]
    assert broken.state == "broken"
    unknown = replace(broken, state="unknown", reason="occupancy: nobody knows")
    for budget, words in ((broken, "breaks"), (unknown, "unknown whether")):
        kernel = replace(FAILED.kernels[0], movements=[], findings=[], budgets=[budget])
        (line,) = lines(kernel)
        assert line.endswith(f"{words} {budget.expression}")


def test_json_is_the_record() -> None:
    text = render("json", "check", FAILED, Options())
    assert msgspec.json.decode(text, type=Check) == FAILED
