"""How figures that need no launch correlate with the measured times."""

import math
from collections.abc import Sequence

from irlens.model.sweep import Correlation, Trial
from irlens.sweeps.selection import figures_of

#: Below so many samples any order is a coincidence.
_FEWEST = 3


def correlations(trials: Sequence[Trial], figures: Sequence[str]) -> list[Correlation]:
    """Return the correlation of each figure with the median times, strongest first."""
    unsorted = [_correlation(trials, figure) for figure in figures]
    return sorted(unsorted, key=lambda each: -abs(each.rho) if each.rho is not None else 1.0)


def spearman(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return Spearman's rank correlation of two equally long samples, -1..1.

    It is Pearson's correlation of the ranks; equal values share the mean of their ranks
    (C. Spearman, The Proof and Measurement of Association between Two Things, 1904).

    Returns:
        ``None`` for fewer than three pairs, and where all values of a sample are equal.
    """
    if len(first) < _FEWEST:
        return None
    mean = (len(first) + 1) / 2
    one = [rank - mean for rank in _ranks(first)]
    other = [rank - mean for rank in _ranks(second)]
    spread = math.sqrt(_dot(one, one) * _dot(other, other))
    return _dot(one, other) / spread if spread else None


def _correlation(trials: Sequence[Trial], figure: str) -> Correlation:
    pairs = [
        (float(value), trial.timing.median_ms)
        for trial in trials
        if trial.timing is not None and isinstance(value := figures_of(trial)[figure], int | float)
    ]
    rho = spearman([value for value, _ in pairs], [time for _, time in pairs])
    return Correlation(figure=figure, trials=len(pairs), rho=rho)


def _ranks(values: Sequence[float]) -> list[float]:
    """Return each value's rank, from 1; equal values share the mean of their ranks."""
    ordered = sorted(values)
    first = {value: index for index, value in reversed(list(enumerate(ordered, 1)))}
    last = {value: index for index, value in enumerate(ordered, 1)}
    return [(first[value] + last[value]) / 2 for value in values]


def _dot(first: Sequence[float], second: Sequence[float]) -> float:
    return math.fsum(one * other for one, other in zip(first, second, strict=True))
