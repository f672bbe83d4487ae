from collections.abc import Callable, Sequence

import pytest

from irlens.analyze import banks
from irlens.isa.mlir import parse
from irlens.isa.mlir.encoding_maps import linear_map
from irlens.isa.mlir.encodings import Blocked, blocked
from irlens.isa.mlir.linear_maps import LinearMap
from irlens.isa.mlir.memory_maps import memory_map
from irlens.isa.mlir.types import read_type

SHAPE = (64, 64)
ROWS = Blocked((1, 4), (2, 16), (4, 1), (1, 0))
COLUMNS = Blocked((4, 1), (16, 2), (1, 4), (0, 1))


def held(layout: Blocked, shape: tuple[int, ...] = SHAPE) -> LinearMap:
    written = (
        f"#ttg.blocked<{{sizePerThread = {list(layout.size_per_thread)},"
        f" threadsPerWarp = {list(layout.threads_per_warp)},"
        f" warpsPerCTA = {list(layout.warps_per_cta)}, order = {list(layout.order)}}}>"
    )
    found = linear_map(written, shape)
    assert isinstance(found, LinearMap)
    return found


def rows_of(width: int) -> Callable[[Sequence[int]], tuple[int]]:
    return lambda element: (element[0] * width + element[1],)


PLAIN = rows_of(64)


def test_what_an_h200_counted() -> None:
    """Wavefronts per request over the least possible, from Nsight Compute: 16.0 and 4.0 / 4."""
    assert banks.passes(held(COLUMNS), PLAIN, 4) == 16
    assert banks.passes(held(ROWS), PLAIN, 4) == 1


@pytest.mark.parametrize(
    ("width", "passes"),
    # A column of 32 rows: every row in the same bank, in every second, every one in its own.
    [(64, 32), (32, 32), (48, 16), (33, 1), (1, 1)],
)
def test_one_column(width: int, passes: int) -> None:
    column = Blocked((1, 1), (32, 1), (1, 1), (0, 1))
    assert banks.passes(held(column, (32, 1)), rows_of(width), 4) == passes


def test_swizzling_spreads_a_column() -> None:
    column = Blocked((1, 1), (32, 1), (1, 1), (0, 1))
    layout = "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 32, order = [1, 0]}>"
    shared = memory_map(layout, (32, 32))
    assert banks.passes(held(column, (32, 32)), shared.place, 4) == 1
    offsets = {shared.place((row, column))[0] for row in range(32) for column in range(32)}
    assert offsets == set(range(32 * 32))


def test_threads_that_want_the_same_word() -> None:
    layout = Blocked((1, 1), (1, 32), (1, 1), (1, 0))
    assert banks.passes(held(layout, (64, 1)), PLAIN, 4) == 1
    # Two halves in one word.
    assert banks.passes(held(layout), PLAIN, 2) == 1


def test_the_least_of_64_lanes() -> None:
    """All read words of one bank, where two of each would do."""
    column = held(Blocked((1, 1), (64, 1), (1, 1), (0, 1)), (64, 1))
    assert banks.passes(column, PLAIN, 4, in_order=False) == 32
    assert banks.passes(column, PLAIN, 4, 64, in_order=False) == 64
    row = held(Blocked((1, 1), (1, 64), (1, 1), (1, 0)), (1, 64))
    assert banks.passes(row, PLAIN, 4, in_order=False) == 1
    # 32 words of two halves each in one bank: two passes would do, one for each half of the wave.
    pairs = held(Blocked((1, 1), (32, 2), (1, 1), (1, 0)), (32, 2))
    assert banks.passes(pairs, PLAIN, 2, in_order=False) == 16


TTGIR = """
#blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1],
                         order = [1, 0]}>
#shared = #ttg.swizzled_shared<{vec = 8, perPhase = 2, maxPhase = 4, order = [0, 1]}>
#padded = #ttg.padded_shared<[512:+16] {order = [1, 0], shape = [64, 64]}>
module {
}
"""


def test_layouts_are_read() -> None:
    module = parse(TTGIR)
    assert blocked(module, read_type("tensor<64x64xf32, #blocked>")) == ROWS
    assert blocked(module, read_type("tensor<64xf32, #blocked>")) is None
