"""Conversions and bank conflicts in a report, from hand-made records."""

import msgspec
import pytest

from irlens.model.conversions import Conversion, Price, SharedAccesses, Way
from irlens.model.estimate import TimeEstimate
from irlens.model.report import Report
from irlens.model.source import SourceLocation
from irlens.render.view.conversions import conversions_fact, conversions_section
from irlens.render.view.nodes import Sentence, Table, plain
from tests.tui.conftest import load_report


def report(conversions: list[Conversion], accesses: list[SharedAccesses] | None = None) -> Report:
    time = TimeEstimate(estimate_us=100.0, bound="dram", parts={"dram": 90.0, "shared": 31.0})
    return msgspec.structs.replace(
        load_report("softmax-h100"),
        conversions=conversions,
        shared_accesses=accesses or [],
        time=time,
    )


def conversion(
    line: int, us: float, saved: float | None, depth: int = 1, through: Way = "shared memory"
) -> Conversion:
    return Conversion(
        line=7, source=SourceLocation("k.py", line), used_by="tt.dot", depth=depth, runs=32.0,
        type="64x64xf16", bytes=8192, before="#ttg.blocked<{}>", after="#ttg.nvidia_mma<{}>",
        before_kind="blocked 1×8", after_kind="nvidia_mma", through=through,
        price=Price(requests=10, wavefronts=20, conflicts=0, us=us, saved_us=saved),
    )  # fmt: skip


def said(subject: Report) -> str:
    fact = conversions_fact(subject)
    assert fact is not None
    lines = [" · ".join(plain(item) for item in line.items) for line in fact.lines]
    return "\n".join([plain(fact.value), *lines])


def test_what_is_hidden_is_said_to_be() -> None:
    assert said(report([conversion(12, 8.0, 0.4)])) == (
        "1 conversion between layouts in loops: 8.00 µs of shared memory's 31.0 µs,"
        " hidden under DRAM\n"
        "k.py:12 · 64x64xf16 × 32 · blocked 1×8 → nvidia_mma · through shared memory · 8.00 µs"
    )


def test_what_is_not_hidden_has_its_price() -> None:
    first, _ = said(report([conversion(12, 8.0, 6.0)])).splitlines()
    assert first.endswith("8.00 µs of shared memory's 31.0 µs; without them about 6.00 µs less")


def test_where_no_saving_is_known_none_is_claimed() -> None:
    first, _ = said(report([conversion(12, 8.0, None)])).splitlines()
    assert first.endswith("8.00 µs of shared memory's 31.0 µs")


def test_more_than_three_are_counted() -> None:
    *_, last = said(report([conversion(n, 1.0, 0.0) for n in range(5)])).splitlines()
    assert last == "2 more: --memory"


@pytest.mark.parametrize(
    "silent",
    [conversion(12, 8.0, None, depth=0), conversion(12, 0.0, None, through="registers")],
)
def test_the_short_form_leaves_out_what_cannot_or_need_not_change(silent: Conversion) -> None:
    assert conversions_fact(report([silent])) is None
    section = conversions_section(report([silent]))
    assert section is not None
    assert section.detail == "memory"


def test_conflicts_that_take_a_share_of_the_time_are_listed() -> None:
    source = SourceLocation("k.py", 9)
    few, many = (
        SharedAccesses(
            source=source, kind="store", runs=32.0, instructions=4,
            price=Price(requests=100, wavefronts=800, conflicts=700, us=us),
        )
        for us in (0.4, 8.0)
    )  # fmt: skip
    assert conversions_fact(report([], [few])) is None
    assert said(report([], [many])) == (
        "1 line with bank conflicts\n"
        "k.py:9 · store with bank conflicts · 8.0 wavefronts a request, 7.0 of them by conflicts"
        " · 7.00 µs of shared memory's 31.0 µs"
    )


def test_what_not_every_warp_runs_is_not_rounded_to_nothing() -> None:
    """A quarter of the warps: 0 runs, or 0.77 wavefronts of one request, exist nowhere."""
    barrier = SharedAccesses(
        source=SourceLocation("k.py", 9), kind="store", runs=0.25, instructions=10,
        price=Price(requests=100, wavefronts=77, conflicts=0, us=0.1),
    )  # fmt: skip
    section = conversions_section(report([], [barrier]))
    assert section is not None
    (table,) = (each for each in section.children if isinstance(each, Table))
    cells = [cell for cell in table.rows[0].cells[3:5] if isinstance(cell, tuple)]
    assert [plain(cell) for cell in cells] == ["<1", "<1"]


def test_accesses_of_unknown_addresses_cost_at_least_so_much() -> None:
    """A `tl.gather` reads where data say: each lane may meet another's bank."""
    gather = SharedAccesses(
        source=SourceLocation("k.py", 9), kind="load", runs=1.0, instructions=8, unknown=8,
        price=Price(requests=100, wavefronts=100, conflicts=0, us=0.517),
    )  # fmt: skip
    section = conversions_section(report([], [gather]))
    assert section is not None
    (table,) = (each for each in section.children if isinstance(each, Table))
    cells = [cell for cell in table.rows[0].cells[4:] if isinstance(cell, tuple)]
    told = ["≥ 1.00", "≥ 0", "≥ 0.517 µs", "addresses of 8 unknown"]
    assert [plain(cell) for cell in cells] == told


@pytest.mark.parametrize(
    ("name", "told"), [("matmul_tma-h100", True), ("specialized-h100-4", False)]
)
def test_wgmma_of_other_ctas_leaves_the_wavefronts_of_a_launch_open(name: str, told: bool) -> None:
    access = SharedAccesses(
        source=SourceLocation("k.py", 3), kind="load", runs=1.0, instructions=1,
        price=Price(requests=10, wavefronts=20, conflicts=0, us=1.0),
    )  # fmt: skip
    subject = msgspec.structs.replace(load_report(name), shared_accesses=[access])
    section = conversions_section(subject)
    assert section is not None
    sentences = [str(each) for each in section.children if isinstance(each, Sentence)]
    assert any("wgmma of other CTAs" in each for each in sentences) == told


@pytest.mark.parametrize(
    ("used_by", "is_product", "depth", "told"),
    [
        ("tt.atomic_rmw", True, 1, True),
        ("tt.store", True, 2, True),
        ("tt.store", True, 0, False),
        ("tt.store", False, 1, False),
        ("tt.dot", True, 1, False),
    ],
)
def test_results_that_go_to_memory_are_said_to_need_it(
    used_by: str, is_product: bool, depth: int, told: bool
) -> None:
    each = conversion(12, 8.0, 0.4, depth)
    each = msgspec.structs.replace(each, used_by=used_by, is_product=is_product)
    section = conversions_section(report([each]))
    assert section is not None
    texts = [str(one) for one in section.children if isinstance(one, Sentence)]
    assert any("a tensor descriptor needs none of it" in text for text in texts) == told
