"""Measures what an iteration of a loop takes a warp that has a GPU to itself.

    python benchmarks/loop_iterations.py OUT     # on a machine with an NVIDIA GPU

Each kernel is one program of one warp. It is timed with two trip counts: the difference, over that
of the iterations, is the time of one. The operands lie in the L2. Writes OUT/NAME.cubin of each
kernel, and OUT/loops.json: cycles of an iteration of the source, by name.
"""
# mypy: disable-error-code="no-untyped-def,untyped-decorator"

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch
import triton
import triton.language as tl

_RUNS = 9
_QUERY = ("nvidia-smi", "--query-gpu=clocks.sm", "--format=csv,noheader,nounits")
#: Rows, columns, depth and stages of matrix products.
_TILES = ((16, 16, 32, 1), (16, 16, 32, 3), (32, 32, 32, 2), (32, 32, 32, 4), (16, 32, 64, 3),
          (32, 64, 32, 3), (64, 64, 32, 3))  # fmt: skip
_DEPTH = 1 << 16


@triton.jit
def product(a, b, c, size, rows: tl.constexpr, columns: tl.constexpr, depth: tl.constexpr):
    """Multiply two matrices, one tile."""
    m, n, k = tl.arange(0, rows), tl.arange(0, columns), tl.arange(0, depth)
    acc = tl.zeros((rows, columns), tl.float32)
    a += m[:, None] * size + k[None, :]
    b += k[:, None] * columns + n[None, :]
    for _ in range(0, tl.cdiv(size, depth)):
        acc = tl.dot(tl.load(a), tl.load(b), acc)
        a += depth
        b += depth * columns
    tl.store(c + m[:, None] * columns + n[None, :], acc)


@triton.jit
def total(x, y, size, width: tl.constexpr):
    """Add up slices of an array."""
    o = tl.arange(0, width)
    acc = tl.zeros((width,), tl.float32)
    for i in range(0, size, width):
        acc += tl.load(x + i + o)
    tl.store(y + o, acc)


@triton.jit
def online(x, y, size, width: tl.constexpr):
    """Take the logarithm of a sum of exponentials, in one pass."""
    o = tl.arange(0, width)
    most = -float("inf")
    acc = 0.0
    for i in range(0, size, width):
        part = tl.load(x + i + o)
        now = tl.maximum(most, tl.max(part, 0))
        acc = acc * tl.exp(most - now) + tl.sum(tl.exp(part - now), 0)
        most = now
    tl.store(y, most + tl.log(acc))


def launches() -> Iterator[tuple[str, Callable[[int], Any], int, int]]:
    """Yield the name of each kernel, its launch by size, its step and its longest size."""
    y = torch.empty(4096, device="cuda")
    for tile in _TILES:
        rows, columns, depth, stages = tile
        a = torch.randn(rows, _DEPTH, device="cuda", dtype=torch.float16)
        b = torch.randn(_DEPTH, columns, device="cuda", dtype=torch.float16)

        def multiply(size: int, a: Any = a, b: Any = b, tile: Any = tile) -> Any:
            *sides, stages = tile
            return product[(1,)](a, b, y, size, *sides, num_warps=1, num_stages=stages)

        yield f"product_{rows}_{columns}_{depth}_{stages}", multiply, depth, _DEPTH
    x = torch.randn(1 << 20, device="cuda")
    for width in (32, 128, 512, 1024):
        for kernel in (total, online):

            def fold(size: int, kernel: Any = kernel, width: int = width) -> Any:
                return kernel[(1,)](x, y, size, width, num_warps=1)

            yield f"{kernel.__name__}_{width}", fold, width, width * 1024


def seconds(launch: Callable[[], Any]) -> float:
    """Return the least of some times of a launch."""
    least = float("inf")
    for _ in range(_RUNS):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        launch()
        end.record()
        torch.cuda.synchronize()
        least = min(least, begin.elapsed_time(end) * 1e-3)
    return least


def main() -> None:
    """Measure all loops."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True)
    cycles = {}
    for name, launch, step, long in launches():
        short = long // 8
        kernel = launch(short)
        times = [seconds(partial(launch, size)) for size in (short, long)]
        clock = float(subprocess.check_output(_QUERY, text=True)) * 1e6
        cycles[name] = (times[1] - times[0]) * clock * step / (long - short)
        (folder / f"{name}.cubin").write_bytes(kernel.asm["cubin"])
        print(f"{name} {cycles[name]:.0f}", flush=True)
    (folder / "loops.json").write_text(json.dumps(cycles, indent=2) + "\n")


main()
