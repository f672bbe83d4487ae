"""The predicted change of a launch's time: what is noise, and how wide its range is."""

import msgspec
import pytest

from irlens import gpus
from irlens.diff.report import compare
from irlens.model.comparison import COMPARISON_SCHEMA, Comparison, Comparisons
from irlens.model.estimate import TimeEstimate
from irlens.model.report import Report
from irlens.render.options import Options
from irlens.render.text import render
from irlens.render.view.changes import changes, verdict

replace = msgspec.structs.replace


def timed(report: Report, us: float, product: str = "h200") -> Report:
    time = TimeEstimate(estimate_us=us, low_us=us * 0.78, high_us=us * 1.35, bound="dram")
    assert report.target is not None
    return replace(report, time=time, target=replace(report.target, product=product))


def between(report: Report, before: float, after: float) -> Comparison:
    return compare(timed(report, before), timed(report, after))


def words(comparison: Comparison) -> str:
    return " · ".join(each.text for each in verdict(comparison).phrases)


def written(pair: Comparison) -> str:
    pairs = Comparisons(
        schema=COMPARISON_SCHEMA, different=pair.different, against_first=False, pairs=[pair]
    )
    return render("comparisons", pairs, Options())


@pytest.mark.parametrize(("before", "after"), [(100.0, 102.9), (102.9, 100.0)])
def test_estimates_that_are_near_each_other_are_no_news(
    softmax: Report, before: float, after: float
) -> None:
    found = between(softmax, before, after)
    assert found.time_ratio is not None
    assert found.time_ratio.noise
    assert verdict(found).tone == "neutral"
    assert "time" not in words(found)
    (row,) = (each for each in changes(found) if each.path == "time.estimate_us")
    assert (row.tone, row.change, row.changed) == ("neutral", "within 3 %", False)
    assert "within 3 %" in written(found)
    assert "×" not in written(found)
    assert "least estimated time" not in written(found)


@pytest.mark.parametrize(("after", "tone"), [(72.0, "better"), (110.0, "worse")])
def test_a_change_has_a_range(softmax: Report, after: float, tone: str) -> None:
    found = between(softmax, 100.0, after)
    assert verdict(found).tone == tone
    assert "estimated time 100 µs" in words(found)
    ratio = found.time_ratio
    assert ratio is not None
    assert not ratio.noise
    assert ratio.low < ratio.ratio < ratio.high
    assert f"about {after / 100:.2f} × ({ratio.low:.2f} to {ratio.high:.2f})" in written(found)


def test_the_ratio_of_two_configurations_is_surer_than_either_time(softmax: Report) -> None:
    found = between(softmax, 100.0, 95.0).time_ratio
    timing = gpus.find("h200").timing
    assert found is not None
    assert timing is not None
    assert found.high / found.low < timing.high / timing.low
    mirrored = between(softmax, 95.0, 100.0).time_ratio
    assert mirrored is not None
    assert mirrored.ratio == pytest.approx(1 / found.ratio)
    assert mirrored.low == pytest.approx(1 / found.high)


def test_a_gpu_that_was_not_measured_has_a_wider_range(softmax: Report) -> None:
    known = between(softmax, 100.0, 72.0).time_ratio
    other = compare(timed(softmax, 100.0, "h100"), timed(softmax, 72.0, "h100")).time_ratio
    assert known is not None
    assert other is not None
    assert other.low < known.low < known.high < other.high


def test_other_problems_and_gpus_have_no_ratio(softmax: Report) -> None:
    first = timed(softmax, 100.0)
    other = replace(first, config=replace(first.config, args={"n_cols": 1}))
    elsewhere = timed(softmax, 100.0, "h100")
    for each in (other, elsewhere, replace(first, kernel="other"), replace(first, time=None)):
        assert compare(first, each).time_ratio is None
