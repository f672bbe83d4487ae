"""The predicted change of a launch's time: what is noise, and how wide its range is."""

import msgspec
import pytest

from irlens import gpus
from irlens.diff.report import compare
from irlens.model.capture import RunResult, Timing
from irlens.model.comparison import COMPARISON_SCHEMA, Comparison, Comparisons
from irlens.model.estimate import TimeEstimate
from irlens.model.report import Report
from irlens.render.options import Options
from irlens.render.text import render
from irlens.render.view.changes import changes
from irlens.render.view.comparison_verdict import verdict

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
    assert words(found).startswith(f"no change in time: {before:.3g} µs → {after:.3g} µs")
    (row,) = (each for each in changes(found) if each.path == "time.estimate_us")
    assert (row.tone, row.change, row.changed) == ("neutral", "within 3 %", False)
    assert "within 3 %" in written(found)
    assert "×" not in written(found)
    assert "least estimated time" not in written(found)


@pytest.mark.parametrize(("after", "tone"), [(72.0, "better"), (110.0, "worse")])
def test_a_change_has_a_range(softmax: Report, after: float, tone: str) -> None:
    found = between(softmax, 100.0, after)
    assert verdict(found).tone == tone
    more = {72.0: "28 % less time", 110.0: "likely 10 % more time"}[after]
    assert words(found).startswith(f"{more}: 100 µs → {after:.0f}")
    ratio = found.time_ratio
    assert ratio is not None
    assert not ratio.noise
    assert ratio.low < ratio.ratio < ratio.high
    assert f"({ratio.low:.2f} to {ratio.high:.2f} ×)" in " ".join(written(found).split())
    assert ratio.is_likely == ("likely" in more)


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


def test_an_unknown_time_has_no_ratio(softmax: Report) -> None:
    first = timed(softmax, 100.0)
    assert compare(first, replace(first, time=None)).time_ratio is None


def test_the_ratio_of_other_work_is_as_uncertain_as_both_estimates(softmax: Report) -> None:
    """What cancels between two configurations was measured for the same arguments."""
    first = timed(softmax, 100.0)
    other = replace(first, config=replace(first.config, args={"n_cols": 1}))
    same, found = compare(first, first).time_ratio, compare(first, other).time_ratio
    assert same is not None
    assert found is not None
    assert found.low < same.low < same.high < found.high


def test_the_errors_of_other_gpus_and_kernels_do_not_cancel(softmax: Report) -> None:
    """Of two estimates that share neither kernel nor GPU, both may be wrong in their own way."""
    first = timed(softmax, 100.0)
    known = between(softmax, 100.0, 72.0).time_ratio
    faster = timed(softmax, 72.0)
    for each in (timed(softmax, 72.0, "h100"), replace(faster, kernel="other")):
        found = compare(first, each).time_ratio
        assert found is not None
        assert known is not None
        assert found.ratio == pytest.approx(0.72)
        assert found.low < known.low < known.high < found.high
        assert found.high < 0.72 * 1.35 / 0.78, "both at their worst at once is rarer still"


def measured(report: Report, estimate: float, ms: float, device: str = "GPU") -> Report:
    timing = Timing(median_ms=ms, fast_ms=ms * 0.98, slow_ms=ms * 1.02)
    run = RunResult(device=device, matches_reference=True, max_abs_error=0.0, timing=timing)
    return replace(timed(report, estimate), run=run)


def test_measured_times_decide(softmax: Report) -> None:
    """Where the estimates disagree, they do not say what moved the time."""
    pair = compare(measured(softmax, 100.0, 0.1), measured(softmax, 110.0, 0.08))
    assert (pair.verdict.outcome, pair.verdict.by) == ("better", "time")
    assert words(pair).startswith(
        "20 % less time: 100 µs → 80.0 µs measured on GPU (0.77 to 0.83 ×)"
    )
    assert "estimated 1.10 ×" in words(pair)
    assert pair.time_ratio is not None
    assert pair.time_ratio.moved_by is None
    agreed = compare(measured(softmax, 100.0, 0.1), measured(softmax, 90.0, 0.08)).time_ratio
    estimated = between(softmax, 100.0, 90.0).time_ratio
    assert agreed is not None
    assert estimated is not None
    assert agreed.moved_by == estimated.moved_by


def test_measured_times_that_overlap_are_noise(softmax: Report) -> None:
    pair = compare(measured(softmax, 100.0, 0.1), measured(softmax, 50.0, 0.103))
    assert words(pair).startswith("no change in time: 100 µs → 103 µs measured on GPU")
    row = changes(pair)[0]
    assert (row.arrow, row.change) == ("measured time 100 µs → 103 µs", "within noise")
    assert not row.changed


def test_measured_times_lead_the_table(softmax: Report) -> None:
    """The figures do not contradict the headline: the estimate alone said the opposite."""
    pair = compare(measured(softmax, 100.0, 0.1), measured(softmax, 110.0, 0.08))
    first, second = changes(pair)[:2]
    assert (first.arrow, first.sign) == ("measured time 100 µs → 80.0 µs", "✓")
    assert (second.name, second.sign) == ("estimated time", "!")


def test_a_second_run_of_one_kernel_is_no_difference(softmax: Report) -> None:
    pair = compare(measured(softmax, 100.0, 0.1), measured(softmax, 100.0, 0.101))
    assert not pair.different


@pytest.mark.parametrize("ms", [-1.0, 0.0, 1e300])
def test_times_that_do_not_compare_leave_the_estimates(softmax: Report, ms: float) -> None:
    """Those of two GPUs, and what no launch takes: a capture may hold any numbers."""
    first = measured(softmax, 100.0, 0.1)
    for other in (measured(softmax, 70.0, 0.2, "other"), measured(softmax, 70.0, ms)):
        found = compare(first, other).time_ratio
        assert found is not None
        assert found.ratio == pytest.approx(0.7)
        assert not found.device
