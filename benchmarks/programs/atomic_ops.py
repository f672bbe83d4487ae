"""Atomic additions to few and to many addresses, which `../atomics.py` times."""

import triton
import triton.language as tl


@triton.jit
def spread(x, out, K: tl.constexpr, STRIDE: tl.constexpr, SEM: tl.constexpr, B: tl.constexpr):
    """Add each element to one of K addresses, its neighbour to the next."""
    o = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(out + (o % K) * STRIDE, tl.load(x + o), sem=SEM)


@triton.jit
def blocked(x, out, K: tl.constexpr, B: tl.constexpr):
    """Add each block to one of K blocks."""
    o = tl.arange(0, B)
    v = tl.load(x + tl.program_id(0) * B + o)
    tl.atomic_add(out + (tl.program_id(0) % K) * B + o, v, sem="relaxed")


@triton.jit
def scalar(x, out, K: tl.constexpr, SEM: tl.constexpr, B: tl.constexpr):
    """Add the sum of each block to one of K numbers."""
    v = tl.load(x + tl.program_id(0) * B + tl.arange(0, B))
    tl.atomic_add(out + tl.program_id(0) % K, tl.sum(v, 0), sem=SEM)


@triton.jit
def split(x, out, T: tl.constexpr, B: tl.constexpr):
    """Add each square tile to one of T tiles, as split-K does."""
    r = tl.arange(0, B)
    at = r[:, None] * B + r[None, :]
    v = tl.load(x + tl.program_id(0) % 1024 * B * B + at)
    tl.atomic_add(out + tl.program_id(0) % T * B * B + at, v, sem="relaxed")
