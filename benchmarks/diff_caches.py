"""Measure `irlens diff` of two caches, with an empty cache of reports and once more.

    python benchmarks/diff_caches.py BEFORE AFTER

Prints wall-clock and processor time in seconds, all processes together.
"""

import os
import resource
import subprocess
import sys
import time
from tempfile import TemporaryDirectory


def main() -> None:
    """Print a line for each."""
    command = [sys.executable, "-m", "irlens", "diff", *sys.argv[1:]]
    with TemporaryDirectory() as cache:
        for name in ("empty cache", "once more"):
            before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            done = subprocess.run(
                command, stdout=subprocess.DEVNULL, env=os.environ | {"IRLENS_CACHE_DIR": cache}
            )
            assert done.returncode in (0, 1), "no comparison"
            taken = time.perf_counter() - begun
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            print(f"{taken:6.2f} s, {used:6.2f} s of processor time: {name}", flush=True)


if __name__ == "__main__":
    main()
