"""The line of Python that a loop is."""

from pathlib import Path

import pytest

from irlens.artifacts.load import load
from irlens.diff.code.stage import read_stage
from irlens.model.capture import Capture

CAPTURES = Path(__file__).parents[3] / "samples" / "captures"


@pytest.mark.parametrize("stage", ["ttir", "ttgir", "llir", "ptx", "sass"])
def test_a_loop_is_named_by_its_for_wherever_its_last_line_came_from(stage: str) -> None:
    """The compiler lays out the blocks of this loop with the dot's last, behind the branch back."""
    (capture,) = load(CAPTURES / "matmul-b200")
    assert isinstance(capture, Capture)
    found = read_stage(capture, stage)
    longest = max(found.loops, key=lambda each: each.last - each.first)
    assert found.python(longest).startswith("for k in range(")
