"""Order, marks and headline of lists of configurations agree in all formats."""

import csv
import html
import io
import json
import re
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from irlens import figures
from irlens.model.estimate import Standing, TimeEstimate
from irlens.model.ranking import Ranking, rank_reports, rank_trials, with_standings
from irlens.model.report import Report
from irlens.model.sweep import Sweep
from irlens.render import Options, render
from irlens.render.view.configurations import _figure, _sizes
from irlens.render.view.nodes import Headline, Section
from irlens.render.view.report import reports_view
from irlens.render.view.standings import against_cell
from irlens.render.view.standings import headline as problems_headline
from irlens.render.view.sweep import sweep_view
from irlens.sweeps.selection import sort_trials

SAMPLES = Path(__file__).parents[2] / "samples"
SWEEPS = sorted(SAMPLES.glob("sweeps/*.json"))
REPORTS = sorted(SAMPLES.glob("reports/*.json"))
#: A mark as a cell of its own.
_MARK = r"fastest|as fast|reads less|\+\d+ %|\d+\.\d\d ×"
PEOPLE = ("text", "markdown", "html")
assert SWEEPS
assert REPORTS


def told(form: str, page: str) -> str:
    """Return the letters of a page that a reader sees, without spaces."""
    if form == "html":
        body = re.sub(r"<script.*?</script>", "", page.partition("<body")[2], flags=re.DOTALL)
        page = html.unescape(re.sub(r"<[^>]+>", "", body))
    return re.sub(r"[\s\\|*`]+", "", page)


def marks(form: str, page: str) -> list[str]:
    """Return the marks of a page's tables, row by row."""
    if form == "text":
        lines = [line for line in page.splitlines() if re.search(r" µs| ms|^vs fastest", line)]
        cells = [cell.strip() for line in lines for cell in re.split(r"\s{2,}", line)]
    elif form == "markdown":
        lines = [line for line in page.splitlines() if line.startswith("|")]
        cells = [cell.strip(" *") for line in lines for cell in line.split("|")]
    else:
        found = re.findall(r"<td[^>]*>(.*?)</td>", page, re.DOTALL)
        cells = [html.unescape(re.sub(r"<[^>]+>", "", cell)).strip() for cell in found]
    return [cell for cell in cells if re.fullmatch(_MARK, cell)]


def expected(standings: Sequence[Standing]) -> list[str]:
    written = [against_cell(each).text for each in standings]
    return [each for each in written if re.fullmatch(_MARK, each)]


def headline(view: Section) -> Headline:
    return next(each for each in view.children if isinstance(each, Headline))


def sample_sweep(path: Path) -> Sweep:
    """Return a sample as the sweep builds it."""
    found = msgspec.json.decode(path.read_bytes(), type=Sweep)
    trials = with_standings(sort_trials(found.trials, found.targets, (), found.axis))
    return msgspec.structs.replace(found, trials=trials)


@pytest.mark.parametrize("path", SWEEPS, ids=lambda path: path.stem)
def test_sweeps(path: Path) -> None:
    found = sample_sweep(path)
    standings = [each.standing for each in found.trials]
    assert standings == list(rank_trials(found.trials).standings)
    known = [each for each in standings if each is not None]
    if found.axis is None:
        for target in found.targets:
            ratios = [t.standing.over_fastest for t in found.on(target) if t.standing]
            compared = [each for each in ratios if each is not None]
            assert compared == sorted(compared), "the fastest first"
    for form in PEOPLE:
        page = render(form, "sweep", found, Options(width=200))
        assert marks(form, page) == expected(known), form
        for phrase in headline(sweep_view(found, Options())).phrases:
            assert told("text", phrase.text) in told(form, page), form
    rows = list(csv.DictReader(io.StringIO(render("csv", "sweep", found, Options()))))
    document = json.loads(render("json", "sweep", found, Options()))
    for row, trial, standing in zip(rows, document["trials"], known, strict=True):
        assert trial["standing"]["over_fastest"] == standing.over_fastest
        assert row["over_fastest"] == str(standing.over_fastest or "")
        assert row["time_us"] == str(standing.time_us or "")


def configurations(path: Path) -> list[Report]:
    """Return configurations of a sample with times of their own, the fastest in the middle."""
    (sample,) = [msgspec.json.decode(path.read_bytes(), type=Report)]
    reports = []
    for warps, share in ((1, 2.5), (2, 1.02), (4, 1.0), (8, 1.2), (16, None)):
        config = msgspec.structs.replace(sample.config, num_warps=warps)
        time = TimeEstimate(reason="unknown here")
        if share is not None:
            time = TimeEstimate(estimate_us=100.0 * share, bound="dram")
        reports.append(msgspec.structs.replace(sample, config=config, time=time))
    return reports


@pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.stem)
def test_reports(path: Path) -> None:
    try:
        reports = configurations(path)
    except msgspec.ValidationError:  # several reports
        pytest.skip("several reports in one file")
    ranking: Ranking = rank_reports(reports)
    if reports[0].occupancy is not None and not reports[0].occupancy.launchable:
        assert not ranking.is_timed
        return
    ordered = [reports[index] for index in ranking.order]
    assert [each.config.num_warps for each in ordered] == [4, 2, 8, 1, 16]
    wanted = expected([ranking.standings[index] for index in ranking.order])
    assert wanted == ["fastest", "as fast", "+20 %", "2.50 ×"]
    for form in PEOPLE:
        page = render(form, "reports", reports, Options(width=200))
        found = marks(form, page)
        assert found[: len(wanted)] == wanted, form
        for phrase in (
            "num_warps=4 is the fastest: about 100 µs, bound by DRAM",
            "num_warps=2 within 3 %",
            "irlens inspect KERNEL --num-warps 4",
        ):
            assert told("text", phrase) in told(form, page), form
    rows = list(csv.DictReader(io.StringIO(render("csv", "reports", reports, Options()))))
    assert [row["num_warps"] for row in rows] == ["4", "2", "8", "1", "16"]
    assert [row["over_fastest"] for row in rows] == ["1.0", "1.02", "1.2", "2.5", ""]
    document = json.loads(render("json", "reports", reports, Options()))
    assert [each["config"]["num_warps"] for each in document] == [4, 2, 8, 1, 16]


def test_where_there_is_no_time_the_option_that_gives_it_is_named() -> None:
    path = next(each for each in REPORTS if each.stem.startswith("softmax"))
    reports = [
        msgspec.structs.replace(
            each, time=None, traffic=None,
            unknown={**each.unknown, "traffic": "the grid is unknown: --grid gives it"},
        )
        for each in configurations(path)
    ]  # fmt: skip
    view = reports_view(reports, Options())
    (phrase,) = [each for each in headline(view).phrases if "time" in each.text]
    assert phrase.text == (
        "not ranked by time, which is unknown: the grid is unknown: --grid gives it"
    )
    assert marks("text", render("text", "reports", reports, Options())) == []


def test_the_stages_of_products_are_not_those_of_loads() -> None:
    """A row said "4/4 1" where a sweep of the same says "4/4"."""
    path = next(each for each in REPORTS if each.stem == "softmax-h100")
    found = msgspec.json.decode(path.read_bytes(), type=Report)
    (copies,) = found.pipelines
    product = msgspec.structs.replace(
        copies, kind="wgmma", requested_stages=None, achieved_stages=1
    )
    both = msgspec.structs.replace(found, pipelines=[copies, product])
    row = next(each for each in figures.COLUMNS if each.path == "pipelines[].achieved_stages")
    assert _figure(row, both, str) == "4/4"


def test_a_finding_that_all_share_is_said_once() -> None:
    path = next(each for each in REPORTS if each.stem == "spill-h100")
    reports = configurations(path)
    assert reports[0].findings
    page = render("text", "reports", reports, Options(width=120))
    assert page.count(f"all {len(reports)}: {reports[0].findings[0].code}") == 1
    alone = msgspec.structs.replace(reports[1], findings=[])
    assert "all 5: IRL" not in render("text", "reports", [*reports[:1], alone, *reports[2:]])
    assert "all 2: IRL" not in render("text", "reports", [reports[0], reports[0]])


def test_settings_that_move_together_are_named_once_by_the_scalar() -> None:
    """A problem's pointers, strides and blocks follow its size: the size alone names it."""
    path = next(each for each in REPORTS if "softmax" in each.stem)
    report = msgspec.json.decode(path.read_bytes(), type=Report)

    def sized(columns: int) -> Report:
        args = {"x_ptr": f"fp32[64, {columns}]", "stride": columns, "n_cols": columns}
        config = msgspec.structs.replace(
            report.config, args=args, constexprs={"BLOCK": columns * 2}
        )
        return msgspec.structs.replace(report, config=config)

    assert _sizes([sized(256), sized(512), sized(1024)]) == [
        "n_cols=256", "n_cols=512", "n_cols=1024",
    ]  # fmt: skip
    other = msgspec.structs.replace(sized(512).config, num_warps=16)
    mixed = [sized(256), msgspec.structs.replace(report, config=other)]
    assert _sizes(mixed) == ["n_cols=256", "n_cols=512"], "the table has the warps"
    alike = [sized(512), msgspec.structs.replace(report, config=other)]
    assert "num_warps=16" in _sizes(alike)[1], "the size does not set them apart"


def test_what_follows_a_size_is_listed_once() -> None:
    path = next(each for each in REPORTS if "softmax" in each.stem)
    report = msgspec.json.decode(path.read_bytes(), type=Report)

    def sized(columns: int) -> Report:
        args = {"x_ptr": f"fp32[64, {columns}]", "stride": columns, "n_cols": columns}
        blocks = {"BLOCK": columns, "ROWS": columns // 64}
        config = msgspec.structs.replace(report.config, args=args, constexprs=blocks)
        return msgspec.structs.replace(report, config=config)

    page = render("text", "reports", [sized(256), sized(512)], Options(width=120))
    table = page.partition("# ")[0]
    assert "follow n_cols: x_ptr, stride, BLOCK" in table
    assert "fp32[64, 512]" not in table.partition("Next")[0].partition("n_cols=256 ")[0]
    assert "ROWS" in table, "a block that is not the size keeps its row"


def test_sizes_of_one_kernel_are_told_as_a_range() -> None:
    path = next(each for each in REPORTS if "softmax" in each.stem)
    report = msgspec.json.decode(path.read_bytes(), type=Report)
    ranking = rank_reports([report])
    (problem,), (standing,) = ranking.problems, ranking.standings
    times = (12.1, 31.9, 20.0)
    several = msgspec.structs.replace(
        ranking,
        problems=tuple(msgspec.structs.replace(problem, members=(n,)) for n in range(3)),
        standings=tuple(msgspec.structs.replace(standing, time_us=each) for each in times),
    )
    (told,) = problems_headline(several, ["", "", ""], ["k", "k", "k"])
    assert told.text == "k: 3 sizes, 12.1 µs to 31.9 µs"
