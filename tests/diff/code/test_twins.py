"""The same kernel compiled anew is the same code, at every stage."""

from pathlib import Path

import pytest

import irlens
from irlens.analyze.capture_code import CaptureCode
from irlens.diff.code import STAGES, compare_code
from irlens.model.capture import Capture


def compiled(store: Path, monkeypatch: pytest.MonkeyPatch) -> Capture:
    monkeypatch.setenv("IRLENS_CACHE_DIR", str(store))
    return irlens.capture("softmax", target="h100", num_stages=4)


def test_a_twin_is_no_different(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("triton")
    one = compiled(tmp_path / "one", monkeypatch)
    two = compiled(tmp_path / "two", monkeypatch)
    assert one.directory != two.directory
    there = [stage for stage in STAGES if stage in {*one.stages, "sass", "metadata"}]
    assert {"ttir", "ttgir", "llir", "ptx", "sass", "metadata"} <= set(there)
    for stage in there:
        assert compare_code(CaptureCode(one), CaptureCode(two), stage).hunks == [], stage
