"""Sentences about what a report holds."""

from pathlib import Path

import msgspec
import pytest

from irlens.model.memory import SharedBuffer
from irlens.model.report import Report
from irlens.model.source import SourceLocation
from irlens.model.terms import depth_in_short, describe_buffer, describe_depth

REPORTS = Path(__file__).parents[2] / "samples" / "reports"


def report(name: str) -> Report:
    return msgspec.json.decode((REPORTS / f"{name}.json").read_bytes(), type=Report)


@pytest.mark.parametrize(
    ("achieved", "asked", "told"),
    [
        (2, 4, "2 of 4 stages"), (1, 1, "1 of 1 stage"), (1, None, "1 stage"),
        (3, None, "3 stages"), (None, None, None), (None, 4, None),
    ],
)  # fmt: skip
def test_a_depth_that_is_not_known_is_none(
    achieved: int | None, asked: int | None, told: str | None
) -> None:
    (pipeline,) = report("softmax-h100").pipelines
    changed = {"achieved_stages": achieved, "requested_stages": asked}
    assert describe_depth(msgspec.structs.replace(pipeline, **changed)) == told


@pytest.mark.parametrize(
    ("achieved", "at_most", "told"),
    [(2, None, "2/4"), (2, 3, "2/4"), (None, 3, "≤3/4"), (None, None, "")],
)
def test_a_depth_in_short(achieved: int | None, at_most: int | None, told: str) -> None:
    assert depth_in_short(achieved, at_most, 4) == told


@pytest.mark.parametrize(
    ("total", "said"),
    [
        (1024, "2 × 512 B f16[4, 64] at a.py:3"),
        (1041, "1,041 B f16[2, 4, 64] at a.py:3"),
        (1040, "1,040 B f16[2, 4, 64] at a.py:3"),
    ],
)
def test_copies_of_a_buffer_are_counted_where_they_are_alike(total: int, said: str) -> None:
    """AMD pads between copies, and not behind the last one."""
    buffer = SharedBuffer(
        line=1, source=SourceLocation("a.py", 3), purpose="data", shape=(2, 4, 64), element="f16",
        copies=2, bytes=total, last_line=2, at_peak=True,
    )  # fmt: skip
    assert describe_buffer(buffer) == said
