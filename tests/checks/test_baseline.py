"""The baseline's file: what is kept of a report, and damaged ones."""

import json
import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from irlens.checks.baseline import (
    BASELINE_SCHEMA,
    KEPT_RESOURCES,
    Baseline,
    KeptOccupancy,
    KeptPipeline,
    Recipe,
    entry,
    figures,
    read,
    sort,
    written,
)
from irlens.diff.report import compare
from irlens.figures import FIGURES
from irlens.model.errors import ArtifactError
from irlens.model.estimate import TimeEstimate
from irlens.model.report import Report
from irlens.model.text import microseconds
from irlens.render.view.comparison_verdict import in_short

RECIPE = Recipe(kernel="kernels/a.py:b", target="h100", settings={"num_stages": "4"})


def baseline(reports: dict[str, Report]) -> Baseline:
    entries = sort(entry(report, RECIPE) for report in reports.values())
    return Baseline(schema=BASELINE_SCHEMA, entries=entries)


def test_it_reads_what_it_wrote(reports: dict[str, Report], tmp_path: Path) -> None:
    path = tmp_path / "irlens.baseline.json"
    assert read(path) is None
    path.write_bytes(written(baseline(reports)))
    assert read(path) == baseline(reports)


@given(st.tuples(*[st.floats(1, 5000)] * 2))
def test_times_compare_as_those_of_the_reports(
    reports: dict[str, Report], times: tuple[float, float]
) -> None:
    softmax = reports["softmax-h100"]
    before, after = (
        msgspec.structs.replace(softmax, time=TimeEstimate(estimate_us=us)) for us in times
    )
    kept, known = figures(entry(before, RECIPE)), compare(before, after)
    compared = compare(kept, after)
    assert kept.time is not None
    assert microseconds(kept.time.estimate_us or 0) == microseconds(times[0])
    assert in_short(compared).removeprefix("likely ") == in_short(known).removeprefix("likely ")


def test_the_order_in_which_things_were_made_does_not_matter(reports: dict[str, Report]) -> None:
    backwards = dict(reversed(reports.items()))
    assert written(baseline(reports)) == written(baseline(backwards))


def test_every_figure_has_a_line_of_its_own(softmax: Report) -> None:
    text = written(Baseline(schema=1, entries=[entry(softmax, RECIPE)])).decode()
    assert f'\n        "registers": {softmax.resources.registers},\n' in text
    assert '\n        "theoretical": 1.0,\n' in text
    assert "sha256" not in text  # nor anything else that moves by itself
    assert "grid" not in text


def test_the_figures_come_back(reports: dict[str, Report]) -> None:
    for report in reports.values():
        kept = figures(entry(report, RECIPE))
        for name in KEPT_RESOURCES:
            assert getattr(kept.resources, name) == getattr(report.resources, name)
        assert report.occupancy is not None
        assert kept.occupancy is not None
        assert kept.occupancy.theoretical == report.occupancy.theoretical
        stages = [(one.kind, one.achieved_stages, one.verdict) for one in report.pipelines]
        assert [(one.kind, one.achieved_stages, one.verdict) for one in kept.pipelines] == stages
        assert not compare(kept, figures(entry(report, RECIPE))).different


def test_what_is_unknown_stays_unknown(softmax: Report) -> None:
    unknown = msgspec.structs.replace(
        softmax, occupancy=None, pipelines=[], unknown={"pipelines": "no ptx"},
        resources=msgspec.structs.replace(softmax.resources, registers=None),
    )  # fmt: skip
    kept = entry(unknown, RECIPE)
    assert kept.occupancy is None
    assert kept.pipelines is None
    assert "registers" not in kept.resources
    assert figures(kept).resources.registers is None


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (('"schema": 1', '"schema": 7'), r"schema 7, this irlens reads schema 1"),
        (('"schema": 1,', '"schema": 1, "more": 2,'), r"unknown field `more`"),
        (('"registers"', '"registrs"'), r"unknown figure 'registrs' - at `\$\.entries\[0\]"),
        (('"launchable": true', '"launchable": 1'), r"Expected `bool`.*launchable"),
        (('"theoretical": 1.0', '"theoretical": 1e308'), r"Expected `float` <= 1.*theoretical"),
        (('"kernel"', "<<<<<<< HEAD\n"), r"json:5: not JSON: it has conflict markers"),
        (("{", ""), r"not a baseline"),
        (('"limited_by": [', '"limited_by": [[['), r"json:\d+: not JSON"),
    ],
)
def test_damage_is_told_with_its_place(
    edit: tuple[str, str], told: str, softmax: Report, tmp_path: Path
) -> None:
    path = tmp_path / "irlens.baseline.json"
    text = written(Baseline(schema=1, entries=[entry(softmax, RECIPE)])).decode()
    if "<<<" in edit[1]:
        text = re.sub(r"\s+" + edit[0], "\n" + edit[1], text, count=1)
    else:
        text = text.replace(edit[0], edit[1], 1)
    path.write_text(text)
    with pytest.raises(ArtifactError, match=told) as caught:
        read(path)
    assert "\n" not in caught.value.message
    assert caught.value.hint


@given(st.binary(max_size=80))
def test_anything_else_is_an_error(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_bytes(data)
    with pytest.raises(ArtifactError):
        read(path)


def test_a_name_that_is_not_utf_8_is_an_error(softmax: Report, tmp_path: Path) -> None:
    path = tmp_path / "bytes.json"
    content = written(Baseline(schema=1, entries=[entry(softmax, RECIPE)]))
    path.write_bytes(content.replace(b"softmax_kernel", b"softmax\xc3(kernel"))
    with pytest.raises(ArtifactError, match="not JSON"):
        read(path)


def test_deep_nesting_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "deep.json"
    path.write_text('{"schema": 1, "entries": ' + "[" * 100_000)
    with pytest.raises(ArtifactError):
        read(path)


def test_other_tools_can_read_it(reports: dict[str, Report]) -> None:
    document = json.loads(written(baseline(reports)))
    assert document["schema"] == 1
    assert [one["kernel"] for one in document["entries"]] == sorted(
        report.kernel for report in reports.values()
    )


def test_the_file_keeps_the_figures_whose_rows_say_so() -> None:
    def rows(prefix: str) -> set[str]:
        paths = (figure.path for figure in FIGURES if figure.in_baseline)
        return {path.removeprefix(prefix) for path in paths if path.startswith(prefix)}

    assert rows("resources.") == set(KEPT_RESOURCES)
    assert rows("pipelines[].") == set(KeptPipeline.__struct_fields__) - {
        "source",
        "code",
        "product_source",
    }
    assert rows("occupancy.") <= set(KeptOccupancy.__struct_fields__)
