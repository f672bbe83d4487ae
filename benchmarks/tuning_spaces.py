"""Rank whole tuning spaces by estimated time, and hold the order against a GPU's.

    python benchmarks/tuning_spaces.py measure FOLDER [SECONDS]
    python benchmarks/tuning_spaces.py table FOLDER

``measure`` compiles every configuration of each space on a machine with a GPU, times it, and writes
a sweep as JSON; no space begins after SECONDS (by default 1200). ``table`` reads the sweeps and
prints for each space what ``benchmarks/time_model.py`` prints for a kind of kernel: the error of
the estimates, the time of the configuration that ranks first and of the best of the first eight
over the best, and Spearman's rank correlation; and how many times are within the stated range.
``time_counts.py FOLDER`` makes them data that the model is fitted to.
"""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import geometric_mean, median

import msgspec
from time_model import Score, score  # type: ignore[import-not-found]  # beside this file

from irlens import gpus
from irlens.compiler import find_device
from irlens.model.sweep import Sweep, Trial
from irlens.session.session import Session

#: The axes of each space, over a sample's other settings.
SPACES = {
    "matmul_bias_relu": (
        "--set", "BLOCK_SIZE_M=64,128,256", "--set", "BLOCK_SIZE_N=64,128,256",
        "--set", "BLOCK_SIZE_K=32,64", "--num-warps", "4,8", "--num-stages", "2..4",
        "--where", "BLOCK_SIZE_M * BLOCK_SIZE_N <= 32768",
    ),
    "matmul_batched": (
        "--set", "BLOCK_SIZE_M=64,128", "--set", "BLOCK_SIZE_N=64,128",
        "--set", "BLOCK_SIZE_K=32,64", "--num-warps", "4,8", "--num-stages", "2..4",
    ),
    "matmul_persistent": (
        "--set", "BLOCK_SIZE_M=64,128", "--set", "BLOCK_SIZE_N=128,256",
        "--num-warps", "4,8", "--num-stages", "2..4",
    ),
    "flash_attention": (
        "--set", "BLOCK_M=64,128", "--set", "BLOCK_N=32,64,128", "--num-warps", "4,8",
        "--num-stages", "2..4",
    ),
    "layer_norm_looped": (
        "--set", "BLOCK_SIZE=256..8192..x2", "--num-warps", "1,2,4,8,16", "--num-stages", "1,3",
    ),
    "softmax_online": ("--set", "BLOCK_SIZE=512..16384..x2", "--num-warps", "2,4,8,16"),
    "transpose": ("--set", "BLOCK_SIZE=16..128..x2", "--num-warps", "1,2,4,8,16"),
    "column_sum": (
        "--set", "BLOCK_M=8..64..x2", "--set", "BLOCK_N=16..128..x2", "--num-warps", "2,4,8",
    ),
    "gelu": ("--set", "BLOCK_SIZE=128..8192..x2", "--num-warps", "1,2,4,8"),
    "copies:copy_strided_kernel": ("--set", "BLOCK_SIZE=512..4096..x2", "--num-warps", "2,4,8"),
    "layer_norm": ("--num-warps", "2,4,8,16,32"),
    "layer_norm_backward": ("--num-warps", "2,4,8,16"),
    "softmax_rows": ("--num-warps", "1,2,4,8,16"),
    "rms_norm": ("--num-warps", "2,4,8,16,32"),
    "exp_sin": ("--set", "BLOCK_SIZE=256..4096..x2", "--num-warps", "1,2,4,8"),
}  # fmt: skip


class Timed(msgspec.Struct, frozen=True):
    """A configuration as ``time_model.score`` takes it: all of a space are one problem."""

    problem: str
    us: float


def measure(folder: Path, seconds: float) -> None:
    """Write the sweep of each space."""
    device = find_device()
    if device is None:
        sys.exit("this machine has no GPU")
    target = Session().default_gpu(device).name
    folder.mkdir(parents=True, exist_ok=True)
    until = time.monotonic() + seconds
    for name, axes in SPACES.items():
        left = until - time.monotonic()
        if left <= 0:
            print(f"{name}: no time left", flush=True)
            continue
        command = [
            sys.executable, "-m", "irlens", "sweep", name, *axes, "-t", target, "--measure",
            "--rank", "time", "--format", "json", "-o", str(folder / f"{name}.json"),
        ]  # fmt: skip
        code = subprocess.run(command, check=False).returncode
        print(f"{name}: exit {code}, {until - time.monotonic():.0f} s left", flush=True)


def table(folder: Path) -> Iterator[str]:
    """Yield the lines of the table."""
    yield (
        "| kernel | configurations | unknown | median error | bias | in range | first over best "
        "| best of 8 | rank |"
    )
    yield "|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    scores: list[Score] = []
    for name in SPACES:
        file = folder / f"{name}.json"
        if not file.exists():
            continue
        trials = msgspec.json.decode(file.read_bytes(), type=Sweep).trials
        timed = [trial for trial in trials if trial.timing is not None]
        known = [trial for trial in timed if _estimate(trial)]
        if len(known) < 4:
            continue
        found = score(
            [Timed(name, _us(each)) for each in known], [_estimate(each) for each in known]
        )
        scores.append(found)
        inside = sum(map(_in_range, known)) / len(known)
        yield (
            f"| {name} | {len(known)} | {len(timed) - len(known)} | {found.error:.1%} "
            f"| {found.bias:+.1%} | {inside:.0%} | {found.first[0]:.2f} "
            f"| {found.best_of_8[0]:.2f} | {found.rank[0]:.2f} |"
        )
    if scores:
        yield ""
        yield f"first over best, geometric mean: {geometric_mean(s.first[0] for s in scores):.3f}"
        best = geometric_mean(s.best_of_8[0] for s in scores)
        yield f"best of the first eight over the best, geometric mean: {best:.3f}"
        yield f"median of the median errors: {median(s.error for s in scores):.1%}"
        yield f"median rank correlation: {median(s.rank[0] for s in scores):.2f}"


def _us(trial: Trial) -> float:
    assert trial.timing is not None
    return trial.timing.median_ms * 1e3


def _estimate(trial: Trial) -> float:
    """Return the estimated time in microseconds, 0 for unknown."""
    return float((trial.figures or {}).get("time") or 0)


def _in_range(trial: Trial) -> bool:
    """Whether the range holds that exact counts would get, the narrowest."""
    timing = gpus.find(trial.target.product or trial.target.arch).timing
    assert timing is not None
    return timing.low <= _us(trial) / _estimate(trial) <= timing.high


def main() -> int:
    """Run a subcommand."""
    what, folder, *rest = sys.argv[1:]
    if what == "measure":
        measure(Path(folder), float(rest[0]) if rest else 1200)
    else:
        print("\n".join(table(Path(folder))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
