"""Sentences about what a report holds."""

from pathlib import Path

import msgspec
import pytest

from irlens.model.report import Report
from irlens.model.terms import depth_in_short, describe_depth

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
