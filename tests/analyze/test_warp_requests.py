"""Warp requests and sectors of single accesses; the counters of an H200 test whole launches."""

from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irlens.analyze.warp_requests import Requests, WarpAccess, count, count_patterns
from irlens.isa.mlir.encoding_maps import linear_map
from irlens.isa.mlir.linear_maps import LinearMap


def _by_hand(access: WarpAccess, offsets: Any, mask: Any) -> Requests:
    """Count as the definition says: each warp, instruction and lane in turn."""
    layout = access.layout
    requests = sectors = 0
    owners: dict[tuple[int, ...], tuple[int, int]] = {}
    for warp in range(layout.warps):
        for begin in range(0, layout.registers, access.elements):
            touched = set()
            for lane in range(layout.lanes):
                run = [layout.element(begin + n, lane, warp) for n in range(access.elements)]
                owner = owners.setdefault(run[0], (warp, lane))
                if mask[run[0]] and (access.direction == "load" or owner == (warp, lane)):
                    begun = int(offsets[run[0]])
                    reach = range(begun, begun + access.width)
                    touched |= {byte // access.granule for byte in reach}
            requests += bool(touched)
            sectors += len(touched)
    distinct = len(set(offsets[mask].tolist())) * access.element_bytes
    return Requests(requests, sectors, -(-distinct // access.granule))


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
    direction=st.sampled_from(("load", "store")),
)
@settings(deadline=None, max_examples=40)
def test_counts_are_those_of_the_definition(
    registers: int,
    lanes: list[int],
    warps: list[int],
    shape: list[int],
    pitch: int,
    limits: list[int],
    direction: Literal["load", "store"],
) -> None:
    layout = _blocked(registers, lanes, warps, shape)
    access = WarpAccess(layout, direction, 4, 4 * registers)
    pitch *= registers  # vectors are aligned, as the hardware requires
    limits[1] -= limits[1] % registers
    rows, columns = np.indices(shape)
    offsets = 4 * (rows * pitch + columns) + 64
    mask = (rows < limits[0]) & (columns < limits[1])
    expected = _by_hand(access, offsets, mask)
    assert count(access, offsets, mask) == expected
    pattern = ((offsets - 64).reshape(-1), mask.reshape(-1))
    tiles = np.array([64, 64 + 32 * 7]), np.zeros(2, np.int64)
    assert count_patterns(access, [pattern], *tiles) == expected + expected
    twice = np.stack((offsets, offsets + 4 * registers))
    both = _by_hand(access, twice[1], mask)
    assert count(access, twice, mask) == Requests(
        expected.requests + both.requests,
        expected.sectors + both.sectors,
        expected.ideal_sectors + both.ideal_sectors,
    )


def test_of_threads_that_hold_the_same_element_all_load_and_one_stores() -> None:
    """32 fp32 values in 4 warps, of which three hold copies."""
    layout = _blocked(1, [1, 32], [4, 1], [1, 32])
    offsets = np.arange(32).reshape(1, 32) * 4
    assert count(WarpAccess(layout, "load", 4, 4), offsets) == Requests(4, 16, 4)
    assert count(WarpAccess(layout, "store", 4, 4), offsets) == Requests(1, 4, 4)
    assert count(WarpAccess(layout, "copy", 4, 4), offsets) == Requests(1, 4, 4)


def test_a_scalar_is_a_request_and_a_sector_of_every_warp() -> None:
    scalar = LinearMap((), (), ((),) * 5, ((),) * 2, ())
    assert count(WarpAccess(scalar, "load", 4, 4), 12) == Requests(4, 4, 1)
    tiles = np.array([12, 12 + 32]), np.zeros(2, np.int64)
    element = (np.zeros(1, np.int64), None)
    load = WarpAccess(scalar, "load", 4, 4)
    assert count_patterns(load, [element], *tiles) == Requests(8, 8, 2)
    assert count(WarpAccess(scalar, "store", 4, 4), 12) == Requests(1, 1, 1)


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
    assert count(WarpAccess(found, "load", 4, 16), np.arange(256) * 4) == Requests(2, 64, 32)
    assert count(WarpAccess(found, "load", 2, 16), np.arange(256) * 2) == Requests(1, 16, 16)


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
