"""How long copies to shared memory occupy an SM, against an H200 and by hand."""

import json
from pathlib import Path

import pytest

import irlens
from irlens.analyze.time.l1_requests import LINE_BYTES, copying
from irlens.analyze.time.shared_wavefronts import Wavefronts, mean_wavefronts

MEASURED = Path(__file__).parents[2] / "data" / "h200" / "copies.json"


def test_copies_take_what_an_h200_took() -> None:
    """``benchmarks/copy_requests.py``: a round of few cycles also waits for its own loop."""
    rows = json.loads(MEASURED.read_text("utf-8"))
    assert len(rows) > 100
    wrong = []
    for width, apart, of_a_bank, which, measured in rows:
        beside = 32 // of_a_bank
        lanes = []
        for lane in range(32):
            row, column = divmod(lane, beside) if which == "far" else divmod(lane, of_a_bank)[::-1]
            lanes.append((row * 128 + column * width, lane * apart // LINE_BYTES))
        found = copying(lanes, width)
        if found != pytest.approx(measured, rel=0.15, abs=0.7):
            wrong.append((width, apart, of_a_bank, which, measured, found))
    assert wrong == []


def test_a_line_waits_for_the_banks_of_the_one_before() -> None:
    """Two lines of two lanes each: of one bank, of banks of their own, and no lanes at all."""
    assert copying([(0, 0), (128, 0), (256, 1), (384, 1)], 4) == 2 + 2 + 1
    assert copying([(0, 0), (128, 0), (4, 1), (132, 1)], 4) == 1 + 2 + 1
    assert copying([(0, 0), None, None, (12, 1)], 4) == 1 + 1 + 1
    assert copying([None] * 32, 8) == 0


def test_half_warps_copy_eight_bytes_one_after_the_other() -> None:
    lanes = [(lane * 8, lane // 16) for lane in range(32)]
    assert copying(lanes, 8) == 2 + 1
    below = [(lane * 128, 0) for lane in range(32)]
    assert copying(below, 8) == 32 + 1


def test_what_copies_save_is_the_mean_of_what_each_saves() -> None:
    """A copy whose lines are known, one whose are not, and some by no lane."""
    known, unknown, none = Wavefronts(12, 11, 14, 6), Wavefronts(4, 3), Wavefronts(0, 0)
    mean = mean_wavefronts([(known, 1), (unknown, 1), (none, 18)])
    assert mean.cycles == pytest.approx((26 + 4) / 20)
    assert mean.without_conflicts().cycles == pytest.approx((7 + 1) / 20)


def test_lanes_apart_and_banks_are_worth_mending(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tf32 product whose second operand is copied 4 bytes at a time took an H200 374 us."""
    monkeypatch.setenv("IRLENS_CACHE_DIR", str(tmp_path / "store"))
    kernel = f"{MEASURED.parents[1]}/findings/users.py:transposed_operand"
    time = irlens.inspect(irlens.capture(kernel, target="h200")).time
    assert time is not None
    assert time.estimate_us == pytest.approx(374, rel=0.15)
    assert {"bank_conflicts", "coalescing"} <= {step.cause for step in time.steps}
