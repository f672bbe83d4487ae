"""Sizes at which kernels of published patterns break, as their reports say, and fixed forms."""

from pathlib import Path

import pytest

import irlens
from irlens.model.limits import SizeLimits
from irlens.sweeps import limits as searching
from tests.running import inline

__all__ = ["inline"]

pytestmark = pytest.mark.usefixtures("inline")


@pytest.fixture(autouse=True)
def _untimed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out what binds the time below a limit: it takes longer than to find the limit."""
    monkeypatch.setattr(searching, "find_bounds", lambda *_: ([], ""))


#: The first element of a batch and head is a product of 32 bits. Reported with single-token
#: sharpness: of 64 heads of 128, 16 x 17,476 and 8 x 37,449 tokens are right.
CHUNKS = """
@triton.jit
def chunks(k, out, T, H: tl.constexpr, K: tl.constexpr, BT: tl.constexpr):
    chunk, row = tl.program_id(0), tl.program_id(1)
    batch, head = row // H, row % H
    bos = batch{wide} * T
    base = k + (bos * H + head) * K
    at = chunk * BT + tl.arange(0, BT)
    block = base + at[:, None] * (H * K) + tl.arange(0, K)[None, :]
    value = tl.sum(tl.load(block, mask=at[:, None] < T, other=0.0), 1)
    tl.store(out + (bos + at) * H + head, value, mask=at < T)
"""
#: Tokens of a stride of 16,384 elements: more than 131,072 are an illegal access.
QUERIES = """
@triton.jit
def queries(q, out, tokens, stride, BLOCK: tl.constexpr, D: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    offsets = at[:, None]{wide} * stride + tl.program_id(1) * D + tl.arange(0, D)[None, :]
    x = tl.load(q + offsets, mask=at[:, None] < tokens, other=0.0)
    tl.store(out + offsets, x * 0.5, mask=at[:, None] < tokens)
"""
#: A row is copied from ``offset * NUM_COLUMNS`` on: of 4,096 columns, row 524,288 wraps.
PADDED = """
@triton.jit
def padded(a, b, NUM_COLUMNS: tl.constexpr, BLOCK: tl.constexpr):
    offset = tl.program_id(0)
    a += tl.multiple_of(offset{wide} * NUM_COLUMNS, NUM_COLUMNS)
    b += tl.multiple_of(offset{wide} * NUM_COLUMNS, NUM_COLUMNS)
    for first in range(0, NUM_COLUMNS, BLOCK):
        at = first + tl.arange(0, BLOCK)
        tl.store(b + at, tl.load(a + at))
"""
#: Tiles of a matrix whose programs are numbered in one dimension.
TILES = """
@triton.jit
def tiles(pointer, stride_m, stride_n, rows, cols, M: tl.constexpr, N: tl.constexpr):
    pid = tl.program_id(0)
    across = tl.cdiv(rows, M)
    m = (pid % across) * M + tl.arange(0, M)
    n = (pid // across) * N + tl.arange(0, N)
    at = pointer + m[:, None]{wide} * stride_m + n[None, :] * stride_n
    tl.store(at, tl.zeros((M, N), tl.float32), mask=(m[:, None] < rows) & (n[None, :] < cols))
"""
DESCRIBED = """
import triton
import triton.language as tl

IRLENS_KERNELS = {
    "chunks": {
        "sizes": {"B": 16, "T": 1024},
        "args": {"k": "fp16[B, T, 64, 128]", "out": "fp32[B, T, 64]", "T": "T"},
        "constexprs": {"H": 64, "K": 128, "BT": 64},
        "grid": ["cdiv(T, BT)", "B * H"],
    },
    "queries": {
        "sizes": {"tokens": 1024},
        "args": {
            "q": "fp16[tokens, 16384]", "out": "fp16[tokens, 16384]", "tokens": "tokens",
            "stride": 16384,
        },
        "constexprs": {"BLOCK": 16, "D": 128},
        "grid": ["cdiv(tokens, BLOCK)", 128],
    },
    "padded": {
        "sizes": {"rows": 1024},
        "args": {"a": "fp16[rows, 4096]", "b": "fp16[rows, 4096]"},
        "constexprs": {"NUM_COLUMNS": 4096, "BLOCK": 1024},
        "grid": ["rows"],
    },
    "tiles": {
        "sizes": {"rows": 1024, "cols": 151936},
        "args": {
            "pointer": "fp32[rows, cols]", "stride_m": "cols", "stride_n": 1, "rows": "rows",
            "cols": "cols",
        },
        "constexprs": {"M": 32, "N": 64},
        "grid": ["cdiv(rows, M) * cdiv(cols, N)"],
    },
}
"""
WIDE = ".to(tl.int64)"


def limits(folder: Path, text: str, along: str, wide: str, **args: int) -> SizeLimits:
    """Return what breaks along a size, with offsets as reported or of 64 bits."""
    file = folder / "published.py"
    file.write_text(DESCRIBED + text.format(wide=wide))
    name = text.split("def ")[1].split("(")[0]
    (size,) = irlens.limits(f"{file}:{name}", target="h100", along=along, args=args).sizes
    assert size.unknown == ""
    return size


@pytest.mark.parametrize(
    ("text", "along", "args", "published"),
    [
        (CHUNKS, "T=16384..18000", {"B": 16}, 17_477),
        (CHUNKS, "T=36000..38000", {"B": 8}, 37_450),
        (QUERIES, "tokens=120000..140000", {}, 131_073),
        (PADDED, "rows=500000..600000", {}, 524_288 + 1),
        (TILES, "rows=14000..14400", {}, (2**31 - 1) // 151_936 + 2),
    ],
)
def test_a_published_boundary_is_found_and_the_fixed_form_is_clean(
    tmp_path: Path, text: str, along: str, args: dict[str, int], published: int
) -> None:
    (limit,) = limits(tmp_path, text, along, "", **args).limits
    assert (limit.kind, limit.size, limit.is_exact) == ("overflow", published, True)
    assert limit.fix is not None
    assert (limit.fix.kind, limit.fix.unknown) == (None, "")
    fixed = limits(tmp_path, text, along, WIDE, **args)
    assert (fixed.limits, fixed.last) == ([], int(along.partition("..")[2]))
    assert not fixed.sampled, "all programs are evaluated where divisions number them"
