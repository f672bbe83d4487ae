"""Constants that are fitted to few launches, against all that an H200 timed."""

from functools import cache
from itertools import product
from math import log
from pathlib import Path
from statistics import median

import msgspec
import pytest
from msgspec.structs import replace

from irlens import gpus
from irlens.analyze.time.fitting import (
    FITTED,
    HELD,
    TimedLaunch,
    fit,
    fitted_range,
    median_error,
    pairs,
    predict,
    ratio_error,
    with_timing,
)
from irlens.gpus import Gpu
from irlens.gpus.timing import H200
from irlens.model.calibration import CONSTANTS
from irlens.sweeps.calibrating import CONFIGURATIONS

DATA = Path(__file__).parents[2] / "data" / "h200"
GPU = gpus.uncalibrated("h200")
#: Constants that are far from an H200's, as those that are assumed of another GPU may be.
WRONG = [
    {
        "memory": 500.0, "l2": 300.0, "dram_share": 0.6, "port_share": 0.95,
        "contention": 0.1, "exponent": 3.0,
    },
    {
        "memory": 1500.0, "l2": 200.0, "dram_share": 0.99, "port_share": 0.5,
        "contention": 0.9, "exponent": 8.0,
    },
]  # fmt: skip


def measured(name: str) -> list[TimedLaunch]:
    return msgspec.json.decode((DATA / name).read_bytes(), type=list[TimedLaunch])


def calibrated_launches() -> list[TimedLaunch]:
    """Return the launches of ``irlens calibrate``, as the H200 timed them in whole spaces."""
    known = {
        (Path(each.problem).stem, frozenset(each.config.items())): each
        for each in measured("spaces.json")
    }
    return [
        known[sample, frozenset(zip(axes, values, strict=True))]
        for sample, axes in CONFIGURATIONS.items()
        for values in product(*axes.values())
    ]


def test_the_constants_that_are_fitted_are_those_of_a_calibration() -> None:
    assert tuple(FITTED) == CONSTANTS
    assert FITTED.keys() >= HELD


@cache
def fitted(number: int) -> dict[str, float]:
    """Return the constants that are found from some wrong ones."""
    return fit(calibrated_launches(), with_timing(GPU, WRONG[number]))


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_a_calibration_finds_the_constants_again(number: int) -> None:
    """Fitted to 62 launches of samples, they hold for 217 launches of other kernels."""
    launches, others = calibrated_launches(), measured("time.json")
    assert len(launches) == 62
    assert median_error(others, with_timing(GPU, WRONG[number])) > 0.13
    constants = fitted(number)
    gpu = with_timing(GPU, constants)
    assert median_error(others, gpu) < 0.06
    around = fitted_range(launches, gpu)
    ratios = [each.us / time for each, time in zip(others, predict(others, gpu), strict=True)]
    inside = sum(around["low"] <= ratio <= around["high"] for ratio in ratios)
    assert inside / len(ratios) >= 0.9
    for name in ("memory", "dram_share"):
        assert constants[name] == pytest.approx(getattr(H200, name), rel=0.05)


def test_the_range_is_as_wide_as_the_launches_need() -> None:
    launches = calibrated_launches()
    assert fitted_range(launches, GPU) == {
        "low": H200.low, "high": H200.high, "ratio_error": H200.ratio_error,
    }  # fmt: skip
    noisy = [replace(each, us=each.us * (1 + n % 3)) for n, each in enumerate(launches)]
    around = fitted_range(noisy, GPU)
    assert around["low"] == H200.low
    assert around["high"] > 2.5
    assert around["ratio_error"] > 0.5


def test_pairs_are_of_one_problem() -> None:
    launches = [
        replace(each, problem=problem, us=us)
        for each, problem, us in zip(measured("time.json"), "aab", (10.0, 20.0, 80.0), strict=False)
    ]
    ((estimated, timed),) = pairs(launches, [30.0, 15.0, 1.0])
    assert estimated == pytest.approx(log(2))
    assert timed == pytest.approx(-log(2))
    assert ratio_error([(estimated, timed)]) == pytest.approx(2 * log(2) / (1 + log(2)))
    assert ratio_error([]) == 0.0


def test_the_loss_never_rises() -> None:
    launches = calibrated_launches()

    def loss(gpu: Gpu) -> float:
        return median(
            abs(log(time / each.us))
            for each, time in zip(launches, predict(launches, gpu), strict=True)
        )

    for number, wrong in enumerate(WRONG):
        assert loss(with_timing(GPU, fitted(number))) < loss(with_timing(GPU, wrong))


def test_a_gpu_without_timing_predicts_nothing() -> None:
    with pytest.raises(ValueError, match="timing of mi300x is not known"):
        predict(measured("time.json")[:1], gpus.find("mi300x"))
