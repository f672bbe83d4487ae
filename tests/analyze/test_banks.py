import pytest

from irlens.analyze import banks
from irlens.analyze.banks import Swizzled
from irlens.isa.mlir import parse
from irlens.isa.mlir.encodings import Blocked, blocked
from irlens.isa.mlir.types import MemDesc, read_type

SHAPE = (64, 64)
ROWS = Blocked((1, 4), (2, 16), (4, 1), (1, 0))
COLUMNS = Blocked((4, 1), (16, 2), (1, 4), (0, 1))
PLAIN = Swizzled(width=64, fast=1, vector=1, per_phase=1, max_phase=1)


def test_what_an_h200_counted() -> None:
    """Wavefronts per request over the least possible, from Nsight Compute: 16.0 and 4.0 / 4."""
    assert banks.passes(COLUMNS, PLAIN, SHAPE, 4) == 16
    assert banks.passes(ROWS, PLAIN, SHAPE, 4) == 1


@pytest.mark.parametrize(
    ("width", "passes"),
    # A column of 32 rows: every row in the same bank, in every second, every one in its own.
    [(64, 32), (32, 32), (48, 16), (33, 1), (1, 1)],
)
def test_one_column(width: int, passes: int) -> None:
    column = Blocked((1, 1), (32, 1), (1, 1), (0, 1))
    shared = Swizzled(width=width, fast=1, vector=1, per_phase=1, max_phase=1)
    assert banks.passes(column, shared, (32, width), 4) == passes


def test_swizzling_spreads_a_column() -> None:
    column = Blocked((1, 1), (32, 1), (1, 1), (0, 1))
    shared = Swizzled(width=32, fast=1, vector=1, per_phase=1, max_phase=32)
    assert banks.passes(column, shared, (32, 32), 4) == 1
    offsets = {shared.offset((row, column)) for row in range(32) for column in range(32)}
    assert offsets == set(range(32 * 32))


def test_threads_that_want_the_same_word() -> None:
    layout = Blocked((1, 1), (1, 32), (1, 1), (1, 0))
    assert banks.passes(layout, PLAIN, (64, 1), 4) == 1
    # Two halves in one word.
    assert banks.passes(layout, PLAIN, SHAPE, 2) == 1


def test_waves_of_64_are_not_judged() -> None:
    assert banks.passes(Blocked((1, 1), (64, 1), (1, 1), (0, 1)), PLAIN, SHAPE, 4) is None


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


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("!ttg.memdesc<64x32xf16, #shared, #smem, mutable>", Swizzled(64, 0, 8, 2, 4)),
        ("!ttg.memdesc<64x8xf16, #shared, #smem, mutable, 128x32>", Swizzled(128, 0, 8, 2, 4)),
        ("!ttg.memdesc<3x64x32xf16, #shared, #smem, mutable>", None),
        ("!ttg.memdesc<64x64xf16, #padded, #smem, mutable>", None),
    ],
)
def test_descriptors_are_read(written: str, expected: Swizzled | None) -> None:
    descriptor = read_type(written)
    assert isinstance(descriptor, MemDesc)
    assert banks.swizzled(parse(TTGIR), descriptor) == expected
