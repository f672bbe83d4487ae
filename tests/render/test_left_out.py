"""What could not be compared is said in every format for people, also where nothing moved."""

from pathlib import Path

import msgspec
import pytest

from irlens.diff.report.comparisons import match
from irlens.model.pressure import Pressure
from irlens.model.report import Finding, Report
from irlens.render import Options, render

REPORTS = Path(__file__).parents[2] / "samples" / "reports"
SOFTMAX = msgspec.json.decode((REPORTS / "softmax-h100.json").read_bytes(), type=Report)
replace = msgspec.structs.replace


def compared(form: str, before: list[Report], after: list[Report]) -> str:
    comparisons = match(before, after)
    assert not comparisons.different
    return render(form, "comparisons", comparisons, Options(width=100))


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_what_only_one_side_has_is_told(form: str) -> None:
    bare = replace(SOFTMAX, pressure=Pressure(), memory=None)
    told = compared(form, [SOFTMAX], [bare])
    assert "only in before" in told
    assert "no difference in what both sides have" in told
    assert "both sides have" not in compared(form, [SOFTMAX], [SOFTMAX])


@pytest.mark.parametrize("form", ["text", "markdown", "html", "csv", "json"])
def test_a_finding_that_one_side_could_not_look_for_is_not_new(form: str) -> None:
    finding = Finding(
        code="IRL301", severity="warning", message="m", hint="h", stage="ttgir", line=1, source=None
    )
    reason = "it is not read"
    blind = replace(SOFTMAX, unknown={"findings.IRL301": reason})
    told = compared(form, [blind], [replace(SOFTMAX, findings=[finding])])
    assert "IRL301" in told
    assert f"{reason} (before)" in told


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_of_many_they_are_counted(form: str) -> None:
    other = replace(SOFTMAX, kernel="other")
    told = compared(form, [SOFTMAX, other], [SOFTMAX, replace(other, memory=None)])
    assert "0 of 2 differ" in told
    assert "· 1 compared in part" in told
    assert "in part" not in compared(form, [SOFTMAX, other], [SOFTMAX, other])
