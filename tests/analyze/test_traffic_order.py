"""Order of programs and accesses outside of tensors, on compiled kernels."""

from functools import cache
from itertools import product

import pytest

from irlens.compiler import Request, capture
from irlens.isa.mlir import Module, parse
from irlens.model.config import Target
from irlens.model.traffic import Traffic
from tests.analyze.traffic_counts import count

pytestmark = pytest.mark.compiled_to("ttir")

BLOCK = 32
BLOCKS = {"BLOCK_SIZE_M": BLOCK, "BLOCK_SIZE_N": BLOCK, "BLOCK_SIZE_K": BLOCK}
TILE = 2 * BLOCK * BLOCK


@cache
def _compiled(group: int) -> Module:
    request = Request(
        kernel="matmul",
        target=Target(vendor="nvidia", arch="sm_90", warp_size=32),
        settings={**BLOCKS, "GROUP_SIZE_M": group, "num_warps": 4, "num_stages": 2},
    )
    (found,) = capture(request)
    return parse(found.stages["ttir"].text(), stage="ttir")


def _multiplied(
    group: int,
    size: tuple[int, int, int],
    tensors: tuple[int, int, int],
    first: int | None = None,
    wave: int | None = None,
) -> Traffic:
    m, n, k = size
    rows, columns, depth = tensors
    given = {
        "a_ptr": f"fp16[{rows}, {depth}]",
        "b_ptr": f"fp16[{depth}, {columns}]",
        "c_ptr": f"fp16[{rows}, {columns}]",
        "M": m,
        "N": n,
        "K": k,
        "stride_am": depth,
        "stride_bk": columns,
        "stride_cm": columns,
    }
    programs = -(-m // BLOCK) * -(-n // BLOCK)
    return count(_compiled(group), given, (programs, 1, 1), first=first, wave=wave)


@pytest.mark.parametrize(("group", "tiles"), [(1, 90), (3, 54)])
def test_grouped_programs_share_tiles(group: int, tiles: int) -> None:
    """Of 9 × 9 blocks, the first nine programs load nine rows of a grid, or a square."""
    nine = (9 * BLOCK,) * 3
    traffic = _multiplied(group, nine, nine, first=9)
    assert traffic.distinct_read_bytes == tiles * TILE
    assert traffic.read_bytes == 9 * 18 * TILE
    assert _multiplied(group, nine, nine, wave=9, first=9).wave_read_bytes == tiles * TILE


def test_waves_count_what_each_of_them_reads() -> None:
    nine = (9 * BLOCK,) * 3
    by_wave = {group: _multiplied(group, nine, nine, wave=9).wave_read_bytes for group in (1, 3, 9)}
    assert by_wave == {1: 9 * 90 * TILE, 3: 9 * 54 * TILE, 9: 9 * 90 * TILE}


def test_lanes_outside_a_product_without_masks() -> None:
    """A product of 200 × 200 × 100 that is told to be one of whole blocks."""
    actual, told = (200, 200, 100), (224, 224, 128)
    traffic = _multiplied(8, told, actual)
    outside = {
        (each.operation, each.argument): each.out_of_bounds.lanes
        for each in traffic.accesses
        if each.out_of_bounds
    }
    m, n, k = actual
    programs = [(r, c) for r, c in product(range(7), repeat=2)]
    a = sum(
        (BLOCK * row + y) * k + x >= m * k
        for row, _ in programs for y in range(BLOCK) for x in range(told[2])
    )  # fmt: skip
    b = sum(
        y * n + BLOCK * column + x >= k * n
        for _, column in programs for y in range(told[2]) for x in range(BLOCK)
    )  # fmt: skip
    c = sum(
        (BLOCK * row + y) * n + BLOCK * column + x >= m * n
        for row, column in programs for y in range(BLOCK) for x in range(BLOCK)
    )  # fmt: skip
    assert outside == {
        ("tt.load", "a_ptr"): a, ("tt.load", "b_ptr"): b, ("tt.store", "c_ptr"): c
    }  # fmt: skip
