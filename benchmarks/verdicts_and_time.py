"""Compare the static figures of configurations with their times on the local GPU.

    python benchmarks/verdicts_and_time.py [--json FILE]

Prints for each configuration of softmax and matmul the median time, the stages achieved, the bytes
in flight during the compute and the occupancy, then Spearman's rank correlation of each figure with
the speed. Needs an NVIDIA GPU and PyTorch.
"""

import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import correlation
from types import ModuleType
from typing import Any

import irlens
from irlens import gpus as arch
from irlens.compiler import find_device, known_files
from irlens.model.report import Report

SOFTMAX = [{"num_stages": s, "num_warps": w} for w in (4, 8) for s in (1, 2, 3, 4, 5)]
TILES = [(128, 128, 64, 8), (128, 256, 64, 8), (64, 128, 64, 4), (64, 64, 64, 4)]
MATMUL = [
    {
        "BLOCK_SIZE_M": m, "BLOCK_SIZE_N": n, "BLOCK_SIZE_K": k, "GROUP_SIZE_M": 8,
        "num_warps": w, "num_stages": s,
    }
    for m, n, k, w in TILES
    for s in (1, 2, 3, 4)
]  # fmt: skip
FIGURES = ("achieved stages", "bytes in flight per SM", "occupancy", "fewer registers")


def main() -> int:
    """Measure and print both tables."""
    import torch

    device = find_device()
    if device is None or not torch.cuda.is_available():
        print("no GPU in this machine", file=sys.stderr)
        return 2
    gpu = arch.find(device.name or device.target.arch)
    print(f"{device.name}, Triton {importlib.import_module('triton').__version__}")
    results = {
        "softmax": [_measure("softmax", gpu.name, chosen, _softmax(torch)) for chosen in SOFTMAX],
        "matmul": [_measure("matmul", gpu.name, chosen, _matmul(torch)) for chosen in MATMUL],
    }
    for kernel, rows in results.items():
        _show(kernel, [row for row in rows if row["milliseconds"] is not None])
    if "--json" in sys.argv:
        Path(sys.argv[sys.argv.index("--json") + 1]).write_text(json.dumps(results, indent=1))
    return 0


def _module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"bench_{name}", known_files()[name])
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _softmax(torch: Any) -> Callable[[dict[str, int]], Callable[[], object]]:
    kernel = _module("softmax").softmax_kernel
    rows, cols = 65536, 1024  # 256 MiB: several times the L2
    x = torch.randn(rows, cols, device="cuda")
    out = torch.empty_like(x)
    programs = 8 * torch.cuda.get_device_properties(0).multi_processor_count

    def prepare(chosen: dict[str, int]) -> Callable[[], object]:
        return lambda: kernel[(programs,)](
            out, x, cols, cols, rows, cols, BLOCK_SIZE=1024, **chosen
        )

    return prepare


def _matmul(torch: Any) -> Callable[[dict[str, int]], Callable[[], object]]:
    kernel = _module("matmul").matmul_kernel.fn  # without its autotuner
    size = 4096
    a, b = (torch.randn(size, size, device="cuda", dtype=torch.float16) for _ in range(2))
    c = torch.empty_like(a)

    def prepare(chosen: dict[str, int]) -> Callable[[], object]:
        grid = -(-size // chosen["BLOCK_SIZE_M"]) * -(-size // chosen["BLOCK_SIZE_N"])
        return lambda: kernel[(grid,)](
            a, b, c, size, size, size, size, 1, size, 1, size, 1, ACTIVATION=None, **chosen
        )

    return prepare


def _measure(
    kernel: str,
    target: str,
    chosen: dict[str, int],
    prepare: Callable[[dict[str, int]], Callable[[], object]],
) -> dict[str, Any]:
    from triton.runtime.errors import OutOfResources
    from triton.testing import do_bench

    capture = irlens.capture(
        kernel, target=target, args=None, grid=None, run=False, triton=None, **chosen
    )
    report = irlens.inspect(capture)
    try:
        milliseconds = do_bench(prepare(chosen), warmup=50, rep=300, return_mode="median")
    except OutOfResources:
        milliseconds = None
    return {"chosen": chosen, "milliseconds": milliseconds, **_figures(report)}


def _figures(report: Report) -> dict[str, float | str | None]:
    loads = [p for p in report.pipelines if p.kind in ("cp.async", "tma", "register")]
    flying = loads[0].bytes_in_flight if loads else None
    occupancy = report.occupancy
    return {
        "achieved stages": loads[0].achieved_stages if loads else 1,
        "bytes in flight per SM": (flying or 0) * (occupancy.blocks_per_sm if occupancy else 0),
        "occupancy": occupancy.theoretical if occupancy else 0.0,
        "fewer registers": -(report.resources.registers or 0),
        "verdicts": "; ".join(f"{p.kind}: {p.verdict}" for p in report.pipelines),
    }


def _show(kernel: str, rows: list[dict[str, Any]]) -> None:
    print(f"\n{kernel}")
    for row in sorted(rows, key=lambda row: row["milliseconds"]):
        chosen = " ".join(f"{name}={value}" for name, value in row["chosen"].items())
        print(
            f"{row['milliseconds']:8.4f} ms  {row['achieved stages']} stages "
            f"{row['bytes in flight per SM']:>8,} B in flight/SM  {row['occupancy']:6.1%}  "
            f"{-row['fewer registers']:>3} registers  {chosen}  [{row['verdicts']}]"
        )
    speed = _ranks([-row["milliseconds"] for row in rows])
    for figure in FIGURES:
        values = [row[figure] for row in rows]
        if len(set(values)) > 1:
            print(
                f"rank correlation of speed with {figure}: {correlation(speed, _ranks(values)):.2f}"
            )
        else:
            print(f"{figure} is the same for all")


def _ranks(values: list[float]) -> list[float]:
    ordered = sorted(values)
    return [ordered.index(value) + (ordered.count(value) - 1) / 2 for value in values]


if __name__ == "__main__":
    raise SystemExit(main())
