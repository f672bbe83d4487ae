"""What is said of a matrix product's groups."""

import pytest
from msgspec.structs import replace

from irlens.model.report import blank_pipeline
from irlens.model.terms import describe_prefetch

BLANK = replace(
    blank_pipeline(
        stage="ptx", loop="L", line=1, source=None, kind="wgmma", requested=None, reason=""
    ),
    product_line=84,
)


@pytest.mark.parametrize(
    ("ahead", "groups", "later", "after", "phrases"),
    [
        (0, 1, 0, 0, ["0 iterations ahead", "1 group awaited in the same iteration"]),
        (0, 2, 0, 0, ["0 iterations ahead", "2 groups awaited in the same iteration"]),
        (1, 1, 1, 0, ["1 iteration ahead", "1 group awaited in the next iteration"]),
        (
            1, 8, 7, 7,
            [
                "1 iteration ahead",
                "7 of 8 groups awaited in the next iteration",
                "7 outstanding after the wait",
            ],
        ),
        (
            2, 1, 2, 2,
            [
                "2 iterations ahead",
                "1 group awaited 2 iterations later",
                "2 outstanding after the wait",
            ],
        ),
        (2, 2, 3, 0, ["2 iterations ahead", "last of 2 groups awaited 2 iterations later"]),
    ],
)  # fmt: skip
def test_groups(ahead: int, groups: int, later: int, after: int, phrases: list[str]) -> None:
    product = replace(
        BLANK,
        prefetch_iterations=ahead,
        groups_per_iteration=groups,
        outstanding_at_end=later,
        outstanding_after_wait=after,
        groups_during_compute=after,
    )
    assert describe_prefetch(product) == phrases


def test_an_unknown_product() -> None:
    assert describe_prefetch(BLANK) == []
