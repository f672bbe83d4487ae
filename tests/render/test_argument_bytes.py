"""Bars of what each argument's memory moves, from records made by hand."""

import msgspec
import pytest

from irlens.model.config import Target
from irlens.model.traffic import Access, ArgumentTraffic, Traffic
from irlens.render import Options, render
from irlens.render.view.memory_traffic import argument_bars
from irlens.render.view.nodes import Bars
from tests.render.test_memory_traffic import SOFTMAX

MB = 1_000_000


def access(argument: str, operation: str, amount: int, sectors: int | None = None) -> Access:
    return Access(
        line=1, source=None, operation=operation, argument=argument, bytes=amount,
        distinct_bytes=amount, masked=0, sectors=sectors,
    )  # fmt: skip


def argument(name: str, read: int, distinct: int, written: int = 0) -> ArgumentTraffic:
    return ArgumentTraffic(
        argument=name, read_bytes=read, distinct_read_bytes=distinct, written_bytes=written,
        distinct_written_bytes=written,
    )  # fmt: skip


def bars(traffic: Traffic, **changes: object) -> Bars:
    found = argument_bars(msgspec.structs.replace(SOFTMAX, traffic=traffic, **changes))
    assert found is not None
    return found


MATMUL = Traffic(
    arguments=[argument("a", 64 * MB, 2 * MB), argument("c", 0, 0, 4 * MB)],
    accesses=[
        access("a", "tt.load", 64 * MB, 64 * MB // 32),
        access("c", "tt.store", 4 * MB, 32 * MB // 32),
    ],
)


def test_a_bar_has_what_is_read_once_and_again() -> None:
    found = bars(MATMUL)
    read, _ = found.rows
    assert read.name == "a read"
    assert [(part.kind, part.amount) for part in read.parts] == [
        ("distinct", 2 * MB), ("again", 62 * MB), ("beside", 0),
    ]  # fmt: skip
    assert (read.words, read.label) == ("64.0 MB", "32.0 ×")
    assert found.axis.end == 64 * MB
    assert found.axis.title == "bytes (MB)"
    assert found.axis.ticks[1] == (20 * MB, "20")


def test_sectors_beside_the_bytes_that_are_asked_for() -> None:
    _, written = bars(MATMUL).rows
    assert written.name == "c written"
    assert [(part.kind, part.amount) for part in written.parts] == [
        ("written", 4 * MB), ("again", 0), ("beside", 28 * MB),
    ]  # fmt: skip
    assert "more in sectors" in written.described
    amd = Target(vendor="amd", arch="gfx942", warp_size=64, product="mi300x")
    _, written = bars(MATMUL, target=amd).rows
    assert written.amount == 4 * MB


def test_the_legend_has_what_occurs() -> None:
    assert [kind.key for kind in bars(MATMUL).kinds] == ["distinct", "written", "again", "beside"]
    plain = Traffic(arguments=[argument("x", 10, 10)], accesses=[access("x", "tt.load", 10)])
    assert [kind.key for kind in bars(plain).kinds] == ["distinct"]


def test_an_argument_that_is_read_and_written_has_two_bars() -> None:
    both = Traffic(
        arguments=[argument("lock", 40, 4, 40)], accesses=[access("lock", "tt.atomic_rmw", 40)]
    )
    assert [row.name for row in bars(both).rows] == ["lock read", "lock written"]


@pytest.mark.parametrize("traffic", [None, Traffic(reason="the grid is unknown"), Traffic()])
def test_without_bytes_there_is_no_chart(traffic: Traffic | None) -> None:
    assert argument_bars(msgspec.structs.replace(SOFTMAX, traffic=traffic)) is None


def test_every_format_shows_it() -> None:
    report = msgspec.structs.replace(SOFTMAX, traffic=MATMUL)
    page = render("html", "reports", [report], Options())
    assert "a: read 64.0 MB, distinct 2.00 MB" in page
    text = render("text", "reports", [report], Options(details=frozenset({"memory"})))
    line = next(each for each in text.splitlines() if each.strip().startswith("a read"))
    assert line.endswith("64.0 MB  32.0 ×")
    assert line.count("░") > 10 * line.count("█")
