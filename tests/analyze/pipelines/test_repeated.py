"""Bytes that several lanes load."""

from fractions import Fraction
from pathlib import Path

import pytest

from irlens import arch
from irlens.analyze.pipelines.repeated import amounts, largest, source_bytes, total
from irlens.capturing import Request, capture
from irlens.inspection import inspect
from irlens.model.memory import LoopLoad
from irlens.model.source import SourceLocation

TILE, SCALE = ("k.py", 7), ("k.py", 8)
KERNELS = Path(__file__).parents[2] / "data" / "findings"


def read(loop_line: int, loop: SourceLocation, place: SourceLocation, size: int | None) -> LoopLoad:
    return LoopLoad(
        operation="tt.load", line=9, source=place, loop_line=loop_line, loop_source=loop,
        state="registers", iterations_ahead=2, shape=(64,), element="f32", bytes_per_iteration=size,
        widest_access_bytes=16, buffer_line=None, buffer_copies=None, reason="",
    )  # fmt: skip


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


def test_a_loop_that_stands_there_twice() -> None:
    """As one in a function that is called twice does."""
    loop, tile, bias = (SourceLocation("k.py", line) for line in (6, 7, 8))
    once = [read(8, loop, tile, 1024), read(8, loop, tile, 512), read(8, loop, bias, 16)]
    again = [read(30, loop, tile, 1536), read(30, loop, bias, 32)]
    assert source_bytes([*once, *again]) == {("k.py", 6): {TILE: 1536, SCALE: None}}
    assert source_bytes([*once, read(8, loop, bias, None)]) == {
        ("k.py", 6): {TILE: 1536, SCALE: None}
    }


def test_a_place_where_one_width_is_not_known_is_not_known() -> None:
    reads = {0: (TILE, 16), 1: (TILE, None), 2: (SCALE, 4)}
    found = amounts(reads, threads=64, copies=1, of_source={TILE: 1024, SCALE: 16})
    assert found[0] is None
    assert found[1] is None


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


@pytest.mark.parametrize("target", ["mi300x", "h100"])
def test_a_row_that_several_threads_hold(target: str) -> None:
    """A bias of 64 floats is in every row of the layout: the source says how much that is."""
    gpu = arch.find(target)
    kernel = str(KERNELS / "loads.py:biased_dot")
    (found,) = capture(Request(kernel=kernel, target=gpu.target, settings={"STAGES": 3}))
    report = inspect(found)
    pipeline = report.pipelines[0]
    amount = sum(load.bytes_per_iteration or 0 for load in report.loads)
    assert amount == 2 * 64 * 64 * 2 + 64 * 4
    assert pipeline.bytes_per_iteration == pipeline.bytes_in_flight == amount
