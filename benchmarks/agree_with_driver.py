"""Launch the samples on the local GPU and compare the reports with its driver.

    python benchmarks/agree_with_driver.py [--json FILE]

For each configuration, prints whether the outputs match the PyTorch reference, and the driver's and
the report's registers, local bytes and blocks per SM. Exits with 1 on any disagreement. Needs a GPU
and PyTorch.
"""

import sys
from pathlib import Path

import msgspec

from irlens import gpus as arch
from irlens.compiler import Request, capture, find_device
from irlens.model.config import ConstexprValue
from irlens.model.errors import IrlensError
from irlens.model.report import Report
from irlens.report import inspect

SWEEP: dict[str, list[dict[str, ConstexprValue]]] = {
    "vector_add": [{"BLOCK_SIZE": size} for size in (256, 1024, 4096)],
    "softmax": [
        {"num_stages": stages, "num_warps": warps} for stages in (1, 2, 3, 4, 5) for warps in (4, 8)
    ],
    "matmul": [{}],
    "flash_attention": [{}],
    "matmul_tma": [{}],
    "layer_norm": [{}],
    "spill": [{}],
}


def main() -> int:
    """Print the table and return the exit code."""
    device = find_device()
    if device is None:
        print("no GPU in this machine", file=sys.stderr)
        return 2
    gpu = arch.find(device.name or device.target.arch)
    print(f"{device.name}: {gpu.name}, {gpu.sm_count} SMs")
    reports, disagreements = [], 0
    for kernel, settings in SWEEP.items():
        for chosen in settings:
            request = Request(
                kernel=kernel,
                target=gpu.target,
                sm_count=gpu.sm_count,
                settings=chosen,
                run=True,
            )
            try:
                captures = capture(request)
            except IrlensError as error:
                print(f"{kernel} {chosen}: {error.message} {error.hint or ''}")
                disagreements += 1
                continue
            for captured in captures:
                report = inspect(captured)
                reports.append(report)
                disagreements += not _agrees(report)
                _show(report)
    if "--json" in sys.argv:
        Path(sys.argv[sys.argv.index("--json") + 1]).write_bytes(msgspec.json.encode(reports))
    print(f"{len(reports)} launches, {disagreements} disagreements")
    return 1 if disagreements else 0


def _agrees(report: Report) -> bool:
    """Whether the report matches the driver and the outputs match the reference."""
    run = report.run
    if run is None:  # the driver cannot launch it: the report must say so too
        return report.occupancy is not None and not report.occupancy.launchable
    return (
        run.matches_reference is not False
        and run.registers == report.resources.registers
        and run.local_bytes == report.resources.local_bytes
        and report.occupancy is not None
        and run.blocks_per_sm == report.occupancy.blocks_per_sm
    )


def _show(report: Report) -> None:
    config, run, resources = report.config, report.run, report.resources
    chosen = {"num_warps": config.num_warps, "num_stages": config.num_stages}
    label = " ".join(f"{name}={value}" for name, value in (chosen | config.constexprs).items())
    blocks = report.occupancy.blocks_per_sm if report.occupancy else None
    ours = f"{resources.registers} registers, {resources.local_bytes} B local, {blocks} blocks/SM"
    if run is None:
        print(f"{report.kernel} {label}: {ours}; the driver cannot launch it")
        return
    theirs = f"{run.registers}, {run.local_bytes}, {run.blocks_per_sm}"
    print(
        f"{report.kernel} {label}: {ours}; driver {theirs}; "
        f"matches PyTorch: {run.matches_reference} (largest difference {run.max_abs_error})"
        f"{'' if _agrees(report) else '   <-- DISAGREES'}"
    )


if __name__ == "__main__":
    raise SystemExit(main())
