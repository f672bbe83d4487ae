# Kernels as users write them have no annotations.
# mypy: ignore-errors
"""Kernels with offsets of a type that is given, and what their programs access by interpretation.

Run as a program, with ``TRITON_INTERPRET=1``: each line of standard input is a launch, each line of
standard output says whether the type changes what it accesses, and whether that is outside of its
tensor. No memory is accessed.
"""

import json
import sys
from functools import cache
from typing import Any

import numpy as np
import triton
import triton.language as tl


@triton.jit
def rows(x, n, T: tl.constexpr):
    start = tl.program_id(0).to(T) * tl.full((), 7, T)
    tl.store(x + start + tl.arange(0, 4), 0.0)


@triton.jit
def masked(x, n, T: tl.constexpr):
    at = (tl.program_id(0) * 8 + tl.arange(0, 8)).to(T)
    tl.store(x + at, 0.0, at < n)


@triton.jit
def backwards(x, n, T: tl.constexpr):
    at = n - 1 - (tl.program_id(0) * 8 + tl.arange(0, 8))
    tl.store(x + at.to(T) * tl.full((), 3, T), 0.0, at >= 0)


@triton.jit
def mirrored(x, n, T: tl.constexpr):
    down = tl.program_id(0).to(T) * tl.full((), -5, T)
    tl.store(x + 5 * n + down + tl.arange(0, 2), 0.0)


@triton.jit
def tiles(x, n, T: tl.constexpr):
    across = tl.cdiv(n, 4)
    m = (tl.program_id(0) % across) * 4 + tl.arange(0, 4)
    k = (tl.program_id(0) // across) * 2 + tl.arange(0, 2)
    at = m[:, None].to(T) * tl.full((), 5, T) + k[None, :].to(T)
    tl.store(x + at, 0.0, (m[:, None] < n) & (k[None, :] < 5))


@triton.jit
def grouped(x, n, T: tl.constexpr):
    group = tl.program_id(0) // 6
    size = min(n - group * 3, 3)
    row = group * 3 + tl.program_id(0) % 6 % size
    tl.store(x + row.to(T) * tl.full((), 4, T) + tl.arange(0, 4), 0.0, row < n)


@triton.jit
def carried(x, n, T: tl.constexpr):
    offset = tl.full((), 0, T)
    for _ in range(0, n):
        tl.store(x + offset + tl.arange(0, 2), 0.0)
        offset += tl.full((), 3, T)


@triton.jit
def persistent(x, n, T: tl.constexpr):
    for row in range(tl.program_id(0), n, tl.num_programs(0)):
        tl.store(x + tl.full((), row, tl.int32).to(T) * tl.full((), 2, T) + tl.arange(0, 2), 0.0)


@triton.jit
def overrun(x, n, T: tl.constexpr):
    for first in range(0, n + 40, 8):
        at = (first + tl.arange(0, 8)).to(T)
        tl.store(x + at, 0.0, at < n + tl.program_id(0) // 9)


@triton.jit
def described(x, n, T: tl.constexpr):
    matrix = tl.make_tensor_descriptor(x, [n, 8], [8, 1], [4, 8])
    row = tl.program_id(0).to(T) * tl.full((), 4, T)
    matrix.store([row.to(tl.int32), 0], tl.zeros((4, 8), tl.float32))


@triton.jit
def gathered(x, n, T: tl.constexpr):
    row = tl.program_id(0)
    base = row.to(T) * tl.full((), 6, T)
    value = tl.load(x + base + tl.arange(0, 4), tl.arange(0, 4) < 3, 0.0)
    tl.atomic_add(x + base + tl.arange(0, 4), value, mask=row + tl.arange(0, 4) < n)


#: For each kernel its programs and the elements of its tensor, of a size.
LAUNCHES: dict[str, tuple[Any, Any]] = {
    "rows": (lambda n: n, lambda n: 7 * n),
    "masked": (lambda n: -(-n // 8), lambda n: n),
    "backwards": (lambda n: -(-n // 8), lambda n: 3 * n),
    "mirrored": (lambda n: n, lambda n: 5 * n + 2),
    "tiles": (lambda n: -(-n // 4) * 3, lambda n: 5 * n),
    "grouped": (lambda n: 2 * n, lambda n: 4 * n),
    "carried": (lambda n: 1, lambda n: 3 * n),
    "persistent": (lambda n: min(n, 5), lambda n: 2 * n),
    "overrun": (lambda n: 1 + n // 4, lambda n: n + 2),
    "described": (lambda n: -(-n // 4), lambda n: 8 * n),
    "gathered": (lambda n: n, lambda n: 6 * n),
}


class Watched:
    """What the programs of one launch access of a tensor that nothing stands behind."""

    BASE = 1 << 40

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        self.accesses: list[tuple[bytes, bytes]] = []
        self.places: set[int] = set()

    def data_ptr(self) -> int:
        """Return the address."""
        return self.BASE

    def note(self, addresses: Any, mask: Any) -> None:
        """Note the lanes of one access."""
        lanes = np.broadcast_to(mask, addresses.shape)
        passed = addresses.astype(np.int64)[lanes] - self.BASE
        self.accesses.append((np.packbits(lanes).tobytes(), passed.tobytes()))
        self.places.update(passed.tolist())


@cache
def accessed(name: str, n: int, kind: str) -> Watched:
    """Return what a launch accesses."""
    import torch
    from triton.runtime import interpreter

    functions: Any = interpreter._interpreter  # private: compiled, and no API
    tensor = torch.zeros(1)
    seen = Watched(tensor.dtype)
    seen.BASE = tensor.data_ptr()

    def load(addresses: Any, mask: Any, other: Any, dtype: Any) -> Any:
        seen.note(addresses, mask)
        return np.zeros(addresses.shape, dtype)

    def store(addresses: Any, _value: Any, mask: Any) -> None:
        seen.note(addresses, mask)

    def atomic(_kind: Any, addresses: Any, value: Any, mask: Any, _order: Any) -> Any:
        seen.note(addresses, mask)
        return np.zeros(addresses.shape, value.dtype)

    replaced = {"load": load, "store": store, "atomic_rmw": atomic}
    originals = {each: getattr(functions, each) for each in replaced}
    try:
        for each, function in replaced.items():
            setattr(functions, each, function)
        globals()[name][(LAUNCHES[name][0](n),)](tensor, n, T=getattr(tl, kind))
    finally:
        for each, function in originals.items():
            setattr(functions, each, function)
    return seen


def main() -> None:
    """Answer every launch of standard input."""
    np.seterr(all="ignore")
    for line in sys.stdin:
        name, n, kind = json.loads(line)
        narrow, wide = accessed(name, n, kind), accessed(name, n, "int64")
        most = LAUNCHES[name][1](n) * 4 - 4
        outside = any(place < 0 or place > most for place in wide.places)
        print(json.dumps([narrow.accesses != wide.accesses, outside]), flush=True)


if __name__ == "__main__":
    main()
