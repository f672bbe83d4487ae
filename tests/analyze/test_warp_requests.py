"""Warp requests and sectors, against Nsight Compute's counters of an H200."""

import json
import lzma
import tarfile
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irlens.analyze.issued_accesses import issued_accesses
from irlens.analyze.warp_requests import Access, Requests, count, count_affine
from irlens.isa.mlir import parse
from irlens.isa.mlir.encoding_maps import linear_map
from irlens.isa.mlir.linear_maps import LinearMap
from irlens.isa.ptx import parse as parse_ptx

ARCHIVE = Path(__file__).parent.parent / "data" / "h200" / "warp-requests.tar.xz"


@cache
def _files() -> dict[str, str]:
    with lzma.open(ARCHIVE) as stream, tarfile.open(fileobj=stream) as archive:
        members = ((member.name, archive.extractfile(member)) for member in archive)
        return {name: file.read().decode() for name, file in members if file}


@cache
def _launches() -> list[dict[str, Any]]:
    launches: list[dict[str, Any]] = json.loads(_files()["launches.json"])
    return launches


class Affine(NamedTuple):
    """The addresses of an access: where each program begins, strides, and valid coordinates."""

    bases: Any
    strides: Sequence[int]
    limits: Sequence[Any] | None = None


def _lines(size: int) -> Any:
    """Return the addresses of ``offsets = pid * BLOCK + arange(BLOCK)`` masked by ``n``."""

    def accesses(args: dict[str, Any], grid: list[int], block: int) -> Affine:
        begin = np.arange(grid[0]) * block
        return Affine(begin * size, [size], [args["n"] - begin])

    return accesses


def _strided(args: dict[str, Any], grid: list[int], block: int) -> Affine:
    begin = np.arange(grid[0]) * block
    return Affine(begin * args["stride"] * 4, [args["stride"] * 4], [args["n"] - begin])


def _rows(args: dict[str, Any], grid: list[int], block: int) -> Affine:
    return Affine(np.arange(grid[0]) * args["xs"] * 4, [4], [args["n"]])


def _tiles(args: dict[str, Any], grid: list[int], _: int) -> Affine:
    rows, columns = np.arange(grid[0]) * args["BM"], np.arange(grid[1]) * args["BN"]
    return Affine(np.add.outer(rows * args["N"], columns).ravel() * 4, [args["N"] * 4, 4])


def _transposed(args: dict[str, Any], grid: list[int], _: int) -> Affine:
    rows, columns = np.arange(grid[0]) * args["BM"], np.arange(grid[1]) * args["BN"]
    return Affine(np.add.outer(columns * args["M"], rows).ravel() * 4, [args["M"] * 4, 4])


def _columns(args: dict[str, Any], grid: list[int], _: int) -> Affine:
    columns, rows = np.arange(grid[0]) * args["BN"], np.arange(0, args["M"], args["BM"])
    return Affine(np.add.outer(columns, rows * args["N"]).ravel() * 4, [args["N"] * 4, 4])


def _sums(args: dict[str, Any], grid: list[int], _: int) -> Affine:
    return Affine(np.arange(grid[0]) * args["BN"] * 4, [4])


#: By kind of launch: element size, loads of the same addresses, their addresses, the stores'.
KINDS = {
    "add": (4, 2, _lines(4), _lines(4)),
    "gelu": (2, 1, _lines(2), _lines(2)),
    "strided": (4, 1, _strided, _lines(4)),
    "exp_chain": (4, 1, _lines(4), _lines(4)),
    "softmax_row": (4, 1, _rows, _rows),
    "transpose": (4, 1, _tiles, _transposed),
    "col_sum": (4, 1, _columns, _sums),
}


def _access(entry: str, kernel: str, direction: str) -> Access:
    """Return how the loads or stores of a kernel, which are all alike, access their elements."""
    module = parse(_files()[f"{entry}/{kernel}.ttgir"])
    (function,) = parse_ptx(_files()[f"{entry}/{kernel}.ptx"]).kernels
    issued = [one.access for one in issued_accesses(module, function)]
    alike = [one for one in issued if one and one.direction == direction]
    assert None not in issued
    assert alike.count(alike[0]) == len(alike)
    return alike[0]


def _counted(launch: dict[str, Any]) -> tuple[Requests, Requests]:
    size, loads, load, store = KINDS[launch["name"]]
    counted = []
    for operation, addresses in (("load", load), ("store", store)):
        access = _access(launch["entry"], launch["kernel"], operation)
        assert access.element_bytes == size
        block = access.layout.shape[0]
        affine = addresses(launch["args"], launch["grid"], block)
        counted.append(count_affine(access, *affine))
    read, written = counted
    return Requests(
        read.requests * loads, read.sectors * loads, read.ideal_sectors * loads
    ), written


def _cases() -> Iterator[Any]:
    for launch in _launches():
        config = "-".join(f"{name}={value}" for name, value in launch["config"].items())
        yield pytest.param(launch, id=f"{launch['name']}-{config}")


@pytest.mark.parametrize("launch", _cases())
def test_counters_of_an_h200(launch: dict[str, Any]) -> None:
    loads, stores = _counted(launch)
    counters = {
        (what, operation): launch["ncu"][f"l1tex__t_{what}_pipe_lsu_mem_global_op_{operation}.sum"]
        for what in ("requests", "sectors")
        for operation in ("ld", "st")
    }
    assert loads.requests == counters["requests", "ld"]
    assert loads.sectors == counters["sectors", "ld"]
    assert stores.requests == counters["requests", "st"]
    # The counter of stored sectors wavers from run to run.
    assert stores.sectors == pytest.approx(counters["sectors", "st"], rel=0.003)


def _by_hand(access: Access, offsets: Any, mask: Any) -> Requests:
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
    access = Access(layout, direction, 4, 4 * registers)
    pitch *= registers  # vectors are aligned, as the hardware requires
    limits[1] -= limits[1] % registers
    rows, columns = np.indices(shape)
    offsets = 4 * (rows * pitch + columns) + 64
    mask = (rows < limits[0]) & (columns < limits[1])
    expected = _by_hand(access, offsets, mask)
    assert count(access, offsets, mask) == expected
    assert count_affine(access, 64, [4 * pitch, 4], limits) == expected
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
    assert count(Access(layout, "load", 4, 4), offsets) == Requests(4, 16, 4)
    assert count(Access(layout, "store", 4, 4), offsets) == Requests(1, 4, 4)
    assert count(Access(layout, "copy", 4, 4), offsets) == Requests(1, 4, 4)


def test_a_scalar_is_a_request_and_a_sector_of_every_warp() -> None:
    scalar = LinearMap((), (), ((),) * 5, ((),) * 2, ())
    assert count(Access(scalar, "load", 4, 4), 12) == Requests(4, 4, 1)
    assert count_affine(Access(scalar, "load", 4, 4), [12, 12 + 32], []) == Requests(8, 8, 2)
    assert count(Access(scalar, "store", 4, 4), 12) == Requests(1, 1, 1)


def test_every_cta_of_a_cluster_copies_what_they_share() -> None:
    found = linear_map(
        "#ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [1], "
        "order = [0], CGALayout = [[0]]}>",
        [32],
    )
    assert isinstance(found, LinearMap)
    offsets = np.arange(32) * 4
    counted = {
        direction: count(Access(found, direction, 4, 4), offsets).requests
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
    assert count_affine(Access(found, "load", 4, 16), 0, [4]) == Requests(2, 64, 32)
    assert count_affine(Access(found, "load", 2, 16), 0, [2]) == Requests(1, 16, 16)


def test_an_instruction_that_cannot_be() -> None:
    layout = _blocked(2, [1, 32], [1, 1], [1, 64])
    with pytest.raises(ValueError, match="no thread holds 16 bytes"):
        Access(layout, "load", 4, 16)
    with pytest.raises(ValueError, match="3 bytes are not elements of 2"):
        Access(layout, "load", 2, 3)
    with pytest.raises(ValueError, match="not side by side"):
        count(Access(layout, "load", 4, 8), np.arange(64).reshape(1, 64) * 8)
    with pytest.raises(ValueError, match="tensors in an array of"):
        count(Access(layout, "load", 4, 4), np.arange(64))
