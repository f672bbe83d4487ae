"""Rooflines, from spots made by hand and from a sample's report."""

import pytest
from msgspec.structs import replace

from irlens.model.capture import Timing
from irlens.model.config import Target
from irlens.model.sweep import Trial
from irlens.model.traffic import Roofline, Traffic, flops_of_floor
from irlens.render.view.axes import linear
from irlens.render.view.character_charts import draw_plot
from irlens.render.view.nodes import Plot, plain
from irlens.render.view.roofline_chart import (
    Spot,
    roofline_plot,
    rooflines_of_trials,
    spot_of_trial,
)

H100 = Target(vendor="nvidia", arch="sm_90", warp_size=32, product="h100")


def spot(name: str = "BLOCK=64", **fields: object) -> Spot:
    """1 GFLOP over 10 MB: 10 µs of memory at 1 TB/s, 2 µs of compute at 500 TFLOP/s."""
    values: dict[str, object] = {
        "flops": 1e9, "flops_per_byte": 100.0, "memory_us": 10.0, "compute_us": 2.0,
        "compute_type": "fp16 tensor", "estimated_us": 20.0, "low_us": 16.0, "high_us": 25.0,
        "bound": "dram",
    }  # fmt: skip
    return Spot(name=name, **{**values, **fields})  # type: ignore[arg-type]


def trial(**figures: float) -> Trial:
    known = {
        "flops": 1e9, "flops_per_byte": 100.0, "memory_us": 10.0, "compute_us": 2.0, "time": 20.0,
        "time_low": 16.0, "time_high": 25.0,
    }  # fmt: skip
    return Trial(
        label="BLOCK=64", target=H100, settings={"BLOCK": 64}, args={}, outcome="fits",
        figures={**known, **figures}, compute_type="fp16 tensor", bound="dram",
    )  # fmt: skip


def test_ceilings_meet_at_the_ridge() -> None:
    plot = roofline_plot([spot()], "h100")
    slope, flat = plot.lines
    assert (slope.name, flat.name) == ("DRAM 1.00 TB/s", "fp16 tensor 500 TFLOP/s")
    assert slope.ceiling
    assert slope.points[-1] == pytest.approx((500, 5e14))
    assert flat.points[0] == pytest.approx((500, 5e14))
    assert flat.points[1][0] == plot.x.end
    assert all(y == pytest.approx(x * 1e12) for x, y in slope.points)


def test_a_point_has_its_range_and_what_it_reaches() -> None:
    (point,) = roofline_plot([spot()], "h100").points
    assert (point.x, point.y) == pytest.approx((100, 5e13))
    assert (point.low, point.high) == pytest.approx((4e13, 6.25e13))
    assert point.described == ("BLOCK=64: 50.0 TFLOP/s estimated, 50 % of the roof, bound by DRAM")


def test_measured_points_stand_beside_the_estimates() -> None:
    plot = roofline_plot([spot(measured_us=12.5, mark="fastest"), spot("other")], "h100")
    assert [point.measured for point in plot.points] == [False, False, True]
    assert [point.mark for point in plot.points] == [None, None, "fastest"]
    assert plot.points[-1].y == pytest.approx(8e13)
    assert plot.measured == "measured"
    first, second = plot.numbers.rows if plot.numbers else ()
    assert plain(first.cells[-1]) == "80.0"  # type: ignore[arg-type]
    assert plain(second.cells[-1]) == "–"  # type: ignore[arg-type]


def test_each_type_of_operations_has_its_ceiling() -> None:
    slow = spot("fp32", compute_us=20.0, compute_type="fp32")
    plot = roofline_plot([spot(), slow], "h100")
    assert [line.name for line in plot.lines] == [
        "DRAM 1.00 TB/s", "fp16 tensor 500 TFLOP/s", "fp32 50.0 TFLOP/s",
    ]  # fmt: skip


def test_everything_is_within_the_axes() -> None:
    plot = roofline_plot([spot(estimated_us=900.0, high_us=1200.0)], "h100")
    for point in plot.points:
        assert plot.x.start < point.x < plot.x.end
        assert plot.y.start < (point.low or 0)
    assert plot.y.end > 5e14


@pytest.mark.parametrize("figure", ["flops", "flops_per_byte", "memory_us", "compute_us"])
def test_what_is_unknown_or_zero_has_no_place(figure: str) -> None:
    assert spot_of_trial(trial(**{figure: 0})) is None
    assert spot_of_trial(trial()) is not None
    assert not list(rooflines_of_trials([trial(**{figure: 0})], "h100"))


def test_a_configuration_without_a_time_has_no_place() -> None:
    untimed = trial()
    assert untimed.figures is not None
    del untimed.figures["time"]
    assert spot_of_trial(untimed) is None


def test_trials_are_marked_as_they_are_ranked() -> None:
    slow, fast = trial(time=30.0), trial(time=15.0)
    (section,) = rooflines_of_trials([slow, fast], "sm_90 (h100)")
    (plot,) = section.children
    assert isinstance(plot, Plot)
    assert [point.mark for point in plot.points] == [None, "fastest"]
    assert "sm_90 (h100)" in plot.described


def test_a_measured_trial_needs_no_estimate() -> None:
    timing = Timing(median_ms=0.02, fast_ms=0.02, slow_ms=0.02)
    measured = trial()
    assert measured.figures is not None
    del measured.figures["time"]
    found = spot_of_trial(
        Trial(
            label="a",
            target=H100,
            settings={},
            args={},
            outcome="fits",
            figures=measured.figures,
            timing=timing,
        )
    )
    assert found is not None
    (point,) = roofline_plot([found], "h100").points
    assert point.measured
    assert point.y == pytest.approx(5e13)


def test_characters_show_points_in_front_of_ceilings() -> None:
    plot = roofline_plot([spot(mark="fastest"), spot("b", estimated_us=40.0)], "h100")
    lines = [plain(line) for line in draw_plot(plot, 70, 12)]
    assert lines[0].startswith("⠤ DRAM 1.00 TB/s  ⠤ fp16 tensor 500 TFLOP/s  ● estimated  ★")
    assert sum(line.count("★") for line in lines[1:]) == 1
    assert sum(line.count("●") for line in lines[1:]) == 1
    assert "FLOP/B" in lines[-1]
    assert all(len(line) <= 70 for line in lines[1:])


@pytest.mark.parametrize("value", [-1.0, 1e-320, 1e308])
@pytest.mark.parametrize("figure", ["flops_per_byte", "memory_us", "compute_us", "time"])
def test_figures_that_no_launch_has_are_left_out(figure: str, value: float) -> None:
    """A saved report may say anything; a logarithmic axis cannot show it."""
    assert not list(rooflines_of_trials([trial(**{figure: value})], "h100"))


@pytest.mark.parametrize("value", [-1.0, 0.0, 1e-320, 1e308])
@pytest.mark.parametrize("figure", ["time_low", "time_high"])
def test_a_range_that_no_launch_has_is_left_out(figure: str, value: float) -> None:
    found = spot_of_trial(trial(**{figure: value}))
    assert found is not None
    assert None in (found.low_us, found.high_us)
    assert roofline_plot([found], "h100").points[0].low is None


@pytest.mark.parametrize("most", [0.3, 0.6, 8.0])
def test_an_axis_has_a_tick_at_its_end(most: float) -> None:
    """Though 3 × 0.1 is more than 0.3 in floating point."""
    assert linear("time (µs)", most).ticks[-1][0] == pytest.approx(most)


def test_a_ceiling_is_the_peak_of_its_type_whatever_else_is_computed() -> None:
    """Attention has a tenth of its operations in fp32: they are no work of the tensor cores."""
    mixed = replace(trial(flops=1.1e9, flops_per_byte=110.0), compute_flops=10**9)
    found = spot_of_trial(mixed)
    assert found is not None
    assert (found.flops, found.flops_per_byte) == pytest.approx((1e9, 100.0))
    assert found.bytes_per_us == pytest.approx(1e6), "the bytes stay"
    (section,) = rooflines_of_trials([mixed], "h100")
    (plot,) = section.children
    assert isinstance(plot, Plot)
    assert "fp16 tensor 500 TFLOP/s" in [line.name for line in plot.lines]
    for wild in (-1, 0, 10**40):
        assert spot_of_trial(replace(mixed, compute_flops=wild)) == spot_of_trial(
            replace(mixed, compute_flops=None)
        )


@pytest.mark.parametrize(
    ("compute_type", "number"), [("fp16 tensor", 90), ("tf32 tensor", 60), ("fp32", 10), ("", None)]
)
def test_which_operations_make_the_floor(compute_type: str, number: int | None) -> None:
    traffic = Traffic(
        flops={"fp16": 90, "fp32": 10, "tf32": 20},
        tensor_flops={"fp16": 90, "tf32": 20},
        multiplied_flops={"fp16": 90, "tf32": 60},
    )
    assert flops_of_floor(traffic, Roofline(compute_type=compute_type)) == number
    assert flops_of_floor(None, Roofline(compute_type=compute_type)) is None
