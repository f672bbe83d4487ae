"""The findings of a capture are the same wherever they are counted."""

from collections import Counter
from pathlib import Path

import pytest

from irlens import gpus
from irlens.artifacts import store, tools
from irlens.artifacts.load import load
from irlens.compiler import Request, capture_entries
from irlens.model.capture import Capture, Disassembly
from irlens.session.listed_entries import read_entries, recall_entries
from irlens.session.reports import codes_of, complete_report, recall, recall_complete, report_of
from irlens.session.scan.entry_rows import REPORT, Wanted, read_rows

CAPTURES = Path(__file__).parents[2] / "samples" / "captures"
KERNEL = Path(__file__).parents[1] / "data" / "findings" / "tile_sum.py"
#: A kernel whose loop ends where floating-point numbers say.
SHRINKING = """
import triton
import triton.language as tl

IRLENS_KERNELS = {"shrinking": {"args": {"target": "fp32[64]"}, "grid": [64]}}

@triton.jit
def shrinking(target):
    left = tl.program_id(0).to(tl.float32) + 1.5
    total = 0.0
    while left > 1.0:
        left = left - total * 0.1 - 0.7
        total += left
    tl.store(target + tl.program_id(0), total)
"""


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
    inspected = report_of(capture, Disassembly.TRY).findings
    assert "IRL106" in [each.code for each in inspected]
    assert entry.findings == Counter(each.severity for each in inspected)
    assert recalled is not None
    assert recalled.findings == entry.findings
    assert row["findings"] == full["findings"] == [each.code for each in inspected]


def test_machine_code_is_read_where_it_matters_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(store.ROOT_VARIABLE, str(tmp_path))
    (capture,) = load(CAPTURES / "softmax-h100")
    assert isinstance(capture, Capture)
    list(read_entries([("key", capture, "")]))
    assert recall(capture) is not None
    assert recall(capture, Disassembly.REQUIRE) is None


def test_a_report_that_needs_machine_code_is_made_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(store.ROOT_VARIABLE, str(tmp_path))
    (capture,) = load(CAPTURES / "spill-h100")
    assert isinstance(capture, Capture)
    assert recall_complete(capture) is None
    report = complete_report(capture)
    assert report.spills
    assert recall(capture) is None
    assert recall_complete(capture) == complete_report(capture) == report
    assert recall(capture, Disassembly.REQUIRE) == report


def test_code_that_was_listed_is_not_disassembled_again_for_an_unknown_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its message names the same line of source as that of the code disassembled alone."""
    monkeypatch.setenv(store.ROOT_VARIABLE, str(tmp_path))
    file = tmp_path / "shrinking.py"
    file.write_text(SHRINKING)
    gpu = gpus.find("h100")
    compiled = [
        capture_entries(
            Request(kernel=f"{file}:shrinking", target=gpu.target, sm_count=gpu.sm_count,
                    settings={"num_warps": warps})
        )
        for warps in (4, 8)
    ]  # fmt: skip
    captures = [each for entries in compiled for entry in entries for each in load(entry)]
    chosen = [each for each in captures if isinstance(each, Capture)]
    alone = [report_of(each).unknown["time"] for each in chosen]
    monkeypatch.setenv(store.ROOT_VARIABLE, str(tmp_path / "other"))

    def disassemble(_cubin: bytes) -> str:
        raise AssertionError("disassembled alone")

    monkeypatch.setattr(tools, "disassemble", disassemble)
    assert [complete_report(code).unknown["time"] for code in codes_of(chosen)] == alone
    assert all("a branch of shrinking.py:11" in each for each in alone)
