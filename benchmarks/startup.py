"""Measure the startup time of the command, relative to starting Python.

    python benchmarks/startup.py [RUNS]

Runs `python -c pass`, `irlens --help` and `irlens inspect` of a capture from samples/ in turn.
Prints the median of each, and of its ratio to Python in the same round: absolute times mean little
on a busy machine.
"""

import subprocess
import sys
import time
from pathlib import Path
from statistics import median

SAMPLE = Path(__file__).resolve().parents[1] / "samples" / "captures" / "softmax-h100"
IRLENS = [str(Path(sys.executable).with_name("irlens"))]  # as pip installs it
COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "irlens --help": [*IRLENS, "--help"],
    "irlens inspect CAPTURE": [*IRLENS, "inspect", str(SAMPLE)],
    "irlens inspect CAPTURE --stage ptx": [*IRLENS, "inspect", str(SAMPLE), "--stage", "ptx"],
}


def main() -> None:
    """Print the table."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for run in range(runs + 1):
        for name, command in COMMANDS.items():
            begun = time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            if run:  # the first round only warms the caches
                times[name].append(time.perf_counter() - begun)
    bare = times["python -c pass"]
    for name, taken in times.items():
        ratio = median(each / base for each, base in zip(taken, bare, strict=True))
        print(f"{median(taken) * 1e3:7.1f} ms  {ratio:5.1f} x  {name}")


if __name__ == "__main__":
    main()
