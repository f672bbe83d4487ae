"""Warp requests and sectors of single accesses; the counters of an H200 test whole launches."""

from collections import defaultdict
from typing import Any, Literal

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irlens.analyze.request_runs import Runs
from irlens.analyze.warp_requests import (
    Requests,
    WarpAccess,
    count,
    count_patterns,
    places_in_lines,
)
from irlens.isa.mlir.encoding_maps import linear_map
from irlens.isa.mlir.linear_maps import LinearMap


def _by_hand(access: WarpAccess, offsets: Any, mask: Any) -> Requests:
    """Count as the definition says: each warp, instruction and lane in turn."""
    layout = access.layout
    requests = sectors = dense = aligned = lines = wavefronts = 0
    owners: dict[tuple[int, ...], tuple[int, int]] = {}
    for warp in range(layout.warps):
        for begin in range(0, layout.registers, access.elements):
            bytes_ = defaultdict[int, set[int]](set)
            begins = dict[int, int]()
            for lane in range(layout.lanes):
                run = [layout.element(begin + n, lane, warp) for n in range(access.elements)]
                owner = owners.setdefault(run[0], (warp, lane))
                if mask[run[0]] and (access.direction == "load" or owner == (warp, lane)):
                    begun = int(offsets[run[0]])
                    reach = range(begun, begun + access.width)
                    # A copy to shared memory writes 128 bytes there at a time.
                    group = lane * access.width // 128 if access.direction == "copy" else 0
                    bytes_[group] |= set(reach)
                    begins[lane] = begun
            requests += bool(bytes_)
            found = len({byte // 128 for byte in set[int]().union(*bytes_.values())})
            lines += found
            wavefronts += _wavefronts(access, begins, found) if found else 0
            for together in bytes_.values():
                touched = len({byte // access.granule for byte in together})
                sectors += touched
                dense += -(-len(together) // access.granule)
                aligned += min(touched, sum(-(-n // access.granule) for n in _runs(together)))
    distinct = len(set(offsets[mask].tolist())) * access.element_bytes
    ideal = -(-distinct // access.granule)
    return Requests(requests, sectors, ideal, Runs(dense, aligned), lines, wavefronts)


def _wavefronts(access: WarpAccess, begins: dict[int, int], lines: int) -> int:
    """Words of 32 banks, to as many lanes at a time as take 128 bytes; four lines in a cycle."""
    together = min(32, 128 // max(4, access.width))
    if access.direction != "load" or access.granule != 32:
        return 32 // together
    by_banks = 0
    for first in range(0, 32, together):
        words = defaultdict[int, set[int]](set)
        for lane in range(first, first + together):
            if lane in begins:
                for byte in range(begins[lane], begins[lane] + access.width, 4):
                    words[byte // 4 % 32].add(byte // 4)
        by_banks += max(map(len, words.values()), default=0)
    return max(32 // together, by_banks, -(-lines // 4))


def _runs(bytes_: set[int]) -> list[int]:
    """Return the lengths of the runs of consecutive numbers."""
    lengths: list[int] = []
    for byte in sorted(bytes_):
        if byte - 1 in bytes_:
            lengths[-1] += 1
        else:
            lengths.append(1)
    return lengths


@pytest.mark.parametrize(("direction", "sectors"), [("load", 4), ("copy", 16)])
def test_copies_fetch_a_row_that_lanes_share_again(
    direction: Literal["load", "copy"], sectors: int
) -> None:
    """Eight rows of int4 weights are one row: an H100 counts 16 sectors for four of them."""
    rows = _blocked(4, [4, 8], [1, 1], [4, 32])
    offsets = np.broadcast_to(np.arange(32) * 4, (4, 32))
    found = count(WarpAccess(rows, direction, 4, 16), offsets)
    assert (found.requests, found.sectors, found.lines) == (1, sectors, 1)


@pytest.mark.parametrize(
    ("registers", "width", "addresses", "passes"),
    [
        (4, 4, 256, 64),
        (1, 4, 256, 16),
        (4, 16, 256, 16),
        (4, 4, 32, 64),
        (4, 4, 8, 64),
        (1, 4, 1, 128),
    ],
)
def test_updates_of_a_sector_are_taken_at_once_but_for_those_of_one_address(
    registers: int, width: int, addresses: int, passes: int
) -> None:
    """Of lanes four integers apart two share a sector; of few addresses several lanes share one."""
    layout = _blocked(registers, [1, 32], [1, 1], [1, 128])
    offsets = np.arange(128)[None] % addresses * 4
    assert count(WarpAccess(layout, "update", 4, width), offsets).wavefronts == passes


def test_an_access_whose_instructions_are_all_merged_makes_no_request() -> None:
    """As of rows that a kernel needs in two layouts: the loads of the first bring them."""
    access = WarpAccess(
        _blocked(1, [1, 32], [1, 1], [1, 64]), "load", 4, 4, merged=frozenset({0, 1})
    )
    assert count(access, np.arange(64)[None] * 4) == Requests(0, 0, 0)


def _without_starts(counted: Requests) -> Requests:
    runs = msgspec.structs.replace(counted.runs, starts=0)
    return msgspec.structs.replace(counted, runs=runs)


def _blocked(registers: int, lanes: list[int], warps: list[int], shape: list[int]) -> LinearMap:
    found = linear_map(
        f"#ttg.blocked<{{sizePerThread = [1, {registers}], threadsPerWarp = {lanes}, "
        f"warpsPerCTA = {warps}, order = [1, 0]}}>",
        shape,
    )
    assert isinstance(found, LinearMap)
    return found


@given(
    registers=st.sampled_from((1, 2, 4)),
    lanes=st.sampled_from(([1, 32], [4, 8], [16, 2])),
    warps=st.sampled_from(([1, 2], [4, 1])),
    shape=st.lists(st.sampled_from((4, 16, 64)), min_size=2, max_size=2),
    pitch=st.integers(16, 80),
    limits=st.lists(st.integers(0, 64), min_size=2, max_size=2),
    direction=st.sampled_from(("load", "store", "copy")),
)
@settings(deadline=None, max_examples=40)
def test_counts_are_those_of_the_definition(
    registers: int,
    lanes: list[int],
    warps: list[int],
    shape: list[int],
    pitch: int,
    limits: list[int],
    direction: Literal["load", "store", "copy"],
) -> None:
    layout = _blocked(registers, lanes, warps, shape)
    access = WarpAccess(layout, direction, 4, 4 * registers)
    pitch *= registers  # vectors are aligned, as the hardware requires
    limits[1] -= limits[1] % registers
    rows, columns = np.indices(shape)
    offsets = 4 * (rows * pitch + columns) + 64
    mask = (rows < limits[0]) & (columns < limits[1])
    expected = _by_hand(access, offsets, mask)
    assert _without_starts(count(access, offsets, mask)) == expected
    pattern = ((offsets - 64).reshape(-1), mask.reshape(-1))
    bases, kinds = np.array([64, 64 + 32 * 7]), np.zeros(2, np.int64)
    found = count_patterns(access, [pattern], places_in_lines(bases, kinds, access.period))
    assert _without_starts(found) == expected + _by_hand(access, offsets + 32 * 7, mask)
    twice = np.stack((offsets, offsets + 4 * registers))
    both = _by_hand(access, twice[1], mask)
    assert _without_starts(count(access, twice, mask)) == expected + both


def test_of_threads_that_hold_the_same_element_all_load_and_one_stores() -> None:
    """32 fp32 values in 4 warps, of which three hold copies."""
    layout = _blocked(1, [1, 32], [4, 1], [1, 32])
    offsets = np.arange(32).reshape(1, 32) * 4
    assert count(WarpAccess(layout, "load", 4, 4), offsets) == Requests(
        4, 16, 4, Runs(16, 16, 1), 4, 4
    )
    assert count(WarpAccess(layout, "store", 4, 4), offsets) == Requests(
        1, 4, 4, Runs(4, 4, 1), 1, 1
    )
    assert count(WarpAccess(layout, "copy", 4, 4), offsets) == Requests(
        1, 4, 4, Runs(4, 4, 1), 1, 1
    )


def test_a_scalar_is_a_request_and_a_sector_of_every_warp() -> None:
    scalar = LinearMap((), (), ((),) * 5, ((),) * 2, ())
    assert count(WarpAccess(scalar, "load", 4, 4), 12) == Requests(
        4, 4, 1, Runs(4, 4, 1 << 12), 4, 4
    )
    tiles = places_in_lines(np.array([12, 12 + 32]), np.zeros(2, np.int64), 128)
    element = (np.zeros(1, np.int64), None)
    load = WarpAccess(scalar, "load", 4, 4)
    assert count_patterns(load, [element], tiles) == Requests(8, 8, 2, Runs(8, 8, 1 << 12), 8, 8)
    assert count(WarpAccess(scalar, "store", 4, 4), 12) == Requests(1, 1, 1, Runs(1, 1, 1), 1, 1)


def test_every_cta_of_a_cluster_copies_what_they_share() -> None:
    found = linear_map(
        "#ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [1], "
        "order = [0], CGALayout = [[0]]}>",
        [32],
    )
    assert isinstance(found, LinearMap)
    offsets = np.arange(32) * 4
    counted = {
        direction: count(WarpAccess(found, direction, 4, 4), offsets).requests
        for direction in ("load", "store", "copy")
    }
    assert counted == {"load": 2, "store": 1, "copy": 2}


def test_fp32_of_a_layout_made_for_fp16_takes_twice_its_sectors() -> None:
    """Eight values a thread, 16 bytes of every 32 at a time."""
    found = linear_map(
        "#ttg.blocked<{sizePerThread = [8], threadsPerWarp = [32], warpsPerCTA = [1], "
        "order = [0]}>",
        [256],
    )
    assert isinstance(found, LinearMap)
    single = count(WarpAccess(found, "load", 4, 16), np.arange(256) * 4)
    assert single == Requests(2, 64, 32, Runs(32, 64, 1 | 1 << 16), 16, 16)
    half = count(WarpAccess(found, "load", 2, 16), np.arange(256) * 2)
    assert half == Requests(1, 16, 16, Runs(16, 16, 1), 4, 4)


@pytest.mark.parametrize(
    ("start", "sectors", "past", "lines"),
    [(0, 4, 0, 1), (4, 5, 4, 2), (28, 5, 28, 2), (64, 4, 0, 2)],
)
def test_a_run_off_a_boundary_takes_a_sector_more(
    start: int, sectors: int, past: int, lines: int
) -> None:
    access = WarpAccess(_blocked(1, [1, 32], [1, 1], [1, 32]), "load", 4, 4)
    offsets = (start + np.arange(32) * 4).reshape(1, 32)
    assert count(access, offsets) == Requests(1, sectors, 4, Runs(4, 4, 1 << past), lines, 1)


def test_short_runs_are_not_made_fewer_sectors_by_alignment() -> None:
    """Every fourth element: 32 runs, in 16 sectors wherever they start."""
    access = WarpAccess(_blocked(1, [1, 32], [1, 1], [1, 32]), "load", 4, 4)
    offsets = (4 + np.arange(32) * 16).reshape(1, 32)
    assert count(access, offsets) == Requests(1, 16, 4, Runs(4, 16, 1 << 4 | 1 << 20), 4, 4)


def test_an_instruction_that_cannot_be() -> None:
    layout = _blocked(2, [1, 32], [1, 1], [1, 64])
    with pytest.raises(ValueError, match="no thread holds 16 bytes"):
        WarpAccess(layout, "load", 4, 16)
    with pytest.raises(ValueError, match="3 bytes are not elements of 2"):
        WarpAccess(layout, "load", 2, 3)
    with pytest.raises(ValueError, match="not side by side"):
        count(WarpAccess(layout, "load", 4, 8), np.arange(64).reshape(1, 64) * 8)
    with pytest.raises(ValueError, match="tensors in an array of"):
        count(WarpAccess(layout, "load", 4, 4), np.arange(64))


def test_more_elements_than_registers_of_a_cluster_are_refused() -> None:
    layout = LinearMap((32,), ((0,),) * 12, tuple((1 << bit,) for bit in range(5)), ((0,),) * 6, ())
    with pytest.raises(ValueError, match="more elements than a cluster has registers for"):
        WarpAccess(layout, "load", 4, 4)


@pytest.mark.parametrize(
    ("width", "apart", "cycles"),
    # benchmarks/l1_requests.py on an H200, in whole cycles.
    [(4, 4, 1), (4, 8, 2), (4, 12, 1), (4, 16, 4), (4, 20, 2), (4, 24, 2), (4, 32, 8), (4, 48, 4),
     (4, 64, 16), (4, 96, 8), (4, 128, 32), (4, 132, 8), (8, 8, 2), (8, 16, 4), (8, 24, 2),
     (8, 48, 4), (8, 64, 16), (16, 16, 4), (16, 32, 8), (16, 48, 4), (16, 64, 16), (16, 96, 8),
     (16, 128, 32)],
)  # fmt: skip
def test_the_l1_delivers_what_lies_in_other_banks_together(
    width: int, apart: int, cycles: int
) -> None:
    words = width // 4
    layout = _blocked(words, [1, 32], [1, 1], [1, 32 * words])
    access = WarpAccess(layout, "load", 4, width)
    offsets = np.add.outer(np.arange(32) * apart, np.arange(words) * 4).reshape(1, -1)
    assert count(access, offsets).wavefronts == cycles
