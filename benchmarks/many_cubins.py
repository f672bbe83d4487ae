"""Measure how long the machine code of many cubins takes, relative to nvdisasm itself.

    python benchmarks/many_cubins.py [CACHE] [RUNS]

The yardstick runs nvdisasm on every cubin below CACHE (those of samples/ by default), on all cores.
`irlens inspect CACHE --stage sass` prints the same code, once with an empty cache of its own and
once more. Prints wall-clock and processor time in seconds, and the medians of the ratios in the
same round.
"""

import os
import resource
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from irlens.artifacts import tools

SAMPLES = Path(__file__).resolve().parents[1] / "samples" / "captures"


def used() -> float:
    """Return the processor time of the processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def bare(cubins: list[Path]) -> None:
    """Disassemble on all cores."""
    tool = tools.find("nvdisasm")

    def run(cubin: Path) -> None:
        command = [str(tool), "-c", "-gi", "-gp", str(cubin)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as executor:
        list(executor.map(run, cubins))


def show(captures: str, cache: str) -> None:
    """Print the machine code of captures, with a directory as irlens's cache."""
    command = [sys.executable, "-m", "irlens", "inspect", captures, "--stage", "sass"]
    environment = os.environ | {"IRLENS_CACHE_DIR": cache}
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)


def measure(cubins: list[Path]) -> dict[str, tuple[float, float]]:
    """Return the wall-clock and the processor time of each way."""
    measured: dict[str, tuple[float, float]] = {}
    with TemporaryDirectory() as cache, TemporaryDirectory() as captures:
        for number, cubin in enumerate(cubins):  # AMD's captures have no cubin
            shutil.copytree(cubin.parent, Path(captures, f"{number:05}"))
        for name, step in {
            "nvdisasm": partial(bare, cubins),
            "irlens, empty cache": partial(show, captures, cache),
            "irlens, once more": partial(show, captures, cache),
        }.items():
            before, begun = used(), time.perf_counter()
            step()
            measured[name] = (time.perf_counter() - begun, used() - before)
    return measured


def main() -> None:
    """Print the table."""
    cache = Path(sys.argv[1]) if len(sys.argv) > 1 else SAMPLES
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    cubins = sorted(cache.rglob("*.cubin"))
    rounds = [measure(cubins) for _ in range(runs)]
    print(f"{len(cubins)} cubins, median of {runs} runs: wall-clock, processor time")
    for name in rounds[0]:
        wall, processor = (median(each[name][at] for each in rounds) for at in (0, 1))
        ratios = [median(each[name][at] / each["nvdisasm"][at] for each in rounds) for at in (0, 1)]
        print(f"{wall:7.2f} s {processor:7.2f} s  {ratios[0]:5.2f} x {ratios[1]:5.2f} x  {name}")


if __name__ == "__main__":
    main()
