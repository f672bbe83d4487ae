"""Time atomic additions on this machine's GPU: to how many addresses, how far apart, of which type.

    python benchmarks/atomics.py -o atomics.json

The constants of ``irlens/analyze/time/transfers.py`` are from here, and what an H100 answered is
``tests/data/h100/atomics.json``, against which a test holds the estimates.
"""

import json
import runpy
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PROGRAM = Path(__file__).parent / "programs" / "atomic_ops.py"
RUNS = 15


def launches() -> Iterator[dict[str, Any]]:
    """Yield each launch: the kernel, its arguments as types and shapes, and its configuration."""
    n, most = 1 << 20, 1 << 24
    for dtype in ("fp32", "fp16", "fp64", "i32", "i64"):
        for k in (1, 8, 32, 256, 8192, 1 << 17, n)[:: 1 if "64" not in dtype else 2]:
            yield _launch("spread", dtype, n, k, 1024, K=k, STRIDE=1, SEM="relaxed", B=1024)
    yield _launch("spread", "fp32", n, 8, 1024, K=8, STRIDE=1, SEM="acq_rel", B=1024)
    for stride in (2, 8, 32, 128):
        for k in (1024, 8192):
            out = k * stride
            yield _launch("spread", "fp32", n, out, 1024, K=k, STRIDE=stride, SEM="relaxed", B=1024)
    for b in (256, 1024, 4096, 16384):
        for k in (1, 4, 16, 64, 1024):
            yield _launch("blocked", "fp32", most, k * b, most // b // 4, K=k, B=b)
    for sem in ("relaxed", "acq_rel"):
        for k in (1, 16, 1024):
            for b in (128, 1024):
                yield _launch("scalar", "fp32", most, k, most // b // 4, K=k, SEM=sem, B=b)
    for t in (1, 4, 16, 64, 256, 1024):
        yield _launch("split", "fp32", most, t * 4096, 4096, T=t, B=64)


def _launch(
    kernel: str, dtype: str, size: int, out: int, grid: int, **constexprs: Any
) -> dict[str, Any]:
    args = {"x": f"{dtype}[{size}]", "out": f"{dtype}[{out}]"}
    return {"kernel": kernel, "args": args, "constexprs": constexprs, "grid": grid}


def main() -> None:
    """Time all launches, with caches cold, and write their medians in microseconds."""
    import torch

    kernels = runpy.run_path(str(PROGRAM))
    types = {
        "fp32": torch.float32, "fp16": torch.float16, "fp64": torch.float64, "i32": torch.int32,
        "i64": torch.int64,
    }  # fmt: skip
    flush = torch.empty(64 << 20, dtype=torch.int8, device="cuda")
    timed = []
    for each in launches():
        tensors = []
        for text in each["args"].values():
            dtype, _, size = text.rstrip("]").partition("[")
            tensors.append(torch.ones(int(size), dtype=types[dtype], device="cuda"))
        kernel = kernels[each["kernel"]][(each["grid"],)]
        times = []
        for _ in range(RUNS):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            flush.zero_()
            torch.cuda._sleep(400_000)  # until then the launch is queued
            begin.record()
            kernel(*tensors, **each["constexprs"], num_warps=4)
            end.record()
            end.synchronize()
            times.append(begin.elapsed_time(end) * 1e3)
        timed.append({**each, "us": round(statistics.median(times), 2)})
        print(json.dumps(timed[-1]), file=sys.stderr)
    text = json.dumps({"device": torch.cuda.get_device_name(), "launches": timed}, indent=None)
    if sys.argv[1:2] == ["-o"]:
        Path(sys.argv[2]).write_text(text + "\n")
    else:
        print(text)


if __name__ == "__main__":
    main()
