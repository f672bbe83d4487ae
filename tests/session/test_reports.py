"""The findings of a capture are the same wherever they are counted."""

from collections import Counter
from pathlib import Path

import pytest

from irlens import gpus
from irlens.artifacts import store
from irlens.artifacts.load import load
from irlens.compiler import Request, capture_entries
from irlens.model.capture import Capture
from irlens.session.listed_entries import read_entries, recall_entries
from irlens.session.reports import recall, report_of
from irlens.session.scan.entry_rows import REPORT, Wanted, read_rows

KERNEL = Path(__file__).parents[1] / "data" / "findings" / "tile_sum.py"


@pytest.fixture(scope="module")
def spilling() -> Path:
    """A capture with spills in its loop, which machine code alone shows (IRL106)."""
    gpu = gpus.find("h100")
    request = Request(
        kernel=str(KERNEL), target=gpu.target, sm_count=gpu.sm_count,
        settings={"SIZE": 32768, "STAGES": 1},
    )  # fmt: skip
    (entry,) = capture_entries(request)
    return entry


def test_lists_and_scans_count_what_inspect_counts(
    spilling: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (capture,) = load(spilling)
    assert isinstance(capture, Capture)
    monkeypatch.setenv(store.ROOT_VARIABLE, str(tmp_path))
    (entry,) = read_entries([("key", capture, "")])
    ((_, recalled),) = recall_entries([("key", capture, "")])
    (read,) = read_rows([Wanted(spilling, ("findings", "severities"))])
    (row,) = read.rows
    (read,) = read_rows([Wanted(spilling, ("findings", REPORT))])
    (full,) = read.rows
    inspected = report_of(capture, sass=None).findings
    assert "IRL106" in [each.code for each in inspected]
    assert entry.findings == Counter(each.severity for each in inspected)
    assert recalled is not None
    assert recalled.findings == entry.findings
    assert row["findings"] == full["findings"] == [each.code for each in inspected]


def test_machine_code_is_read_where_it_matters_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(store.ROOT_VARIABLE, str(tmp_path))
    (capture,) = load(Path(__file__).parents[2] / "samples" / "captures" / "softmax-h100")
    assert isinstance(capture, Capture)
    list(read_entries([("key", capture, "")]))
    assert recall(capture) is not None
    assert recall(capture, sass=True) is None
