"""Bytes that several lanes load."""

from fractions import Fraction
from pathlib import Path

from irlens import arch
from irlens.analyze.pipelines.repeated import amounts, largest, total
from irlens.capturing import Request, capture
from irlens.inspection import inspect

TILE, SCALE = ("k.py", 7), ("k.py", 8)
KERNELS = Path(__file__).parents[2] / "data" / "findings"


def test_what_lanes_share_is_counted_once() -> None:
    """64 lanes load a tile of 1,024 bytes, and each of them the one of 4 scales in its row."""
    found = amounts(
        {0: (TILE, 16), 5: (SCALE, 4)}, threads=64, copies=1, of_source={TILE: 1024, SCALE: 16}
    )
    assert found == {0: 1024, 5: 16}


def test_an_unrolled_loop_is_judged_by_its_iterations() -> None:
    reads = {0: (TILE, 16), 1: (SCALE, 4), 2: (TILE, 16), 3: (SCALE, 4)}
    found = amounts(reads, threads=64, copies=2, of_source={TILE: 1024, SCALE: 16})
    assert found == {0: 1024, 1: 16, 2: 1024, 3: 16}


def test_what_may_be_unrolled_is_left_as_it_is() -> None:
    """Twice as much of everything: two iterations, or two lanes for each element."""
    found = amounts({0: (TILE, 16), 1: (TILE, 16)}, threads=64, copies=1, of_source={TILE: 1024})
    assert found == {0: 1024, 1: 1024}


def test_what_is_not_known_stays_unknown() -> None:
    reads = {0: (TILE, 16), 1: (SCALE, None), 2: (None, 4)}
    assert amounts(reads, threads=None, copies=1, of_source={}) == {0: None, 1: None, 2: None}
    assert amounts(reads, threads=64, copies=1, of_source={TILE: None}) == {
        0: 1024,
        1: None,
        2: 256,
    }
    assert total([Fraction(1), None]) is None
    assert total([Fraction(1, 2), Fraction(1)]) is None
    assert total([Fraction(1, 2)] * 2) == 1
    assert largest([1, None]) is None
    assert largest([]) == 0


def test_a_row_that_all_lanes_of_a_column_load() -> None:
    """A bias of 64 floats is in every row of the layout: the source says how much that is."""
    gpu = arch.find("mi300x")
    kernel = str(KERNELS / "loads.py:biased_dot")
    (found,) = capture(Request(kernel=kernel, target=gpu.target, settings={"STAGES": 3}))
    report = inspect(found)
    (pipeline,) = report.pipelines
    amount = sum(load.bytes_per_iteration or 0 for load in report.loads)
    assert amount == 2 * 64 * 64 * 2 + 64 * 4
    assert pipeline.bytes_per_iteration == pipeline.bytes_in_flight == amount
    assert pipeline.prefetch_iterations == 1
