"""Saved results: which kind a file of JSON is, and what a command says of one it does not read."""

import json
from pathlib import Path
from typing import get_args

import pytest

from irlens.model.errors import ArtifactError
from irlens.model.results import KINDS, Kind
from irlens.model.scan import Scan
from irlens.model.sweep import Sweep
from irlens.session.documents import saved_document, saved_reports, shown_document

SAMPLES = Path(__file__).parents[2] / "samples"
REPORT = SAMPLES / "reports" / "softmax-h100.json"


def first(folder: str) -> Path:
    return min((SAMPLES / folder).glob("*.json"))


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("sweeps", "sweep"), ("scans", "scan"), ("comparisons", "comparisons"),
        ("checks", "check"), ("ledgers", "ledgers"), ("code", "code"),
    ],
)  # fmt: skip
def test_a_saved_result_says_what_it_is(folder: str, kind: str) -> None:
    path = first(folder)
    document = saved_document(str(path))
    assert document is not None
    assert document.kind == kind
    with pytest.raises(ArtifactError, match=r"is a saved .*, not a report") as refused:
        saved_reports(str(path))
    assert refused.value.hint == f"show it with  irlens inspect {path}"


def test_every_kind_has_a_name() -> None:
    assert {*KINDS} == {*get_args(Kind)}


def test_records_are_complete() -> None:
    sweep, scan = saved_document(str(first("sweeps"))), saved_document(str(first("scans")))
    assert sweep is not None
    assert scan is not None
    assert isinstance(sweep.record, Sweep)
    assert sweep.record.trials
    assert isinstance(scan.record, Scan)


def test_reports_are_no_other_result(tmp_path: Path) -> None:
    assert saved_document(str(REPORT)) is None
    assert saved_reports(str(REPORT))
    several = tmp_path / "several.json"
    several.write_text(f"[{REPORT.read_text()}, {REPORT.read_text()}]")
    assert saved_document(str(several)) is None
    assert len(saved_reports(str(several)) or []) == 2


def test_a_wrong_type_and_a_missing_figure_are_named(tmp_path: Path) -> None:
    content = json.loads(first("scans").read_text())
    wrong = tmp_path / "wrong.json"
    wrong.write_text(json.dumps(content | {"where": 3}))
    with pytest.raises(ArtifactError, match=r"incomplete scan: .*where"):
        saved_document(str(wrong))
    for row in content["rows"]:
        row["figures"] = {}
    wrong.write_text(json.dumps(content))
    document = saved_document(str(wrong))
    assert document is not None
    with (
        pytest.raises(ArtifactError, match="the scan contradicts itself: KeyError"),
        shown_document(str(wrong), document),
    ):
        document.record.rows[0].figures["kernel"]
