"""Measure a sweep over 100 configurations, relative to a loop that only compiles them.

    python benchmarks/sweep_speedup.py [JOBS ...]

The loop is a bare script: one process calls the kernel's `warmup` for each configuration under a
driver that needs no GPU. The sweep also inspects each capture and keeps both in its store, which is
empty. Wall-clock times mean little on a busy machine, so the last column is what the processor
times allow: the loop's, over the sweep's divided among as many idle cores as it has processes.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time

import msgspec
from cold_compile import SETUP, WARMUP  # type: ignore[import-not-found]  # beside this script

from irlens.model.sweep import Sweep

GRID = (
    "softmax", "--target", "h100", "--num-stages", "1..10", "--num-warps", "1..16..x2",
    "--set", "BLOCK_SIZE=1024,2048",
)  # fmt: skip
CONFIGURATIONS = 100
DRIVER, _, _ = WARMUP.partition("kernel.warmup(")
LOOP = """
for stages in range(1, 11):
    for warps in (1, 2, 4, 8, 16):
        for block in (1024, 2048):
            kernel.warmup(
                pointer, pointer, 1024, 1024, 4096, 1024, BLOCK_SIZE=block, num_stages=stages,
                num_warps=warps, grid=(1,),
            )
"""


def measure(command: list[str]) -> tuple[float, float, bytes]:
    """Return the wall-clock and the processor time of a command in seconds, and its output."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        variables = {"TRITON_CACHE_DIR": f"{folder}/triton", "IRLENS_CACHE_DIR": f"{folder}/irlens"}
        inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        start = time.perf_counter()
        ran = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=inherited | variables)
        taken = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return taken, used, ran.stdout


def sweep(jobs: int) -> tuple[float, float]:
    """Return the wall-clock and the processor time of a sweep in seconds."""
    command = [sys.executable, "-m", "irlens", "sweep", *GRID, "--format", "json"]
    taken, used, output = measure([*command, "--jobs", str(jobs)])
    trials = msgspec.json.decode(output, type=Sweep).trials
    assert len(trials) == CONFIGURATIONS
    assert all(trial.figures is not None for trial in trials)
    return taken, used


def main() -> None:
    """Print a line for the loop, and for each number of processes."""
    loop = [sys.executable, "-W", "ignore", "-c", SETUP + DRIVER + LOOP]
    alone, least, _ = measure(loop)
    print(f"loop            {alone:6.1f} s, {least:6.1f} s of processor time", flush=True)
    for jobs in [int(given) for given in sys.argv[1:]] or [1, 2]:
        taken, used = sweep(jobs)
        print(f"sweep --jobs {jobs:2} {taken:6.1f} s, {used:6.1f} s of processor time, ", end="")
        print(
            f"{alone / taken:.2f} x as fast, {least / used * jobs:.2f} x on idle cores", flush=True
        )


if __name__ == "__main__":
    main()
