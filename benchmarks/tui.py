"""Measure the TUI's startup time, loading time and memory.

    python benchmarks/tui.py [CACHE]

Prints the time from the start of ``irlens tui`` in a terminal to the frame of a capture's overview,
and to its figures, next to the startup time of a minimal Textual app; the time from opening a cache
of 1,000 entries (or CACHE) to the list of its names, to registers and occupancy, and to everything;
and the peak memory, reader processes included. `benchmarks/tui_code_pane.py` measures the text of
large stages.
"""

import asyncio
import fcntl
import multiprocessing
import os
import pty
import re
import shutil
import signal
import struct
import sys
import tempfile
import termios
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from irlens.artifacts.load import load
from irlens.compiler import Request
from irlens.session.interactive import Workbench
from irlens.tui.app import IrlensApp
from irlens.tui.entries.table import EntryTable

CAPTURES = Path(__file__).resolve().parents[1] / "samples" / "captures"
ENTRIES = 1000
SIZE = (120, 40)
RUNS = 5

#: The smallest Textual app.
ONE_WORD = """
from textual.app import App
from textual.widgets import Static
class OneWord(App):
    def compose(self):
        yield Static("word")
OneWord().run()
"""
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


def _never(name: str) -> Request:
    raise AssertionError(f"{name} must not be compiled")


def session_of(path: Path) -> Workbench:
    """Return a session with all captures below a path."""
    return Workbench(path.name, lambda: load(path), request_for=_never, root=path)


async def until(holds: Callable[[], bool]) -> float:
    """Wait until a condition holds; return the time."""
    while not holds():
        await asyncio.sleep(0.005)
    return time.perf_counter()


def seen_after(command: list[str], words: Sequence[str]) -> list[float]:
    """Start a command in a terminal; return the seconds until each word appears."""
    begun = time.perf_counter()
    child, terminal = pty.fork()
    if child == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", SIZE[1], SIZE[0], 0, 0))
        os.execvp(command[0], command)
    shown, seen = b"", dict.fromkeys(words, 0.0)
    try:
        while not all(seen.values()):
            shown += os.read(terminal, 1 << 16)
            text = _CONTROL.sub("", shown.decode("utf-8", "replace"))
            for word in words:
                if word in text and not seen[word]:
                    seen[word] = time.perf_counter() - begun
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(terminal)
    return list(seen.values())


def open_capture() -> None:
    """Print the shortest time until a capture's frame and its figures appear."""
    capture = str(CAPTURES / "softmax-h100")
    opened = [sys.executable, "-m", "irlens", "tui", capture]
    runs = [seen_after(opened, ["Live registers", "live in"]) for _ in range(RUNS)]
    frame, figures = map(min, zip(*runs, strict=True))
    (word,) = min(seen_after([sys.executable, "-c", ONE_WORD], ["word"]) for _ in range(RUNS))
    print(f"{frame:6.2f} s  process start to the frame of a capture ({word:.2f} s: Textual alone)")
    print(f"{figures:6.2f} s  and to its figures")


async def list_cache(path: Path) -> None:
    """Print the time to load a list of entries."""
    total = sum(1 for _ in load(path))
    app = IrlensApp(session_of(path))
    begun = time.perf_counter()
    async with app.run_test(size=SIZE):
        entries = app.screen.query_one(EntryTable).rows.entries
        listed = await until(lambda: len(entries) >= total)
        print(f"{listed - begun:6.2f} s  {total:,} entries listed by name")
        figures = await until(
            lambda: all(each.resources or each.problem for each in entries.values())
        )
        print(f"{figures - begun:6.2f} s  with registers and occupancy")
        whole = await until(
            lambda: all(each.findings is not None or each.problem for each in entries.values())
        )
        print(f"{whole - begun:6.2f} s  with stages and findings")
        workers = [worker.pid for worker in multiprocessing.active_children() if worker.pid]
        most = sum(map(_most_memory, [os.getpid(), *workers]))
    print(f"{most:6.0f} MiB  peak, in this process and {len(workers)} readers")


def _most_memory(process: int) -> float:
    """Return the peak memory of a process in MiB."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) / 1024


def main() -> None:
    """Run all measurements."""
    open_capture()
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
