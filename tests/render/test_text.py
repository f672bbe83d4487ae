"""The text of what is rare: the samples' goldens show the rest."""

from pathlib import Path

import msgspec
import pytest

from irlens import figures
from irlens.model.memory import SharedBuffer
from irlens.model.pressure import Pressure, StagePressure
from irlens.model.report import Finding, Pipeline, Report
from irlens.model.resources import WarpGroup
from irlens.model.source import SourceLocation
from irlens.render import DETAILS, Options, render

SAMPLE = Path(__file__).parents[2] / "samples" / "reports" / "softmax-h100.json"
SOFTMAX = msgspec.json.decode(SAMPLE.read_bytes(), type=Report)
REASON = "which registers ATOMG.E.SOMETHING.NEW.AND.LONG.FTZ.RN.STRONG.GPU at 0x02e0 uses"
IN_PLACE = Pipeline(
    stage="amdgcn",
    loop=".LBB0_1",
    line=7,
    source=None,
    kind=None,
    requested_stages=None,
    achieved_stages=1,
    prefetch_iterations=0,
    groups_before_loop=None,
    groups_per_iteration=None,
    outstanding_at_wait=None,
    outstanding_after_wait=None,
    groups_during_compute=0,
    copies_per_iteration=None,
    bytes_per_copy=None,
    bytes_per_iteration=None,
    bytes_in_flight=None,
    verdict="not pipelined",
    reason="each load is waited for and used in the iteration that issues it, and so on and on",
)


def shown(report: Report) -> str:
    return render(
        "text", "reports", [report], Options(width=80, color=False, details=frozenset(DETAILS))
    )


def test_loads_that_nothing_moves_ahead_have_no_mechanism() -> None:
    lines = shown(msgspec.structs.replace(SOFTMAX, pipelines=[IN_PLACE])).splitlines()
    assert "Pipeline    1 stage · loads at amdgcn:7 · 0 iterations ahead" in lines
    assert max(map(len, lines)) <= 80


def test_the_depths_of_several_loops_are_numbers() -> None:
    deeper = msgspec.structs.replace(IN_PLACE, achieved_stages=2, line=9)
    loops = [msgspec.structs.replace(each, kind="wgmma") for each in (IN_PLACE, deeper)]
    one = msgspec.structs.replace(SOFTMAX, pipelines=loops)
    other = msgspec.structs.replace(one, config=msgspec.structs.replace(one.config, num_warps=16))
    told = " ".join(render("text", "reports", [one, other], Options(color=False)).split())
    assert "stages, wgmma 1, 2 " in told


def test_warps_that_do_other_things_are_told_with_what_they_hold() -> None:
    groups = [
        WarpGroup(name="default", num_warps=4, registers=232),
        WarpGroup(name="partition0", num_warps=1, registers=None),
    ]
    ring = msgspec.structs.replace(
        IN_PLACE, kind="tma", achieved_stages=None, prefetch_iterations=None,
        groups_during_compute=None, bytes_per_iteration=32_768, warp_group="partition0",
        stages_at_most=4, verdict="pipelined",
    )  # fmt: skip
    asked = msgspec.structs.replace(ring, requested_stages=4)
    report = msgspec.structs.replace(SOFTMAX, warp_groups=groups, pipelines=[ring, asked])
    lines = shown(report).splitlines()
    told = lines.index("Warps       default 4 warps, 232 registers · partition0 1 warp")
    assert lines[told - 1].startswith(("Shared", " "))
    assert "Pipeline    up to 4 stages ✓ · tma at amdgcn:7 · run by partition0" in lines
    assert "Pipeline    up to 4 of 4 stages ✓ · tma at amdgcn:7 · run by partition0" in lines
    markdown = render("markdown", "reports", [report], Options())
    assert "| default 4 warps, 232 registers | partition0 1 warp |" in markdown
    assert "| up to 4 of 4 stages ✓ | tma at `amdgcn:7`, run by partition0 |" in markdown
    page = render("html", "reports", [report], Options())
    assert "default 4 warps, 232 registers" in page
    assert "<b>up to 4 of 4 stages ✓</b>" in page


def test_that_threads_share_what_they_load_is_told() -> None:
    """One load of 4 bytes for each of 64 numbers, by 256 lanes."""
    row = msgspec.structs.replace(
        IN_PLACE, kind="register", copies_per_iteration=1, bytes_per_copy=4,
        bytes_per_iteration=256, bytes_repeated=768,
    )  # fmt: skip
    told = "256 B per CTA and iteration"
    for repeated in (768, 0, None):
        pipeline = msgspec.structs.replace(row, bytes_repeated=repeated)
        report = msgspec.structs.replace(SOFTMAX, pipelines=[pipeline])
        for form in ("text", "markdown", "html"):
            text = render(form, "reports", [report], Options(width=100))
            assert told in text
            assert (f"{told}, data shared by threads counted once" in text) == bool(repeated), form


def test_one_stage_that_was_asked_for_is_no_failure() -> None:
    asked = msgspec.structs.replace(IN_PLACE, requested_stages=1)
    lines = shown(msgspec.structs.replace(SOFTMAX, pipelines=[asked])).splitlines()
    assert "Pipeline    1 of 1 stage · loads at amdgcn:7 · 0 iterations ahead" in lines


def test_a_grid_that_hardly_fills_the_gpu_is_not_rounded_to_none() -> None:
    assert SOFTMAX.occupancy is not None
    tiny = msgspec.structs.replace(SOFTMAX.occupancy, waves=1 / 1056, tail=1 / 1056)
    page = shown(msgspec.structs.replace(SOFTMAX, occupancy=tiny))
    assert "less than 0.01 waves" in page


def test_a_grid_of_one_wave_is_what_each_sm_holds_times_the_sms() -> None:
    assert SOFTMAX.occupancy is not None
    assert "1.00 waves · 1,056 CTAs = 132 SMs × 8" in shown(SOFTMAX)
    less = msgspec.structs.replace(SOFTMAX.occupancy, waves=1055 / 1056, tail=1055 / 1056)
    page = shown(msgspec.structs.replace(SOFTMAX, occupancy=less))
    assert "1.00 waves · last wave 99.9 % full" in page


def test_an_unknown_pressure_has_its_reason_and_no_empty_table() -> None:
    unknown = StagePressure(peak=None, line=None, source=None, reason=REASON)
    page = shown(msgspec.structs.replace(SOFTMAX, pressure=Pressure(sass=unknown)))
    assert "sass unknown: which registers" in " ".join(page.split())
    assert "instr." not in page
    assert max(map(len, page.splitlines())) <= 80


def test_a_new_column_of_a_list_has_a_value_for_each_of_its_records(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    new = (
        figures.Figure(
            path="pipelines[].groups_during_compute", title="groups", unit="count", column=6,
            documentation="",
        ),
        figures.Figure(
            path="loads[].buffer_copies", title="copies", unit="count", column=7, documentation="",
        ),
    )  # fmt: skip
    monkeypatch.setattr(figures, "COLUMNS", (*figures.COLUMNS, *new))
    looped = msgspec.structs.replace(SOFTMAX, pipelines=[IN_PLACE, IN_PLACE], loads=[])
    lines = render(
        "text", "reports", [looped, looped], Options(width=200, color=False)
    ).splitlines()
    (shared,) = (line for line in lines if line.startswith("all 2:"))
    assert "groups 0 0" in shared
    assert "copies –" in shared
    deeper = msgspec.structs.replace(IN_PLACE, groups_during_compute=3)
    other = msgspec.structs.replace(looped, pipelines=[IN_PLACE, deeper])
    lines = render("text", "reports", [looped, other], Options(width=200)).splitlines()
    values = {line.split("  ")[0]: line.split()[1:] for line in lines}
    assert values["groups"] == ["0", "0", "0", "3"]


def test_configurations_are_columns_of_one_table() -> None:
    """A column each, in as many tables as the width needs, and every finding once."""
    configs = [
        msgspec.structs.replace(
            SOFTMAX.config, num_stages=stages, num_warps=warps, constexprs={"BLOCK_SIZE": 1024}
        )
        for stages in (2, 3, 4)
        for warps in (4, 8)
    ]
    several = [msgspec.structs.replace(SOFTMAX, config=config) for config in configs]
    wide = render("text", "reports", several, Options(width=120))
    assert "softmax_kernel: 6 configurations   sm_90 (h100)   BLOCK_SIZE 1024" in wide
    rows = {line.split("  ")[0]: line.split() for line in wide.splitlines()}
    assert rows["num_stages"][1:] == ["2", "2", "3", "3", "4", "4"]
    assert rows["num_warps"][1:] == ["4", "8"] * 3
    assert "stages, cp.async 4 of 4" in wide, "said once"
    assert "stages, cp.async" not in rows
    assert "Pipeline" not in wide
    assert len(wide.splitlines()) < 40
    narrow = render("text", "reports", several, Options(width=60))
    lines = [line for line in narrow.splitlines() if "irlens inspect" not in line]
    assert max(map(len, lines)) <= 60
    assert narrow.count("\nnum_stages") == 2
    everything = Options(width=120, details=frozenset({"pipelines"}))
    assert "Pipeline" in render("text", "reports", several, everything)


def test_a_stage_that_nobody_asked_for_has_no_question_mark() -> None:
    several = [SOFTMAX, msgspec.structs.replace(SOFTMAX, kernel="other", pipelines=[IN_PLACE])]
    page = render("text", "reports", several, Options(width=120))
    assert "?" not in page
    assert "4/4" in page


def test_prose_is_not_as_wide_as_the_terminal() -> None:
    finding = Finding(
        code="IRL202", severity="note", message="word " * 60, hint="", stage=None, line=None,
        source=None,
    )  # fmt: skip
    page = render(
        "text", "reports", [msgspec.structs.replace(SOFTMAX, findings=[finding])],
        Options(width=250),
    )  # fmt: skip
    assert max(len(line) for line in page.splitlines() if "word" in line) <= 120
    assert max(map(len, page.splitlines())) > 140


def test_equal_buffers_are_one_term() -> None:
    """Warps that hand data on have rings of barriers at one place, which says nothing ten times."""
    memory = SOFTMAX.memory
    assert memory is not None
    ring = SharedBuffer(
        line=1, source=SourceLocation("k.py", 3), purpose="barrier", shape=(3, 1), element="i64",
        copies=3, bytes=24, last_line=9, at_peak=True,
    )  # fmt: skip
    tile = msgspec.structs.replace(ring, purpose="data", shape=(64, 64), element="f16", copies=1)
    tile = msgspec.structs.replace(tile, bytes=8192)
    held = msgspec.structs.replace(
        memory, buffers=[ring, ring, tile, ring], peak_bytes=8264, remainder_bytes=0
    )
    report = msgspec.structs.replace(SOFTMAX, memory=held)
    text = " ".join(render("text", "reports", [report], Options(width=80, color=False)).split())
    assert "= 3 × 3 × 8 B barriers at k.py:3 + 8,192 B f16[64, 64] at k.py:3" in text
