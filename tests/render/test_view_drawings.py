"""Timelines, staircases, curves and strips, from hand-made records."""

import msgspec
import pytest

from irlens.model.memory import SharedBuffer, SharedMemory
from irlens.model.report import OccupancyCurve, Pipeline
from irlens.model.source import SourceLocation
from irlens.model.terms import VendorTerms
from irlens.render.view.characters import (
    cut,
    draw_curve,
    draw_staircase,
    draw_strip,
    draw_timeline,
)
from irlens.render.view.drawings import memory_strip, staircase
from irlens.render.view.nodes import Curve, Run, plain, text
from irlens.render.view.timeline import DEEPEST, timeline

COPIES = Pipeline(
    stage="ptx", loop="$L__BB0_2", line=125, source=SourceLocation("softmax.py", 48),
    kind="cp.async", requested_stages=4, achieved_stages=4, prefetch_iterations=3,
    groups_before_loop=3, groups_per_iteration=1, outstanding_at_wait=3,
    outstanding_after_wait=2, groups_during_compute=2, copies_per_iteration=1, bytes_per_copy=16,
    bytes_per_iteration=4096, bytes_in_flight=8192, verdict="pipelined", reason="",
)  # fmt: skip
CURVE = OccupancyCurve(
    resource="registers", unit="registers/thread", at=30, steps=[(1, 8), (33, 6), (41, 5)], last=255
)


def changed(**fields: object) -> Pipeline:
    return msgspec.structs.replace(COPIES, **fields)


def test_a_timeline_says_when_each_copy_is_issued_and_used() -> None:
    drawn = timeline(COPIES)
    assert drawn is not None
    assert [(each.name, each.start, each.end) for each in drawn.phases] == [
        ("prologue", -1, 0),
        ("steady state", 0, 3),
        ("epilogue", 3, 6),
    ]
    assert all(-1 < tile.issued < 0 for tile in drawn.tiles[:3])
    assert [tile.used for tile in drawn.tiles] == [0, 1, 2, 3, 4, 5]
    # Issued after the compute of the iteration three before: two groups fly during the compute.
    assert [round(tile.issued, 2) for tile in drawn.tiles[3:]] == [0.8, 1.8, 2.8]
    assert drawn.in_flight == 2


@pytest.mark.parametrize("figure", [{"outstanding_at_wait": 4}, {"groups_during_compute": 3}])
def test_a_copy_that_is_in_flight_during_the_compute_is_issued_before_it(
    figure: dict[str, int],
) -> None:
    drawn = timeline(changed(**figure))
    assert drawn is not None
    assert drawn.tiles[3].issued == 0


def test_a_copy_of_unknown_position_is_issued_in_the_middle() -> None:
    drawn = timeline(changed(outstanding_at_wait=None, groups_during_compute=None))
    assert drawn is not None
    assert (drawn.tiles[3].issued, drawn.in_flight) == (0.5, None)


def test_an_iteration_that_waits_for_its_own_copy_has_no_prologue() -> None:
    drawn = timeline(changed(prefetch_iterations=0, groups_during_compute=0))
    assert drawn is not None
    assert [phase.name for phase in drawn.phases] == ["steady state"]
    assert [(tile.issued, tile.used) for tile in drawn.tiles[:2]] == [(0, 0.5), (1, 1.5)]


@pytest.mark.parametrize("kind", ["wgmma", "tcgen05"])
def test_products_are_issued_in_their_own_iteration(kind: str) -> None:
    drawn = timeline(changed(kind=kind, prefetch_iterations=1))
    assert drawn is not None
    assert [(tile.name, tile.issued, tile.used) for tile in drawn.tiles[:2]] == [
        ("product 0", 0.5, 1),
        ("product 1", 1.5, 2),
    ]


@pytest.mark.parametrize(
    "figures",
    [
        {"prefetch_iterations": None},
        {"kind": None},
        {"prefetch_iterations": DEEPEST + 1},
    ],
)
def test_nothing_is_drawn_that_the_figures_do_not_determine(figures: dict[str, object]) -> None:
    assert timeline(changed(**figures)) is None


@pytest.mark.parametrize(
    ("kind", "kept"), [("register", "kept in registers"), ("direct-to-lds", "kept in LDS")]
)
def test_loads_of_amd_are_drawn_until_they_arrive_and_until_they_are_used(
    kind: str, kept: str
) -> None:
    loads = changed(
        kind=kind, verdict="shallower", prefetch_iterations=1, kept_iterations=2,
        outstanding_at_wait=1, groups_during_compute=1,
    )  # fmt: skip
    drawn = timeline(loads)
    assert drawn is not None
    assert drawn.kept == kept
    # Issued three iterations ahead, arrived one iteration later, and kept for two.
    assert [(t.issued, t.arrived, t.used) for t in drawn.tiles[3:5]] == [(0, 1, 3), (1, 2, 4)]
    for tile in drawn.tiles[:3]:
        assert tile.arrived is not None
        assert tile.issued < tile.arrived <= tile.used
    rows = [plain(row).rstrip() for row in draw_timeline(drawn, 60)]
    assert rows[5] == "data 3              ●━━━━━┄┄┄┄┄┄┄┄┄┄┄┄■■■■"
    assert "  ".join(rows[6:]).endswith(f"● load issued  ━ in flight  ┄ {kept}  ■ computed with")


def test_a_timeline_in_characters() -> None:
    drawn = timeline(changed(prefetch_iterations=1, groups_during_compute=1))
    assert drawn is not None
    rows = [plain(row).rstrip() for row in draw_timeline(drawn, 44)]
    assert rows == [
        "          prologue  steady state ──── ─────",
        "iteration           0     1     2     3",
        "data 0       ●━━━━━━■■■■",
        "data 1              ●━━━━━■■■■",
        "data 2                    ●━━━━━■■■■",
        "data 3                          ●━━━━━■■■■",
        "in flight           1     1     1 groups",
        "● copy issued  ━ in flight  ■ computed with",
    ]
    assert draw_timeline(drawn, 20) == [text(Run(cut(drawn.described, 20), "dim"))]


def test_a_staircase_tells_how_many_fit() -> None:
    stairs = staircase(CURVE, VendorTerms("nvidia"))
    assert (stairs.blocks, stairs.top, stairs.here) == (8, 8, "30 registers: 8 blocks")
    assert [stairs.blocks_with(amount) for amount in (1, 32, 33, 40, 41, 255)] == [8, 8, 6, 6, 5, 5]
    assert list(stairs.spans()) == [(1, 33, 8), (33, 41, 6), (41, 255, 5)]
    assert [plain(row.cells[0]) for row in stairs.numbers.rows] == [  # type: ignore[arg-type]
        "32 registers",
        "40 registers",
        "255 registers",
    ]
    assert staircase(CURVE, VendorTerms("amd"), at=36).here == "36 registers: 6 workgroups"


def test_a_staircase_in_characters_marks_the_kernel() -> None:
    rows = [plain(row) for row in draw_staircase(staircase(CURVE, VendorTerms(None)), 60, 2)]
    assert rows[0] == "blocks/SM over registers/thread"
    assert rows[1].startswith("  8 ███████")
    assert rows[-1].strip() == "▲ 30 registers/thread"


def test_a_curve_keeps_its_peak_when_it_is_thinned() -> None:
    curve = Curve("live", (1, 2, 9, 2, 1, 1), 9, None, "", "live", "instruction")
    assert curve.thinned(2) == [(2, 9), (3, 2)]
    rows = [plain(row) for row in draw_curve(curve, 20, 2)]
    assert rows[0].startswith("   9 ")
    assert rows[-1].index("▲") == 5 + 2


def test_shared_memory_is_cut_into_what_is_alive_at_the_peak() -> None:
    def buffer(size: int, *, at_peak: bool) -> SharedBuffer:
        return SharedBuffer(
            line=9, source=SourceLocation("a.py", 5), purpose="data", shape=(2, 8), element="f32",
            copies=2, bytes=size, last_line=12, at_peak=at_peak,
        )  # fmt: skip

    strip = memory_strip(
        SharedMemory(
            total_bytes=96, buffers=(buffer(64, at_peak=True), buffer(32, at_peak=False)),
            buffers_bytes=96, peak_bytes=64, peak_line=9, remainder_bytes=32, scratch=(), reason="",
        )
    )  # fmt: skip
    assert strip is not None
    assert [each.amount for each in strip.segments] == [64, 0, 32]
    rows = [plain(row) for row in draw_strip(strip, 12)]
    assert rows[0] == "████████░░░░"
    assert rows[1] == "██ 2 × 32 B f32[8] at a.py:5"
    assert rows[2].endswith("not alive at the peak")
    assert rows[3] == "░░ 32 B scratch and gaps"
