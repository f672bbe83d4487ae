"""Cycles for which a warp's request occupies the L1 of an SM, by the lines that its lanes touch.

    python benchmarks/l1_requests.py

Needs a GPU, PyTorch and Triton. One CTA of 16 warps loads what the L1 holds, or stores to
lines that nothing holds; the difference of two numbers of rounds leaves out the launch. Each row is
a width in bytes of a lane's access, and the 128-byte lines that the 32 lanes of a warp touch in
turn; then of lanes that are a number of bytes apart, which touch more sectors of a line.
"""

# mypy: disable-error-code="no-untyped-def,untyped-decorator"

from functools import partial
from typing import Any

import torch
import triton
import triton.language as tl

THREADS, UNROLLED = 512, 8


@triton.jit
def _at(lines: tl.constexpr, words: tl.constexpr, threads: tl.constexpr):
    lane = tl.arange(0, threads) % 32
    if lines < 0:  # words between lanes
        return lane * -lines
    return (lane % lines) * 32 + (lane // lines) * words


@triton.jit
def loads(
    x_ptr, out_ptr, rounds, lines: tl.constexpr, words: tl.constexpr,
    unrolled: tl.constexpr, threads: tl.constexpr,
):  # fmt: skip
    """Load the same few lines again and again."""
    thread = tl.arange(0, threads)
    word = tl.arange(0, words)[None, :]
    total = tl.zeros([threads, words], tl.float32)
    for done in range(rounds):
        for step in tl.static_range(unrolled):
            # Other words of the same lines, or the compiler loads what two steps share once.
            begin = step * 2048 + ((done + thread // 32) & 1) * 1024
            at = (begin + _at(lines, words, threads))[:, None] + word
            at = tl.max_contiguous(tl.multiple_of(at, [1, words]), [1, words])
            total += tl.load(x_ptr + at)
    tl.store(out_ptr + thread[:, None] * words + word, total)


@triton.jit
def stores(
    x_ptr, rounds, lines: tl.constexpr, words: tl.constexpr,
    unrolled: tl.constexpr, threads: tl.constexpr,
):  # fmt: skip
    """Store to other lines in each round."""
    thread = tl.arange(0, threads)
    word = tl.arange(0, words)[None, :]
    for done in range(rounds):
        for step in tl.static_range(unrolled):
            warp = (done * unrolled + step) * (threads // 32) + thread // 32
            at = (warp * lines * 32 + _at(lines, words, threads))[:, None] + word
            at = tl.max_contiguous(tl.multiple_of(at, [1, words]), [1, words])
            tl.store(x_ptr + at, (thread[:, None] + done + word).to(tl.float32))


def cycles(launch: Any, rounds: int) -> float:
    """Return the cycles of one request: ``launch`` takes a number of rounds."""
    kilohertz = triton.runtime.driver.active.utils.get_device_properties(0)["sm_clock_rate"]
    milliseconds = [
        triton.testing.do_bench(partial(launch, each), warmup=5, rep=15, return_mode="median")
        for each in (rounds, 2 * rounds)
    ]
    longer = float(milliseconds[1] - milliseconds[0])
    return float(longer * kilohertz / (rounds * UNROLLED * THREADS / 32))


def main() -> None:
    """Print a row for each pattern."""
    x = torch.zeros(1 << 24, device="cuda")
    out = torch.zeros(1 << 12, device="cuda")
    print("bytes of a lane  lines  cycles of a load  of a store")
    for words in (1, 2, 4):
        for lines in (1, 2, 4, 8, 16, 32):
            if 32 // lines * words > 32:
                continue
            shape = (lines, words, UNROLLED, THREADS)
            loaded = cycles(lambda n: loads[(1,)](x, out, n, *shape, num_warps=16), 200)  # noqa: B023
            stored = cycles(lambda n: stores[(1,)](x, n, *shape, num_warps=16), 8)  # noqa: B023
            print(f"{4 * words:15}  {lines:5}  {loaded:16.2f}  {stored:10.2f}")
    print("bytes of a lane  bytes apart  cycles of a load")
    for words in (1, 2, 4):
        for apart in (1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 33):
            if apart % words == 0:  # vectors are aligned
                shape = (-apart, words, UNROLLED, THREADS)
                loaded = cycles(lambda n: loads[(1,)](x, out, n, *shape, num_warps=16), 200)  # noqa: B023
                print(f"{4 * words:15}  {4 * apart:11}  {loaded:16.2f}")


if __name__ == "__main__":
    main()
