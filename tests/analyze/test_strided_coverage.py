"""Sets of bytes, strided and not, against sets of numbers."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irlens.analyze.traffic import coverage
from irlens.analyze.traffic.coverage import MANY, Coverage, TooManyIntervalsError
from irlens.analyze.traffic.strided_coverage import StridedCoverage, Strides
from irlens.analyze.work import budget

Runs = list[tuple[int, int]]


@st.composite
def patterns(draw: st.DrawFn) -> Runs:
    """Runs of grains that do not touch: a comb, or any."""
    if draw(st.booleans()):
        step, length = draw(st.integers(2, 12)), draw(st.integers(1, 3))
        first = draw(st.integers(-20, 20))
        return [(first + n * max(step, length + 1), length) for n in range(draw(st.integers(1, 9)))]
    runs: Runs = []
    at = draw(st.integers(-20, 20))
    for _ in range(draw(st.integers(1, 4))):
        length = draw(st.integers(1, 40))
        runs.append((at, length))
        at += length + draw(st.integers(1, 30))
    return runs


@given(
    grain=st.sampled_from((1, 2, 4, 8)),
    columns=st.integers(1, 16),
    adds=st.lists(st.tuples(patterns(), st.sets(st.integers(-60, 60), min_size=1)), max_size=5),
    split=st.integers(0, 5),
    granule=st.sampled_from((8, 32, 64, 128)),
)
@settings(deadline=None, max_examples=300)
def test_it_holds_the_bytes_that_were_added(
    grain: int, columns: int, adds: list[tuple[Runs, set[int]]], split: int, granule: int
) -> None:
    whole, rest = (StridedCoverage(grain, grain * columns) for _ in range(2))
    plain = Coverage(grain)
    bytes_: set[int] = set()
    for number, (runs, bases) in enumerate(adds):
        starts, lengths = (grain * np.array(each) for each in zip(*runs, strict=True))
        tiles = grain * np.array(sorted(bases))
        (whole if number < split else rest).add(tiles, starts, lengths)
        plain.add(tiles, starts, lengths)
        bytes_ |= {
            grain * (base + start) + byte
            for base in bases
            for start, length in runs
            for byte in range(grain * length)
        }
    whole.update(rest)
    assert whole.size() == plain.size() == len(bytes_)
    assert plain.granules(granule) == len({byte // granule for byte in bytes_})
    assert whole.granules(granule) == plain.granules(granule)


@given(
    grain=st.sampled_from((1, 2, 4, 8)),
    adds=st.lists(st.tuples(patterns(), st.sets(st.integers(-90, 90), min_size=1)), max_size=5),
    granule=st.sampled_from((8, 32, 128)),
)
@settings(deadline=None, max_examples=200)
def test_short_intervals_that_are_many_become_a_map_without_a_merge(
    grain: int, adds: list[tuple[Runs, set[int]]], granule: int
) -> None:
    """As a set does that holds more than a million of them: here it is more than four."""
    with patch.object(coverage, "PENDING", 4), patch.object(coverage, "_PAGE", 128):
        bytes_of, held = Coverage(grain), set[int]()
        for runs, bases in adds:
            starts, lengths = (grain * np.array(each) for each in zip(*runs, strict=True))
            bytes_of.add(grain * np.array(sorted(bases)), starts, lengths)
            held |= {
                base + first + n for base in bases for first, length in runs for n in range(length)
            }
        assert bytes_of.size() == grain * len(held)
        touched = {(grain * n + at) // granule for n in held for at in range(grain)}
        assert bytes_of.granules(granule) == len(touched)


def test_every_second_element_of_a_large_launch_takes_few_steps() -> None:
    """A pool of 64 images loads four quarters of them: their time was unknown for its work."""
    comb, ones = np.arange(1 << 10) * 4, np.full(1 << 10, 2)
    with budget() as left:
        quarter = Coverage(2)
        begun = left.left
        for part in range(12):
            quarter.add((np.arange(1 << 10) + (part << 10)) * 4096, comb, ones)
        assert quarter.size() == 12 * 2 << 20
        assert quarter.granules(32) == 12 * 4 << 20 >> 5
        assert begun - left.left < 12 << 20 >> 7


def test_elements_three_apart_are_three_columns() -> None:
    """33 million floats, read three apart: their sectors are counted by rows of 12 bytes."""
    coverage, rows = StridedCoverage(4, 12), np.arange(1 << 10) * 12
    bases = np.arange(0, 1 << 25, 3 << 10) * 4
    for column in range(2):
        coverage.add(bases + 4 * column, rows, np.full(rows.size, 4))
    assert coverage.size() == 2 * 4 * (bases.size << 10)
    assert coverage.granules(32) == (bases.size << 10) * 12 // 32
    assert coverage.granules(8) == (bases.size << 10) * 12 // 8
    with pytest.raises(TooManyIntervalsError):
        coverage.granules(2)


def test_a_column_is_one_interval_however_long() -> None:
    """A 16,384 x 16,384 matrix of bytes, read by its columns: 2^28 intervals otherwise."""
    coverage = StridedCoverage(1, 1 << 14)
    rows = np.arange(1 << 14) << 14
    for column in range(0, 1 << 14, 64):
        coverage.add(np.arange(column, column + 64), rows, np.ones(rows.size, np.int64))
    assert coverage.size() == 1 << 28
    assert coverage.granules(64) == 1 << 22


def test_what_does_not_fit_is_refused() -> None:
    coverage = StridedCoverage(4, 128)
    one = np.array([0]), np.array([4])
    with pytest.raises(TooManyIntervalsError):
        coverage.add(np.array([2]), *one)
    with pytest.raises(TooManyIntervalsError):
        coverage.add(np.array([1 << 62]), *one)
    for other in (StridedCoverage(4, 256), StridedCoverage(2, 128), Coverage(4)):
        with pytest.raises(TooManyIntervalsError):
            coverage.update(other)
    assert coverage.empty().size() == coverage.granules(64) == 0


def test_strides_are_those_of_the_most_runs() -> None:
    strides = Strides()
    for leap in ((1, 0), (16, 128), (3, 4096)):
        strides.note("x", leap)
    strides.note("y", (1, 0))
    found = strides.found().coverage("x", 4)
    assert isinstance(found, StridedCoverage)
    assert found.stride == 128
    for each in (strides.coverage("x", 4), strides.found().coverage("y", 4)):
        assert isinstance(each, Coverage)


def test_many_runs_that_are_few_columns_are_not_added_in_haste() -> None:
    rows, comb = np.arange(1 << 10) * (1 << 20), np.arange(1 << 10) * 128
    narrow, wide = (np.full(comb.size, size) for size in (4, 120))
    with pytest.raises(TooManyIntervalsError):
        Strides(many=MANY).coverage("x", 4).add(rows, comb, narrow)
    counted = Strides().coverage("x", 4)
    counted.add(rows, comb, narrow)
    columns = Strides({"x": 128}).coverage("x", 4)
    columns.add(rows, comb, narrow)
    assert counted.size() == columns.size() == 4 << 20
    few = Strides(many=MANY).coverage("x", 4)
    few.add(rows[:16], comb, wide)
    assert few.size() == 120 << 14
