"""Time loops that store, or add to memory, what a product computes in each iteration.

    python benchmarks/programs/product_results.py

Through pointers the result changes its layout first; through a tensor descriptor it does not. What
an H200 took is in the documentation of IRL314.
"""

from typing import Any

import triton
import triton.language as tl

ROWS = 1 << 17


@triton.jit
def added(x, weights, out, n, rows, tile: tl.constexpr, columns: tl.constexpr, tma: tl.constexpr):
    """Add a product to memory in each iteration, in several programs to the same place."""
    start, r, c, d = (
        tl.program_id(1) * n,
        tl.arange(0, tile),
        tl.arange(0, 64),
        tl.arange(0, columns),
    )
    right = tl.load(weights + (tl.program_id(0) * 64 + c)[:, None] * columns + d[None, :])
    if tma:
        described = tl.make_tensor_descriptor(out, [rows, columns], [columns, 1], [tile, columns])
    for i in tl.range(0, n, tile, num_stages=3):
        product = tl.dot(tl.load(x + (start + i + r)[:, None] * 64 + c[None, :]), right)
        if tma:
            described.atomic_add([start + i, 0], product)
        else:
            places = (start + i + r)[:, None] * columns + d[None, :]
            tl.atomic_add(out + places, product, sem="relaxed")


@triton.jit
def stored(x, weights, out, n, rows, tile: tl.constexpr, columns: tl.constexpr, tma: tl.constexpr):
    """Store a product in each iteration."""
    start, r, c, d = (
        tl.program_id(1) * n,
        tl.arange(0, tile),
        tl.arange(0, 64),
        tl.arange(0, columns),
    )
    right = tl.load(weights + c[:, None] * columns + d[None, :])
    if tma:
        described = tl.make_tensor_descriptor(out, [rows, columns], [columns, 1], [tile, columns])
    for i in tl.range(0, n, tile, num_stages=3):
        product = tl.dot(tl.load(x + (start + i + r)[:, None] * 64 + c[None, :]), right)
        if tma:
            described.store([start + i, 0], product.to(tl.float16))
        else:
            places = (start + i + r)[:, None] * columns + d[None, :]
            tl.store(out + places, product.to(tl.float16))


def main() -> None:
    """Print the median time of each loop, through pointers and through a descriptor."""
    import torch

    triton.set_allocator(lambda size, *_: torch.empty(size, dtype=torch.int8, device="cuda"))
    half: dict[str, Any] = {"device": "cuda", "dtype": torch.half}
    for columns in (64, 128):
        x, weights = torch.randn(ROWS, 64, **half), torch.randn(64 * 64, columns, **half)
        for tile in (64, 128):
            sums = torch.zeros(ROWS, columns, device="cuda")
            for kernel, out, grid in (
                (added, sums, (16, 32)),
                (stored, torch.empty(ROWS, columns, **half), (1, 128)),
            ):
                launch = (x, weights, out, ROWS // grid[1], ROWS, tile, columns)
                us = [
                    1e3 * triton.testing.do_bench(lambda tma=tma: kernel[grid](*launch, tma))  # noqa: B023
                    for tma in (False, True)
                ]
                print(f"{kernel.__name__} {tile}x{columns}: {us[0]:.1f} us, TMA {us[1]:.1f} us")


if __name__ == "__main__":
    main()
