"""Cycles for which a warp's copy to shared memory (cp.async) occupies an SM.

    python benchmarks/copy_requests.py [--json FILE]

Needs a GPU, PyTorch and Triton. One CTA of 16 warps copies lines that the L1 holds; the difference
of two numbers of rounds leaves out the launch. Each row is a width in bytes of a lane's copy, the
bytes between two lanes in global memory, and how many lanes write to the same bank of shared
memory: neighbours, which copy from the same line, or lanes that lie apart.
"""

# mypy: disable-error-code="no-untyped-call"

import ctypes
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import torch
import triton

THREADS, UNROLLED, ROUNDS = 512, 8, 300
LANES, ROW = 32, 128
#: Bytes of shared memory; the second number is the attribute of a function that allows them.
SHARED, MOST_DYNAMIC_SHARED = 200 << 10, 8
PTX = """.version 8.0
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 shared[];
.visible .entry copies(
  .param .u64 x, .param .u64 sources, .param .u64 places, .param .u32 rounds
) {{
  .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [sources];
  ld.param.u64 %rd3, [places];
  ld.param.u32 %r1, [rounds];
  mov.u32 %r2, %tid.x;
  mul.wide.u32 %rd4, %r2, 4;
  add.u64 %rd2, %rd2, %rd4;
  add.u64 %rd3, %rd3, %rd4;
  ld.global.u32 %r3, [%rd2];
  ld.global.u32 %r4, [%rd3];
  cvt.u64.u32 %rd5, %r3;
  add.u64 %rd1, %rd1, %rd5;
  mov.u32 %r5, shared;
  add.u32 %r4, %r4, %r5;
again:
{copies}
  cp.async.commit_group;
  cp.async.wait_group 2;
  sub.u32 %r1, %r1, 1;
  setp.ne.u32 %p, %r1, 0;
  @%p bra again;
  cp.async.wait_all;
  ret;
}}"""


def main() -> None:
    """Print a row for each pattern."""
    rows = []
    print("bytes of a lane  bytes apart  lanes of a bank  which   cycles")
    for width, apart, of_a_bank, which, cycles in measured():
        print(f"{width:15}  {apart:11}  {of_a_bank:15}  {which:5}  {cycles:7.2f}")
        rows.append([width, apart, of_a_bank, which, round(cycles, 2)])
    if "--json" in sys.argv:
        lines = ",\n".join(map(json.dumps, rows))
        Path(sys.argv[sys.argv.index("--json") + 1]).write_text(f"[\n{lines}\n]\n")


def measured() -> Iterator[tuple[int, int, int, str, float]]:
    """Yield each pattern with the cycles of one copy by a warp."""
    for width in (4, 8):
        launch = _launcher(width)
        for apart in (width, *(each for each in (16, 32, 64, 128) if each > width)):
            for of_a_bank in (1, 2, 4, 8, 16, 32):
                for which in ("near", "far")[: 2 if of_a_bank > 1 else 1]:
                    pattern = places(width, of_a_bank, which)
                    yield width, apart, of_a_bank, which, _cycles(launch, apart, pattern)


def places(width: int, of_a_bank: int, which: str) -> list[int]:
    """Return where each lane writes: those of a bank in rows below each other."""
    if which == "near":
        return [lane % of_a_bank * ROW + lane // of_a_bank * width for lane in range(LANES)]
    beside = LANES // of_a_bank
    return [lane // beside * ROW + lane % beside * width for lane in range(LANES)]


def _cycles(launch: Callable[..., float], apart: int, pattern: list[int]) -> float:
    of_a_warp = LANES * apart
    sources = [t % LANES * apart + t // LANES * of_a_warp % 8192 for t in range(THREADS)]
    written = [pattern[t % LANES] + t // LANES * LANES * ROW for t in range(THREADS)]
    given = [torch.tensor(each, dtype=torch.int32, device="cuda") for each in (sources, written)]
    kilohertz = triton.runtime.driver.active.utils.get_device_properties(0)["sm_clock_rate"]
    once, twice = (
        median(launch(*given, rounds) for _ in range(7)) for rounds in (ROUNDS, 2 * ROUNDS)
    )
    return float((twice - once) * kilohertz / (ROUNDS * UNROLLED * THREADS / LANES))


def _launcher(width: int) -> Callable[..., float]:
    """Return what launches copies of a width, and returns the milliseconds that they take."""
    x = torch.zeros(1 << 16, dtype=torch.uint8, device="cuda")
    cuda = ctypes.CDLL("libcuda.so.1")
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    copy = f"  cp.async.ca.shared.global [%r4], [%rd1], {width};"
    _check(cuda.cuModuleLoadData(
        ctypes.byref(module), PTX.format(copies="\n".join([copy] * UNROLLED)).encode()
    ))  # fmt: skip
    _check(cuda.cuModuleGetFunction(ctypes.byref(function), module, b"copies"))
    _check(cuda.cuFuncSetAttribute(function, MOST_DYNAMIC_SHARED, SHARED))

    def launch(sources: Any, written: Any, rounds: int) -> float:
        pointers = [ctypes.c_uint64(each.data_ptr()) for each in (x, sources, written)]
        values = [*pointers, ctypes.c_uint32(rounds)]
        given = (ctypes.c_void_p * len(values))(
            *(ctypes.cast(ctypes.byref(each), ctypes.c_void_p) for each in values)
        )
        began, ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        began.record()
        _check(cuda.cuLaunchKernel(
            function, 1, 1, 1, THREADS, 1, 1, SHARED, stream, given, None
        ))  # fmt: skip
        ended.record()
        torch.cuda.synchronize()
        return float(began.elapsed_time(ended))

    return launch


def _check(result: int) -> None:
    if result:
        raise RuntimeError(f"the driver answers with error {result}")


if __name__ == "__main__":
    main()
