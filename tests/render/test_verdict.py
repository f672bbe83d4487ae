"""The verdict first and the next step last, in every format; comparisons say better or worse."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from irlens.artifacts.load import load_bytes
from irlens.diff.report import compare
from irlens.diff.report.comparisons import against_first, match
from irlens.model.capture import RunResult, Timing
from irlens.model.config import Target
from irlens.model.estimate import TimeStep
from irlens.model.report import Finding, Occupancy, Pipeline, Refusal, Report
from irlens.model.resources import LocalArray
from irlens.model.source import SourceLocation
from irlens.model.traffic import MatrixProduct, Traffic
from irlens.render import Options, render
from irlens.render.view.changes import changes
from irlens.render.view.comparison_verdict import verdict as verdict_on_change
from irlens.render.view.configurations import ranked_headline
from irlens.render.view.findings import by_effect, finding_item, findings, merge, merged
from irlens.render.view.launch_time import launch_time
from irlens.render.view.nodes import Run
from irlens.render.view.nodes.prose import plain
from irlens.render.view.verdict import next_steps, verdict, verdicts
from irlens.report import inspect
from irlens.session.explain import explain

REPORTS = Path(__file__).parents[2] / "samples" / "reports"
replace = msgspec.structs.replace


def report(name: str) -> Report:
    return msgspec.json.decode((REPORTS / f"{name}.json").read_bytes(), type=Report)


SOFTMAX = report("softmax-h100")
assert SOFTMAX.occupancy is not None
OCCUPANCY: Occupancy = SOFTMAX.occupancy
WARNING = Finding(
    code="IRL202", severity="warning", message="m", hint="h", stage=None, line=None, source=None
)


def pipeline(**changes: Any) -> Pipeline:
    return replace(SOFTMAX.pipelines[0], **changes)


def occupancy(**changes: Any) -> Report:
    return replace(SOFTMAX, occupancy=replace(OCCUPANCY, **changes))


def resources(**changes: Any) -> Report:
    return replace(SOFTMAX, resources=replace(SOFTMAX.resources, **changes))


@pytest.mark.parametrize(
    ("subject", "tone", "words"),
    [
        (SOFTMAX, "good", "pipelined 4 of 4 stages · 100 % occupancy · no spills"),
        (report("softmax-t4"), "warn", "not pipelined, 4 stages requested · 100 % occupancy"),
        (report("softmax-mi300x"), "warn", "pipelined only 2 of 4 stages · 100 % occupancy"),
        (report("spill-h100"), "warn", "25 % occupancy, limited by registers · 304 B of local"),
        (replace(SOFTMAX, pipelines=[]), "good", "100 % occupancy · no spills"),
        (replace(SOFTMAX, occupancy=None), "unknown", "stages · occupancy unknown · no spills"),
        (replace(SOFTMAX, findings=[WARNING]), "warn", "33.6 MB · 1 warning"),
        (occupancy(theoretical=0.125, limited_by=["registers"]), "good",
         "12.5 % occupancy, limited by registers"),
        (resources(local_bytes=None), "unknown", "100 % occupancy · spills unknown"),
        (resources(vgpr_spills=3), "warn", "100 % occupancy · 3 VGPR spills"),
        (resources(vgpr_spills=1, agprs=8), "good", "100 % occupancy · 1 VGPR spill to AGPRs"),
    ],
)  # fmt: skip
def test_the_verdict(subject: Report, tone: str, words: str) -> None:
    found = verdict(subject)
    assert words in found.words
    assert found.tone == tone


@pytest.mark.parametrize(
    ("asked", "phrase"),
    [(None, "no pipelining requested"), (1, "no pipelining requested"),
     (3, "not pipelined, 3 stages requested")],
)  # fmt: skip
def test_a_loop_that_nobody_asked_to_pipeline_is_no_failure(asked: int | None, phrase: str) -> None:
    loop = pipeline(verdict="not pipelined", requested_stages=asked, achieved_stages=1)
    found = verdict(replace(SOFTMAX, pipelines=[loop]))
    assert found.phrases[1] == Run(phrase, "warn" if asked == 3 else "neutral")
    assert (found.tone == "warn") == (asked == 3)


def test_loops_that_differ_are_counted_apart() -> None:
    flat = pipeline(verdict="not pipelined", achieved_stages=1)
    words = verdict(replace(SOFTMAX, pipelines=[*SOFTMAX.pipelines, flat, flat])).words
    assert (
        "1 of 3 loops pipelined 4 of 4 stages · 2 of 3 loops not pipelined, 4 stages requested"
    ) in words


def test_a_pipeline_that_is_drained_is_no_success() -> None:
    drained = pipeline(groups_during_compute=0)
    found = verdict(replace(SOFTMAX, pipelines=[drained]))
    assert found.tone == "warn"
    assert "4 of 4 stages, nothing in flight during the compute" in found.words


def test_a_kernel_that_cannot_launch_has_no_other_verdict() -> None:
    refusal = Refusal(resource="shared_memory", requested=300_000, limit=232_448, unit="bytes/CTA")
    found = verdict(occupancy(launchable=False, theoretical=0.0, refusals=[refusal]))
    assert found.tone == "bad"
    assert [phrase.text for phrase in found.phrases] == [
        "cannot launch: shared memory: 300,000 bytes/CTA requested, 67,552 over the limit of "
        "232,448"
    ]


def launch(**changes: Any) -> Report:
    assert SOFTMAX.time is not None
    fixed = {"estimate_us": 17.2, "low_us": 13.4, "high_us": 23.2, "bound": "l2"}
    return replace(SOFTMAX, time=replace(SOFTMAX.time, **{**fixed, **changes}))


STEPS = [
    TimeStep(cause="coalescing", change=-9, unit="sectors", estimate_us=10.0),
    TimeStep(cause="registers", change=-4, unit="registers/thread", estimate_us=15.0),
]
UNCOALESCED = replace(
    WARNING, code="IRL302", cause="coalescing", source=SourceLocation("k.py", 8), severity="note"
)
SECTORS = "about 42 % less time with only the sectors that the bytes need: 9 fewer sectors"
SPARE = replace(WARNING, code="IRL102", cause="registers", severity="note")


def test_the_time_leads_and_what_costs_most_follows() -> None:
    found = verdict(replace(launch(steps=STEPS), findings=[WARNING, SPARE, UNCOALESCED]))
    assert [phrase.text for phrase in found.phrases[:2]] == [
        "about 17.2 µs (13.4 µs to 23.2 µs), bound by L2 and DRAM",
        f"{SECTORS} (IRL302 at k.py:8)",
    ]
    assert [phrase.text for phrase in found.phrases[-2:]] == ["1 warning (IRL202)", "2 notes"]


def test_a_measured_time_comes_before_the_estimate() -> None:
    timing = Timing(median_ms=0.0215, fast_ms=0.021, slow_ms=0.022)
    run = RunResult(device="NVIDIA H200", matches_reference=True, max_abs_error=0.0, timing=timing)
    found = replace(launch(), run=run)
    assert verdict(found).phrases[0].text == (
        "21.5 µs measured on NVIDIA H200, estimated 17.2 µs (13.4 µs to 23.2 µs),"
        " bound by L2 and DRAM"
    )
    page = " ".join(render("text", "reports", [found], Options()).split())
    assert "measured 21.5 µs (21.0 µs to 22.0 µs) · 25 % more than estimated" in page
    unknown = replace(found, time=None)
    assert verdict(unknown).phrases[0].text == "21.5 µs measured on NVIDIA H200"
    page = " ".join(render("text", "reports", [unknown], Options()).split())
    assert "measured 21.5 µs (21.0 µs to 22.0 µs)" in page
    assert "than estimated" not in page
    wild = replace(run, timing=replace(timing, median_ms=-1.0))
    assert "measured" not in verdict(replace(found, run=wild)).words


def test_measured_configurations_are_ranked_by_what_was_measured() -> None:
    """An estimate that disagrees changes nothing."""

    def measured(estimate: float, ms: float, warps: int) -> Report:
        timing = Timing(median_ms=ms, fast_ms=ms * 0.99, slow_ms=ms * 1.01)
        run = RunResult(device="GPU", matches_reference=True, max_abs_error=0.0, timing=timing)
        timed = launch(estimate_us=estimate)
        return replace(timed, run=run, config=replace(timed.config, num_warps=warps))

    found = ranked_headline([measured(10.0, 0.03, 4), measured(20.0, 0.02, 8)])
    assert "num_warps=8 is the fastest: 20.0 µs, measured" in found.words
    hopper, ampere = measured(10.0, 0.03, 4), measured(1.0, 0.01, 8)
    ampere = replace(ampere, target=Target(vendor="nvidia", arch="sm_80", warp_size=32))
    found = ranked_headline([hopper, measured(20.0, 0.02, 8), ampere])
    assert "sm_90: B (num_warps=8) is the fastest: 20.0 µs" in found.words
    assert "sm_80: 10.0 µs, measured" in found.words
    alone = replace(measured(10.0, 0.05, 4), kernel="other")
    found = ranked_headline([measured(10.0, 0.03, 4), measured(20.0, 0.02, 8), alone])
    assert "other: 50.0 µs, measured" in found.words


@pytest.mark.parametrize(
    ("parts", "bound"),
    [
        ({"l2": 9.0, "dram": 8.0}, "L2"),
        ({"l2": 8.0, "dram": 9.0}, "L2 and DRAM"),
        ({"l2": 3.0, "launch": 5.5}, "L2 and the launch"),
        ({"l2": 6.2, "latency": 9.1}, "L2 and latency"),
    ],
)
def test_a_bound_is_not_less_than_what_takes_longer(parts: dict[str, float], bound: str) -> None:
    found = verdict(launch(bound="l2", parts=parts))
    assert found.phrases[0].text.endswith(f", bound by {bound}")


def test_findings_are_listed_by_what_they_cost() -> None:
    """Errors first; a note that costs 42 % of the time before a warning that costs nothing.

    What two findings of one cause save together is said once.
    """
    error = replace(WARNING, code="IRL304", severity="error")
    found = [error, WARNING, SPARE, UNCOALESCED, UNCOALESCED]
    subject = replace(launch(steps=STEPS), findings=found)
    codes = [each.code for each in by_effect(subject)]
    assert codes == ["IRL304", "IRL302", "IRL302", "IRL102", "IRL202"]
    listed = findings(subject)
    assert listed is not None
    assert [each.hint for each in listed.findings] == [
        "h", f"h; {SECTORS}", "h",
        "h; up to 13 % less time with 4 fewer registers/thread", "h",
    ]  # fmt: skip
    assert plain(listed.summary) == (
        "1 error, 1 warning, 3 notes · effect unknown: IRL202 (try --why)"
    )
    tried = [replace(each, cause="grid") if each is WARNING else each for each in found]
    few = replace(launch(steps=STEPS[:1]), findings=found)
    listed = findings(few)
    assert listed is not None
    assert plain(listed.summary).endswith("· effect unknown: IRL102, IRL202 (try --why)")
    for steps, said in ((STEPS, "above 3 %"), ([*STEPS, STEPS[0]], "as large")):
        listed = findings(replace(launch(steps=steps), findings=tried))
        assert listed is not None
        assert plain(listed.summary).endswith(f"3 notes · no effect {said} found: IRL202")
    untimed = by_effect(replace(subject, time=None))
    assert [each.code for each in untimed] == ["IRL304", "IRL202", "IRL102", "IRL302", "IRL302"]


def test_the_page_answers_first() -> None:
    page = render("text", "reports", [launch(steps=STEPS)], Options())
    places = [page.index(f"\n{title}  ") for title in ("Time", "Occupancy", "Registers", "Shared")]
    assert places == sorted(places)


NO_GRID = "the grid is unknown: --grid gives it"


@pytest.mark.parametrize(
    ("changed", "words", "tone"),
    [
        ({"traffic": None, "unknown": {"traffic": NO_GRID}}, NO_GRID, "unknown"),
        ({"unknown": {"time": "a branch depends on data"}}, "a branch depends on data", "unknown"),
        ({"target": Target(vendor="nvidia", arch="sm_90", warp_size=32)}, "-t names one",
         "unknown"),
        ({"target": Target(vendor="amd", arch="gfx942", product="mi300x", warp_size=64),
          "unknown": {"time": "how long instructions take on mi300x is unknown"}},
         "-t h100 estimates it on another GPU", "unknown"),
        ({"target": Target(vendor="amd", arch="gfx942", product="mi300x", warp_size=64),
          "traffic": None, "unknown": {"traffic": NO_GRID}},
         "instructions take is unknown: -t h100 estimates it on another GPU", "unknown"),
    ],
)  # fmt: skip
def test_what_gives_a_time_is_said_where_there_is_none(
    changed: dict[str, Any], words: str, tone: str
) -> None:
    """Whoever gives arguments asks for the time of their launch: without one there is no ✓."""
    known = changed.get("traffic", True) is not None
    subject = replace(
        SOFTMAX, time=None, roofline=SOFTMAX.roofline if known else None,
        config=replace(SOFTMAX.config, grid=SOFTMAX.config.grid if known else None), **changed,
    )  # fmt: skip
    *floor, first = verdict(subject).phrases[: 1 + known]
    assert [each.text for each in floor] == ["at least 10.0 µs, bound by memory"] * known
    assert first.text.startswith("no time estimate: ")
    assert words in first.text
    assert first.tone == tone


def test_the_time_of_a_launch_that_nobody_described_is_no_question() -> None:
    config = replace(SOFTMAX.config, grid=None, args={})
    unknown = {"traffic": NO_GRID}
    subject = replace(SOFTMAX, time=None, config=config, traffic=None, roofline=None)
    first = verdict(replace(subject, unknown=unknown))
    assert first.phrases[0].text.startswith("no time estimate: ")
    assert first.phrases[0].tone == "neutral"
    assert (first.tone, first.sign) == ("neutral", ""), "nor is it fine: nobody looked at it"
    assert "occupancy" in first.words
    assert verdicts([replace(subject, unknown=unknown), SOFTMAX]).words.endswith(
        "1 fine · 1 without a verdict"
    )


def test_a_kernel_that_cannot_launch_misses_no_time() -> None:
    refused = occupancy(launchable=False, theoretical=0.0)
    assert "time" not in verdict(replace(refused, time=None)).words


def test_several_reports_have_a_verdict_together() -> None:
    found = verdicts([SOFTMAX, report("spill-h100"), SOFTMAX])
    longest = launch_time(report("spill-h100"))
    assert found.words == (f"spill_kernel takes the longest: {longest} · 2 fine · 1 with warnings")
    assert found.tone == "warn"


def test_of_several_kernels_the_fastest_configuration_of_each_leads() -> None:
    """What an autotuner only tried is not what takes the longest."""
    spill = report("spill-h100")
    assert spill.time is not None
    slow = replace(
        SOFTMAX,
        time=replace(spill.time, estimate_us=1e6),
        config=replace(SOFTMAX.config, num_warps=2),
    )
    words = ranked_headline([slow, spill, SOFTMAX]).words
    time, longest = launch_time(SOFTMAX).split(" (")[0], launch_time(spill).split(" (")[0]
    fastest = f"softmax_kernel: num_warps={SOFTMAX.config.num_warps} is the fastest: {time}"
    assert fastest in words
    assert f"spill_kernel: {longest}" in words
    assert "takes the longest" not in words
    assert ranked_headline([spill, SOFTMAX]).words.startswith("spill_kernel takes the longest")


def test_long_names_of_those_that_have_a_finding_are_counted() -> None:
    having, other = replace(SOFTMAX, findings=[WARNING]), report("spill-h100")
    reports = [having, having, replace(SOFTMAX, findings=[]), replace(other, findings=[])]
    short = ["softmax A", "softmax B", "softmax C", "spill"]
    long = [f"{name} BLOCK_SIZE=1024 input_ptr=fp32[4096, 1024]" for name in short]

    def where(count: int, names: list[str]) -> list[str]:
        found = merged(reports[:count], names[:count])
        assert found is not None
        return [each.where for each in found.findings]

    assert where(4, short) == ["softmax A, softmax B"]
    assert where(4, long) == ["softmax_kernel (2 of 3)"]
    assert where(3, long) == ["2 of 3"], "there is one kernel"
    assert where(2, long) == ["all 2"]


def test_many_that_have_a_finding_are_named_by_the_setting_that_they_share() -> None:
    def at(warps: int, block: int) -> Report:
        config = replace(SOFTMAX.config, num_warps=warps, constexprs={"BLOCK": block})
        found = [WARNING] if warps == 8 or (warps == 4 and block < 3) else []
        return replace(SOFTMAX, config=config, findings=found if wide else found * (warps == 8))

    for wide in (False, True):
        reports = [at(warps, block) for warps in (4, 8) for block in range(5)]
        having = merged(reports, list("ABCDEFGHIJ"))
        assert having is not None
        assert [each.where for each in having.findings] == [
            "A, B, C, F and 4 more" if wide else "num_warps=8"
        ]


def test_a_finding_of_several_reports_has_the_figures_of_all() -> None:
    """Those that say something else stand apart."""

    def having(message: str, hint: str = "make 16 of them") -> Report:
        return replace(SOFTMAX, findings=[replace(WARNING, message=message, hint=hint)])

    numbers = ["fp32 at a.py:9 spills 96 B, 4-way", "fp32 at a.py:9 spills 1,024 B, 4-way"]
    reports = [having(each) for each in (*reversed(numbers), "fp16 at a.py:9 spills 2 B, 4-way")]
    found = merged(reports, ["A", "B", "C"])
    assert found is not None
    assert [(each.where, each.message, each.hint) for each in found.findings] == [
        ("A, B", "fp32 at a.py:9 spills 96 to 1,024 B, 4-way", "make 16 of them"),
        ("C", "fp16 at a.py:9 spills 2 B, 4-way", "make 16 of them"),
    ]
    found = merged([having(numbers[0]), having(numbers[0], "make 32 of them")], ["A", "B"])
    assert found is not None
    assert [(each.where, each.hint) for each in found.findings] == [
        ("all 2", "make 16 to 32 of them")
    ]


def test_findings_of_equal_keys_and_other_hints_stand_apart() -> None:
    """A comparison's key has no hint: "ask for 64, not 61" became "use tiles of 16"."""
    hints = ["use 16", "ask 64, not 61"]
    items = [finding_item(replace(WARNING, hint=hint), {}) for hint in hints]
    found = merge((name, item, "one key") for name, item in zip("AB", items, strict=True))
    assert [each.hint for each in found] == hints


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_the_verdict_comes_before_and_the_next_step_after_everything(form: str) -> None:
    spill = report("spill-h100")
    page = render(form, "reports", [spill], Options(subject="spill -t h100"))
    first, last = page.index(launch_time(spill)), page.index("irlens tui spill -t h100")
    details = page.index("128 registers per thread limit occupancy")
    assert first < details
    if form == "text":
        assert details < last
        assert "irlens explain TERM" in page[last:]
    assert "!" in page[max(first - 60, 0) : first]


def commands(*reports: Report, shown: frozenset[str] = frozenset()) -> list[str]:
    lines = [each.line for each in next_steps(reports, "k", shown).commands]
    assert lines.pop() == "irlens explain TERM"
    return lines


def test_a_long_subject_has_one_command_for_all_details() -> None:
    subject = "k.py " + " ".join(f"-a stride_{n}=1024" for n in range(9))
    spill = replace(report("spill-h100"), pipelines=[pipeline(groups_during_compute=0)])
    short = [each.line for each in next_steps([spill], "k.py").commands]
    long = [each.line for each in next_steps([spill], subject).commands]
    details = [each.rpartition(" ")[2] for each in short if each.startswith("irlens inspect")]
    assert len(details) > 1
    assert [each for each in long if each.startswith("irlens inspect")] == [
        f"irlens inspect {subject} {' '.join(details)}"
    ]


def test_the_next_step_follows_from_what_is_not_good() -> None:
    assert commands(SOFTMAX) == ["irlens tui k"]
    spill = report("spill-h100")
    assert commands(spill) == [
        "irlens inspect k --pressure", "irlens explain IRL105", "irlens tui k",
    ]  # fmt: skip
    assert commands(spill, shown=frozenset({"pressure"})) == [
        "irlens explain IRL105", "irlens tui k",
    ]  # fmt: skip
    drained = replace(SOFTMAX, pipelines=[pipeline(groups_during_compute=0)], findings=[WARNING])
    assert commands(drained) == [
        "irlens inspect k --pipelines", "irlens explain IRL202", "irlens tui k",
    ]  # fmt: skip
    shared = occupancy(theoretical=0.25, limited_by=["shared_memory"])
    assert commands(shared)[0] == "irlens inspect k --memory"


def test_fewer_larger_ctas_of_equal_occupancy_are_not_worse() -> None:
    def both(before: Report, after: Report) -> Run | None:
        shown = changes(compare(before, after))
        tones = {each.path: Run(each.name, each.tone) for each in shown if each.changed}
        return tones.get("occupancy.blocks_per_sm")

    fewer = occupancy(blocks_per_sm=4)
    assert both(SOFTMAX, fewer) == Run("blocks per SM", "neutral")
    assert both(SOFTMAX, occupancy(blocks_per_sm=4, theoretical=0.5)) == Run(
        "blocks per SM", "worse"
    )


OLD, NEW = report("layer_norm-b200-3.6"), report("layer_norm-b200-3.7")


@pytest.mark.parametrize(("before", "after", "tone", "other"), [
    (OLD, NEW, "worse", "better"), (NEW, OLD, "better", "worse"),
])  # fmt: skip
def test_a_comparison_says_in_words_colour_and_sign_what_it_is(
    before: Report, after: Report, tone: Any, other: str
) -> None:
    comparisons = match([before], [after])
    found = verdict_on_change(comparisons.pairs[0])
    assert found.tone == tone
    assert found.phrases[0].tone == tone
    more = {"worse": "likely 41 % more time: 65.4 µs → 92.3 µs", "better": "likely 29 % less time"}
    assert found.phrases[0].text.startswith(more[tone])
    assert other not in found.words
    moved = {"worse": "57.8 µs → 87.1 µs: blocks per SM 2 → 1", "better": "blocks per SM 1 → 2"}
    assert found.phrases[1].text.startswith("latency ")
    assert found.phrases[1].text.endswith(moved[tone])
    ansi = render("text", "comparisons", comparisons, Options(color=True, width=120))
    colour = {"worse": "31", "better": "32"}[tone]
    assert f"\x1b[{colour}m{found.phrases[0].text}\x1b[0m" in ansi
    points = "−25 points !" if tone == "worse" else "+25 points ✓"
    assert f"\x1b[{colour}m{points}\x1b[0m" in ansi
    page = render("html", "comparisons", comparisons, Options())
    style = {"worse": "bad", "better": "good"}[tone]
    assert f'<span class="state {style}">{points}</span>' in page
    markdown = render("markdown", "comparisons", comparisons, Options())
    assert f": {points[-1]} {more[tone]}" in markdown


def test_a_change_for_the_better_and_one_for_the_worse_are_neither() -> None:
    occupied = replace(OCCUPANCY, theoretical=0.5)
    shallow = pipeline(achieved_stages=3, verdict="shallower")
    before = replace(SOFTMAX, occupancy=occupied, time=None)
    after = replace(SOFTMAX, pipelines=[shallow], time=None)
    found = verdict_on_change(match([before], [after]).pairs[0])
    assert found.tone == "neutral"
    assert "better: occupancy 50 % → 100 %" in found.words
    assert "worse: stages achieved 4 → 3" in found.words


def test_registers_of_two_vendors_are_neither_better_nor_worse() -> None:
    pair = against_first([SOFTMAX, report("softmax-mi300x")]).pairs[0]
    assert "registers 30 → 34" in verdict_on_change(pair).words
    assert "worse: verdict pipelined → shallower" in verdict_on_change(pair).words
    tones = {each.path: each.tone for each in changes(pair)}
    assert tones["resources.registers"] == "neutral"
    assert tones["occupancy.blocks_per_sm"] == "neutral", "as many waves as the CU holds"


def test_words_have_a_direction_too() -> None:
    loop = pipeline(verdict="not pipelined", achieved_stages=None)
    untimed = replace(SOFTMAX, time=None)
    pair = match([untimed], [replace(untimed, pipelines=[loop])]).pairs[0]
    assert verdict_on_change(pair).words.startswith("worse: verdict pipelined → not pipelined")


def test_the_terms_of_a_report_are_explained() -> None:
    every = [report(path.stem) for path in REPORTS.glob("*.json")]
    named = {
        term
        for each in every
        for command in next_steps([each]).commands
        if command.line == "irlens explain TERM"
        for term in command.why.removeprefix("such as ").split(", ")
    }
    assert {"groups-in-flight", "spill"} <= named
    for term in named:
        assert explain(term)


def test_bodies_that_are_not_counted_are_said() -> None:
    (mix,) = SOFTMAX.mix
    subject = replace(SOFTMAX, mix=[replace(mix, functions_left_out=2)])
    for options in (Options(), Options(details=frozenset({"mix"}))):
        page = render("text", "reports", [subject], options)
        assert "without the bodies of 2 functions (.func)" in " ".join(page.split())
    assert ".func" not in render("text", "reports", [SOFTMAX], Options())


def test_functions_that_cannot_be_followed_are_counted() -> None:
    """A call through a register may run any of them, a function that nothing calls does not run."""
    body = ".func helper()\n{\n ret;\n}\n"
    head = ".version 8.0\n.target sm_90\n.address_size 64\n"
    for call, left_out in (("", 0), ("call helper0;", 0), ("call %rd1, prototype;", 2)):
        entry = f".visible .entry kernel()\n{{\n .reg .b64 %rd<2>;\n {call}\n ret;\n}}\n"
        text = head + "".join(body.replace("helper", f"helper{n}") for n in range(2)) + entry
        (capture,) = load_bytes(text.encode(), name="stdin")
        found = inspect(capture)
        assert found.mix[0].functions_left_out == left_out
        assert found.mix[0].total == 1 + 2 * bool(call) - bool(left_out)
        said = "calls a function that is not known" in [
            each.text for each in verdict(found).phrases
        ]
        assert said == ("calls" in found.unknown) == bool(left_out)
        assert (verdict(found).tone == "good") <= (not left_out)


def test_arrays_are_no_spills() -> None:
    """Told apart in the machine code, they are named; without it nothing is said of spills."""
    held = replace(SOFTMAX.resources, local_bytes=32, stack_bytes=32)
    array = LocalArray(origin="trigonometry", bytes=28, sources=[SourceLocation("k.py", 8)])
    subject = replace(SOFTMAX, resources=held, local_arrays=[array], spills=[])
    page = " ".join(render("text", "reports", [subject], Options()).split())
    assert "32 B of local memory per thread, for arrays · no spills" in page
    assert "array of 28 B for the slow path of sin, cos or tan at k.py:8" in page
    assert "where they are spilled" not in page
    assert verdict(subject).tone == verdict(SOFTMAX).tone
    unread = verdict(replace(subject, spills=None))
    texts = [each.text for each in unread.phrases]
    assert "32 B of local memory per thread, for arrays" in texts
    assert "no spills" not in texts


def test_a_known_launch_whose_traffic_is_unknown() -> None:
    """What was not looked at is named, and nothing is good all over."""
    reason = "line 7: the traffic depends on data that is loaded here"
    found = verdict(replace(SOFTMAX, traffic=Traffic(reason=reason)))
    assert found.tone == "unknown"
    assert f"memory traffic unknown: {reason}" in found.words


def test_products_in_a_slower_type() -> None:
    product = MatrixProduct(
        line=1, source=None, operation="tt.dot", shape=(64, 64, 64), operands="e4m3",
        computed="fp16", rate="fp16", on_tensor_cores=True, slowdown=2.0,
    )  # fmt: skip
    found = verdict(replace(SOFTMAX, products=[product]))
    assert found.tone == "warn"
    assert "no spills · e4m3 multiplied in fp16" in found.words


def test_of_several_kernels_the_longest_comes_first() -> None:
    """In every format; the configurations of one kernel and size stay together."""
    times = ((10.0, "norm", 4), (90.0, "gemm", 4), (70.0, "gemm", 8), (30.0, "gate", 4))
    found = [
        replace(
            launch(estimate_us=us), kernel=kernel, config=replace(SOFTMAX.config, num_warps=warps)
        )
        for us, kernel, warps in times
    ]
    written = msgspec.json.decode(render("json", "reports", found, Options()))
    assert [each["time"]["estimate_us"] for each in written] == [70.0, 90.0, 30.0, 10.0]
    sizes = [replace(each, kernel="gemm") for each in (found[0], found[3])]
    sizes[1] = replace(
        sizes[1], config=replace(SOFTMAX.config, args={**SOFTMAX.config.args, "n_rows": 3})
    )
    written = msgspec.json.decode(render("json", "reports", sizes, Options()))
    assert [each["time"]["estimate_us"] for each in written] == [10.0, 30.0], "sizes stay in order"
