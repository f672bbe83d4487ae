"""A check separates what a change broke from what was broken before."""

from pathlib import Path

import msgspec
import pytest

from irlens.checks import check, project
from irlens.checks.baseline import BASELINE_SCHEMA, Baseline, Recipe, entry
from irlens.checks.pairing import RecipeResult
from irlens.checks.project import Requirements
from irlens.model.check import Check
from irlens.model.report import Report
from irlens.render import Options, render

SAMPLES = Path(__file__).parents[2] / "samples"
RECIPE = Recipe(kernel="layer_norm", target="b200")


def report(version: str) -> Report:
    path = SAMPLES / "reports" / f"layer_norm-b200-{version}.json"
    return msgspec.json.decode(path.read_bytes(), type=Report)


def checked(before: str | None, now: str) -> Check:
    """Check against the samples' budgets: one requires an occupancy of a half."""
    entries = [] if before is None else [entry(report(before), RECIPE)]
    asked = project.find(SAMPLES / "checks")
    rules = Requirements(
        baseline=Baseline(schema=BASELINE_SCHEMA, entries=entries),
        baseline_file=asked.baseline.name,
        budgets=asked.budgets,
    )
    return check([RecipeResult(recipe=RECIPE, reports=(report(now),))], rules)[0]


@pytest.mark.parametrize(
    ("before", "now", "broken_before", "counted", "since"),
    [
        ("3.6", "3.7", False, "2 by this change", "this change"),
        ("3.7", "3.7", True, "1 broken before", "before"),
        (None, "3.7", None, "1 of 1 configuration failed", "unknown"),
    ],
)
def test_since_when_a_budget_is_broken(
    before: str | None, now: str, broken_before: bool | None, counted: str, since: str
) -> None:
    found = checked(before, now)
    (broken,) = (one for one in found.kernels[0].budgets if one.state == "broken")
    assert broken.broken_before is broken_before
    for form in ("text", "markdown", "html"):
        page = render(form, "check", found, Options(width=120))
        assert counted in page
    page = render("text", "check", found, Options(width=120))
    (line,) = (line for line in page.splitlines() if line.startswith("✗  occupancy >= 0.5"))
    assert ("breaks occupancy >= 0.5 as before" in page) == (since == "before")
    assert since in line.split("%")[-1]
    assert f"since {since}: " in page[page.index("Legend") :]


def test_what_holds_has_no_cause() -> None:
    found = checked("3.6", "3.6")
    assert {one.broken_before for one in found.kernels[0].budgets} == {None}
    assert "Legend" not in render("text", "check", found, Options())
