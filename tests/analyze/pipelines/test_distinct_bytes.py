"""Bytes that several lanes load."""

import re
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path

import pytest

from irlens import gpus as arch
from irlens.analyze.pipelines.distinct_bytes import (
    Read,
    SourceLoad,
    Traffic,
    find_traffic,
    largest,
    share,
    source_bytes,
    total,
)
from irlens.compiler import Request, capture
from irlens.model.memory import LoopLoad
from irlens.model.report import Report
from irlens.model.source import SourceLocation
from irlens.model.terms import Terms
from irlens.report import inspect
from irlens.report.inspection import Inspection

TILE, SCALE = ("k.py", 7), ("k.py", 8)
KERNELS = Path(__file__).parents[2] / "data" / "findings"


def read(loop_line: int, loop: SourceLocation, place: SourceLocation, size: int | None) -> LoopLoad:
    return LoopLoad(
        operation="tt.load", line=9, source=place, loop_line=loop_line, loop_source=loop,
        state="registers", iterations_ahead=2, shape=(64,), element="f32", bytes_per_iteration=size,
        widest_access_bytes=16, buffer_line=None, buffer_copies=None, reason="",
    )  # fmt: skip


def traffic(
    reads: Mapping[int, Read],
    *,
    copies: int = 1,
    **of_source: SourceLoad,
) -> Traffic:
    """What 64 lanes load at TILE and SCALE."""
    named = {"tile": TILE, "scale": SCALE}
    loads = {named[name]: load for name, load in of_source.items()}
    return find_traffic(reads, threads=64, copies=copies, of_source=loads)


def test_what_lanes_share_is_counted_once() -> None:
    """64 lanes load a tile of 1,024 bytes, and each of them the one of 4 scales in its row."""
    found = traffic({0: (TILE, 16), 5: (SCALE, 4)}, tile=SourceLoad(1024), scale=SourceLoad(16))
    assert found.brought == {0: 1024, 5: 16}
    assert found.repeated == {0: 0, 5: 60 * 4}
    assert found.times is None


def test_an_unrolled_loop_is_judged_by_its_iterations() -> None:
    reads = {0: (TILE, 16), 1: (SCALE, 4), 2: (TILE, 16), 3: (SCALE, 4)}
    found = traffic(reads, copies=2, tile=SourceLoad(1024), scale=SourceLoad(16))
    assert found.brought == {0: 1024, 1: 16, 2: 1024, 3: 16}
    assert found.repeated == {0: 0, 1: 240, 2: 0, 3: 240}


def test_what_may_be_unrolled_is_left_as_it_is() -> None:
    """Twice as much of everything: two iterations, or two lanes for each element."""
    found = traffic({0: (TILE, 16), 1: (TILE, 16)}, tile=SourceLoad(1024, widest=16))
    assert found.brought == {0: 1024, 1: 1024}
    assert found.repeated == {0: None, 1: None}
    assert found.times == 2
    # What is loaded at another place does not make that any other number.
    scalar = traffic(
        {0: (TILE, 16), 1: (TILE, 16)}, tile=SourceLoad(1024, 16), scale=SourceLoad(4, 4)
    )
    assert scalar.times == 2


@pytest.mark.parametrize(
    ("width", "widest", "certain"),
    [
        (16, 16, True),  # what a thread has of the tile is at least that
        (8, 16, True),
        (16, 8, False),  # LLVM may have made one load of those of two iterations
        (16, None, False),
    ],
)
def test_one_load_that_is_not_too_wide_is_one_iteration(
    width: int, widest: int | None, certain: bool
) -> None:
    """Half as many elements as lanes could hold: the other half loads them again."""
    found = traffic({0: (TILE, width)}, tile=SourceLoad(32 * width, widest=widest))
    assert found.brought == {0: (32 if certain else 64) * width}
    assert found.repeated == {0: 32 * width if certain else None}
    assert found.times == (None if certain else 2)
    # It speaks for the loop: the other place has its two loads in that iteration.
    reads: dict[int, Read] = {0: (TILE, width), 1: (SCALE, 4), 2: (SCALE, 4)}
    both = traffic(reads, tile=SourceLoad(32 * width, widest=widest), scale=SourceLoad(128))
    assert both.repeated == ({0: 32 * width, 1: 192, 2: 192} if certain else dict.fromkeys(reads))


def test_what_is_loaded_elsewhere_too_is_not_claimed() -> None:
    """A place with a load that is not among these: 512 of its 1,536 bytes."""
    found = traffic({0: (TILE, 16)}, tile=SourceLoad(1536))
    assert found.brought == {0: 1024}
    assert found.repeated == {0: None}


def test_whoever_knows_the_iterations_says_so() -> None:
    reads: list[Read] = [(TILE, 16), (TILE, 16)]
    of_source = {TILE: SourceLoad(1024)}
    for copies, part in ((1, Fraction(1, 2)), (2, 1)):
        found = share(reads, threads=64, copies=copies, of_source=of_source, certain=True)
        assert (found.parts, found.times) == ({TILE: part}, None)


def test_a_loop_that_stands_there_twice() -> None:
    """As one in a function that is called twice does."""
    loop, tile, bias = (SourceLocation("k.py", line) for line in (6, 7, 8))
    once = [read(8, loop, tile, 1024), read(8, loop, tile, 512), read(8, loop, bias, 16)]
    again = [read(30, loop, tile, 1536), read(30, loop, bias, 32)]
    assert source_bytes(once) == {
        # How wide one of two is says nothing of the other.
        ("k.py", 6): {TILE: SourceLoad(1536), SCALE: SourceLoad(16, widest=16)}
    }
    assert source_bytes([*once, read(30, loop, tile, 1024), read(30, loop, tile, 512)]) == {
        ("k.py", 6): {TILE: SourceLoad(1536), SCALE: SourceLoad(None)}
    }
    assert source_bytes([*once, *again])["k.py", 6][SCALE] == SourceLoad(None)
    assert source_bytes([*once, read(8, loop, bias, None)]) == {
        ("k.py", 6): {TILE: SourceLoad(1536), SCALE: SourceLoad(None)}
    }


def test_a_place_where_one_width_is_not_known_is_not_known() -> None:
    reads: dict[int, Read] = {0: (TILE, 16), 1: (TILE, None), 2: (SCALE, 4)}
    found = traffic(reads, tile=SourceLoad(1024), scale=SourceLoad(16))
    for amounts in (found.brought, found.repeated):
        assert amounts[0] is None
        assert amounts[1] is None


def test_what_is_not_known_stays_unknown() -> None:
    reads: dict[int, Read] = {0: (TILE, 16), 1: (SCALE, None), 2: (None, 4)}
    nothing = find_traffic(reads, threads=None, copies=1, of_source={})
    assert nothing.brought == nothing.repeated == dict.fromkeys(reads)
    found = traffic(reads, tile=SourceLoad(None))
    assert found.brought == {0: 1024, 1: None, 2: 256}
    assert found.repeated == dict.fromkeys(reads)
    assert total([Fraction(1), None]) is None
    assert total([Fraction(1, 2), Fraction(1)]) is None
    assert total([Fraction(1, 2)] * 2) == 1
    assert largest([1, None]) is None
    assert largest([]) == 0


@pytest.mark.parametrize("target", ["mi300x", "h100"])
def test_a_row_that_several_threads_hold(target: str) -> None:
    """A bias of 64 floats is in every row of the layout: the source says how much that is."""
    gpu = arch.find(target)
    kernel = str(KERNELS / "loads.py:biased_dot")
    (found,) = capture(Request(kernel=kernel, target=gpu.target, settings={"STAGES": 3}))
    report = Inspection(found)
    pipeline = report.pipelines[0]
    amount = sum(load.bytes_per_iteration or 0 for load in report.loads)
    assert amount == 2 * 64 * 64 * 2 + 64 * 4
    assert pipeline.bytes_per_iteration == pipeline.bytes_in_flight == amount
    # Every copy of PTX counts its bytes; those of two iterations more stand before the loop.
    if (code := found.stages.get("ptx")) is not None:
        sizes = re.findall(r"cp\.async\.c[ag]\.shared\.global.*, (0x\w+|\d+), ", code.text())
        loaded = sum(int(size, 0) for size in sizes) * 128 // 3
    else:
        assert (pipeline.copies_per_iteration, pipeline.bytes_per_copy) == (8, 16)
        loaded = 8 * 16 * 256
    assert pipeline.bytes_repeated == loaded - amount > 0


def compiled(kernel: str, target: str) -> Report:
    gpu = arch.find(target)
    (found,) = capture(Request(kernel=str(KERNELS / f"sharing.py:{kernel}"), target=gpu.target))
    return inspect(found)


@pytest.mark.parametrize(
    ("kernel", "target", "threads"),
    [
        ("short_rows", "h100", 128),
        ("short_rows", "mi300x", 256),
        ("short_rows", "gfx1250", 128),
        ("carried_row", "h100", 128),
    ],
)
def test_a_row_that_is_shorter_than_the_cta_is_wide(kernel: str, target: str, threads: int) -> None:
    report = compiled(kernel, target)
    (load,), (pipeline,) = report.loads, report.pipelines
    assert load.bytes_per_iteration == pipeline.bytes_per_iteration == 64 * 4
    assert pipeline.copies_per_iteration == 1
    assert pipeline.bytes_per_copy == 4
    assert pipeline.bytes_repeated == threads * 4 - 64 * 4
    assert pipeline.prefetch_iterations
    words = Terms(report)
    per_cta, *others = words.traffic(pipeline)[1:]
    assert per_cta == (
        f"256 B per {words.cta} and iteration, data shared by {words.thread}s counted once"
    )
    assert not any("share" in phrase for phrase in others)


def test_amds_scalar_loads_are_left_out_and_that_is_said() -> None:
    report = compiled("scaled_dot", "mi300x")
    first, second, scale = (load.bytes_per_iteration or 0 for load in report.loads)
    assert (report.loads[2].shape, scale) == ((), 4)
    (pipeline,) = report.pipelines
    assert pipeline.bytes_per_iteration == first + second == 2 * 64 * 64 * 2
    assert pipeline.bytes_repeated == 0
    assert pipeline.reason.endswith("; 4 B per iteration of scalar loads are not counted")
    assert "share" not in " ".join(Terms(report).traffic(pipeline))


def test_a_number_that_all_lanes_load_counts_once() -> None:
    """What the loop stores may be where the numbers are, and so scalar loads cannot read them."""
    report = compiled("chosen_rows", "mi300x")
    (pipeline,) = report.pipelines
    assert pipeline.bytes_per_iteration == 4 + 1024 * 4
    assert pipeline.bytes_repeated == 255 * 4
    assert "scalar" not in pipeline.reason
