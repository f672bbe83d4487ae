"""What is a difference, and what is none."""

from itertools import combinations
from pathlib import Path
from typing import TypeVar, get_type_hints

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import irlens
from irlens.diff.report import compare
from irlens.diff.report.comparisons import across
from irlens.figures import compared, elements
from irlens.model.comparison import Comparison, Delta, FindingDelta, LoopDelta
from irlens.model.memory import LoopLoad, SharedMemory
from irlens.model.pressure import Pressure, StagePressure
from irlens.model.report import (
    Finding,
    Occupancy,
    OccupancyLimits,
    Pipeline,
    Report,
)
from irlens.model.resources import Resources, WarpGroup
from irlens.model.source import SourceLocation
from irlens.render import Options, render
from irlens.render.view.changes import changes, minor_changes
from irlens.render.view.comparison_verdict import verdict

SOFTMAX = Path(__file__).parents[2] / "samples" / "reports" / "softmax-h100.json"

replace = msgspec.structs.replace
Record = TypeVar("Record", bound=msgspec.Struct)


def moved(comparison: Comparison) -> list[str]:
    """Everything that is told as different."""
    return [
        *(each.path for each in comparison.figures if each.moved),
        *(
            f"{loop.what}.{each.path}"
            for loop in comparison.loops
            for each in loop.deltas
            if each.moved
        ),
        *(
            f"finding {each.before and each.before.code} {each.after and each.after.code}"
            for each in comparison.findings
        ),
        *(
            f"mix.{mix.stage}.{each.path}"
            for mix in comparison.mix
            for each in (mix.total, *mix.classes)
            if each.moved
        ),
        *(f"line {line.source}" for line in comparison.lines),
    ]


def put(record: Record, path: str, value: object) -> Record:
    """Return the record with one field, dotted, changed."""
    name, _, rest = path.partition(".")
    return replace(record, **{name: put(getattr(record, name), rest, value) if rest else value})


FIGURE_PATHS = [one.path for one in compared("report") if not (one.compute or elements(one.path))]


def finding(code: str, message: str = "m", line: int = 48) -> Finding:
    return Finding(
        code=code, severity="warning", message=message, hint="", stage="ptx", line=1,
        source=SourceLocation("softmax.py", line, 3),
    )  # fmt: skip


class TestNoDifference:
    def test_with_itself(self, reports: dict[str, Report]) -> None:
        assert len(reports) >= 7
        for report in reports.values():
            same = compare(report, report)
            assert (same.different, moved(same), same.not_compared) == (False, [], [])

    def test_sizes_columns_labels_and_stage_lines_mean_nothing(self, softmax: Report) -> None:
        text = msgspec.json.encode(softmax).decode()
        document = msgspec.json.decode(text)

        def shift(node: object) -> None:
            if isinstance(node, list):
                for item in node:
                    shift(item)
            elif isinstance(node, dict):
                for name in ("column", "loop_line", "last_line", "buffer_line", "bytes_of_stage"):
                    if node.get(name):
                        node[name] += 7
                for item in node.values():
                    shift(item)

        shift(document)
        for pipeline in document["pipelines"]:
            pipeline.update(loop="$L_other", line=pipeline["line"] + 9)
        for stage in document["stages"].values():
            stage.update(bytes=stage["bytes"] + 5, sha256="0" * 64)
        document["sources"] = {"registers": "elsewhere"}
        twin = msgspec.convert(document, Report)
        assert twin != softmax
        assert not compare(softmax, twin).different

    def test_lines_of_python_that_only_moved_down(self, softmax: Report) -> None:
        text = msgspec.json.encode(softmax).decode()
        document = msgspec.json.decode(text)

        def shift(node: object) -> None:
            if isinstance(node, list):
                for item in node:
                    shift(item)
            elif isinstance(node, dict):
                if node.get("file") == "softmax.py":
                    node["line"] += 3
                for item in node.values():
                    shift(item)

        shift(document)
        document["code"] = {
            f"softmax.py:{int(place.partition(':')[2]) + 3}": code
            for place, code in document["code"].items()
        }
        lower = msgspec.convert(document, Report)
        assert not compare(softmax, lower).different
        assert compare(softmax, replace(lower, code={})).different  # no text, no way to tell

    def test_a_line_that_was_replaced_keeps_its_text(self, softmax: Report) -> None:
        """One line became two of other text: it has no code on the second side."""
        assert softmax.pressure.ptx is not None
        gone, *kept = softmax.pressure.ptx.lines
        place = str(replace(gone.source, column=0))
        ptx = replace(softmax.pressure.ptx, lines=kept)
        after = replace(
            softmax,
            pressure=replace(softmax.pressure, ptx=ptx, sass=None),
            code={**softmax.code, place: "another text"},
        )
        pair = compare(softmax, after)
        assert [str(each.source) for each in pair.lines] == [place]
        shown = render("text", "comparisons", across([[softmax], [after]]), Options())
        assert softmax.code[place] in shown
        assert "another text" not in shown

    def test_a_file_that_was_renamed(self, reports: dict[str, Report]) -> None:
        """Findings have the file's name in their words, too."""
        before = reports["softmax-t4"]
        (file,) = {place.partition(":")[0] for place in before.code}
        text = msgspec.json.encode(before).decode().replace(file, "other.py")
        after = msgspec.json.decode(text, type=Report)
        assert before.findings
        assert before.findings != after.findings
        assert not compare(before, after).different
        other = replace(after, code={place: f"{text}!" for place, text in after.code.items()})
        assert compare(before, other).different  # another file, as far as its lines say

    def test_minor_figures_that_read_the_same_are_not_listed(self, softmax: Report) -> None:
        assert softmax.roofline is not None
        assert softmax.roofline.flops_per_byte is not None
        near = replace(
            softmax.roofline, flops_per_byte=softmax.roofline.flops_per_byte * (1 + 1e-9)
        )
        further = replace(softmax.roofline, flops_per_byte=2 * softmax.roofline.flops_per_byte)
        names = [
            [each.name for each in minor_changes(compare(softmax, replace(softmax, roofline=one)))]
            for one in (near, further)
        ]
        assert names == [[], ["operations per byte"]]

    def test_what_was_asked_for_labels_the_sides(self, softmax: Report) -> None:
        config = replace(softmax.config, num_warps=4)
        found = compare(softmax, replace(softmax, config=config))
        assert not found.different
        assert (found.before.label, found.after.label) == ("num_warps=8", "num_warps=4")


class TestOneFigure:
    @pytest.mark.parametrize("path", FIGURE_PATHS)
    def test_it_is_told_and_nothing_else(self, path: str, reports: dict[str, Report]) -> None:
        amd = path.startswith(("pressure.amdgcn", "resources.vgpr"))
        report = reports["softmax-mi300x" if amd else "softmax-h100"]
        if path.startswith("run."):
            from irlens.model.capture import RunResult

            report = replace(
                report, run=RunResult(device="x", matches_reference=True, max_abs_error=0.0)
            )
        if path.startswith("pressure.sass"):
            report = put(report, "pressure.sass", report.pressure.ptx)
        old: object = report
        for name in path.split("."):
            old = getattr(old, name)
        new = (
            not old
            if isinstance(old, bool)
            else old + 1
            if isinstance(old, int | float)
            else ["x"]
            if isinstance(old, list)
            else "x"
            if isinstance(old, str)
            else 3
        )
        if old is None:  # known on one side only, it is no change
            self._is_left_out(path, report, put(report, path, new))
            report, new = put(report, path, 2), 3
            old = 2
        found = compare(report, put(report, path, new))
        assert moved(found) == [path]
        (told,) = (each for each in found.figures if each.moved)
        assert told.after == ("x" if new == ["x"] else new)
        if isinstance(old, int | float) and not isinstance(old, bool):
            assert told.change == pytest.approx(1)

    def _is_left_out(self, path: str, without: Report, known: Report) -> None:
        for found in (compare(without, known), compare(known, without)):
            assert (found.different, moved(found)) == (False, [])
            verdicts = {row.tone for row in changes(found)}
            assert verdicts.isdisjoint({"better", "worse"})
        unknown = replace(without, unknown={**without.unknown, path: "it was not looked at"})
        found = compare(unknown, known)
        assert (found.different, found.not_compared) == (False, [path])
        assert found.not_compared_because == {path: "it was not looked at (before)"}
        assert path not in {each.path for each in found.figures}

    @pytest.mark.parametrize("path", [figure.field for figure in compared("pipeline")])
    def test_of_a_pipeline(self, path: str, softmax: Report) -> None:
        (pipeline,) = softmax.pipelines
        if getattr(pipeline, path) is None:
            known = replace(softmax, pipelines=[put(pipeline, path, 1)])
            assert moved(compare(softmax, known)) == moved(compare(known, softmax)) == []
            pipeline = put(pipeline, path, "default" if path == "warp_group" else 1)
            softmax = replace(softmax, pipelines=[pipeline])
        old = getattr(pipeline, path)
        other = put(pipeline, path, "tma" if isinstance(old, str) else 77)
        found = compare(softmax, replace(softmax, pipelines=[other]))
        assert moved(found) == [f"pipeline.{path}"]

    @pytest.mark.parametrize("path", [figure.field for figure in compared("load")])
    def test_of_a_load(self, path: str, softmax: Report) -> None:
        (load,) = softmax.loads
        old = getattr(load, path)
        new = "in place" if isinstance(old, str) else (7,) if isinstance(old, tuple) else 77
        found = compare(softmax, replace(softmax, loads=[put(load, path, new)]))
        assert moved(found) == [f"load.{path}"]

    def test_every_figure_of_the_records_is_compared(self) -> None:
        """Whoever adds a field decides here whether it is part of the meaning."""
        prefixes = {
            "resources": Resources, "occupancy": Occupancy, "occupancy.limits": OccupancyLimits,
            "memory": SharedMemory, "pressure.ptx": StagePressure,
        }  # fmt: skip
        told = {
            # follow from the rest
            "occupancy.curves", "occupancy.limits", "occupancy.next_step", "occupancy.refusals",
            "resources.tensor_memory_bytes",
            # where, not what; what is compared line by line; ``resources`` has the total
            "memory.buffers", "memory.buffers_bytes", "memory.peak_line", "memory.scratch",
            "memory.reason", "memory.total_bytes",
            *(f"pressure.ptx.{name}" for name in ("line", "source", "offset", "chain", "lines",
                                                 "curve", "innermost", "live", "reason")),
        }  # fmt: skip
        for prefix, record in prefixes.items():
            names = {f"{prefix}.{name}" for name in record.__struct_fields__}
            assert names - told <= set(FIGURE_PATHS), prefix
        assert set(Pipeline.__struct_fields__) - {
            "loop", "line", "source", "reason", "bytes_repeated", "loads", "product_line",
            "product_source",
        } == {figure.field for figure in compared("pipeline")}  # fmt: skip
        assert set(LoopLoad.__struct_fields__) - {
            "operation", "line", "source", "loop_line", "loop_source", "buffer_line", "reason",
        } == {figure.field for figure in compared("load")}  # fmt: skip
        assert set(WarpGroup.__struct_fields__) - {"name"} == {
            figure.field for figure in compared("warp group")
        }
        assert set(get_type_hints(Pressure)) == {"ptx", "sass", "amdgcn"}


class TestLoops:
    def test_a_loop_that_got_its_first_pipeline_stays_the_same_loop(self, softmax: Report) -> None:
        (pipeline,) = softmax.pipelines
        none = replace(pipeline, kind=None, achieved_stages=None, verdict="not pipelined")
        (loop,) = compare(
            replace(softmax, pipelines=[none], loads=[]), replace(softmax, loads=[])
        ).loops
        assert (loop.presence, loop.kind) == ("both", "cp.async")
        values = {each.path: (each.before, each.after) for each in loop.deltas}
        assert values["achieved_stages"] == (None, 4)
        assert values["kind"] == (None, "cp.async")

    def test_one_that_goes_leaves_its_neighbours_alone(self, softmax: Report) -> None:
        (first,) = softmax.pipelines
        second = replace(first, achieved_stages=3)
        both = replace(softmax, pipelines=[first, second])
        found = compare(both, replace(softmax, pipelines=[second]))
        assert sorted((loop.presence, loop.kind) for loop in found.loops) == [
            ("both", "cp.async"), ("gone", "cp.async"),
        ]  # fmt: skip
        assert all(
            not each.moved
            for loop in found.loops
            if loop.presence == "both"
            for each in loop.deltas
        )

    def test_loops_at_other_lines_are_other_loops(self, softmax: Report) -> None:
        (pipeline,) = softmax.pipelines
        other = replace(pipeline, source=SourceLocation("other.py", 3))
        found = compare(softmax, replace(softmax, pipelines=[other]))
        assert {loop.presence for loop in found.loops} == {"appeared", "gone"}


def groups(*found: tuple[str, int, int | None]) -> list[WarpGroup]:
    return [WarpGroup(name=name, num_warps=warps, registers=held) for name, warps, held in found]


class TestWarpGroups:
    @pytest.mark.parametrize(
        ("warps", "registers", "told"),
        [
            (2, 24, ("warps of partition0 1 → 2", "+1")),
            (1, 40, ("registers of partition0 24 → 40", "+16")),
        ],
    )
    def test_of_one_of_them(
        self, softmax: Report, warps: int, registers: int, told: tuple[str, str]
    ) -> None:
        before = groups(("default", 4, 232), ("partition0", 1, 24))
        after = groups(("default", 4, 232), ("partition0", warps, registers))
        found = compare(replace(softmax, warp_groups=before), replace(softmax, warp_groups=after))
        assert [(row.arrow, row.change) for row in changes(found) if row.changed] == [told]
        assert told[0] in verdict(found).words

    def test_a_kernel_whose_warps_do_different_things_now(self, softmax: Report) -> None:
        after = replace(softmax, warp_groups=groups(("default", 4, 232), ("partition0", 1, None)))
        assert [row.arrow for row in changes(compare(softmax, after)) if row.changed] == [
            "warp groups none → default, partition0"
        ]
        (back,) = (row for row in changes(compare(after, softmax)) if row.name == "warp groups")
        assert (back.before, back.after) == ("default, partition0", "none")

    def test_other_warps_that_run_a_loop(self, softmax: Report) -> None:
        before, after = (
            replace(softmax, pipelines=[replace(softmax.pipelines[0], warp_group=name)])
            for name in ("default", "partition1")
        )
        assert "run by default → partition1" in verdict(compare(before, after)).words

    def test_what_is_known_of_one_side_only_is_left_out(self, softmax: Report) -> None:
        known = replace(softmax, warp_groups=groups(("default", 4, 232), ("partition0", 1, 24)))
        unknown = replace(softmax, unknown={"warp_groups": "there is no ttgir"})
        for found in (compare(known, unknown), compare(unknown, known)):
            assert (found.figures, found.not_compared) == (
                compare(softmax, softmax).figures, ["warp_groups"],
            )  # fmt: skip
        assert compare(unknown, unknown).not_compared == []


class TestFindings:
    def told(self, softmax: Report, before: list[Finding], after: list[Finding]) -> list[str]:
        return moved(compare(replace(softmax, findings=before), replace(softmax, findings=after)))

    def test_appeared_gone_and_changed(self, softmax: Report) -> None:
        one, two = finding("IRL201"), finding("IRL300", line=50)
        assert self.told(softmax, [one], [one, two]) == ["finding None IRL300"]
        assert self.told(softmax, [one, two], [two]) == ["finding IRL201 None"]
        other = finding("IRL201", "it is worse")
        assert self.told(softmax, [one], [other]) == ["finding IRL201 IRL201"]

    def test_twice_the_same_is_more_than_once(self, softmax: Report) -> None:
        one = finding("IRL201")
        assert self.told(softmax, [one, one], [one]) == ["finding IRL201 None"]


def mirrored(found: Comparison) -> Comparison:
    def turn(each: Delta) -> Delta:
        change = None if each.change is None else -each.change
        return replace(each, before=each.after, after=each.before, change=change)

    ratio = found.time_ratio
    if ratio is not None:
        ratio = replace(
            ratio, ratio=1 / ratio.ratio, low=1 / ratio.high, high=1 / ratio.low,
            parts=[turn(each) for each in ratio.parts],
        )  # fmt: skip
    other = {"better": "worse", "worse": "better"}
    outcome = other.get(found.verdict.outcome, found.verdict.outcome)
    swap = {"both": "both", "appeared": "gone", "gone": "appeared"}
    return replace(
        found,
        before=found.after,
        after=found.before,
        time_ratio=ratio,
        other_work=[turned(each) for each in found.other_work],
        verdict=replace(found.verdict, outcome=outcome),
        figures=[turn(each) for each in found.figures],
        loops=[
            replace(loop, presence=swap[loop.presence], deltas=[turn(each) for each in loop.deltas])
            for loop in found.loops
        ],
        findings=[FindingDelta(before=each.after, after=each.before) for each in found.findings],
        mix=[
            replace(mix, total=turn(mix.total), classes=[turn(each) for each in mix.classes])
            for mix in found.mix
        ],
        lines=[
            replace(line, instructions=turn(line.instructions), peak=turn(line.peak))
            for line in found.lines
        ],
    )


def turned(words: str) -> str:
    """Return "x_ptr fp32[8] → fp32[4]" from the other side; tensors of two kernels have no name."""
    named, _, after = words.partition(" → ")
    names, _, before = f" {named}".rpartition(" fp" if " fp" in f" {named}" else " ")
    prefix = "fp" if " fp" in f" {named}" else ""
    return f"{names} {after} → {prefix}{before}".strip()


def anonymous(found: Comparison) -> Comparison:
    """Without what is told of one side alone: a loop's mechanism, what would regain occupancy.

    And without reasons, which are words about either side.

    And without the last digits of the ratio, which divisions round.
    """
    loops: list[LoopDelta] = [replace(loop, kind=None) for loop in found.loops]
    ratio = found.time_ratio
    if ratio is not None:
        digits = {name: round(getattr(ratio, name), 12) for name in ("ratio", "low", "high")}
        ratio = replace(ratio, **digits)
    return replace(
        found, loops=loops, code={}, regain=[], time_ratio=ratio,
        verdict=replace(found.verdict, no_time=""), not_judged=dict.fromkeys(found.not_judged, ""),
    )  # fmt: skip


def test_the_mirror_of_a_comparison_is_the_comparison_of_the_mirror(
    reports: dict[str, Report],
) -> None:
    for one, two in combinations(reports.values(), 2):
        assert anonymous(compare(two, one)) == anonymous(mirrored(compare(one, two)))


@given(st.data())
def test_what_is_changed_is_told(data: st.DataObject) -> None:
    report = msgspec.json.decode(SOFTMAX.read_bytes(), type=Report)
    names = sorted(report.mix[0].classes)
    changes = data.draw(st.dictionaries(st.sampled_from(names), st.integers(0, 50)))
    mix = replace(report.mix[0], classes={**report.mix[0].classes, **changes})
    expected = {n for n, value in changes.items() if report.mix[0].classes[n] != value}
    found = compare(report, replace(report, mix=[mix]))
    assert set(moved(found)) == {f"mix.{mix.stage}.classes.{name}" for name in expected}
    assert found.different == bool(expected)


def test_what_only_one_side_has_is_left_out_and_said(softmax: Report) -> None:
    without = replace(softmax, pressure=Pressure(), mix=[], memory=None)
    found = compare(softmax, without)
    assert found.not_compared == ["memory", "mix.ptx", "pressure.ptx"]
    assert not found.different


def test_what_is_not_known_of_one_side_is_neither_gone_nor_new(reports: dict[str, Report]) -> None:
    whole = reports["softmax-t4"]
    assert whole.pipelines
    assert whole.findings
    bare = replace(
        whole,
        stages={"cubin": whole.stages["cubin"]},
        pipelines=[],
        loads=[],
        findings=[],
        unknown={"pipelines": "there is no ptx"},
    )
    for found in (compare(whole, bare), compare(bare, whole)):
        assert (found.loops, found.findings, found.different) == ([], [], False)
        assert found.not_compared == [
            *sorted({f"findings.{one.code}" for one in whole.findings}), "loads", "pipelines",
        ]  # fmt: skip


def test_a_finding_on_occupancy_needs_an_occupancy(reports: dict[str, Report]) -> None:
    whole = reports["layer_norm-b200-3.7"]
    assert [one.stage for one in whole.findings] == [None]
    found = compare(whole, replace(whole, findings=[], occupancy=None))
    assert (found.findings, found.not_compared) == ([], ["findings.IRL102", "occupancy"])
    assert compare(whole, replace(whole, findings=[])).findings[0].before == whole.findings[0]


def test_a_finding_in_machine_code_needs_it_disassembled(reports: dict[str, Report]) -> None:
    plain = reports["spill-h100"]
    assert plain.spills is None
    found = replace(plain.findings[0], code="IRL106", stage="sass", line=7)
    read = replace(plain, spills=[], findings=[*plain.findings, found])
    told = compare(read, plain)
    assert (told.findings, told.not_compared) == ([], ["findings.IRL106", "spills"])
    looked = replace(plain, spills=[], unknown={})
    assert compare(read, looked).findings[0].before == found


def test_what_one_vendor_reads_from_its_assembly_the_other_does_too(
    reports: dict[str, Report],
) -> None:
    amd = reports["softmax-mi300x"]
    (finding,) = amd.findings
    assert finding.stage == "amdgcn"
    gone = compare(amd, reports["softmax-h100"]).findings
    assert [(one.before, one.after) for one in gone] == [(finding, None)]


def test_the_library_offers_it(softmax: Report) -> None:
    found = irlens.compare(softmax, softmax)
    assert isinstance(found, Comparison)
    assert irlens.to_builtins(found)["different"] is False


def test_weights_are_sorted(reports: dict[str, Report]) -> None:
    found = compare(reports["softmax-h100"], reports["softmax-t4"])
    order = ["much", "some", "little"]
    assert [each.weight for each in found.figures] == sorted(
        (each.weight for each in found.figures), key=order.index
    )


@pytest.mark.parametrize("multiprocessor", ["CU", "WGP"])
def test_amds_figures_are_told_in_amds_words(
    reports: dict[str, Report], multiprocessor: str
) -> None:
    before = put(reports["softmax-mi300x"], "occupancy.multiprocessor", multiprocessor)
    after = put(before, "occupancy.blocks_per_sm", 7)
    after = put(after, "occupancy.limited_by", ["shared_memory"])
    for figure in ("waves", "tail", "active_warps"):
        after = put(after, f"occupancy.{figure}", 0.5)
    told = {row.name: row for row in changes(compare(before, after))}
    assert f"workgroups per {multiprocessor}" in told
    assert told["limited by"].after == "LDS"
    assert "LDS" in told
    nvidias = ("block", "warp", "shared", "SM")
    assert not any(word in name for name in told for word in nvidias)
    # What the GPU holds of a grid at once is no wave of AMD's.
    assert {"rounds", "last round filled", "active waves"} <= set(told)
