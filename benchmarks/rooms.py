"""Count the modules that `irlens inspect` imports of each room, and follow the captures through it.

    python benchmarks/rooms.py

Inspects softmax with a store of its own: newly compiled, from the store alone, and remembered; then
its machine code, annotated and interleaved. For each it prints the modules of irlens that were
imported, by room, and the walk of the captures: the files with a function that is handed a capture,
several of them, or their code, and how often the walk leads from a file to one of a room above
(each pair of files is counted once).
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from itertools import pairwise
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = f"{ROOT / 'irlens'}{os.sep}"
SOFTMAX = ("inspect", "softmax", "--num-stages", "4", "--target", "h100")
ANNOTATED = (*SOFTMAX, "--stage", "sass", "--annotate", "--interleave")
#: Each command, and what is removed from the store before it.
RUNS = (
    ("newly compiled", SOFTMAX, (".",)),
    ("from the store", SOFTMAX, ("reports", "pages")),
    ("remembered", SOFTMAX, ()),
    ("--stage sass --annotate --interleave", ANNOTATED, ("reports", "pages")),
    ("the same, remembered", ANNOTATED, ()),
)
CAPTURES = frozenset({"Capture", "CaptureCode"})


def layers() -> dict[str, int]:
    """Return the height of each room, 0 for the highest."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    rows = next(each["layers"] for each in contracts if each["name"] == "Data flows one way")
    return {
        name.strip().removeprefix("irlens."): number
        for number, row in enumerate(rows)
        for name in row.split("|")
    }


class Walk:
    """Follows captures: which files are handed one, one after the other."""

    def __init__(self) -> None:
        self.files: list[str] = []

    def called(self, frame: FrameType, event: str, _: object) -> None:
        """Note a call, as ``sys.setprofile`` reports it."""
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(PACKAGE):
            return
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        if any(holds_capture(frame.f_locals.get(name)) for name in names):
            self.files.append(code.co_filename.removeprefix(PACKAGE))


def holds_capture(value: object) -> bool:
    """Whether a value is a capture, its code, or begins with one."""
    if isinstance(value, list | tuple) and value:
        return holds_capture(value[0])
    return type(value).__name__ in CAPTURES


def trace(arguments: list[str], answer: Path) -> None:
    """Run a command in this process, and write which modules it imported and its walk."""
    from irlens.cli import main

    walk = Walk()
    sys.argv = ["irlens", *arguments]
    sys.setprofile(walk.called)
    try:
        main()
    finally:
        sys.setprofile(None)
        modules = [name for name in sys.modules if name.startswith("irlens.")]
        answer.write_text(json.dumps({"modules": modules, "files": walk.files}))


def describe(answer: dict[str, list[str]], heights: dict[str, int]) -> str:
    """Return what a command imported, and its walk, as a line each."""

    def height(file: str) -> int:
        return heights.get(file.partition("/")[0].removesuffix(".py"), -1)

    rooms = Counter(name.split(".")[1] for name in answer["modules"])
    listed = "  ".join(f"{room} {rooms[room]}" for room in sorted(rooms, key=height))
    files = answer["files"]
    steps = set(pairwise(files))
    upwards = sum(height(after) < height(before) for before, after in steps)
    return (
        f"  {len(answer['modules'])} modules: {listed}\n"
        f"  the captures enter {len(set(files))} files, {upwards} times upwards"
    )


def main() -> None:
    """Print both for each command."""
    heights = layers()
    with tempfile.TemporaryDirectory() as folder:
        store, answer = Path(folder, "store"), Path(folder, "answer.json")
        environment = {**os.environ, "IRLENS_CACHE_DIR": str(store), "PYTHONPATH": str(ROOT)}
        for title, arguments, removed in RUNS:
            for name in removed:
                shutil.rmtree(store / name, ignore_errors=True)
            command = [sys.executable, __file__, str(answer), *arguments]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
            print(f"{title}\n{describe(json.loads(answer.read_text()), heights)}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        trace(sys.argv[2:], Path(sys.argv[1]))
    else:
        main()
