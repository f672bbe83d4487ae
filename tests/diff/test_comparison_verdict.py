"""Which side is better: launching first, then errors, then time; figures only without a time."""

from typing import Any

import msgspec
import pytest

from irlens.diff.report import compare
from irlens.diff.report.comparisons import against_first, match
from irlens.figures import get
from irlens.figures.judging import judge_figure
from irlens.model.comparison import Comparison, Comparisons
from irlens.model.estimate import TimeEstimate
from irlens.model.report import Finding, PipelineLoad, Refusal, Report
from irlens.model.traffic import Access
from irlens.render.options import Options
from irlens.render.text import render
from irlens.render.view.changes import changes
from irlens.render.view.comparison_verdict import in_short, summary, verdict

replace = msgspec.structs.replace

PARTS = {"dram": 20.0, "l2": 30.0, "latency": 90.0, "issue": 25.0}


def timed(report: Report, us: float, **parts: float) -> Report:
    time = TimeEstimate(
        estimate_us=us, low_us=us * 0.78, high_us=us * 1.35, bound="latency", parts=PARTS | parts
    )
    return replace(report, time=time)


def resident(report: Report, ctas: int, **changed: Any) -> Report:
    assert report.occupancy is not None
    held = replace(
        report.occupancy, blocks_per_sm=ctas, active_warps=8 * ctas, theoretical=ctas / 8
    )
    stages = changed.pop("stages", 4)
    loop = replace(report.pipelines[0], achieved_stages=stages, requested_stages=stages)
    return replace(report, occupancy=held, pipelines=[loop], **changed)


def unlaunchable(report: Report) -> Report:
    assert report.occupancy is not None
    refusal = Refusal(resource="shared_memory", requested=300_000, limit=232_448, unit="bytes/CTA")
    held = replace(
        report.occupancy, launchable=False, blocks_per_sm=0, theoretical=0.0, refusals=[refusal]
    )
    fewer = replace(report.resources, registers=20)
    return replace(report, occupancy=held, resources=fewer, time=None)


def judged(pair: Comparison) -> dict[str, str]:
    return {each.path: each.tone for each in changes(pair) if each.tone in ("better", "worse")}


def test_time_decides_and_figures_explain_it(softmax: Report) -> None:
    """Fewer stages that leave room for another CTA are better if they take less time."""
    before = timed(resident(softmax, 1, stages=3), 100.0)
    after = timed(resident(softmax, 2, stages=2), 70.0, latency=55.0)
    pair = compare(before, after)
    assert (pair.verdict.outcome, pair.verdict.by, pair.verdict.likely) == ("better", "time", False)
    assert pair.verdict.because == ["occupancy.blocks_per_sm"]
    assert pair.verdict.despite == ["pipelines[].achieved_stages"]
    found = verdict(pair)
    assert [each.text for each in found.phrases[:2]] == [
        "30 % less time: 100 µs → 70.0 µs (0.52 to 0.94 ×), bound by latency",
        "latency 90.0 µs → 55.0 µs: blocks per SM 1 → 2, despite stages achieved 3 → 2",
    ]
    assert found.tone == "better"
    assert "worse" not in found.words


@pytest.mark.parametrize("waits_at_once", [True, False])
def test_a_load_that_runs_ahead_is_better_unless_the_machine_code_waits_at_once(
    softmax: Report, waits_at_once: bool
) -> None:
    """RDNA's barriers await all loads, also those that the ttgir carries to the next iteration."""
    (load,), (pipeline,) = softmax.loads, softmax.pipelines
    issued = PipelineLoad(
        line=60, wait_line=80, source=load.source, instructions=2, bytes_per_lane=16,
        iterations_ahead=1, computes_before_wait=not waits_at_once, verdict="pipelined",
    )  # fmt: skip
    at_once = replace(issued, computes_before_wait=False)
    before, after = (
        replace(
            softmax,
            loads=[replace(load, state=state, iterations_ahead=ahead)],
            pipelines=[replace(pipeline, loads=(each,))],
        )
        for state, ahead, each in (("in place", 0, at_once), ("registers", 1, issued))
    )
    pair = compare(before, after)
    (loop,) = (each for each in pair.loops if each.what == "load")
    found = {d.path: judge_figure(pair, d, get(d.path, "load"), loop) for d in loop.changes}
    assert found == dict.fromkeys(
        ("state", "iterations_ahead"), "neutral" if waits_at_once else "better"
    )


def test_more_waves_of_smaller_tiles_are_a_cause_and_neither_better_nor_worse(
    softmax: Report,
) -> None:
    """Each may be shorter; where what they take one after the other grew, they are why."""
    occupancy = softmax.occupancy
    assert occupancy is not None

    def tiled(block: int, waves: float, us: float, latency: float) -> Report:
        config = replace(softmax.config, constexprs={"BLOCK": block})
        held = replace(occupancy, waves=waves)
        return timed(replace(softmax, config=config, occupancy=held), us, latency=latency)

    pair = compare(tiled(128, 7.5, 100.0, 90.0), tiled(64, 15.0, 150.0, 140.0))
    assert pair.verdict.because == ["occupancy.waves"]
    assert "occupancy.waves" not in judged(pair)
    assert "latency 90.0 µs → 140 µs: waves 7.5 → 15" in verdict(pair).words


def test_a_figure_that_does_not_feed_what_moved_is_no_cause(softmax: Report) -> None:
    """More CTAs do not explain that memory delivers less."""
    before = timed(resident(softmax, 1), 100.0, dram=95.0)
    pair = compare(before, timed(resident(softmax, 2), 60.0, dram=50.0))
    assert pair.time_ratio is not None
    assert pair.time_ratio.moved_by == "dram"
    assert (pair.verdict.because, pair.verdict.despite) == ([], [])
    assert "DRAM 95.0 µs → 50.0 µs" in [each.text for each in verdict(pair).phrases]


def test_another_grid_is_named_where_the_latency_moved_and_no_figure_tells_why(
    softmax: Report,
) -> None:
    """A product that is split over more CTAs has shorter loops, in as many stages."""

    def split(parts: int) -> Report:
        config = replace(softmax.config, grid=(16, parts, 1), constexprs={"SPLIT": parts})
        return replace(softmax, config=config)

    before, after = timed(split(1), 100.0), timed(split(8), 50.0, latency=40.0)
    assert (
        "latency 90.0 µs → 40.0 µs · grid 16 × 1 × 1 → 16 × 8 × 1"
        in verdict(compare(before, after)).words
    )
    assert "grid" not in verdict(compare(before, timed(split(1), 50.0, latency=40.0))).words
    assert "grid" not in verdict(compare(before, timed(split(8), 99.0))).words


@pytest.mark.parametrize(("sectors", "because"), [(0.96, []), (0.6, ["traffic.load_sectors"])])
def test_a_figure_that_hardly_moved_is_no_cause_of_a_part_that_halved(
    softmax: Report, sectors: float, because: list[str]
) -> None:
    """What the L2 takes for atomic operations is halved, and 4 % fewer sectors are not why."""
    assert softmax.traffic is not None
    fewer = round((softmax.traffic.load_sectors or 0) * sectors)
    changed = replace(softmax, traffic=replace(softmax.traffic, load_sectors=fewer))
    pair = compare(timed(softmax, 100.0, l2=95.0), timed(changed, 60.0, l2=47.5))
    assert pair.time_ratio is not None
    assert (pair.time_ratio.moved_by, pair.verdict.because) == ("l2", because)


def test_the_unit_that_moved_counts_by_what_it_adds_to_the_whole(softmax: Report) -> None:
    """A part that doubles and binds nothing moves the time less than a large one that grows."""
    pair = compare(timed(softmax, 100.0), timed(softmax, 130.0, dram=40.0, latency=120.0))
    assert pair.time_ratio is not None
    assert pair.time_ratio.moved_by == "latency"
    paths = [each.path for each in pair.time_ratio.parts]
    assert paths == ["latency", "dram", "l2", "issue"]


def test_a_loop_that_became_pipelined_is_the_cause(softmax: Report) -> None:
    """It had no stages before, so that these did not change."""
    flat = replace(softmax.pipelines[0], verdict="not pipelined", achieved_stages=None)
    before = timed(replace(softmax, pipelines=[flat]), 100.0)
    pair = compare(before, timed(softmax, 70.0, latency=50.0))
    assert pair.verdict.because == ["pipelines[].verdict"]
    assert "latency 90.0 µs → 50.0 µs: verdict not pipelined → pipelined" in verdict(pair).words
    shallow = replace(softmax.pipelines[0], verdict="shallower", achieved_stages=2)
    pair = compare(timed(replace(softmax, pipelines=[shallow]), 100.0), timed(softmax, 70.0))
    assert pair.verdict.because == []
    deeper = timed(softmax, 70.0, latency=50.0)
    pair = compare(timed(replace(softmax, pipelines=[shallow]), 100.0), deeper)
    assert "stages achieved 2 → 4" in verdict(pair).words


def test_within_noise_nothing_is_better_or_worse(softmax: Report) -> None:
    pair = compare(timed(resident(softmax, 1), 100.0), timed(resident(softmax, 2), 102.0))
    assert pair.verdict.outcome == "same"
    found = verdict(pair)
    assert found.tone == "neutral"
    assert found.words.startswith("no change in time: 100 µs → 102 µs, bound by latency")
    assert "better" not in found.words
    assert {each.tone for each in found.phrases} == {"neutral"}


def test_a_range_that_holds_both_is_said(softmax: Report) -> None:
    pair = compare(timed(softmax, 100.0), timed(softmax, 90.0))
    assert pair.verdict.likely
    assert in_short(pair) == "likely 10 % less time"
    slower = compare(timed(softmax, 100.0), timed(softmax, 250.0))
    assert in_short(slower) == "2.5 × the time"


def test_a_side_that_cannot_launch_leads_and_nothing_else_counts(softmax: Report) -> None:
    before = timed(softmax, 100.0)
    pair = compare(before, unlaunchable(softmax))
    found = verdict(pair)
    assert (pair.verdict.outcome, pair.verdict.by) == ("worse", "launch")
    assert found.phrases[0].text == (
        "no longer launches: shared memory: 300,000 bytes/CTA requested, 67,552 over the limit of "
        "232,448"
    )
    assert found.phrases[1].text == "took about 100 µs"
    assert found.sign == "✗ "
    assert judged(pair) == {"occupancy.launchable": "worse"}
    assert "better" not in found.words
    back = compare(unlaunchable(softmax), before)
    assert verdict(back).words.startswith("can launch now · takes about 100 µs, bound by latency")
    assert judged(back) == {"occupancy.launchable": "better"}
    neither = compare(
        unlaunchable(softmax), replace(unlaunchable(softmax), resources=softmax.resources)
    )
    assert verdict(neither).words.startswith("cannot launch, before or after: shared memory")
    assert not judged(neither)
    assert not neither.verdict.no_time


def test_an_error_outweighs_time(softmax: Report) -> None:
    error = Finding(
        code="IRL304", severity="error", message="an access outside", hint="h", stage="ttir",
        line=1, source=None,
    )  # fmt: skip
    after = replace(timed(softmax, 50.0), findings=[error])
    pair = compare(timed(softmax, 100.0), after)
    assert (pair.verdict.outcome, pair.verdict.by) == ("worse", "errors")
    first, second, *_ = verdict(pair).phrases
    assert (first.text, first.tone) == ("IRL304 new: an access outside", "worse")
    assert second.text.startswith("50 % less time")


def test_stores_that_became_atomics_are_neither(softmax: Report) -> None:
    assert softmax.traffic is not None
    store = Access(
        line=1, source=None, operation="tt.store", argument="o", bytes=1, distinct_bytes=1, masked=0
    )
    atomic = replace(store, operation="tt.atomic_rmw")
    before, after = (
        replace(
            softmax, time=None,
            traffic=replace(softmax.traffic, accesses=[each], store_sectors=sectors),
        )
        for each, sectors in ((store, 1000), (atomic, 0))
    )  # fmt: skip
    pair = compare(before, after)
    assert pair.not_judged["traffic.store_sectors"] == "stores became atomics"
    assert "traffic.store_sectors" not in judged(pair)
    assert verdict(pair).tone == "neutral"
    page = render("comparisons", match([before], [after]), Options())
    assert "Not judged  sectors stored · stores became atomics" in page
    by_time = verdict(compare(timed(before, 100.0), timed(after, 50.0, latency=40.0))).words
    assert "stores became atomics" in by_time
    assert "sectors stored" not in by_time
    fewer = replace(softmax.traffic, accesses=[store], store_sectors=0)
    same = compare(before, replace(before, traffic=fewer))
    assert judged(same) == {"traffic.store_sectors": "better"}


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"constexprs": {"BLOCK_SIZE": 2048, "num_stages": 4}}, "other work per CTA: BLOCK_SIZE"),
        ({"grid": (64, 1, 1)}, "other work per CTA: grid"),
        ({"num_warps": 4}, "other work per thread: num_warps"),
        ({"num_stages": 2}, None),
    ],
)
def test_registers_of_other_work_are_neither(
    softmax: Report, settings: dict[str, Any], reason: str | None
) -> None:
    assert softmax.occupancy is not None
    before = replace(softmax, occupancy=replace(softmax.occupancy, waves=2.0))
    fewer = replace(softmax.resources, registers=20)
    after = replace(before, resources=fewer, config=replace(softmax.config, **settings))
    pair = compare(before, after)
    assert pair.not_judged.get("resources.registers") == reason
    assert ("resources.registers" in judged(pair)) == (reason is None)


def test_the_grid_of_a_persistent_kernel_is_no_other_work(softmax: Report) -> None:
    """It is as many CTAs as the GPU holds."""
    assert softmax.occupancy is not None
    assert softmax.occupancy.waves == 1
    after = replace(softmax, config=replace(softmax.config, grid=(528, 1, 1)))
    assert "resources.registers" not in compare(softmax, after).not_judged


def test_launches_with_other_arguments_lead_with_the_time_and_are_not_judged(
    softmax: Report,
) -> None:
    """Less time of less work is no improvement, and a figure that changed with it no loss."""
    args = dict(softmax.config.args)
    tensors = [name for name, value in args.items() if isinstance(value, str)]
    other = replace(
        softmax.config, args=args | {"n_cols": 512} | dict.fromkeys(tensors, "bf16[64, 512]")
    )
    halved = replace(resident(softmax, 4), config=other)
    pair = compare(timed(softmax, 100.0), timed(halved, 44.0, latency=40.0))
    assert (pair.verdict.outcome, pair.verdict.by) == ("neither", "time")
    assert "time.estimate_us" not in judged(pair)
    found = verdict(pair)
    assert found.tone == "neutral"
    first, second, *_ = (each.text for each in found.phrases)
    assert first.startswith("56 % less time: 100 µs → 44.0 µs")
    assert second.startswith("other arguments: ")
    assert f"{', '.join(tensors)} {args[tensors[0]]} → bf16[64, 512]" in second
    assert "worse" not in found.words
    assert in_short(pair) == "56 % less time"
    both = Comparisons(schema=1, different=True, against_first=False, pairs=[pair, pair])
    assert "2 with other arguments (up to 56 % less time: " in summary(both).words


def test_a_grid_that_writes_more_of_the_same_tensors_is_other_work(softmax: Report) -> None:
    """Another split of the same work is none: it writes as much."""
    assert softmax.traffic is not None
    more = replace(softmax.config, grid=(2112, 1, 1))
    twice = replace(
        softmax.traffic, distinct_written_bytes=2 * (softmax.traffic.distinct_written_bytes or 1)
    )
    before, after = timed(softmax, 100.0), timed(replace(softmax, config=more), 200.0)
    assert compare(before, after).verdict.outcome == "worse"
    pair = compare(before, replace(after, traffic=twice))
    assert pair.verdict.outcome == "neither"
    assert "other work: grid 1056×1×1 → 2112×1×1" in verdict(pair).words


@pytest.mark.parametrize(
    ("unknown", "target", "words"),
    [
        ({"traffic": "the grid is unknown: --grid gives it"}, {}, "--grid gives it"),
        ({"traffic": "the launch is unknown: --arg and --grid give it"}, {}, "--arg and --grid"),
        ({}, {"product": None}, "-t names one"),
        ({"time": "how long instructions take on mi300x is unknown"},
         {"vendor": "amd", "product": "mi300x"}, "-t h100"),
    ],
)  # fmt: skip
def test_what_is_missing_for_a_time_and_what_gives_it(
    softmax: Report, unknown: dict[str, str], target: dict[str, Any], words: str
) -> None:
    assert softmax.target is not None
    traffic = None if "traffic" in unknown else softmax.traffic
    bare = replace(
        softmax, time=None, traffic=traffic, roofline=None, unknown=unknown,
        target=replace(softmax.target, **target),
    )  # fmt: skip
    last = verdict(compare(bare, resident(bare, 4))).phrases[-1]
    assert last.tone == "unknown"
    assert last.text.startswith("no time estimate: ")
    assert words in last.text


def test_only_one_side_has_no_time(softmax: Report) -> None:
    bare = replace(softmax, time=None, unknown={"time": "a branch depends on data"})
    pair = compare(timed(softmax, 100.0), replace(bare, config=replace(bare.config, num_warps=4)))
    assert pair.verdict.no_time == "no time estimate (num_warps=4): a branch depends on data"


def test_several_sides_are_counted_by_time(softmax: Report) -> None:
    def side(stages: int, us: float) -> Report:
        constexprs = {**softmax.config.constexprs, "num_stages": stages}
        config = replace(softmax.config, num_stages=stages, constexprs=constexprs)
        return timed(replace(softmax, config=config), us)

    loose = replace(softmax, time=None)
    compared = against_first([side(1, 100.0), side(2, 60.0), side(3, 50.0), side(4, 101.0)])
    assert summary(compared).words == (
        "3 of 3 differ · 2 faster (up to 50 % less time: num_stages=3) · 1 without change in time"
    )
    assert summary(compared).tone == "better"
    page = render("comparisons", compared, Options(width=120))
    assert "40 % less time ✓" in page
    slower = against_first([side(1, 100.0), side(2, 140.0), unlaunchable(side(3, 1.0))])
    assert summary(slower).words.startswith(
        "2 of 2 differ · 1 slower (40 % more time: num_stages=2)"
    )
    assert "1 no longer launches" in summary(slower).words
    assert "time" not in summary(against_first([loose, resident(loose, 4)])).words


def test_the_largest_change_comes_first(softmax: Report) -> None:
    names = ("a", "b", "c", "d")
    before = [timed(replace(softmax, kernel=name), 100.0) for name in names]
    times = (104.0, 60.0, 300.0, 100.0)
    after = [
        timed(replace(softmax, kernel=name), us) for name, us in zip(names, times, strict=True)
    ]
    after[3] = unlaunchable(after[3])
    compared: Comparisons = match(before, after)
    assert [pair.after.kernel for pair in compared.pairs] == ["d", "c", "b", "a"]
