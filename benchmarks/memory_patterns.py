"""Time patterns of memory accesses on a GPU, and hold the estimates against them.

    python benchmarks/memory_patterns.py measure FILE
    python benchmarks/memory_patterns.py compare FILE

``measure`` needs an H200, PyTorch and Triton 3.6.0, and no part of irlens: it launches the kernels
of ``tests/data/h200/patterns.py`` in the configurations below and writes what the device is and
their times as JSON: the median and the deciles, in microseconds, each launch after a write that
fills the L2. ``compare`` needs no GPU: it compiles each of them for an H200 and prints what took
how long, the estimate over it, and what irlens counts: lines that the L2 looks up, cycles of its
slices' inputs, bytes that cross it, bytes of memory.

What each kernel tells apart:

- ``lanes``, ``lanes_again``: one word of each 32 bytes to 64 KB, from memory and from the L2. Two
  distances that differ by a sector touch as many lines: what more a power of two takes is owed to
  slices, sets or channels that few of its addresses belong to, or to pages.
- ``narrow``, ``product``: tiles of 8 to 128 columns; a pitch of a power of two, or a sector more.
- ``walk``: CTAs that read the same addresses together or one after the other, and CTAs that begin
  at the same place of parts whose size is a power of two.
- ``again``: how much the L2 holds, read by one SM each and by all in turn.
- ``store``, ``stream``, ``mix``: what the inputs of the L2, the way between its halves and memory
  pass.
- ``moved_line``: few tall tiles or many flat ones.
- ``chain``, ``linear_scan``: arithmetic.
"""

# mypy: disable-error-code="import-untyped,no-untyped-call"

import importlib.util
import json
import math
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

KERNELS = Path(__file__).resolve().parents[1] / "tests" / "data" / "h200" / "patterns.py"
#: Milliseconds that a configuration is launched for, at least ``LEAST`` times.
FOR_MS, LEAST = 15, 20
#: Bytes that are written before each launch.
_FILLED = 256 << 20
#: No configuration begins later.
_SECONDS = 320
_TYPES = {"fp16": "float16", "fp32": "float32"}
KB = 1 << 10


def _lanes(apart: int, **more: int) -> dict[str, int]:
    return {"apart": apart // 4, **more}


def patterns() -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Yield the kernel, the constexprs and options, and the arguments of each configuration."""
    yield from _of_lanes()
    yield from _of_tiles()
    yield from _of_walks()
    for load, write in ((True, True), (True, False), (False, True)):
        yield "stream", {"LOAD": load, "STORE": write}, {}
    reads = ((1, 0), (2, 0), (0, 1), (0, 2), (1, 1), (2, 1), (1, 2), (3, 1), (1, 3), (7, 1), (1, 5),
             (1, 7))  # fmt: skip
    for read, written in reads:
        yield "mix", {"R": read, "W": written}, {}
    for name in ("erf", "pow", "exp", "log", "tanh", "sqrt", "divide", "rsqrt", "fma"):
        yield "chain", {"OP": name}, {}
    for block, warps in product((256, 1024, 4096), (1, 4, 8)):
        yield "linear_scan", {"BLOCK": block, "num_warps": warps}, {}


def _of_lanes() -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    powers = [32 << step for step in range(12)]
    more = [*(each + 32 for each in powers[2:]), *(each + 128 for each in powers[6:])]
    for apart in sorted({*powers, *more, 96, 160, 16 * KB + 512}):
        yield "lanes", {}, {"apart": apart // 4, "n": 1 << 20 if apart <= 32 * KB else 1 << 19}
        yield "lanes_again", {}, {"apart": apart // 4}
    for apart, rounds in product((24, 32, 8), (16, 256)):
        yield "lanes_again", {}, {"apart": apart, "rounds": rounds}
    for apart in (8, 16, 32, 64, 256, 1024):
        yield "lanes", {}, {"apart": apart, "n": 1 << 22}
    for apart in (1, 2, 4, 8, 16, 32):
        yield "store", {}, {"apart": apart, "n": (1 << 22) // max(8, apart), "rounds": 64}
    for apart in (8, 16, 32, 64):
        yield "store", {}, {"apart": apart, "n": 1 << 24}
    for apart in (1, 2, 4, 8, 16, 32, 64):
        yield "store", {}, {"apart": apart}
        yield "store", {}, {"apart": apart, "n": (1 << 22) // max(8, apart), "rounds": 16}


def _of_tiles() -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    pitches = (4096, 4096 + 16, 4096 + 64, 8192, 8192 + 64)
    for pitch, columns in product(pitches, (8, 16, 32, 64, 128)):
        yield "narrow", {"BK": columns}, {"pitch": pitch}
    for columns, warps, rows, pitch in product((16, 32, 64), (4, 8), (64, 128), pitches[:2]):
        tile = {"BM": rows, "BN": rows, "BK": columns}
        yield "product", {**tile, "num_warps": warps, "num_stages": 4}, {"pitch": pitch}
    for rows, width in product((8, 16, 32, 64, 128), (256, 1024)):
        yield "moved_line", {"BM": rows}, {"N": width}


def _of_walks() -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    part, blocks = 1 << 18, (1024, 4096)
    for share, turn, block in product((1, 2, 4, 8, 33, 132, 528), (0, 4096), blocks):
        yield "walk", {"BLOCK": block}, {"share": share, "turn": turn}
    for more, block in product((8, 64, 1024, 4096), blocks):
        yield "walk", {"BLOCK": block}, {"pitch": part + more}
    for share, turn, block in product((1, 4, 12, 132), (0, 4096), blocks):
        given = {"ctas": 132, "share": share, "turn": turn, "length": 4 * part, "pitch": 4 * part}
        yield "walk", {"BLOCK": block}, given
    for megabytes, move in product(range(16, 84, 4), (0, 1, 66)):
        yield "again", {}, {"part": (megabytes << 18) // 132 // 8192 * 8192, "move": move}


def measure(file: Path) -> None:
    """Write what the device is, and the times of all patterns."""
    import torch
    import triton

    specification = importlib.util.spec_from_file_location("patterns", KERNELS)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    device = torch.cuda.get_device_properties(0)
    query = "name,driver_version,clocks.max.sm,clocks.max.mem,clocks.sm,clocks.mem"
    smi = subprocess.run(
        ["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    found: dict[str, Any] = {
        "name": device.name, "sms": device.multi_processor_count,
        "l2_bytes": getattr(device, "L2_cache_size", None), "memory_bytes": device.total_memory,
        "nvidia-smi": dict(zip(query.split(","), smi.stdout.strip().split(", "), strict=False)),
        "triton": triton.__version__, "pytorch": torch.__version__, "launches": [],
    }  # fmt: skip
    pool: dict[str, Any] = {}
    filled = torch.empty(_FILLED, dtype=torch.int8, device="cuda")
    until = time.monotonic() + _SECONDS
    for name, settings, given in patterns():
        if time.monotonic() > until:
            break
        try:
            times = _times(module, name, settings, given, filled, pool)
        except Exception as error:  # any of the compiler or the driver
            times = {"error": repr(error).splitlines()[0][:300]}
        row = {"kernel": name, "settings": settings, "args": given, **times}
        found["launches"].append(row)
        print(json.dumps(row), flush=True)
        file.write_text(json.dumps(found, indent=1) + "\n")


def _times(
    module: Any, name: str, settings: dict[str, Any], given: dict[str, Any], filled: Any, pool: Any
) -> dict[str, Any]:
    import torch

    described = module.IRLENS_KERNELS[name]
    names: dict[str, Any] = {"cdiv": lambda a, b: -(-a // b), **described["sizes"], **given}
    names |= {key: value for key, value in described["args"].items() if type(value) is int} | given
    values: dict[str, Any] = {}
    for key, value in described["args"].items():
        if isinstance(value, str) and "[" in value:
            kind, _, shape = value.rstrip("]").partition("[")
            sizes = eval(f"({shape},)", {}, names)
            values[key] = _tensor(_TYPES[kind], math.prod(sizes), pool, key)
        else:
            values[key] = eval(value, {}, names) if isinstance(value, str) else names[key]
    chosen = {**described["constexprs"], **described["options"], **settings}
    names |= chosen
    grid = tuple(eval(str(each), {}, names) for each in described["grid"])
    kernel = getattr(module, name)[grid]

    def launch() -> None:
        kernel(**values, **chosen)

    launch()
    torch.cuda.synchronize()
    events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
    taken: list[float] = []
    while len(taken) < LEAST or (sum(taken) < FOR_MS and len(taken) < 10 * LEAST):
        for _ in range(2):  # for as long as Python takes to launch
            filled.zero_()
        events[0].record()
        launch()
        events[1].record()
        torch.cuda.synchronize()
        taken.append(events[0].elapsed_time(events[1]))
    taken.sort()
    deciles = [taken[len(taken) * tenth // 10] for tenth in (1, 5, 9)]
    kinds = ("p10", "us", "p90")
    return {key: round(each * 1e3, 3) for key, each in zip(kinds, deciles, strict=True)}


def _tensor(kind: str, elements: int, pool: dict[str, Any], name: str) -> Any:
    """Return a tensor of random numbers, a part of the longest one of its type and name yet."""
    import torch

    key = f"{name} {kind}"
    if key not in pool or pool[key].numel() < elements:
        pool.pop(key, None)
        torch.cuda.empty_cache()
        pool[key] = torch.empty(elements, dtype=getattr(torch, kind), device="cuda").uniform_()
    return pool[key][:elements]


def compare(file: Path) -> None:
    """Print each time, the estimate over it, and what irlens counts."""
    sys.path.insert(0, str(KERNELS.parents[3]))
    import irlens
    from irlens.analyze.time import estimate
    from irlens.model.errors import IrlensError
    from irlens.report.inspection import Inspection

    found = json.loads(file.read_text())
    print({key: value for key, value in found.items() if key != "launches"})
    for row in found["launches"]:
        words = f"{row['kernel']} {row['settings']} {row['args']}"
        if "us" not in row:
            print(words, row["error"])
            continue
        try:
            capture = irlens.capture(
                f"{KERNELS}:{row['kernel']}", target="h200", triton=found["triton"],
                args=row["args"], **row["settings"],
            )  # fmt: skip
            inspection = Inspection(capture)
            launch = inspection.launch
        except IrlensError as error:
            launch = str(error)
        if isinstance(launch, str):
            print(words, f"{row['us']:.1f} µs, no estimate: {launch}")
            continue
        counts, gpu = launch.counts, launch.machine.gpu
        estimated = estimate(counts, gpu)
        assert estimated.estimate_us is not None
        parts = sorted(estimated.parts.items(), key=lambda part: -part[1])[:4]
        shown = " ".join(f"{key} {value:.0f}" for key, value in parts)
        print(
            f"{estimated.estimate_us / row['us']:.2f} {row['us']:8.1f} µs, "
            f"{estimated.estimate_us:8.1f} by {estimated.bound}: {words}: {shown}; "
            f"lookups {counts.lookups:.3g} input {counts.input_cycles:.3g} "
            f"crossed {counts.crossed_bytes:.3g} dram {counts.dram_bytes:.3g} "
            f"l2 {counts.l2_bytes:.3g}",
            flush=True,
        )


if __name__ == "__main__":
    {"measure": measure, "compare": compare}[sys.argv[1]](Path(sys.argv[2]))
