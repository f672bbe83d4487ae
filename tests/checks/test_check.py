"""Checks of the samples' reports, and of what could become of them."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from irlens.checks import check
from irlens.checks.baseline import BASELINE_SCHEMA, Baseline, Recipe, entry, sort
from irlens.checks.pairing import RecipeResult
from irlens.checks.project import Budget, Requirements
from irlens.figures.conditions import parse
from irlens.model.check import BudgetVerdict, Check, Movement
from irlens.model.estimate import TimeEstimate
from irlens.model.report import Finding, Occupancy, Refusal, Report
from irlens.model.source import SourceLocation
from irlens.render import Options, render
from irlens.render.view.check_lines import moved_lines
from irlens.render.view.check_verdicts import verdicts

replace = msgspec.structs.replace
RECIPE = Recipe(kernel="softmax", target="h100", settings={"num_stages": "4"})


def budget(text: str, kernel: str = "*", target: str = "*") -> Budget:
    return Budget(kernel=kernel, target=target, condition=parse(text), place="budgets", line=3)


def run(
    before: Report | None, after: Report, *conditions: str, update: bool = False, **rules: Any
) -> Check:
    entries = [entry(before, RECIPE)] if before is not None else []
    return check(
        [RecipeResult(recipe=RECIPE, reports=(after,))],
        Requirements(
            baseline=Baseline(schema=BASELINE_SCHEMA, entries=entries),
            baseline_file="irlens.baseline.json",
            budgets=[budget(text) for text in conditions],
            update=update,
            **rules,
        ),
    )[0]


def moved(found: Check) -> dict[str, Movement]:
    (kernel,) = found.kernels
    return {one.delta.path: one for one in kernel.movements}


def held(found: Check) -> list[BudgetVerdict]:
    (kernel,) = found.kernels
    return kernel.budgets


def fitting(report: Report, **figures: Any) -> Report:
    assert report.occupancy is not None
    return replace(report, occupancy=replace(report.occupancy, **figures))


def pipelined(report: Report, **figures: Any) -> Report:
    return replace(report, pipelines=[replace(report.pipelines[0], **figures)])


def resourced(report: Report, **figures: Any) -> Report:
    return replace(report, resources=replace(report.resources, **figures))


def timed(report: Report, us: float) -> Report:
    assert report.time is not None
    return replace(report, time=replace(report.time, estimate_us=us))


def test_a_gpus_own_default_tells_no_configuration_apart(reports: dict[str, Report]) -> None:
    """Of three GPUs a line named the number of stages that each vendor has by default."""
    one = next(each for each in reports.values() if each.target is not None)
    assert one.target is not None
    another = replace(
        one,
        target=replace(one.target, vendor="amd", arch="gfx942", product="mi300x"),
        config=replace(one.config, num_stages=9),
    )
    rules = Requirements(baseline=None, baseline_file="irlens.baseline.json", budgets=[])
    found, _ = check([RecipeResult(recipe=RECIPE, reports=(one, another))], rules)
    assert [each.side.label for each in found.kernels] == ["", ""]
    twice = replace(one, config=replace(one.config, num_stages=9))
    found, _ = check([RecipeResult(recipe=RECIPE, reports=(one, twice))], rules)
    assert all("num_stages=" in each.side.label for each in found.kernels)


def test_nothing_moved(reports: dict[str, Report]) -> None:
    for report in reports.values():
        found = run(report, report, strict=True)
        assert found.outcome == "passed", report.kernel
        assert moved(found) == {}


def test_stores_that_became_atomics_are_named(softmax: Report) -> None:
    """The line said that the time fell, and not that the output is no longer stored."""
    assert softmax.traffic is not None
    accesses = [
        replace(each, operation="tt.atomic_rmw") if each.direction == "store" else each
        for each in softmax.traffic.accesses
    ]
    traffic = replace(softmax.traffic, accesses=accesses)
    found = run(softmax, timed(replace(softmax, traffic=traffic), 8.0))
    written = moved(found)["summary.writes"]
    assert (written.delta.before, written.delta.after) == ("stores", "atomics")
    assert written.judgement == "other"
    (line,) = moved_lines([(each, verdicts(each)) for each in found.kernels])
    assert line.causes[0] == "written with stores → atomics"


def test_older_captures_of_a_changed_file_do_not_pass_unseen(reports: dict[str, Report]) -> None:
    report = next(iter(reports.values()))
    found, _ = check(
        [RecipeResult(recipe=RECIPE, reports=(report,), edited=("kernels.py",))],
        Requirements(
            baseline=Baseline(schema=BASELINE_SCHEMA, entries=[entry(report, RECIPE)]),
            baseline_file="irlens.baseline.json",
        ),
    )
    assert found.outcome == "warned"
    (problem,) = found.problems
    assert problem.kind == "stale capture"
    assert "made before kernels.py changed" in problem.message


class TestWhatFails:
    def test_the_regression_of_layer_norm(self, reports: dict[str, Report]) -> None:
        found = run(reports["layer_norm-b200-3.6"], reports["layer_norm-b200-3.7"])
        assert found.outcome == "failed"
        lost, *others = moved(found).values()
        assert (lost.delta.path, lost.judgement) == ("occupancy.theoretical", "lost")
        assert (lost.delta.before, lost.delta.after) == (0.5, 0.25)
        assert (
            lost.reason == "limited by registers; 8 fewer registers/thread: 1 → 2 blocks/SM (50 %)"
        )
        assert str(lost.source).startswith("layer_norm.py:")
        assert {one.delta.path for one in others} == {
            "occupancy.blocks_per_sm", "resources.registers", "time.estimate_us",
        }  # fmt: skip
        assert not any(one.fails for one in others)
        assert [one.kind for one in found.problems] == ["other compiler"]
        back = run(reports["layer_norm-b200-3.7"], reports["layer_norm-b200-3.6"])
        assert back.outcome == "warned"  # by the other compiler alone
        assert {one.judgement for one in moved(back).values()} == {"better"}

    @pytest.mark.parametrize(
        ("us", "args", "judgement"),
        [(44.0, {}, "other"), (44.0, {"n_cols": 512}, "other"), (98.0, {}, "lost"),
         (140.0, {}, "lost"), (140.0, {"n_cols": 2048}, "lost")],
    )  # fmt: skip
    def test_a_figure_that_comes_with_less_time_is_not_lost(
        self, softmax: Report, us: float, args: dict[str, int], judgement: str
    ) -> None:
        """Of the same arguments or others; a budget and --strict hold it to what they say."""
        config = replace(softmax.config, args=softmax.config.args | args)
        after = timed(replace(fitting(softmax, theoretical=0.5), config=config), us)
        after = resourced(after, registers=64)
        found = run(timed(softmax, 100.0), after)
        lost = moved(found)["occupancy.theoretical"]
        assert (lost.judgement, lost.fails) == (judgement, judgement == "lost")
        assert found.outcome == ("failed" if lost.fails else "passed")
        assert moved(found)["resources.registers"].judgement == ("worse" if lost.fails else "other")
        held_to = run(timed(softmax, 100.0), after, "occupancy >= baseline")
        assert held_to.outcome == "failed"
        assert run(timed(softmax, 100.0), after, strict=True).outcome == "failed"

    def test_a_kernel_that_cannot_launch_any_more(self, softmax: Report) -> None:
        refusal = Refusal(
            resource="shared_memory", requested=300_000, limit=232_448, unit="bytes/CTA"
        )
        after = fitting(
            softmax, launchable=False, theoretical=0.0, blocks_per_sm=0, refusals=[refusal]
        )
        found = run(softmax, after)
        assert moved(found)["occupancy.launchable"].fails
        lost = moved(found)["occupancy.theoretical"]
        assert "300,000 bytes/CTA requested" in lost.reason
        assert str(lost.source) == "softmax.py:50"  # where the largest buffer is for

    def test_stages_of_a_pipeline(self, softmax: Report) -> None:
        found = run(softmax, pipelined(softmax, achieved_stages=3, verdict="shallower"))
        lost = moved(found)["achieved_stages"]
        assert lost.fails
        assert (lost.pipeline, str(lost.source)) == ("cp.async", "softmax.py:48")

    def test_a_loop_that_is_not_pipelined_any_more(self, softmax: Report) -> None:
        after = pipelined(
            softmax, kind=None, achieved_stages=None, verdict="not pipelined", reason="no copy"
        )
        lost = moved(run(softmax, after))["achieved_stages"]
        assert (lost.judgement, lost.fails, lost.reason) == ("lost", True, "no copy")

    def test_a_pipeline_that_is_gone(self, softmax: Report) -> None:
        lost = moved(run(softmax, replace(softmax, pipelines=[])))["achieved_stages"]
        assert (lost.judgement, lost.delta.before, lost.delta.after) == ("lost", 4, None)
        assert lost.reason == "the loop has no such pipeline any more"
        # Nobody had a stage ahead there.
        serial = pipelined(softmax, achieved_stages=1, verdict="not pipelined")
        assert run(serial, replace(softmax, pipelines=[])).outcome == "passed"

    def test_figures_that_are_unknown_now(self, softmax: Report) -> None:
        after = replace(softmax, occupancy=None, unknown={"occupancy": "it depends on registers"})
        found = run(softmax, after)
        unknown = moved(found)["occupancy.theoretical"]
        assert (unknown.judgement, unknown.fails) == ("unknown", True)
        assert unknown.reason == "it depends on registers"
        after = pipelined(softmax, achieved_stages=None, verdict="unknown", reason="a jump")
        unknown = moved(run(softmax, after))["achieved_stages"]
        assert (unknown.judgement, unknown.fails, unknown.reason) == ("unknown", True, "a jump")
        after = replace(softmax, pipelines=[], unknown={"pipelines": "there is no ptx"})
        assert moved(run(softmax, after))["achieved_stages"].reason == "there is no ptx"


class TestWhatIsTold:
    def test_registers_and_spills_fail_nothing(self, softmax: Report) -> None:
        after = resourced(softmax, registers=32, local_bytes=64)
        found = run(softmax, after)
        assert found.outcome == "warned"
        assert {one.judgement for one in moved(found).values()} == {"worse"}
        assert run(softmax, after, strict=True).outcome == "failed"

    def test_improvements(self, softmax: Report) -> None:
        found = run(resourced(softmax, registers=40), softmax)
        assert found.outcome == "passed"
        assert moved(found)["resources.registers"].judgement == "better"
        assert run(resourced(softmax, registers=40), softmax, strict=True).outcome == "failed"

    def test_a_loop_that_moved_in_the_file_is_the_same(self, softmax: Report) -> None:
        source = replace(softmax.pipelines[0].source, line=148)  # type: ignore[type-var]
        code = {"softmax.py:148": softmax.code["softmax.py:48"]}
        after = replace(pipelined(softmax, source=source), code=code)
        assert moved(run(softmax, after)) == {}
        lost = moved(run(softmax, pipelined(after, achieved_stages=2)))["achieved_stages"]
        assert str(lost.source) == "softmax.py:148"

    def test_loops_alike_are_told_apart_by_their_order(self, softmax: Report) -> None:
        def loops(*stages: tuple[int, int]) -> Report:
            return replace(
                softmax,
                code={f"a.py:{line}": "for k in range(n):" for line, _ in stages},
                pipelines=[
                    replace(
                        softmax.pipelines[0], source=SourceLocation("a.py", line), achieved_stages=n
                    )
                    for line, n in stages
                ],
            )

        before = loops((48, 4), (60, 2))
        assert moved(run(before, loops((60, 4), (72, 2)))) == {}
        lost = moved(run(before, loops((60, 3), (72, 2))))["achieved_stages"]
        assert (lost.delta.before, lost.delta.after, str(lost.source)) == (4, 3, "a.py:60")

    def test_defaults_that_changed(self, softmax: Report) -> None:
        constexprs = {**softmax.config.constexprs, "BLOCK_SIZE": 2048}
        after = replace(softmax, config=replace(softmax.config, constexprs=constexprs))
        found = run(softmax, after)
        delta = moved(found)["config.BLOCK_SIZE"].delta
        assert (delta.before, delta.after) == (1024, 2048)
        assert found.outcome == "passed"

    def test_only_findings_that_are_new_warn(self, softmax: Report) -> None:
        finding = Finding(
            code="IRL201", severity="warning", message="m", hint="h", stage=None, line=None,
            source=None,
        )  # fmt: skip
        one, two = (replace(softmax, findings=[finding] * number) for number in (1, 2))
        assert run(softmax, one).kernels[0].findings == [finding]
        assert run(softmax, one).outcome == "warned"
        assert run(one, one).outcome == "passed"
        assert len(run(one, two).kernels[0].findings) == 2
        note = replace(softmax, findings=[replace(finding, severity="note")])
        assert run(softmax, note).kernels[0].findings == []
        assert run(softmax, one, strict=True).outcome == "warned"  # a heuristic never fails

    def test_a_new_error_fails(self, softmax: Report) -> None:
        error = Finding(
            code="IRL304", severity="error", message="m", hint="h", stage=None, line=None,
            source=None,
        )  # fmt: skip
        wrong = replace(softmax, findings=[error])
        failed = run(softmax, wrong)
        assert (failed.outcome, failed.kernels[0].failing) == ("failed", ["IRL304"])
        assert "✗  finding IRL304" in render("text", "check", failed, Options())
        assert run(None, wrong).outcome == "failed", "a new kernel"
        assert run(wrong, wrong).outcome == "passed"
        assert run(softmax, wrong, update=True).outcome == "warned", "it is accepted"


class TestBudgets:
    @pytest.mark.parametrize(
        ("text", "state"),
        [
            ("occupancy >= 1", "held"),
            ("registers <= 8", "broken"),
            ("launchable and local_bytes == 0", "held"),
            ("pipeline.achieved >= requested", "held"),
            ("pipeline.achieved > 4", "broken"),
            ("pipeline.kind == 'cp.async'", "held"),
            ("traffic.load_sectors <= 1.1 * traffic.ideal_load_sectors", "held"),
            ("traffic.read_bytes + traffic.written_bytes < 33000000", "broken"),
            ("roofline.floor_us <= 11 and roofline.bound == 'memory'", "held"),
            ("vgprs <= 8", "does not apply"),
            ("maxnreg <= 8", "unknown"),
            ("registers / local_bytes < 1", "unknown"),
        ],
    )
    def test_states(self, text: str, state: str, softmax: Report) -> None:
        found = run(softmax, softmax, text, whole_project=False)
        *_, verdict = held(found)
        assert verdict.state == state
        assert verdict.fails == (state in ("broken", "unknown"))
        assert found.outcome == ("failed" if verdict.fails else "passed")

    def test_values_before_and_after(self, reports: dict[str, Report]) -> None:
        before, after = reports["layer_norm-b200-3.6"], reports["layer_norm-b200-3.7"]
        (verdict,) = held(run(before, after, "occupancy >= 0.5"))
        (figure,) = verdict.figures
        assert (figure.path, figure.before, figure.value) == ("occupancy.theoretical", 0.5, 0.25)
        assert "8 fewer registers" in verdict.reason
        (verdict,) = held(run(None, after, "occupancy >= 0.5"))
        assert verdict.figures[0].before is None

    def test_each_pipeline_is_held_to_it(self, softmax: Report) -> None:
        first = softmax.pipelines[0]
        wgmma = replace(first, kind="wgmma", requested_stages=None, achieved_stages=1)
        after = replace(softmax, pipelines=[first, wgmma])
        verdicts = held(run(softmax, after, "pipeline.achieved >= requested"))
        assert [(one.pipeline, one.state) for one in verdicts] == [
            ("cp.async", "held"), ("wgmma", "does not apply"),
        ]  # fmt: skip
        assert [figure.before for figure in verdicts[0].figures] == [4, 4]

    def test_not_pipelined_is_one_stage_and_unknown_is_unknown(self, softmax: Report) -> None:
        for verdict, state in (("not pipelined", "broken"), ("unknown", "unknown")):
            after = pipelined(softmax, achieved_stages=None, verdict=verdict, reason="because")
            (found,) = held(run(None, after, "pipeline.achieved >= requested"))
            assert (found.state, found.fails) == (state, True)
            assert "because" in found.reason

    def test_without_a_ttir_nobody_knows_what_was_requested(self, softmax: Report) -> None:
        after = replace(pipelined(softmax, requested_stages=None), stages={})
        (found,) = held(run(None, after, "pipeline.achieved >= requested"))
        assert found.state == "unknown"

    def test_a_kernel_without_loops(self, softmax: Report) -> None:
        text = "pipeline.achieved >= requested"
        found = run(None, replace(softmax, pipelines=[]), text)
        assert [one.state for one in held(found)] == ["does not apply"]
        # So it protects nothing.
        assert [one.kind for one in found.problems if one.fails] == ["stale budget"]
        unknown = replace(softmax, pipelines=[], unknown={"pipelines": "no ptx"})
        assert [one.state for one in held(run(None, unknown, text))] == ["unknown"]

    def test_an_unknown_figure_says_why(self, softmax: Report) -> None:
        after = replace(softmax, occupancy=None, unknown={"occupancy": "it depends on registers"})
        (found,) = held(run(None, after, "launchable"))
        assert found.reason == "launchable: it depends on registers"

    @pytest.mark.parametrize(
        ("kernel", "target", "matches"),
        [
            ("softmax_kernel", "sm_90", True), ("softmax", "H100", True), ("soft*", "sm_?0", True),
            ("matmul*", "*", False), ("*", "gfx*", False), ("Softmax*", "*", False),
        ],
    )  # fmt: skip
    def test_patterns(self, kernel: str, target: str, matches: bool, softmax: Report) -> None:
        rules = Requirements(
            baseline=None, baseline_file="b.json", budgets=[budget("launchable", kernel, target)]
        )
        found, _ = check([RecipeResult(recipe=RECIPE, reports=(softmax,))], rules)
        assert bool(held(found)) is matches
        assert found.outcome == ("passed" if matches else "failed")
        assert [one.line for one in found.problems] == ([] if matches else [3])


class TestEntries:
    def checked(
        self, entries: Sequence[Report], made: Sequence[RecipeResult], **rules: Any
    ) -> tuple[Check, Baseline]:
        kept = Baseline(schema=1, entries=sort(entry(one, RECIPE) for one in entries))
        return check(made, Requirements(baseline=kept, baseline_file="b.json", **rules))

    def test_what_is_not_there_any_more_fails(self, softmax: Report) -> None:
        made = [RecipeResult(recipe=RECIPE, failure="no such file: a.py")]
        found, renewed = self.checked([softmax], made)
        assert found.outcome == "failed"
        (problem,) = found.problems
        assert (problem.kind, problem.fails) == ("missing", True)
        assert "no such file: a.py" in problem.message
        assert renewed.entries == []

    def test_configurations_that_fail_alike_are_one_problem(self, softmax: Report) -> None:
        several = [
            replace(softmax, config=replace(softmax.config, num_warps=number))
            for number in (2, 4, 8)
        ]
        made = [RecipeResult(recipe=RECIPE, failure="no such file: a.py")]
        found, _ = self.checked(several, made)
        (problem,) = found.problems
        assert problem.message == (
            "softmax_kernel on sm_90: 3 configurations cannot be checked: no such file: a.py"
        )
        assert problem.hint == "to remove them from the baseline: irlens check --update"
        assert "3 not checked" in render("text", "check", found, Options())

    def test_a_configuration_that_is_not_made_any_more(self, reports: dict[str, Report]) -> None:
        several = [reports["softmax-h100"], reports["softmax-t4"]]
        made = [RecipeResult(recipe=RECIPE, reports=(several[0],))]
        found, _ = self.checked(several, made)
        assert [one.message for one in found.problems] == [
            "softmax_kernel on sm_75 cannot be checked: softmax no longer makes this configuration"
        ]

    def test_an_entry_that_a_merge_left_there_twice(self, softmax: Report) -> None:
        older = resourced(softmax, registers=40)
        made = [RecipeResult(recipe=RECIPE, reports=(resourced(softmax, registers=41),))]
        found, _ = self.checked([older, softmax], made)
        missing = [one for one in found.problems if one.kind == "missing"]
        assert sum(one.configurations for one in missing) == 2
        assert all("baseline has 2 of it, softmax makes 1" in one.message for one in missing)
        updated, renewed = self.checked([older, softmax], made, update=True)
        assert not any(one.fails for one in updated.problems)
        assert len(renewed.entries) == 1

    def test_what_was_not_asked_for_stays(self, reports: dict[str, Report]) -> None:
        other = Recipe(kernel="spill", target="h100")
        made = [RecipeResult(recipe=other, reports=(reports["spill-h100"],))]
        found, renewed = self.checked([reports["softmax-h100"]], made)
        assert [one.kernel for one in found.unchecked] == ["softmax_kernel"]
        assert [one.kernel for one in renewed.entries] == ["softmax_kernel", "spill_kernel"]
        assert [(one.kind, one.fails) for one in found.problems] == [("not in baseline", False)]
        found, _ = self.checked([reports["softmax-h100"]], made, strict=True)
        assert found.outcome == "failed"

    def test_namesakes_in_other_files_are_others(self, softmax: Report) -> None:
        other = Recipe(kernel="other.py:softmax_kernel", target="h100")
        found, _ = self.checked([softmax], [RecipeResult(recipe=other, reports=(softmax,))])
        assert not found.kernels[0].in_baseline

    def test_a_cache_may_lie_elsewhere(self, reports: dict[str, Report]) -> None:
        there, here = Recipe(kernel="~/.triton/cache"), Recipe(kernel="ci/cache")
        kept = [entry(one, there) for one in reports.values()]
        rules = Requirements(
            baseline=Baseline(schema=1, entries=sort(kept)), baseline_file="b.json"
        )
        found, _ = check([RecipeResult(recipe=here, reports=tuple(reports.values()))], rules)
        asked_alike = ("layer_norm-b200-3.6", "layer_norm-b200-3.7")
        assert len(found.kernels) == len(reports)
        known = sum(one.in_baseline for one in found.kernels)
        assert known == len(reports) - len(asked_alike)

    def test_a_recording_under_another_name_is_compared_as_such(self, softmax: Report) -> None:
        """With other settings it was new, and the baseline's entry was not requested."""
        there, here = Recipe(kernel="./irlens-train"), Recipe(kernel="./irlens-bench")
        rules = Requirements(
            baseline=Baseline(schema=1, entries=[entry(softmax, there)]), baseline_file="b.json"
        )
        wider = replace(softmax, config=replace(softmax.config, num_warps=16))
        found, renewed = check([RecipeResult(recipe=here, reports=(wider,))], rules)
        assert moved(found)["config.num_warps"].delta.after == 16
        assert found.outcome == "passed"
        (problem,) = found.problems
        assert problem.kind == "other recording"
        assert problem.message == (
            "./irlens-bench is compared with the baseline's entries of ./irlens-train"
        )
        assert [one.recipe for one in renewed.entries] == [here]
        # Where both are checked, or the baseline has both, neither is the other.
        both = [RecipeResult(recipe=here, reports=(wider,)), RecipeResult(recipe=there)]
        found, _ = check(both, rules)
        assert not found.kernels[0].in_baseline
        narrower = replace(softmax, config=replace(softmax.config, num_warps=2))
        entries = [entry(softmax, there), entry(narrower, here)]
        kept = replace(rules, baseline=Baseline(schema=1, entries=entries))
        found, _ = check([RecipeResult(recipe=here, reports=(narrower, wider))], kept)
        assert sorted(one.in_baseline for one in found.kernels) == [False, True]

    def test_twins_find_each_other(self, reports: dict[str, Report]) -> None:
        cache = Recipe(kernel="cache")
        twins = [reports["layer_norm-b200-3.7"], reports["layer_norm-b200-3.6"]]
        kept = Baseline(schema=1, entries=sort(entry(one, cache) for one in twins))
        made = [RecipeResult(recipe=cache, reports=tuple(twins))]
        found, _ = check(made, Requirements(baseline=kept, baseline_file="b.json", strict=True))
        assert found.outcome == "passed"
        # One of them moved: the other is known by its figures, so this one is known, too.
        fewer = resourced(twins[0], registers=71)
        made = [RecipeResult(recipe=cache, reports=(twins[1], fewer))]
        found, _ = check(made, Requirements(baseline=kept, baseline_file="b.json"))
        assert all(one.in_baseline for one in found.kernels)

    def test_an_update_accepts_what_moved_and_no_broken_budget(self, softmax: Report) -> None:
        after = pipelined(softmax, achieved_stages=2)
        found = run(softmax, after, update=True)
        assert found.outcome == "warned"
        assert found.update is not None
        assert (found.update.changed, found.update.unchanged) == (1, 0)
        assert run(softmax, after, "pipeline.achieved == 4", update=True).outcome == "failed"

    def test_an_update_with_the_same_is_the_same(self, reports: dict[str, Report]) -> None:
        made = [RecipeResult(recipe=RECIPE, reports=tuple(reports.values()))]
        rules = Requirements(baseline=None, baseline_file="b.json", update=True)
        _, first = check(made, rules)
        found, second = check(made, replace(rules, baseline=first))
        assert first == second
        assert found.update is not None
        assert found.update.unchanged == len(reports)


class TestAgainstTheBaseline:
    """Budgets that compare with the baseline: ``time.estimate_us <= 1.05 * baseline``."""

    BUDGET = "time.estimate_us <= 1.05 * baseline"

    def timed(self, report: Report, us: float | None) -> Report:
        return replace(report, time=TimeEstimate(estimate_us=us))

    def verdict(self, found: Check) -> BudgetVerdict:
        (only,) = held(found)
        return only

    def test_five_percent_more_hold_and_six_do_not(self, softmax: Report) -> None:
        before = self.timed(softmax, 20.0)
        for us, state in ((21.0, "held"), (15.0, "held"), (21.2, "broken")):
            verdict = self.verdict(run(before, self.timed(softmax, us), self.BUDGET))
            assert verdict.state == state
            assert verdict.broken_before is (False if state == "broken" else None)
            (figure,) = verdict.figures
            assert (figure.before, figure.value) == (20.0, us)

    def test_a_new_kernel_is_compared_with_nothing(self, softmax: Report) -> None:
        found = run(None, self.timed(softmax, 20.0), self.BUDGET)
        assert self.verdict(found).state == "does not apply"
        assert found.outcome == "warned"  # it is not in the baseline
        assert [one.kind for one in found.problems] == ["not in baseline"]

    def test_a_baseline_without_the_figure_fails(self, softmax: Report) -> None:
        found = run(self.timed(softmax, None), self.timed(softmax, 20.0), self.BUDGET)
        assert self.verdict(found).state == "unknown"
        assert "irlens check --update writes it" in self.verdict(found).reason
        assert found.outcome == "failed"

    def test_an_update_compares_with_what_it_writes(self, softmax: Report) -> None:
        slower = run(self.timed(softmax, 20.0), self.timed(softmax, 40.0), self.BUDGET, update=True)
        assert self.verdict(slower).state == "held"
        assert moved(slower)["time.estimate_us"].judgement == "worse"

    def test_more_time_warns_and_noise_does_not(self, softmax: Report) -> None:
        before = self.timed(softmax, 20.0)
        assert run(before, self.timed(softmax, 21.0)).outcome == "warned"
        assert run(before, self.timed(softmax, 20.5)).outcome == "passed"

    def test_every_pipeline_is_compared_with_its_own(self, softmax: Report) -> None:
        deeper = "pipeline.achieved >= baseline"
        assert self.verdict(run(softmax, softmax, deeper)).state == "held"
        shallower = pipelined(softmax, achieved_stages=2)
        assert self.verdict(run(softmax, shallower, deeper)).state == "broken"


def test_the_worst_comes_first(reports: dict[str, Report]) -> None:
    made, kept = [], []
    for name, report in reports.items():
        recipe = Recipe(kernel=name, target="t")
        made.append(RecipeResult(recipe=recipe, reports=(report,)))
        occupancy = report.occupancy
        assert isinstance(occupancy, Occupancy)
        before = fitting(report, theoretical=1.0) if name == "spill-h100" else report
        kept.append(entry(before, recipe))
    rules = Requirements(baseline=Baseline(schema=1, entries=sort(kept)), baseline_file="b.json")
    found, _ = check(made, rules)
    assert [one.outcome for one in found.kernels] == ["failed"] + ["passed"] * (len(reports) - 1)
    again, _ = check(made[::-1], rules)
    assert again == found
