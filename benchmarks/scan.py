"""Measure `irlens scan` over directories of 50 to 20,000 entries, with a yardstick beside it.

    python benchmarks/scan.py [N ...]

The entries are the captures in samples/, under new names. For each number of entries it
prints processor time, entries per second of processor time, and the peak memory of the process for

* the yardstick: a bare script that lists the entries and reads the metadata and the binary of each,
* registers and occupancy as CSV, with an empty index and again with a full one,
* pipelines and findings as CSV, in one process, for up to 500 entries: what one costs does not
  depend on their number.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from irlens.artifacts import scan_index

CAPTURES = Path(__file__).resolve().parents[1] / "samples" / "captures"
NUMBERS = (50, 500, 2_000, 20_000)
#: Pipelines and findings are measured for no more entries.
MOST_PARSED = 500
YARDSTICK = """
import json, os, sys
total = 0
for entry in sorted(os.scandir(sys.argv[1]), key=lambda entry: entry.name):
    for file in os.scandir(entry.path):
        if file.name.endswith((".json", ".cubin", ".hsaco")):
            with open(file.path, "rb") as opened:
                content = opened.read()
            total += len(json.loads(content) if file.name.endswith(".json") else content)
print(total)
"""
CHEAP = ("--columns", "kernel,target,registers,occupancy")
PARSED = ("--columns", "kernel,stages_achieved,findings", "--jobs", "1")


def main() -> None:
    """Print a block of rows for each number of entries."""
    numbers = [int(argument) for argument in sys.argv[1:]] or NUMBERS
    print(f"{'entries':>8}  {'work':<34} {'CPU s':>7} {'entries/s':>10} {'MB':>6}")
    with tempfile.TemporaryDirectory() as name:
        for number in numbers:
            entries = Path(name, "entries", str(number))
            fill(entries, number)
            environment = {**os.environ, "IRLENS_CACHE_DIR": str(Path(name, f"store-{number}"))}
            irlens = [sys.executable, "-m", "irlens", "scan", str(entries), "-f", "csv"]
            # Entries that changed just now are not indexed.
            time.sleep(scan_index.SETTLED_NS / 1e9 + 0.1)
            for work, command in (
                ("yardstick: read what is needed", [sys.executable, "-c", YARDSTICK, str(entries)]),
                ("registers, occupancy", [*irlens, *CHEAP]),
                ("the same again", [*irlens, *CHEAP]),
                ("pipelines, findings", [*irlens, *PARSED]),
            ):
                if "pipelines" not in work or number <= MOST_PARSED:
                    report(number, work, command, environment)


def fill(folder: Path, number: int) -> None:
    """Make a directory of entries: copies of the samples, and links to the files of these."""
    samples = sorted(CAPTURES.iterdir())
    for index in range(number):
        is_first = index < len(samples)
        original = samples[index] if is_first else folder / f"{index % len(samples):05}"
        copy = shutil.copyfile if is_first else os.link
        shutil.copytree(original, folder / f"{index:05}", copy_function=copy)


def report(number: int, work: str, command: list[str], environment: dict[str, str]) -> None:
    """Run a command, and print its processor time and its peak memory."""
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{command} failed")
    seconds = usage.ru_utime + usage.ru_stime
    memory = usage.ru_maxrss / 1024
    print(f"{number:>8,}  {work:<34} {seconds:>7.2f} {number / seconds:>10,.0f} {memory:>6.0f}")


if __name__ == "__main__":
    main()
