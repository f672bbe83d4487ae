"""Traffic of Gluon kernels, which have no ttir: held against what the kernels plainly access."""

from math import ceil
from pathlib import Path

import pytest

import irlens
from irlens.compiler import Request, capture
from irlens.gpus import find
from irlens.model.report import Report
from irlens.render.view.nodes import Headline
from irlens.render.view.verdict import verdict
from irlens.report import inspect

DATA = Path(__file__).parents[1] / "data" / "gluon"
N, BLOCK = 100_000, 1024


def report_of(kernel: str, target: str) -> Report:
    (found,) = capture(Request(kernel=str(DATA / kernel), target=find(target).target))
    return inspect(found)


@pytest.mark.parametrize(
    ("kernel", "target", "granule", "lanes"),
    [
        ("masked_copies", "h100", 32, 32),
        ("buffers", "mi300x", 128, 64),
        ("buffers_to_lds", "gfx950", 128, 64),
    ],
)
def test_masked_copies(kernel: str, target: str, granule: int, lanes: int) -> None:
    report = report_of(f"accesses.py:{kernel}", target)
    traffic = report.traffic
    assert traffic is not None
    assert traffic.reason == ""
    assert traffic.read_bytes == traffic.distinct_read_bytes == 4 * N
    assert traffic.written_bytes == traffic.distinct_written_bytes == 4 * N
    assert traffic.load_sectors == traffic.store_sectors == 4 * N // granule
    # 16 bytes a lane, and the last program's warps in part.
    assert traffic.load_requests == traffic.store_requests == ceil(N / (4 * lanes))
    load, store = traffic.accesses
    assert (load.direction, store.direction) == ("load", "store")
    assert load.masked == store.masked == ceil(N / BLOCK) * BLOCK - N
    assert "moves the minimum" in _told(verdict(report))


def test_strided_lanes_take_a_sector_each() -> None:
    report = report_of("accesses.py:strided", "h100")
    traffic = report.traffic
    assert traffic is not None
    assert traffic.load_sectors == 32 * (traffic.load_requests or 0) == 1 << 20
    (finding,) = (each for each in report.findings if each.code == "IRL302")
    assert finding.stage == "ttgir"
    assert "neighbours in the tile are 4 elements apart" in finding.message


def test_bulk_copies_under_a_predicate() -> None:
    """Rows past the tensor's thousand are cut off; the copy is made for half of the columns."""
    traffic = report_of("accesses.py:bulk_copies", "h100").traffic
    assert traffic is not None
    assert traffic.read_bytes == 1000 * 256 * 2
    assert traffic.written_bytes == 1000 * 512 * 2
    assert traffic.load_requests == traffic.store_requests == 0


def test_gathered_rows() -> None:
    traffic = report_of("accesses.py:gather", "b200").traffic
    assert traffic is not None
    row = 64 * 2
    rows = {3 * number + program for program in range(4) for number in range(32)}
    assert traffic.read_bytes == 4 * 32 * row
    assert traffic.distinct_read_bytes == len(rows) * row
    assert traffic.written_bytes == 4 * 32 * row
    assert traffic.distinct_written_bytes == 32 * row


def test_a_descriptor_that_the_kernel_makes() -> None:
    traffic = report_of("accesses.py:described", "h100").traffic
    assert traffic is not None
    assert traffic.read_bytes == traffic.distinct_read_bytes == 1000 * 64 * 2
    assert traffic.written_bytes == 16 * 64 * 64 * 2


def test_what_partitions_do() -> None:
    """A loader copies the operands, and the kernel's own warps multiply and store."""
    report = report_of("specialized.py:matmul", "h100")
    traffic = report.traffic
    assert traffic is not None
    assert traffic.flops == traffic.tensor_flops == {"fp16": 2 * 4096**3}
    assert traffic.read_bytes == 2 * 32 * 4096 * 4096 * 2
    assert traffic.distinct_read_bytes == 2 * 4096 * 4096 * 2
    assert traffic.written_bytes == 4096 * 4096 * 2
    assert report.roofline is not None
    assert report.roofline.bound == "compute"


def test_rows_that_the_tma_gathers_and_scatters_make_no_requests_of_warps() -> None:
    report = inspect(irlens.capture(f"{DATA.parent / 'findings/rows.py'}:moved_rows", "b200"))
    assert report.traffic is not None
    _, gathered, scattered = report.traffic.accesses
    assert (gathered.requests, scattered.requests) == (0, 0)
    assert gathered.bytes == scattered.bytes == 4096 * 2048 * 2
    assert report.time is not None
    assert report.time.estimate_us is not None


def test_the_verdict_says_what_it_could_not_look_at() -> None:
    report = report_of("accesses.py:by_data", "h100")
    headline = verdict(report)
    assert headline.tone != "good"
    reason = (
        "accesses.py:75: the traffic depends on data in source"
        " (--arg 'source=int32[1024]:values[N]' or --arg source=@FILE.npy gives them)"
    )
    assert f"memory traffic unknown: {reason}" in _told(headline)
    assert report.time is not None
    assert reason in report.time.reason
    assert "between neighbouring and random addresses" in report.time.reason
    assert report.time.low_us is not None
    assert report.time.high_us is not None
    assert report.time.high_us / report.time.low_us > 2
    assert report.time.steps == []


def _told(headline: Headline) -> str:
    return " · ".join(each.text for each in headline.phrases)
