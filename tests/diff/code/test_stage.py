"""The line of Python that a loop is."""

from pathlib import Path

import pytest

from irlens.analyze.capture_code import CaptureCode
from irlens.artifacts.load import load
from irlens.diff.code.stage import read_stages
from irlens.model.capture import Capture
from irlens.model.errors import ArtifactError

CAPTURES = Path(__file__).parents[3] / "samples" / "captures"


@pytest.mark.parametrize("stage", ["ttir", "ttgir", "llir", "ptx", "sass"])
def test_a_loop_is_named_by_its_for_wherever_its_last_line_came_from(stage: str) -> None:
    """The compiler lays out the blocks of this loop with the dot's last, behind the branch back."""
    (capture,) = load(CAPTURES / "matmul-b200")
    assert isinstance(capture, Capture)
    found, _ = read_stages(CaptureCode(capture), CaptureCode(capture), stage)
    longest = max(found.loops, key=lambda each: each.last - each.first)
    assert found.python(longest).startswith("for k in range(")


def test_two_sides_together_may_have_as_many_lines_as_one_artifact(tmp_path: Path) -> None:
    """Each is below the limit alone, so the report of each can be made."""
    (tmp_path / "k.ttir").write_text("module {\n" + "%a = a.b\n" * 250_000 + "}\n")
    (capture,) = load(tmp_path / "k.ttir")
    assert isinstance(capture, Capture)
    with pytest.raises(ArtifactError, match="both sides together has more than 400,000 lines"):
        read_stages(CaptureCode(capture), CaptureCode(capture), "ttir")
