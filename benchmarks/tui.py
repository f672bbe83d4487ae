"""How quick the TUI is, and how much memory it takes.

    python benchmarks/tui.py [CACHE]

Prints the seconds from the start of the process to the first picture of a capture, from opening a
cache of 1,000 entries (or CACHE) to the list of its names and to the figures of all, and the most
memory that this took. `benchmarks/tui_code_pane.py` measures the text of large stages.
"""

import asyncio
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from irlens.artifacts.load import load
from irlens.capturing import Request
from irlens.tui.app import Lens
from irlens.tui.widgets.entry_table import EntryTable
from irlens.tui.widgets.panel import Panel
from irlens.workbench.bench import Bench

CAPTURES = Path(__file__).resolve().parents[1] / "samples" / "captures"
ENTRIES = 1000
SIZE = (120, 40)


def _never(name: str) -> Request:
    raise AssertionError(f"{name} is not to be compiled")


def bench_of(path: Path) -> Bench:
    """Return a workbench of everything below a path."""
    return Bench(path.name, lambda: load(path), asking=_never, root=path)


async def until(holds: Callable[[], bool]) -> float:
    """Wait for something, and return when it came to be."""
    while not holds():
        await asyncio.sleep(0.005)
    return time.perf_counter()


async def open_capture(begun: float) -> None:
    """Print how long it takes until a capture's figures are drawn."""
    bench = bench_of(CAPTURES / "softmax-h100")
    app = Lens(bench, entry=bench.single())
    async with app.run_test(size=SIZE) as pilot:
        drawn = await until(lambda: _is_drawn(app))
        await pilot.pause()
        print(f"{drawn - begun:6.2f} s  process start to the figures of a capture")


def _is_drawn(app: Lens) -> bool:
    return any("live in" in str(panel.content) for panel in app.screen.query(Panel))


async def list_cache(path: Path) -> None:
    """Print how long a list takes."""
    app = Lens(bench_of(path))
    begun = time.perf_counter()
    async with app.run_test(size=SIZE):
        table = app.screen.query_one(EntryTable)
        total = sum(1 for _ in load(path))
        listed = await until(lambda: len(table.rows.entries) >= total)
        print(f"{listed - begun:6.2f} s  {total:,} entries listed by name")
        figures = await until(
            lambda: all(each.resources or each.problem for each in table.rows.entries.values())
        )
        print(f"{figures - begun:6.2f} s  with registers and occupancy")
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{most:6.0f} MiB  at most, in this process")


def main() -> None:
    """Print all of it."""
    if "--capture" in sys.argv:  # measured from the outside: importing counts
        asyncio.run(open_capture(float(sys.argv[-1])))
        return
    for _ in range(2):  # the first time fills the memory of reports
        command = [sys.executable, __file__, "--capture", str(time.perf_counter())]
        subprocess.run(command, check=True)
    if len(sys.argv) > 1:
        asyncio.run(list_cache(Path(sys.argv[1])))
        return
    with tempfile.TemporaryDirectory() as folder:
        names = sorted(path for path in CAPTURES.iterdir() if path.is_dir())
        for number in range(ENTRIES):
            shutil.copytree(names[number % len(names)], Path(folder) / str(number))
        asyncio.run(list_cache(Path(folder)))


if __name__ == "__main__":
    main()
