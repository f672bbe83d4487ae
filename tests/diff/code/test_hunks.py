"""What moved, in the order in which a reader meets it."""

from pathlib import Path

import pytest

from irlens.analyze.capture_code import CaptureCode
from irlens.artifacts.load import load
from irlens.diff.code import compare_code, first_line
from irlens.model.capture import Capture

CAPTURES = Path(__file__).parents[3] / "samples" / "captures"


def captured(name: str) -> Capture:
    (found,) = load(CAPTURES / name)
    assert isinstance(found, Capture)
    return found


@pytest.mark.parametrize("stage", ["ttir", "ttgir", "llir", "ptx"])
@pytest.mark.parametrize(
    "sides", [("layer_norm-b200-3.6", "layer_norm-b200-3.7"), ("softmax-t4", "softmax-h100")]
)
def test_hunks_are_in_the_order_of_the_text(sides: tuple[str, str], stage: str) -> None:
    ours, theirs = (CaptureCode(captured(name)) for name in sides)
    found = compare_code(ours, theirs, stage, names=sides, context=0)
    begins = [first_line(hunk) for hunk in found.hunks if hunk.rows[0].after_line is not None]
    assert begins == sorted(begins)
    if (sides[0], stage) == ("layer_norm-b200-3.6", "llir"):
        # LLVM writes its attributes behind the code.
        assert (found.hunks[-1].rows[0].after or "").startswith("attributes #")
