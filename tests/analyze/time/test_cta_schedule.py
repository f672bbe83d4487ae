"""CTAs of unequal length on the SMs that take them."""

import pytest

from irlens.analyze.time.cta_schedule import imbalance
from irlens.analyze.time.launched import sample


def of(grid: tuple[int, int, int], lengths: list[float], sms: int = 1, resident: int = 2) -> float:
    """Return the imbalance of a grid whose CTAs along x have some lengths."""
    programs = sample(grid)
    return imbalance(grid, programs, [lengths[x] for x, *_ in programs], sms, resident)


def test_ctas_of_one_length_are_even() -> None:
    assert of((16, 1, 1), [3.0] * 16) == 1.0


def test_the_last_long_cta_runs_alone() -> None:
    # Two at once: 1 and 3, then 2 and 4, which end after 4 and 6; equal ones end after 5.
    assert of((4, 1, 1), [1.0, 2.0, 3.0, 4.0]) == pytest.approx(6 / 5)
    # The other way round, 4 and 1, then 3 and 2: all end after 5.
    assert of((4, 1, 1), [4.0, 3.0, 2.0, 1.0]) == 1.0


def test_a_triangle_of_attention_takes_longer_than_its_mean() -> None:
    # 512 CTAs for 264 places: those of 9 to 16 that start when others end come last.
    assert of((16, 32, 1), [x + 1.0 for x in range(16)], 132) == pytest.approx(27 / 17)


def test_many_rounds_are_even() -> None:
    assert of((16, 4096, 1), [x + 1.0 for x in range(16)], 132) == 1.0


def test_lengths_that_follow_no_axis_say_nothing() -> None:
    programs = sample((64, 64, 1))
    lengths = [float(number * 7 % 16 + 1) for number in range(len(programs))]
    assert imbalance((64, 64, 1), programs, lengths, 132, 16) == 1.0


def test_lengths_of_ctas_with_their_own_sm_are_those_of_the_sample() -> None:
    """Attention over sequences of 1 to 13 blocks, by 96 CTAs of 8 warps: 50 µs, not 21."""
    lengths = [2.0, 7, 2, 2, 9, 7, 2, 2, 8, 6, 12, 10, 8, 6, 11, 9]
    programs = sample((2, 6, 8))
    assert imbalance((2, 6, 8), programs, lengths, 132, 1) == pytest.approx(12 * 16 / sum(lengths))
    assert imbalance((2, 6, 8), programs, lengths, 24, 4) == 1.0
