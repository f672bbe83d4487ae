"""Measure the speedup of a sweep over 200 configurations with two processes instead of one.

    python benchmarks/sweep_speedup.py [JOBS ...]

Each sweep compiles into its own store. Two worker processes on two cores should be at least 1.7
times as fast as one. On a busy machine wall-clock times say little: compare the CPU times, which
should be about equal.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time

import msgspec

from irlens.model.sweep import Sweep

GRID = (
    "softmax", "--target", "h100", "--num-stages", "1..10", "--num-warps", "1..16..x2",
    "--set", "BLOCK_SIZE=1024,2048", "--maxnreg", "64,128",
)  # fmt: skip
CONFIGURATIONS = 200


def measure(jobs: int) -> tuple[float, float]:
    """Return the wall-clock and the CPU time of a sweep in seconds."""
    command = [sys.executable, "-m", "irlens", "sweep", *GRID, "--format", "json"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as store:
        start = time.perf_counter()
        ran = subprocess.run(
            [*command, "--jobs", str(jobs)], check=True, stdout=subprocess.PIPE,
            env={**os.environ, "IRLENS_CACHE_DIR": store},
        )  # fmt: skip
        taken = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    trials = msgspec.json.decode(ran.stdout, type=Sweep).trials
    assert len(trials) == CONFIGURATIONS
    assert all(trial.figures is not None for trial in trials)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return taken, used


def main() -> None:
    """Print a line for each number of processes."""
    alone = None
    for jobs in [int(given) for given in sys.argv[1:]] or [1, 2]:
        taken, used = measure(jobs)
        alone = alone or taken
        print(f"{jobs:3} processes: {taken:6.1f} s, {used:6.1f} s of CPU time, ", end="")
        print(f"{alone / taken:.2f} times as fast as the first", flush=True)


if __name__ == "__main__":
    main()
