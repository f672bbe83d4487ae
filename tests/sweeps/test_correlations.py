"""Spearman's rank correlation, against values worked out by hand."""

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irlens.model.sweep import Trial
from irlens.sweeps.run import correlations, spearman

pytestmark = pytest.mark.stored

SAMPLES = st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), min_size=3, max_size=12)


@pytest.mark.parametrize(
    ("first", "second", "rho"),
    [
        ([1, 2, 3, 4], [10, 20, 30, 40], 1.0),
        ([1, 2, 3, 4], [4, 3, 2, 1], -1.0),
        ([1, 2, 3], [1, 100, 10000], 1.0),
        # Ranks 1 2 3 4 5 and 2 1 4 3 5: squared differences sum to 4, 1 - 6*4 / (5*24).
        ([1, 2, 3, 4, 5], [20, 10, 40, 30, 50], 0.8),
        # Ranks 1, 2.5, 2.5, 4 and 1, 2, 3, 4: covariance 4.5, variances 4.5 and 5.
        ([1, 2, 2, 3], [1, 2, 3, 4], 4.5 / math.sqrt(4.5 * 5)),
        # Ranks 1.5, 1.5, 3.5, 3.5 and 2.5, 2.5, 2.5, 2.5 less one: all alike on one side.
        ([1, 1, 2, 2], [7, 7, 7, 7], None),
        ([1, 2], [1, 2], None),
        ([], [], None),
    ],
)
def test_by_hand(first: list[float], second: list[float], rho: float | None) -> None:
    found = spearman(first, second)
    assert found == (None if rho is None else pytest.approx(rho))


@given(SAMPLES)
def test_only_the_order_matters(pairs: list[tuple[int, int]]) -> None:
    first, second = [float(a) for a, _ in pairs], [float(b) for _, b in pairs]
    rho = spearman(first, second)
    assert rho is None or -1 - 1e-9 <= rho <= 1 + 1e-9
    assert rho == pytest.approx(spearman([x**3 for x in first], second))
    assert rho == pytest.approx(spearman(second, first))
    opposite = spearman([-x for x in first], second)
    assert opposite == (None if rho is None else pytest.approx(-rho))


def test_the_strongest_first_and_only_what_is_known(trial: Callable[..., Trial]) -> None:
    trials = [
        trial(time=1.0, registers=30, occupancy=0.5, local_bytes=0),
        trial(time=2.0, registers=20, occupancy=0.5, local_bytes=4),
        trial(time=3.0, registers=10, occupancy=0.5),
        trial(time=4.0, registers=15, occupancy=0.5, local_bytes=2),
        trial(registers=1000),
        trial("failed"),
    ]
    found = correlations(trials, ["occupancy", "local_bytes", "registers"])
    assert [(each.figure, each.trials) for each in found] == [
        ("registers", 4), ("local_bytes", 3), ("occupancy", 4),
    ]  # fmt: skip
    assert [each.rho for each in found] == [pytest.approx(-0.8), pytest.approx(0.5), None]
