"""A stage's lines with what is known of them, on the samples and on what a user may have."""

import json
import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import irlens
from irlens.analyze import sass_cfg, sass_pressure
from irlens.analyze.capture_code import CaptureCode, format_metadata
from irlens.diff.code.statements import read_code
from irlens.isa import ptx, sass
from irlens.isa.sass import widths
from irlens.model.capture import Capture, Disassembly, Stage
from irlens.model.errors import ArtifactError
from irlens.model.listing import StageListing
from irlens.model.pressure import Pressure
from irlens.model.report import Report
from irlens.report import inspect
from irlens.report.annotations import (
    list_capture,
    list_stage,
)

SAMPLES = Path(__file__).parents[3] / "samples" / "captures"
_DEEP = '{"a": ' + "[" * 100_000
NAMES = sorted(path.name for path in SAMPLES.iterdir() if path.is_dir())


def sample(name: str) -> tuple[Capture, Report]:
    capture = next(iter(irlens.load(SAMPLES / name)))
    return capture, inspect(capture)


def sample_stage(name: str, stage: str) -> StageListing:
    capture, report = sample(name)
    return list_stage(CaptureCode(capture), stage, report)


def is_sound(listing: StageListing) -> None:
    """Whether everything that it says is about lines that are there."""
    count = len(listing.lines)
    assert len(listing.chain) == count
    assert len(listing.live) in (0, count)
    assert all(-1 <= number < len(listing.chains) for number in listing.chain)
    assert listing.peak == (max(listing.live) if any(n >= 0 for n in listing.live) else None)
    for loop in listing.loops:
        assert 1 <= loop.first <= loop.last <= count
        assert loop.depth >= 1
    roles = {(mark.line, mark.role) for mark in listing.marks}
    assert len(roles) == len(listing.marks)
    for mark in listing.marks:
        assert 1 <= mark.line <= count
        ends = {"copy": {"commit", "wait"}, "commit": {"wait"}, "wait": {"commit", "copy"}}
        for partner in mark.partners:
            assert any((partner, role) in roles for role in ends[mark.role]), mark


@pytest.mark.parametrize("name", NAMES)
def test_everything_is_about_lines_that_are_there(name: str) -> None:
    capture, report = sample(name)
    listing = list_capture(CaptureCode(capture), report)
    assert list(listing.stages) == list(CaptureCode(capture).stages)
    assert next(iter(listing.python)) == f"{name.split('-')[0]}.py"
    for stage in listing.stages.values():
        is_sound(stage)
        assert stage.problem == ""
        assert "\n".join([*stage.lines, ""]) == stage.text or "\n".join(stage.lines) == stage.text


def test_the_h200_kernels_are_listed(h200_reports: list[tuple[Capture, Report]]) -> None:
    for capture, report in h200_reports:
        for stage in ("ttgir", "llir", "ptx"):
            listing = list_stage(CaptureCode(capture), stage, report)
            is_sound(listing)
            assert listing.problem == ""
            lines = listing.lines
            for mark in listing.marks:
                # No pipeline of the report is made of copies out of shared memory.
                out = re.search(r"bulk_group|local_to_global", lines[mark.line - 1])
                assert mark.role != "copy" or (mark.pipeline is None) == bool(out)


def test_stages_are_in_the_compilers_order() -> None:
    nvidia = ("source", "ttir", "ttgir", "llir", "ptx", "sass", "metadata")
    amd = ("source", "ttir", "ttgir", "llir", "amdgcn", "metadata")
    assert CaptureCode(sample("softmax-h100")[0]).stages == nvidia
    assert CaptureCode(sample("softmax-mi300x")[0]).stages == amd


@pytest.mark.parametrize("name", NAMES)
def test_metadata_has_a_key_on_every_line_as_the_comparison_counts_them(name: str) -> None:
    capture, _ = sample(name)
    assert capture.metadata_stage is not None
    text = capture.metadata_stage.text()
    told = CaptureCode(capture)["metadata"].text
    assert json.loads(told) == json.loads(text)
    keys = [json.loads(line.strip(" {}").split(": ")[0]) for line in told.splitlines()]
    assert keys == sorted(json.loads(text))
    for statement in read_code(CaptureCode(capture)["metadata"]).statements:
        assert statement.text.split(": ")[0] in told.splitlines()[statement.line - 1]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{}", "{}\n"),
        (
            '{"b": 1.50,\n"a":{"x" :\n[1, "\\u00e9"]}}',
            '{"a": {"x": [1, "\\u00e9"]},\n "b": 1.50}\n',
        ),
        ('{"a": "a surrogate \\ud83d alone"}', '{"a": "a surrogate \\ud83d alone"}'),
        ("[1,2", "[1,2"),
        ("[1, 2]", "[1, 2]"),
        pytest.param(_DEEP, _DEEP, id="deep"),
    ],
)
def test_values_of_metadata_are_left_as_they_are_and_all_that_is_no_object(
    text: str, told: str
) -> None:
    assert format_metadata(text) == told


def test_a_stage_that_is_not_there_is_named() -> None:
    capture, report = sample("softmax-mi300x")
    with pytest.raises(ArtifactError, match="no ptx in this capture"):
        list_stage(CaptureCode(capture), "ptx", report)


@pytest.mark.parametrize("name", [name for name in NAMES if not name.endswith("mi300x")])
def test_live_registers_of_ptx_are_the_pressures(name: str) -> None:
    capture, report = sample(name)
    assert report.pressure.ptx is not None
    (kernel,) = ptx.parse(capture.stages["ptx"].text()).kernels
    expected: dict[int, int] = {}
    for each, live in zip(kernel.instructions, report.pressure.ptx.curve, strict=True):
        expected[each.line] = max(live, expected.get(each.line, 0))
    for known in (report, msgspec.structs.replace(report, pressure=Pressure())):
        listing = list_stage(CaptureCode(capture), "ptx", known)
        found = {n: live for n, live in enumerate(listing.live, 1) if live >= 0}
        assert found == expected
        assert listing.peak == report.pressure.ptx.peak


@pytest.mark.parametrize("name", [name for name in NAMES if not name.endswith("mi300x")])
def test_live_registers_of_sass_are_nvdisasms(name: str) -> None:
    # sass_pressure is held against nvdisasm's own count in tests/analyze.
    capture, report = sample(name)
    (section,) = sass.parse(CaptureCode(capture)["sass"].text).sections
    counts = sass_pressure.analyze(section, sass_cfg.build(section)).curve
    listing = list_stage(CaptureCode(capture), "sass", report)
    lines = [each.line for each in section.instructions]
    assert [listing.live[line - 1] for line in lines] == list(counts)
    assert sum(live >= 0 for live in listing.live) == len(lines)
    assert (
        list_stage(CaptureCode(capture), "sass", inspect(capture, Disassembly.REQUIRE)) == listing
    )


def test_live_registers_of_amdgcn_are_the_pressures() -> None:
    capture, report = sample("softmax-mi300x")
    assert report.pressure.amdgcn is not None
    listing = list_stage(CaptureCode(capture), "amdgcn", report)
    assert listing.peak == report.pressure.amdgcn.peak
    assert [live for live in listing.live if live >= 0] == list(report.pressure.amdgcn.curve)


@pytest.mark.parametrize("stage", ["ttir", "ttgir", "llir", "ptx", "sass"])
def test_the_loop_is_found_at_every_stage(stage: str) -> None:
    listing = sample_stage("softmax-h100", stage)
    (loop,) = listing.loops
    assert loop.depth == 1
    assert str(loop.source) == "softmax.py:48"
    inside = listing.chain[loop.first - 1 : loop.last]
    outside = listing.chain[: loop.first - 1] + listing.chain[loop.last :]

    def python(numbers: list[int]) -> set[int]:
        return {listing.chains[number][-1].line for number in numbers if number >= 0}

    exponential, store = 51, 54
    assert {exponential, store} <= python(inside)
    assert not {exponential, store} & python(outside)


def test_loops_inside_stand_behind_the_ones_around() -> None:
    # ptxas and LLVM rotate this loop: a part of it stands before its header.
    loops = sample_stage("matmul-b200", "ptx").loops
    assert [loop.depth for loop in loops] == [1, 2, 1]
    assert loops[0].first < loops[1].first <= loops[1].last < loops[0].last < loops[2].first


def test_chains_keep_what_was_inlined() -> None:
    listing = sample_stage("softmax-h100", "ptx")
    inlined = [chain for chain in listing.chains if len(chain) > 1]
    assert inlined
    assert all(chain[-1].file == "softmax.py" for chain in inlined)


def test_the_text_alone_is_there_at_once() -> None:
    capture, _ = sample("softmax-h100")
    listing = list_stage(CaptureCode(capture), "ptx", None)
    assert listing.text == capture.stages["ptx"].text()
    assert (listing.live, listing.marks, listing.loops) == ([], [], [])
    is_sound(listing)


def test_a_broken_stage_is_text_with_a_problem() -> None:
    capture, report = sample("softmax-h100")
    broken = capture.stages["ptx"].text().replace("$L__BB0_3:", "")
    listing = list_stage(CaptureCode(_with(capture, "ptx", broken)), "ptx", report)
    assert listing.text == broken
    assert "branch to" in listing.problem
    is_sound(listing)


def test_another_kernels_stage_has_chains_all_the_same() -> None:
    capture, _ = sample("softmax-h100")
    text = capture.stages["ptx"].text()
    two = text + text[text.index(".visible") :].replace("softmax_kernel", "other")
    third = msgspec.structs.replace(_with(capture, "ptx", two), kernel="third")
    listing = list_stage(CaptureCode(third), "ptx", inspect(third))
    assert "third" in listing.problem
    assert listing.live == []
    assert any(number >= 0 for number in listing.chain)


def _with(capture: Capture, stage: str, text: str) -> Capture:
    made = Stage(stage, content=text.encode("utf-8", "surrogatepass"))
    return msgspec.structs.replace(capture, stages={**capture.stages, stage: made})


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(
    stage=st.sampled_from(["ttir", "ttgir", "llir", "ptx"]),
    cut=st.integers(0, 20_000),
    drop=st.integers(0, 3_000),
    put=st.sampled_from(["", "\r", "\x0b", "\u2028", "\n}\n", '"', "{", "/*", "label %1"]),
)
def test_no_text_makes_a_listing_fail(stage: str, cut: int, drop: int, put: str) -> None:
    text = CAPTURE.stages[stage].text()
    broken = text[:cut] + put + text[cut + drop :]
    is_sound(list_stage(CaptureCode(_with(CAPTURE, stage, broken)), stage, REPORT))


def test_a_stage_with_a_nul_is_refused() -> None:
    with pytest.raises(ArtifactError, match="line 1 of ttir holds a NUL"):
        list_stage(CaptureCode(_with(CAPTURE, "ttir", "\x00module {}")), "ttir", REPORT)


CAPTURE, REPORT = sample("softmax-h100")


def test_machine_code_that_cannot_be_followed_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """An instruction of a new architecture, whose registers are not known."""
    known = widths.widths
    monkeypatch.setattr(
        widths, "widths", lambda each: None if each.opcode == "S2R" else known(each)
    )
    is_sound(sample_stage("softmax-h100", "sass"))
