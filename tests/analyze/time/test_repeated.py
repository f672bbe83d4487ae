"""Which loads find their data in the L1, since their CTA has loaded it."""

import pytest

from irlens.analyze.time.counting import Repeated
from irlens.analyze.traffic import Repetition


@pytest.mark.parametrize(
    ("accesses", "tiles", "others"),
    [
        # 64 rows of 1 KB, an element of each in a round: one round in eight brings a sector each.
        ([Repetition(2048, 2048, 16384, 16384)], 7 / 8, [0.0]),
        # Threads load 16 bytes of theirs in four parts: of four requests one brings sectors.
        ([Repetition(64, 64, 256, 64)], 0.0, [3 / 4]),
        # A tap at a place of its own, and four of one place: only the first brings anything.
        ([Repetition(64, 0, 256, 64)], 1.0, [1.0]),
        (
            [Repetition(64, 64, 256, 64), *[Repetition(64, 0, 256, 64)] * 3],
            0.0,
            [3 / 4, 1.0, 1.0, 1.0],
        ),
        # Nothing was loaded before.
        ([Repetition(64, 64, 64, 64)], 0.0, [0.0]),
        # An access that no lane takes.
        ([Repetition(0, 0, 0.0, 0.0)], 1.0, [1.0]),
    ],
)
def test_rounds_and_requests_that_bring_nothing_new(
    accesses: list[Repetition], tiles: float, others: list[float]
) -> None:
    found = Repeated.of(accesses)
    assert found.tiles == pytest.approx(tiles)
    assert found.others == pytest.approx(others)


@pytest.mark.parametrize(
    ("new", "loads", "bringing"),
    [
        # Taps one row apart: the first one loads all rows, each other one a row that is new.
        ([16, 1, 1, 1], 64, [*range(16), 16, 32, 48]),
        ([16, 0, 0, 0], 8, [0, 1]),
        # Loads that are not the same number for each tap, as where LLVM merges some.
        ([16, 1, 1, 1], 9, [0, 1, 2]),
        ([16, 0], 1, [0]),
    ],
)
def test_a_load_with_a_new_sector_of_each_access_waits_for_it(
    new: list[int], loads: int, bringing: list[int]
) -> None:
    repeated = Repeated.of([Repetition(16, each, 16, 16) for each in new])
    assert repeated.bringing(range(loads)) == bringing
