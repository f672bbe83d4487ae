"""Measure sweeps of softmax and matmul, relative to a loop that only compiles their configurations.

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
from typing import NamedTuple

import msgspec
from cold_compile import SETUP, WARMUP  # type: ignore[import-not-found]  # beside this script

from irlens.model.sweep import Sweep

DRIVER, _, _ = WARMUP.partition("kernel.warmup(")


class Work(NamedTuple):
    """A kernel's grid of configurations.

    Attributes:
        grid: The arguments of the sweep.
        loop: Compiles the same configurations, and keeps nothing.
    """

    kernel: str
    configurations: int
    grid: tuple[str, ...]
    loop: str


SOFTMAX = Work(
    "softmax",
    100,
    ("--num-stages", "1..10", "--num-warps", "1..16..x2", "--set", "BLOCK_SIZE=1024,2048"),
    """
for stages in range(1, 11):
    for warps in (1, 2, 4, 8, 16):
        for block in (1024, 2048):
            kernel.warmup(
                pointer, pointer, 1024, 1024, 4096, 1024, BLOCK_SIZE=block, num_stages=stages,
                num_warps=warps, grid=(1,),
            )
""",
)
MATMUL = Work(
    "matmul",
    48,
    (
        "--num-stages", "3..5", "--num-warps", "4,8", "--set", "BLOCK_SIZE_M=64,128", "--set",
        "BLOCK_SIZE_N=64,128", "--set", "BLOCK_SIZE_K=32,64", "--set", "GROUP_SIZE_M=8",
    ),
    """
from itertools import product
from matmul import matmul_kernel
half, n = MockTensor(triton.language.float16), 4096
for stages, warps, m, width, k in product((3, 4, 5), (4, 8), (64, 128), (64, 128), (32, 64)):
    matmul_kernel.fn.warmup(
        half, half, half, n, n, n, n, 1, n, 1, n, 1, BLOCK_SIZE_M=m, BLOCK_SIZE_N=width,
        BLOCK_SIZE_K=k, GROUP_SIZE_M=8, ACTIVATION=None, num_stages=stages, num_warps=warps,
        grid=(1,),
    )
""",
)  # fmt: skip


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


def bare(work: Work) -> tuple[float, float]:
    """Return the wall-clock and the processor time of the loop in seconds."""
    taken, used, _ = measure([sys.executable, "-W", "ignore", "-c", SETUP + DRIVER + work.loop])
    return taken, used


def sweep(work: Work, jobs: int) -> tuple[float, float]:
    """Return the wall-clock and the processor time of a sweep in seconds."""
    command = [sys.executable, "-m", "irlens", "sweep", work.kernel, "--target", "h100", *work.grid]
    taken, used, output = measure([*command, "--format", "json", "--jobs", str(jobs)])
    trials = msgspec.json.decode(output, type=Sweep).trials
    assert len(trials) == work.configurations
    assert all(trial.figures is not None for trial in trials)
    return taken, used


def main() -> None:
    """Print a line for each loop, and for each number of processes."""
    for work in (SOFTMAX, MATMUL):
        alone, least = bare(work)
        print(
            f"loop of {work.configurations} {work.kernel:8} {alone:6.1f} s, {least:6.1f} s of CPU"
        )
        for jobs in [int(given) for given in sys.argv[1:]] or [1, 2]:
            taken, used = sweep(work, jobs)
            print(
                f"sweep --jobs {jobs:2} {taken:14.1f} s, {used:6.1f} s of processor time, "
                f"{alone / taken:.2f} x as fast, {least / used * jobs:.2f} x on idle cores",
                flush=True,
            )


if __name__ == "__main__":
    main()
