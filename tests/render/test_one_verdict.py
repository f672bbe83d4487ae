"""Every format says the same verdict, that of the records, over all samples."""

import html
import re
from pathlib import Path

import msgspec
import pytest

from irlens.diff.report import compare
from irlens.diff.report.comparisons import against_first
from irlens.model.estimate import BOUND_NAMES
from irlens.model.report import Report
from irlens.render import Options, render
from irlens.render.view.annotations import differences
from irlens.render.view.comparison_verdict import in_short, verdict
from irlens.render.view.launch_time import launch_time, time_section
from irlens.render.view.nodes import Bar, Table
from irlens.render.view.verdict import verdict as verdict_of_report

REPORTS = sorted((Path(__file__).parents[2] / "samples" / "reports").glob("*.json"))


def report(path: Path) -> Report:
    return msgspec.json.decode(path.read_bytes(), type=Report)


def plain(page: str) -> str:
    """A page without markup, its white space in one."""
    bare = re.sub(r"<style.*?</style>|<script.*?</script>|<[^>]*>", "", page, flags=re.DOTALL)
    return " ".join(html.unescape(bare).replace("`", "").replace("*", "").split())


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
@pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.stem)
def test_a_report_says_its_verdict_first_in_every_format(form: str, path: Path) -> None:
    found = verdict_of_report(report(path))
    page = plain(render(form, "reports", [report(path)], Options(width=200)))
    places = [page.find(" ".join(phrase.text.split())) for phrase in found.phrases]
    assert -1 not in places, found.words
    assert places == sorted(places)


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
@pytest.mark.parametrize("first", REPORTS, ids=lambda path: path.stem)
def test_a_comparison_says_its_verdict_first_in_every_format(form: str, first: Path) -> None:
    """Each sample against the next one."""
    second = REPORTS[(REPORTS.index(first) + 1) % len(REPORTS)]
    compared = against_first([report(first), report(second)])
    (pair,) = compared.pairs
    page = plain(render(form, "comparisons", compared, Options(width=200)))
    for phrase in verdict(pair).phrases:
        assert " ".join(phrase.text.split()) in page
    assert [each.message for each in differences(compared)] == [verdict(pair).words]


@pytest.mark.parametrize("first", REPORTS, ids=lambda path: path.stem)
def test_the_tone_is_the_outcome_of_the_record(first: Path) -> None:
    for second in REPORTS:
        pair = compare(report(first), report(second))
        tones = {"better": {"better"}, "worse": {"worse", "bad"}}
        tone = verdict(pair).tone
        assert tone in tones.get(pair.verdict.outcome, {"neutral"})
        if pair.verdict.by == "time" and pair.time_ratio is not None:
            better = pair.time_ratio.ratio < 1
            assert pair.time_ratio.noise == (pair.verdict.outcome == "same")
            if pair.other_work and not pair.time_ratio.noise:
                assert pair.verdict.outcome == "neither"
                continue
            assert pair.time_ratio.noise or (pair.verdict.outcome == "better") == better
            assert "time" in in_short(pair)


@pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.stem)
def test_the_verdict_names_the_bars_that_are_marked(path: Path) -> None:
    """Also where the L2 binds and memory has more to move: both are named, and both marked."""
    found = report(path)
    section = time_section(found)
    if section is None or found.time is None:
        assert found.time is None or not found.time.estimate_us
        return
    bars = next(each for each in section.children if isinstance(each, Table))
    marked = {
        "".join(run.text for run in row.cells[0])
        for row in bars.rows
        if isinstance(row.cells[0], tuple)
        and any(isinstance(cell, Bar) and cell.tone == "warn" for cell in row.cells)
    }
    words = launch_time(found)
    assert marked
    assert all(name in words for name in marked)
    parts = found.time.parts
    if found.time.bound in ("l2", "dram"):
        assert BOUND_NAMES[max(("l2", "dram"), key=lambda name: parts.get(name, 0.0))] in marked
