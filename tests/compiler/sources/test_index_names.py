"""Names of a kernel's source that are sizes."""

from pathlib import Path

from irlens.compiler import KernelSource
from irlens.compiler.sources.index_names import index_names

SOURCE = b"""
import triton
import triton.language as tl

@triton.jit
def other(hidden):
    tl.store(hidden, 1)

@triton.jit
def drop(x, n, seed, step, stride, last, rows, p, scale, width, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    limit = tl.cdiv(n, 2) - 1
    keep = tl.rand(seed, at) > p
    move = at * stride
    move += step.to(tl.int64)
    for row in range(rows):
        tl.store(x + move, tl.where(keep, scale + last, 0.0), mask=at < limit)
    block = tl.make_block_ptr(base=x, shape=(width,), strides=(1,), offsets=(0,),
                              block_shape=(BLOCK,), order=(0,))
"""


def names(function: str) -> set[str]:
    return index_names(KernelSource(Path("/k.py"), function, None, SOURCE))


def test_offsets_and_bounds_are_of_sizes() -> None:
    assert {"n", "stride", "step", "rows", "width", "limit"} <= names("drop")


def test_seeds_and_values_are_none() -> None:
    assert names("drop").isdisjoint({"seed", "scale", "last", "hidden"})
    assert names("other") == {"hidden"}
    assert names("absent") == set()
