"""Times over the settings of a sweep, from trials made by hand."""

import re
from collections.abc import Iterable
from typing import get_args
from xml.etree import ElementTree

import msgspec
import pytest
from msgspec.structs import replace

from irlens.model.capture import Timing
from irlens.model.config import ConstexprValue, Target
from irlens.model.errors import IrlensError
from irlens.model.estimate import Bound, TimeEstimate
from irlens.model.report import Report
from irlens.model.sweep import SWEEP_SCHEMA, FigureValue, Outcome, Sweep, Trial
from irlens.render import Options, render
from irlens.render.html import plots
from irlens.render.html.plots import figure
from irlens.render.view.character_charts import draw_bars, draw_heat_map
from irlens.render.view.nodes import Bars, HeatCell, HeatMap, plain
from irlens.render.view.sizes import size_plot
from irlens.render.view.sweep import sweep_view
from irlens.render.view.time_charts import (
    time_chart,
    timed_trials,
    times_of_neighbours,
    times_of_reports,
)
from tests.render.test_memory_traffic import SOFTMAX

H100 = Target(vendor="nvidia", arch="sm_90", warp_size=32, product="h100")
HOSTILE = "</svg><script>alert(1)</script>\x1b[31m"


def trial(
    us: float | None,
    *,
    bound: Bound | None = "dram",
    outcome: Outcome = "fits",
    measured: float | None = None,
    span: float = 0.25,
    **settings: ConstexprValue,
) -> Trial:
    figures: dict[str, FigureValue] = {"local_bytes": 0, "registers": 32, "occupancy": 0.5}
    if us is not None:
        figures |= {"time": us, "time_low": us * (1 - span), "time_high": us * (1 + span)}
    timing = None
    if measured is not None:
        ms = measured / 1e3
        timing = Timing(median_ms=ms, fast_ms=ms, slow_ms=ms)
    return Trial(
        label=" ".join(f"{name}={value}" for name, value in settings.items()), target=H100,
        settings=settings, args={}, outcome=outcome, figures=figures, bound=bound, timing=timing,
        reason="" if outcome == "fits" else "shared memory: 300,000 bytes",
    )  # fmt: skip


def chart(trials: Iterable[Trial], *names: str) -> Bars | HeatMap | None:
    found = timed_trials(list(trials), lambda each: [str(each.settings[n]) for n in names])
    return time_chart(found, names)


def bars(trials: Iterable[Trial], *names: str) -> Bars:
    found = chart(trials, *names)
    assert isinstance(found, Bars)
    return found


def heat_map(trials: Iterable[Trial], *names: str) -> HeatMap:
    found = chart(trials, *names)
    assert isinstance(found, HeatMap)
    return found


def sweep(*trials: Trial) -> Sweep:
    return Sweep(
        schema=SWEEP_SCHEMA, kernel="fill", targets=[H100], where=[], filters=[],
        trials=list(trials), excluded=0, filtered=0,
    )  # fmt: skip


def test_one_setting_is_drawn_in_its_order_with_the_range_and_the_bound() -> None:
    found = bars((trial(us, num_warps=n) for n, us in ((16, 40.0), (4, 20.0), (8, 10.0))),
                 "num_warps")  # fmt: skip
    assert [row.name for row in found.rows] == ["4", "8", "16"]
    assert [row.mark for row in found.rows] == [None, "fastest", None]
    assert [(row.low, row.high) for row in found.rows] == [(15, 25), (7.5, 12.5), (30, 50)]
    assert {row.label for row in found.rows} == {"DRAM"}
    assert [(kind.key, kind.name) for kind in found.kinds] == [("dram", "bound by DRAM")]
    assert found.axis.end == 50
    assert found.axis.title == "estimated time (µs)"


def test_few_configurations_of_several_settings_are_bars_the_fastest_first() -> None:
    found = bars(
        (trial(10.0 * a + b + c, a=a, b=b, c=c) for a in (2, 1) for b in (1, 2) for c in (1, 2)),
        "a", "b", "c",
    )  # fmt: skip
    times = [row.amount for row in found.rows]
    assert times == sorted(times)
    assert found.rows[0].name == "1, 1, 1"
    assert found.names == "a, b, c"


def test_two_settings_are_a_heat_map_with_what_does_not_fit() -> None:
    trials = [trial(10.0 * w + s, num_warps=w, num_stages=s) for w in (4, 8, 16) for s in (2, 3)]
    trials.append(trial(None, outcome="does not fit", num_warps=4, num_stages=4))
    found = heat_map(trials, "num_warps", "num_stages")
    assert (found.down, found.rows) == ("num_warps", ("4", "8", "16"))
    assert (found.across, found.columns) == ("num_stages", ("2", "3", "4"))
    cells = [[cell and cell.words for cell in row] for row in found.cells]
    assert cells == [
        ["42.0", "43.0", "too big"], ["82.0", "83.0", None], ["162", "163", None],
    ]  # fmt: skip
    (first, second, unfit), *_ = found.cells
    assert first is not None
    assert second is not None
    assert unfit is not None
    assert (first.mark, second.mark) == ("fastest", "as fast")
    assert (first.step, second.step, unfit.step) == (0, 0, None)
    assert first.detail == "31.5–52.5"
    assert "300,000 bytes" in unfit.described


def test_names_of_many_columns_have_two_lines() -> None:
    """Six characters do not fit an eighth of a phone's width."""
    found = heat_map((trial(10.0, a=a, b=b) for a in (1, 2) for b in range(8)), "a", "b")
    named = tuple(HeatCell(described="an element", words=f"w0 l{n + 10}") for n in range(8))
    columns = tuple(map(str, range(8)))
    wide = replace(found, detail="", rows=("1", "2"), columns=columns, cells=(named, named))
    assert "w0 l10" not in figure(wide)
    assert ">w0</text>" in figure(wide)
    few = replace(wide, columns=columns[:2], cells=(named[:2], named[:2]))
    assert "w0 l10" in figure(few)


def test_shades_say_how_much_slower() -> None:
    slower = (1.0, 1.02, 1.08, 1.2, 1.4, 1.9, 3.0)
    trials = [trial(100 * by, a=1, b=at) for at, by in enumerate(slower)]
    trials += [trial(300.0, a=2, b=at) for at in range(len(slower))]
    found = heat_map(trials, "a", "b")
    steps = [cells[0].step for cells in found.cells if cells[0] is not None]
    assert steps == [0, 0, 1, 2, 3, 4, 5]
    assert len(found.steps) == 6


def test_many_settings_show_the_two_that_matter_and_the_best_of_the_others() -> None:
    trials = [
        trial(100.0 * a + 10 * b + c, a=a, b=b, c=c)
        for a in (1, 2, 3) for b in (1, 2, 3) for c in (1, 2, 3)
    ]  # fmt: skip
    found = heat_map(trials, "a", "b", "c")
    assert (found.down, found.across) == ("a", "b")
    assert "the fastest over c" in found.described
    assert [cell and cell.words for cell in found.cells[0]] == ["111", "121", "131"]
    assert len(found.numbers.rows) == 27


def test_a_sparse_list_of_configurations_is_bars() -> None:
    found = bars((trial(10.0 + n, a=n, b=(n * 7) % 30) for n in range(30)), "a", "b")
    assert len(found.rows) == 24
    assert "the fastest 24" in found.described
    assert len(found.numbers.rows) == 30


def test_measured_times_stand_beside_the_estimates_and_decide() -> None:
    found = bars([trial(10.0, a=1, measured=14.0), trial(12.0, a=2, measured=11.0)], "a")
    assert [row.measured for row in found.rows] == [14.0, 11.0]
    assert [row.amount for row in found.rows] == [10.0, 12.0]
    assert [row.mark for row in found.rows] == [None, "fastest"]
    assert found.measured == "measured"
    only = bars([trial(None, a=1, measured=14.0), trial(None, a=2, measured=11.0)], "a")
    assert only.axis.title == "measured time (µs)"
    assert [row.amount for row in only.rows] == [14.0, 11.0]


@pytest.mark.parametrize("times", [(), (10.0,), (10.0, None)])
def test_fewer_than_two_times_are_no_chart(times: tuple[float | None, ...]) -> None:
    assert chart((trial(us, a=at) for at, us in enumerate(times)), "a") is None


def test_long_times_are_in_milliseconds() -> None:
    found = bars([trial(4000.0, a=1), trial(16000.0, a=2)], "a")
    assert found.axis.title == "estimated time (ms)"
    assert [row.words for row in found.rows] == ["4.00 ms", "16.0 ms"]
    assert found.axis.ticks[1] == (5000, "5")


@pytest.mark.parametrize("length", [3, 12, 24, 60])
def test_bars_have_room_on_a_phone_whatever_their_names_are(length: int) -> None:
    """Of a program's kernels, whose names are long, names and amounts left no pixel for a bar."""
    found = bars([trial(10.0, a=1), trial(12.0, a=2)], "a")
    rows = tuple(replace(row, name="n" * length, label="14.2 % latency") for row in found.rows)
    drawn = plots.chart(replace(found, rows=rows))
    assert drawn.left + drawn.right <= 330 - 60
    assert len(re.findall(rf">n{{{length}}}</text>", drawn.drawn)) == len(rows)


def test_bars_of_characters_have_the_range_and_what_was_measured() -> None:
    found = bars([trial(10.0, a=1, measured=14.0), trial(30.0, a=2)], "a")
    title, first, second, *legend = (plain(line) for line in draw_bars(found, 60))
    assert title == "estimated time (µs) by a"
    assert first.startswith("   1  ██")
    assert first.index("█") < first.index("─") < first.index("◆") < first.index("10.0 µs  DRAM ★")
    assert "◆" not in second
    assert second.count("█") > 2 * first.count("█")
    assert legend == ["─┤ range that holds nine of ten kernels  ◆ measured", "★ fastest"]
    assert all(len(plain(line)) <= 60 for line in draw_bars(found, 60))


def test_a_heat_map_of_characters_leaves_labels_out_before_it_gives_up() -> None:
    trials = [trial(10.0 * w + s, num_warps=w, num_stages=s) for w in (4, 8) for s in (1, 2, 3)]
    found = heat_map(trials, "num_warps", "num_stages")
    wide = [plain(line) for line in draw_heat_map(found, 60)]
    assert wide[1].split() == ["4", "8"]
    assert any("41.0 DRAM" in line for line in wide)
    narrow = [plain(line) for line in draw_heat_map(found, 26)]
    assert not any("DRAM" in line for line in narrow[1:])
    assert any("★ 41.0" in line for line in narrow)
    assert len(draw_heat_map(found, 12)) == 1


def test_a_heat_map_of_many_columns_shows_those_that_fit() -> None:
    trials = [trial(10.0, num_warps=w, num_stages=s) for w in (4, 8) for s in (1, 2, 3)]
    found = heat_map(trials, "num_warps", "num_stages")
    wide = replace(
        found,
        columns=tuple(map(str, range(16))),
        cells=tuple((cells[0],) * 16 for cells in found.cells),
    )
    for width in (60, 80):
        part = [plain(line) for line in draw_heat_map(wide, width)]
        assert max(map(len, part)) <= width
        columns = part[1].split()
        assert 4 <= len(columns) < 16
        assert columns == list(wide.columns[: len(columns)])
        assert f"… and {16 - len(columns)} more columns" in part


def test_a_page_and_a_picture_show_the_same_and_escape_it() -> None:
    trials = [trial(10.0 * n, BLOCK=n, MODE=HOSTILE if n > 1 else "x") for n in (1, 2)]
    found = sweep(*trials)
    page = render("html", "sweep", found, Options())
    drawing = render("svg", "sweep", found, Options())
    root = ElementTree.fromstring(drawing)
    assert not [each for each in root.iter() if each.tag.endswith("script")]
    assert "<script>alert" not in page
    assert "\x1b" not in page + drawing
    for words in ("10.0 µs DRAM ★", "20.0 µs DRAM", "bound by DRAM"):
        assert words in "".join(root.itertext())
        assert words in page
    assert "<summary>as a table</summary>" in page
    assert drawing == render("svg", "sweep", found, Options())


def test_a_picture_needs_a_time() -> None:
    found = sweep(*(msgspec.structs.replace(trial(None, a=n), bound=None) for n in (1, 2)))
    with pytest.raises(IrlensError, match="no chart to draw"):
        render("svg", "sweep", found, Options())


def test_every_bound_has_a_colour_of_its_own() -> None:
    style = render("svg", "sweep", sweep(trial(10.0, a=1), trial(20.0, a=2)), Options())
    light = style.partition("/* Kinds")[2].partition("@media")[0]
    colours = dict(re.findall(r"--k-(\w+): (#\w+);", light))
    bounds = get_args(Bound)
    assert set(bounds) <= set(colours)
    assert len({colours[each] for each in bounds}) == len(bounds)


def test_a_sweep_without_times_has_no_chart() -> None:
    found = sweep(*(trial(None, a=n) for n in (1, 2)))
    assert not [
        node for section in sweep_view(found, Options()).children
        for node in getattr(section, "children", ()) if isinstance(node, Bars | HeatMap)
    ]  # fmt: skip


def test_reports_of_one_kernel_have_the_chart_of_each_target() -> None:
    def timed(report: Report, us: float, num_warps: int) -> Report:
        return msgspec.structs.replace(
            report,
            config=msgspec.structs.replace(report.config, num_warps=num_warps),
            time=TimeEstimate(estimate_us=us, low_us=us / 2, high_us=us * 2, bound="l2"),
        )

    reports = [timed(SOFTMAX, us, warps) for warps, us in ((8, 10.0), (4, 20.0))]
    (section,) = times_of_reports(reports, ["num_warps=8", "num_warps=4"])
    (found,) = section.children
    assert isinstance(found, Bars)
    assert [(row.name, row.amount, row.low, row.label, row.mark) for row in found.rows] == [
        ("4", 20.0, 10.0, "L2", None), ("8", 10.0, 5.0, "L2", "fastest"),
    ]  # fmt: skip
    other = msgspec.structs.replace(reports[1], target=Target(
        vendor="nvidia", arch="sm_80", warp_size=32, product="a100"
    ))  # fmt: skip
    assert not list(times_of_reports([reports[0], other], ["a", "b"]))
    renamed = msgspec.structs.replace(reports[1], kernel="other")
    assert not list(times_of_reports([reports[0], renamed], ["a", "b"]))


def test_neighbours_keep_their_order() -> None:
    trials = [trial(20.0, a=1), trial(10.0, a=2), trial(None, a=3), trial(12.0, a=4)]
    (found,) = times_of_neighbours(trials, ["current", "a 1 → 2", "a 1 → 3", "a 1 → 4"])
    assert [row.name for row in found.rows] == ["current", "a 1 → 2", "a 1 → 4"]
    assert [row.mark for row in found.rows] == [None, "fastest", None]
    assert not list(times_of_neighbours(trials[:1], ["current"]))


def test_sizes_that_were_not_measured_have_the_estimated_rate() -> None:
    def sized(n: int, us: float, num_warps: int) -> Trial:
        found = trial(us, num_warps=num_warps)
        figures = {
            **(found.figures or {}), "distinct_read_bytes": 4 * n, "distinct_written_bytes": 4 * n,
            "floor_us": 8 * n / 4e6, "memory_us": 8 * n / 4e6, "compute_us": 0.0,
        }  # fmt: skip
        return msgspec.structs.replace(found, args={"n": n}, figures=figures)

    trials = [sized(n, n / 1000 + warps, warps) for n in (1000, 4000) for warps in (4, 8)]
    plot = size_plot(msgspec.structs.replace(sweep(*trials), axis="n"), trials)
    assert plot is not None
    estimated, roofline = plot.lines
    assert (estimated.name, roofline.name) == ("estimated", "roofline")
    assert [x for x, _ in estimated.points] == [1000, 4000]
    assert [y for _, y in estimated.points] == pytest.approx([8 / 5, 32 / 8])
    assert [y for _, y in roofline.points] == pytest.approx([4000, 4000])
    assert plot.described == "GB/s of fill by n on sm_90 (h100)"
