"""The overview: panels and keys."""

import re
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.content import Content
from textual.widgets import Static

from irlens import figures
from irlens.model.capture import Disassembly
from irlens.model.estimate import BOUND_NAMES as UNITS
from irlens.model.report import OccupancyCurve, Pipeline, Report
from irlens.model.terms import Terms, describe_missing_time
from irlens.render.view.characters import bar, draw_curve, draw_staircase
from irlens.render.view.drawings import staircase
from irlens.render.view.findings import by_effect
from irlens.render.view.launch_time import describe_step, launch_time
from irlens.render.view.nodes import Curve, plain
from irlens.render.view.timeline import timeline
from irlens.render.view.verdict import verdict
from irlens.session.interactive import Workbench
from irlens.tui.app import IrlensApp
from irlens.tui.drawing import drawn
from irlens.tui.panels import Panels, occupancy
from irlens.tui.screens.finding import FindingDialog
from irlens.tui.screens.inspector import InspectorScreen
from irlens.tui.screens.overview import Findings
from irlens.tui.screens.overview import OverviewScreen as Overview
from irlens.tui.widgets import Panel
from irlens.tui.widgets.what_if import WhatIf
from tests.tui.conftest import NAMES, FakeWorkbench, load_report
from tests.tui.opening import opened, screen_text
from tests.tui.waiting import settle, until

SIZE = (120, 60)
FIGURE = re.compile(r"\d[\d,.]*")
REPORTS = Path(__file__).parents[2] / "samples" / "reports"


def report_of(name: str) -> Report:
    return msgspec.json.decode((REPORTS / f"{name}.json").read_bytes(), type=Report)


def facts(report: Report, width: int) -> Content:
    return Panels(report).kernel(width)


def memory(report: Report, width: int) -> Content:
    return Panels(report).memory(width)


def mix(report: Report, width: int) -> Content:
    return Panels(report).mix(width)


def pipelines(report: Report, width: int) -> Content:
    return Panels(report).pipelines(width)


def pressure(report: Report, width: int) -> Content:
    return Panels(report).pressure(width)


def time(report: Report, width: int) -> Content:
    return Panels(report).time(width)


def pipeline_timeline(pipeline: Pipeline, width: int) -> list[Content]:
    node = timeline(pipeline)
    rows = drawn([node], width) if node is not None else []
    return rows if len(rows) > 1 else []  # else the picture in words


def text(app: IrlensApp, panel: str) -> str:
    return str(app.screen.query_one(f"#{panel}", Panel).content)


@given(st.floats(0, 1), st.integers(1, 80))
def test_a_bar_has_its_width_and_shows_any_positive_share(share: float, width: int) -> None:
    drawn = bar(share, width)
    assert len(drawn) == width
    assert (drawn.strip() == "") == (share == 0)
    assert bar(1, width) == "█" * width


@given(
    st.lists(st.integers(0, 300), min_size=1, max_size=500),
    st.integers(1, 100),
    st.integers(1, 9),
)
def test_a_profile_has_its_highest_column_at_the_peak(
    values: list[int], width: int, height: int
) -> None:
    curve = Curve(
        described="", values=tuple(values), peak=max(values), level=None, level_name="",
        unit="live", over="instruction",
    )  # fmt: skip
    *drawn, mark = [plain(row) for row in draw_curve(curve, width, height)]
    assert len(drawn) == height
    assert len({len(row) for row in drawn}) == 1
    if max(values):
        assert drawn[0][mark.index("▲")] == "█"


def columns_of(row: str, sign: str) -> list[int]:
    return [at for at, character in enumerate(row) if character == sign]


@pytest.mark.parametrize("name", ["softmax-h100", "matmul-a100", "matmul_tma-h100"])
@pytest.mark.parametrize("width", [56, 76, 120])
def test_a_timeline_issues_each_copy_at_the_prefetch_distance(name: str, width: int) -> None:
    pipeline = report_of(name).pipelines[0]
    drawn = [str(row) for row in pipeline_timeline(pipeline, width)]
    ahead = pipeline.prefetch_iterations
    assert ahead is not None
    assert max(map(len, drawn)) <= width
    heads = next(row for row in drawn if row.startswith("iteration"))
    starts = [at for at in range(10, len(heads)) if heads[at].isdigit()]
    rows = [row for row in drawn if row.startswith("data ")]
    assert len(rows) == len(starts)
    for number, row in enumerate(rows):
        copied, used = row.index("●"), row.index("■")
        assert used == starts[number], "the data of an iteration is used in it"
        if number < ahead:
            assert copied < starts[0], "what the first iterations need is fetched before the loop"
        else:
            begin = starts[number - ahead]
            assert begin <= copied < starts[number - ahead + 1]


def test_a_timeline_of_products_begins_them_in_their_own_iteration() -> None:
    pipeline = report_of("matmul_tma-h100").pipelines[1]
    rows = [str(row) for row in pipeline_timeline(pipeline, 80) if "product " in str(row)]
    assert pipeline.kind == "wgmma"
    assert all(row.index("●") < row.index("■") for row in rows[:-1])


@given(st.integers(0, 12), st.integers(10, 200), st.sampled_from(["cp.async", "tma", "wgmma"]))
def test_a_timeline_never_leaves_its_width(ahead: int, width: int, kind: str) -> None:
    known = msgspec.to_builtins(report_of("softmax-h100").pipelines[0])
    changed = known | {"prefetch_iterations": ahead, "kind": kind, "outstanding_at_wait": ahead}
    pipeline = msgspec.convert(changed, Pipeline)
    room = max(width, len("● product issued  ━ in flight  ■ waited for"))
    drawn = pipeline_timeline(pipeline, width)
    assert all(row.cell_length <= room for row in drawn)
    phases = set(re.findall(r"\w+", str(drawn[0]))) if drawn else set()
    assert phases <= {"prologue", "steady", "state", "epilogue"}, "a word was cut"


def test_unknown_pipelines_are_not_drawn() -> None:
    unknown = report_of("softmax-t4").pipelines[0]
    assert pipeline_timeline(unknown, 100) == []


@pytest.mark.parametrize("width", [20, 36, 56, 76, 120])
@pytest.mark.parametrize("path", sorted(REPORTS.glob("*.json")), ids=lambda path: path.stem)
def test_every_sample_can_be_drawn_in_any_width(path: Path, width: int) -> None:
    report = report_of(path.stem)
    for draw in (time, pipelines, pressure, memory, mix, facts):
        assert str(draw(report, width)).strip()
    assert str(occupancy(report, report.occupancy, width)).strip()


def test_tensor_memory_is_shown_if_used() -> None:
    report = report_of("matmul-b200")
    known = {tuple(row.split()) for row in str(facts(report, 120)).split("\n")}
    assert {("TMEM", "cols", "64"), ("TMEM", "32,768", "B")} <= known
    path = "resources.tensor_memory_columns"
    unknown = msgspec.structs.replace(report, unknown={path: "for a reason"})
    rows = [row.rstrip() for row in str(facts(unknown, 120)).split("\n")]
    assert "TMEM cols      unknown · for a reason" in rows
    assert "Unknown        tensor memory columns · for a reason" in rows
    assert "TMEM" not in str(facts(report_of("softmax-h100"), 120))


def test_a_long_label_stays_apart_from_its_value(monkeypatch: pytest.MonkeyPatch) -> None:
    row = figures.Figure(
        path="resources.code_bytes", title="magic bytes", unit="bytes", fact=True, documentation="",
    )  # fmt: skip
    before = str(facts(report_of("softmax-h100"), 120)).split("\n")
    assert before[0].startswith("Compiled with ")
    monkeypatch.setattr(figures, "FIGURES", (*figures.FIGURES, row))
    rows = str(facts(report_of("softmax-h100"), 120)).split("\n")
    magic = next(row for row in rows if row.startswith("Magic bytes "))
    assert {row[:15].endswith("  ") and not row[15:].startswith(" ") for row in rows} == {True}
    assert len(magic) > len("Magic bytes ")


def test_a_memory_map_gives_every_buffer_room() -> None:
    report = report_of("matmul-b200")  # 16 bytes of barriers beside 24,576 of data
    strip = next(row for row in str(memory(report, 40)).split("\n") if row[0] == "█")
    assert strip == "█" + "▓" * 19 + "▒" * 20


def test_a_memory_map_gives_little_scratch_room() -> None:
    rows = str(memory(report_of("softmax-h100"), 60)).split("\n")  # 32 bytes of 12,320
    assert "█" * 59 + "░" in rows


def test_a_memory_map_distinguishes_neighbours() -> None:
    report = report_of("matmul_tma-h100")  # three buffers at the peak, one at another time
    rows = str(memory(report, 100)).split("\n")
    signs = [row[0] for row in rows[2:]]
    assert signs == ["█", "▓", "▒", " "]
    assert rows[-1].endswith("not alive at the peak")


def test_words_are_the_vendor_s() -> None:
    report = report_of("softmax-mi300x")
    assert Panels(report).memory_title == "LDS"
    assert Panels(report_of("softmax-h100")).memory_title == "Shared memory"
    told = "\n".join(
        str(panel)
        for panel in (
            occupancy(report, report.occupancy, 76),
            *(draw(report, 76) for draw in (time, facts, memory, mix, pipelines, pressure)),
        )
    )
    for word in ("warps", "CTA", "block", "shared", "thread", "SM", "B local", "tensor core"):
        assert not re.search(rf"(?<!num_)\b{word}\b", told), word


@pytest.mark.parametrize("width", [56, 76, 120])
def test_no_panel_is_wider_than_its_room(width: int) -> None:
    """A long argument, and which warps run what, were once cut off at the frame."""
    for report in (report_of(path.stem) for path in REPORTS.glob("*.json")):
        panels = [draw(report, width) for draw in (time, facts, memory, mix, pipelines, pressure)]
        panels.append(occupancy(report, report.occupancy, width))
        for row in (row for panel in panels for row in str(panel).split("\n")):
            assert len(row) <= width, (report.kernel, row)


@given(st.lists(st.integers(1, 400), min_size=1, max_size=6, unique=True), st.data())
def test_a_staircase_marks_the_blocks_of_the_exact_amount(
    cliffs: list[int], data: st.DataObject
) -> None:
    """A cliff between two columns once made the marked one that of its neighbour."""
    starts = sorted(cliffs)
    steps = [(start, len(starts) - number) for number, start in enumerate(starts)]
    at = data.draw(st.integers(starts[0], starts[-1] + 50))
    curve = OccupancyCurve(
        resource="registers", unit="registers/thread", at=at, last=starts[-1] + 50, steps=steps
    )
    words = Terms(report_of("softmax-h100"))
    node = staircase(curve, words, at=at)
    drawn = [plain(row) for row in draw_staircase(node, 40, len(steps))]
    admitted = next(blocks for start, blocks in reversed(steps) if start <= at)
    column = drawn[-1].index("▲")
    assert sum(row[column : column + 1] == "█" for row in drawn[1:-1]) == admitted


def test_a_staircase_without_any_fit_says_so() -> None:
    """What asks for more shared memory than there is fits with no number of registers."""
    curve = OccupancyCurve(
        resource="registers", unit="registers/thread", at=255, last=255, steps=[(1, 0)]
    )
    node = staircase(curve, Terms(report_of("softmax-h100")))
    (drawn,) = draw_staircase(node, 60, 3)
    assert plain(drawn) == "blocks/SM over registers/thread: 0 with any"


async def test_draws_a_report(bench: Workbench) -> None:
    async with opened(bench, "softmax-h100", size=SIZE) as (app, _):
        assert "100 %" in text(app, "occupancy")
        assert "64 of 64 warps" in text(app, "occupancy")
        assert "4 of 4 stages ✓" in text(app, "pipelines")
        assert "at most 24 live at softmax.py:53" in text(app, "pressure")
        verdict = str(app.screen.query_one("#verdict", Static).content)
        time = launch_time(load_report("softmax-h100"))
        assert time.endswith(", bound by L2 and DRAM")
        assert verdict.startswith(f"✓ {time} · ")
        words = "pipelined 4 of 4 stages · 100 % occupancy · no spills · moves the minimum, 33.6 MB"
        assert " ".join(verdict.replace("\n ", " ·").split()).endswith(words)
        assert "reads 16.8 MB = distinct 16.8 MB" in text(app, "traffic")
        assert "input_ptr read" in text(app, "traffic")
        assert "3 × 4,096 B f32[1024]" in text(app, "memory")
        assert "✓ none" in text(app, "findings")
        assert "num_warps 8" in text(app, "facts")


async def test_what_if_follows_the_arrows(bench: Workbench) -> None:
    async with opened(bench, "softmax-h100", size=SIZE) as (app, pilot):
        panel = app.screen.query_one(WhatIf)
        await pilot.press("w")
        assert panel.has_focus
        await pilot.press("right", "right", "right")
        assert panel.demand is not None
        assert panel.demand.registers == 33
        assert "100 % → 75 %" in text(app, "occupancy")
        assert "8 → 6 blocks/SM" in text(app, "occupancy")
        assert "+3" in text(app, "occupancy")
        await pilot.press("h")
        assert panel.demand.registers == 32
        await pilot.press("0")
        assert "→" not in text(app, "occupancy").replace("← →", "")


async def test_the_demand_stays_when_the_disassembly_arrives(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    report, go_on = bench.report, threading.Event()

    def slow(key: str, disassembly: Disassembly = Disassembly.SKIP) -> Report:
        found = report(key, disassembly)
        if disassembly is Disassembly.SKIP:
            return found
        go_on.wait(60)
        seen_there = msgspec.structs.replace(found.findings[0], code="IRL999")
        return msgspec.structs.replace(found, findings=[seen_there, *found.findings])

    monkeypatch.setattr(bench, "report", slow)
    app = IrlensApp(bench, entry="spill-h100")
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: "what if?" in text(app, "occupancy"))
        panel, findings = app.screen.query_one(WhatIf), app.screen.query_one(Findings)
        await pilot.press("w", "left", "f", "j")
        asked, chosen = panel.demand, findings.chosen
        assert asked is not None
        assert asked.registers == 127
        (priced,) = (each for each in report("spill-h100").findings if each.code == "IRL104")
        assert chosen == priced, "the second by its effect"
        go_on.set()
        await settle(pilot)
        assert "IRL999" in text(app, "findings")
        assert panel.demand == asked
        assert findings.chosen == chosen
        assert findings.has_focus


async def test_what_if_jumps_to_the_cliffs(bench: Workbench) -> None:
    async with opened(bench, "softmax-h100", size=SIZE) as (app, pilot):
        panel = app.screen.query_one(WhatIf)
        await pilot.press("w", "right_square_bracket")
        assert panel.demand is not None
        assert panel.demand.registers == 33, "33 registers are the first with fewer blocks"
        await pilot.press("left_square_bracket")
        assert panel.demand.registers == 32, "32 are the most with as many blocks"


async def test_what_if_changes_memory_and_warps(bench: Workbench) -> None:
    async with opened(bench, "softmax-h100", size=SIZE) as (app, pilot):
        panel = app.screen.query_one(WhatIf)
        await pilot.press("w", "down", "right")
        assert panel.demand is not None
        assert panel.demand.shared_bytes == 12544
        await pilot.press("shift+right", "L")
        assert panel.demand.shared_bytes == 20480
        await pilot.press("H", "left")
        assert panel.demand.shared_bytes == 16128
        await pilot.press("j", "l")
        assert panel.demand.num_warps == 16
        await pilot.press("h", "h")
        assert panel.demand.num_warps == 4
        await pilot.press("k", "0")
        assert panel.demand.num_warps == 8


async def test_what_if_shows_warps_added_by_the_compiler(
    bench: FakeWorkbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "specialized-h100-4"
    report = bench.reports[name] = report_of(name)
    monkeypatch.setattr(bench, "what_if", lambda *_, **__: report.occupancy)
    async with opened(bench, name, size=SIZE) as (app, _):
        told = text(app, "occupancy")
        assert "8 of 64 warps" in told
        assert "1 block/SM" in told
        assert re.search(r"warps/CTA +4 +\+ 4 added", told)


async def test_what_if_is_hidden_for_an_unknown_gpu(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "what_if", lambda *_, **__: None)
    async with opened(bench, "softmax-h100", size=SIZE) as (app, pilot):
        await pilot.press("w", "right", "left_square_bracket", "0")
        assert "what if" not in text(app, "occupancy")


@pytest.mark.parametrize("path", sorted(REPORTS.glob("*.json")), ids=lambda path: path.stem)
async def test_what_if_starts_with_a_resource_that_limits(bench: FakeWorkbench, path: Path) -> None:
    report = bench.reports[path.stem] = report_of(path.stem)
    async with opened(bench, path.stem, size=SIZE) as (app, pilot):
        row = app.screen.query_one(WhatIf).row
        assert report.occupancy is not None
        limiting = report.occupancy.limited_by
        assert ("registers", "shared_memory", "warps")[row] in limiting
        await pilot.press("w", "j")
        assert app.screen.query_one(WhatIf).row == min(row + 1, 2)


@pytest.mark.parametrize(
    ("limited_by", "steps", "row"),
    [
        (["warps", "registers"], [], 0),
        (["registers", "shared_memory"], ["shared_memory"], 1),
        (["warps", "shared_memory"], [], 1),
        (["blocks"], [], 2),
        (["barriers"], [], 0),
    ],
)
async def test_what_if_prefers_what_a_change_of_it_alone_would_raise(
    bench: FakeWorkbench, limited_by: list[str], steps: list[str], row: int
) -> None:
    known = msgspec.to_builtins(bench.reports["softmax-h100"])
    known["occupancy"]["limited_by"] = limited_by
    known["occupancy"]["next_step"] = [
        {"resource": each, "change": -1, "unit": "", "blocks_per_sm": 9, "theoretical": 1.0}
        for each in steps
    ]
    bench.reports["softmax-h100"] = msgspec.convert(known, Report)
    async with opened(bench, "softmax-h100", size=SIZE) as (app, _):
        assert app.screen.query_one(WhatIf).row == row


@pytest.mark.parametrize("path", sorted(REPORTS.glob("*.json")), ids=lambda path: path.stem)
async def test_the_first_screen_leads_with_verdict_time_and_findings(
    bench: FakeWorkbench, path: Path
) -> None:
    report = bench.reports[path.stem] = report_of(path.stem)
    time = report.time
    assert time is not None
    async with opened(bench, path.stem, size=(80, 24)) as (app, pilot):
        shown = screen_text(app)
        words = " ".join(re.sub(r"[│╭╮╰╯─]", " ", shown).split())
        assert verdict(report).phrases[0].text in words
        if time.estimate_us is None or time.bound is None:
            assert time.reason in words
        else:
            assert f"bound by {UNITS[time.bound]}" in words
            largest = max(time.parts, key=time.parts.__getitem__)
            assert re.search(rf"{UNITS[largest]} +\S+ [µm]s +\d+ % +█", shown)
        for step in time.steps[:1]:
            assert time.estimate_us is not None
            assert describe_step(step, time.estimate_us, Terms(report)) in words
        for finding in by_effect(report)[:1]:
            assert finding.code in words
            assert finding.message[:30] in words
        for width, height in ((120, 40), (220, 60)):
            await pilot.resize_terminal(width, height)
            await settle(pilot)
            panels = [app.screen.query_one(f"#{name}") for name in ("verdict", "time", "findings")]
            tops = [panel.region.y for panel in panels]
            assert tops == sorted(tops)
            assert all(panel.region.x < width // 2 for panel in panels)
            assert tops[-1] < height // 2


async def test_findings_come_by_what_they_cost(bench: FakeWorkbench) -> None:
    report = bench.reports["layer_norm-b200-3.7"] = report_of("layer_norm-b200-3.7")
    (costly,) = (msgspec.structs.replace(each, cause="registers") for each in report.findings)
    other = msgspec.structs.replace(costly, code="IRL999", cause=None, severity="warning")
    bench.reports["layer_norm-b200-3.7"] = msgspec.structs.replace(report, findings=[other, costly])
    async with opened(bench, "layer_norm-b200-3.7", size=(80, 40)) as (app, pilot):
        told = text(app, "findings")
        assert told.index(costly.code) < told.index("IRL999")
        assert "up to 31 % less time with 8 fewer registers/thread" in " ".join(told.split())
        await pilot.press("f", "j")
        assert app.screen.query_one(Findings).chosen == other


async def test_a_capture_without_a_launch_says_what_its_time_needs(bench: FakeWorkbench) -> None:
    known = msgspec.to_builtins(bench.reports["softmax-h100"])
    known["target"]["product"] = None
    known |= {"time": None, "traffic": None, "roofline": None}
    report = bench.reports["softmax-h100"] = msgspec.convert(known, Report)
    async with opened(bench, "softmax-h100", size=(80, 24)) as (app, _):
        told = " ".join(text(app, "time").split())
        assert told == describe_missing_time(report)
        assert "-t" in told


async def test_findings_are_explained(bench: Workbench) -> None:
    async with opened(bench, "spill-h100", size=SIZE) as (app, pilot):
        await pilot.press("f", "j")
        assert app.screen.query_one(Findings).has_focus
        await pilot.press("enter")
        await settle(pilot)
        assert isinstance(app.screen, FindingDialog)
        await pilot.press("j", "k", "G", "g", "escape")
        await pilot.pause()
        assert isinstance(app.screen, Overview)


async def test_a_finding_leads_to_its_code(bench: Workbench) -> None:
    async with opened(bench, "softmax-t4", size=SIZE) as (app, pilot):
        await pilot.press("f", "i")
        await settle(pilot)
        assert isinstance(app.screen, InspectorScreen)


async def test_views_are_changed_by_number(bench: Workbench) -> None:
    async with opened(bench, "softmax-h100", size=SIZE) as (app, pilot):
        await pilot.press("2")
        await settle(pilot)
        assert isinstance(app.screen, InspectorScreen)
        await pilot.press("1")
        await settle(pilot)
        assert isinstance(app.screen, Overview)


async def test_an_entry_that_is_gone_says_so(
    bench: Workbench, delete: Callable[[str], None]
) -> None:
    delete("softmax-h100")
    async with opened(bench, "softmax-h100", size=SIZE) as (app, pilot):
        problem = app.screen.query_one("#problem", Static)
        assert problem.display
        assert "cannot read softmax-h100: No such file" in str(problem.content)
        assert not app.screen.query_one("#overview").display
        await pilot.press("w", "f", "G", "j", "tab", "y", "c", "r")
        await settle(pilot)


@pytest.mark.parametrize("size", [(250, 40), (120, 40), (121, 40), (120, 48)])
async def test_is_laid_out_in_the_end_and_leaves_no_room(
    bench: Workbench, size: tuple[int, int]
) -> None:
    for key in NAMES:
        app = IrlensApp(bench, entry=key)
        async with app.run_test(size=size) as pilot:
            # A drawing may be lower in less room, where a scrollbar would come and go for ever.
            await settle(pilot)
            for name in ("left", "others"):
                column = app.screen.query_one(f"#{name}")
                panels = [panel for panel in column.query(Panel) if panel.display]
                ends = [panel.region.bottom - column.region.y for panel in panels]
                assert column.outer_size.height == max(ends)


@pytest.mark.parametrize("key", ["softmax-h100", "softmax-t4", "matmul-b200", "spill-h100"])
async def test_two_columns_end_as_near_to_each_other_as_the_mix_can_make_them(
    bench: Workbench, key: str
) -> None:
    async with opened(bench, key, size=SIZE) as (app, pilot):
        mixes = [app.screen.query_one(f"#{name}") for name in ("mix-left", "mix")]
        left, right = (app.screen.query_one(f"#{name}") for name in ("left", "others"))
        assert [mix.display for mix in mixes].count(True) == 1
        (shown,) = (mix for mix in mixes if mix.display)
        ends = left.outer_size.height, right.outer_size.height
        by = shown.outer_size.height * (1 if shown is mixes[1] else -1)
        assert max(ends) <= max(ends[0] + by, ends[1] - by)
        for width in (200, 80):
            await pilot.resize_terminal(width, 60)
            await settle(pilot)
            assert [mix.display for mix in mixes] == [False, True]


async def test_scrolls_and_goes_from_panel_to_panel(bench: Workbench) -> None:
    async with opened(bench, "softmax-h100", size=(80, 24)) as (app, pilot):
        overview = app.screen.query_one("#overview")
        await pilot.press("ctrl+d")
        await pilot.pause()
        assert overview.scroll_y == 12
        await pilot.press("ctrl+u", "G")
        await pilot.pause()
        assert overview.scroll_y == overview.max_scroll_y
        await pilot.press("g")
        await pilot.pause()
        assert overview.scroll_y == 0
        await pilot.press("tab")
        await pilot.pause()
        assert app.focused is not None
        assert app.focused.id == "findings"
        await pilot.press("w")
        assert app.focused.id == "occupancy"
        await pilot.press("y")
        assert app.clipboard.startswith("Occupancy   100 %")


def test_looks_as_it_did(bench: Workbench, snap_compare: Callable[..., bool]) -> None:
    for size in ((80, 24), (120, 40), (250, 60)):
        app = IrlensApp(bench, entry="matmul-b200")
        assert snap_compare(app, terminal_size=size, run_before=settle)
