"""Renew what is generated: captures, their reports, the JSON Schema, the README's output.

    python samples/make.py            # everything that is made from the captures here
    python samples/make.py --capture  # compile the captures anew, too

Run it after a change that is meant to change reports, and read the difference before committing
it: the tests hold all of it against what irlens writes. The compiler writes the paths of the
kernels and of Triton into its artifacts: compile where these say nothing about you.
"""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import irlens
from irlens import arch
from irlens.capturing import Request, capture_entries
from irlens.cli.exits import Exit
from irlens.comparison.sets import against_first, match
from irlens.inspection import inspect
from irlens.model.capture import Capture
from irlens.model.comparison import Comparisons
from irlens.model.config import ConstexprValue
from irlens.report import DETAILS, View, format_names, load_format
from irlens.report.json import schema

SAMPLES = Path(__file__).resolve().parent
README = SAMPLES.parent / "README.md"
OUTPUT = re.compile(r"(<!-- output: irlens (.*?) -->\n```text\n).*?(```\n<!-- end -->)", re.S)
TILE: dict[str, ConstexprValue] = {
    "BLOCK_SIZE_M": 64, "BLOCK_SIZE_N": 64, "BLOCK_SIZE_K": 32, "GROUP_SIZE_M": 8, "num_warps": 4,
}  # fmt: skip

#: Name, kernel, target and settings of each capture.
CAPTURES: tuple[tuple[str, str, str, dict[str, ConstexprValue]], ...] = (
    ("softmax-h100", "softmax", "h100", {"num_stages": 4}),
    ("softmax-t4", "softmax", "t4", {"num_stages": 4}),
    ("softmax-mi300x", "softmax", "mi300x", {"num_stages": 4}),
    ("matmul-a100", "matmul", "a100", {**TILE, "num_stages": 3}),
    ("matmul-b200", "matmul", "b200", {**TILE, "num_stages": 3}),
    ("matmul_tma-h100", "matmul_tma", "h100", {**TILE, "num_stages": 3}),
    ("spill-h100", "spill", "h100", {}),
)

#: Name and captures of each comparison: two, or several against the first.
COMPARISONS: dict[str, tuple[str, ...]] = {
    "softmax-t4-h100": ("softmax-t4", "softmax-h100"),
    "softmax-h100-mi300x": ("softmax-h100", "softmax-mi300x"),
    "matmul-a100-b200": ("matmul-a100", "matmul-b200"),
    "softmax-three": ("softmax-h100", "softmax-t4", "softmax-mi300x"),
}


def captures() -> dict[str, Capture]:
    """Return the captures in this folder by name."""
    folders = sorted(path for path in (SAMPLES / "captures").iterdir() if path.is_dir())
    return {folder.name: next(iter(irlens.load(folder))) for folder in folders}


def reports(capture: Capture) -> dict[str, str]:
    """Return a capture's report in every format, by file name extension."""
    report = inspect(capture)
    return {
        "txt": load_format("text").render([report], View()),
        "all.txt": load_format("text").render([report], View(details=frozenset(DETAILS))),
        "md": load_format("markdown").render([report], View()),
        "json": load_format("json").render([report], View()),
    }


def comparisons() -> dict[str, Comparisons]:
    """Return the comparisons of the captures in this folder by name."""
    found = {name: inspect(capture) for name, capture in captures().items()}
    several = {
        name: against_first([found[side] for side in sides]) for name, sides in COMPARISONS.items()
    }
    newer = [found["softmax-h100"], found["matmul-b200"]]
    return {**several, "folders": match(list(found.values()), newer)}


def _compile() -> None:
    for name, kernel, target, settings in CAPTURES:
        gpu = arch.find(target)
        request = Request(
            kernel=kernel, target=gpu.target, sm_count=gpu.sm_count, settings=settings
        )
        (entry,) = capture_entries(request)
        folder = SAMPLES / "captures" / name
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(entry, folder)


def _printed(arguments: str) -> str:
    command = [sys.executable, "-m", "irlens", *shlex.split(arguments)]
    ran = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
    if ran.returncode not in (Exit.OK, Exit.DIFFERENCE):
        raise SystemExit(f"irlens {arguments} failed")
    return ran.stdout


def main() -> None:
    """Write everything."""
    if "--capture" in sys.argv:
        _compile()
    (SAMPLES / "reports").mkdir(exist_ok=True)
    for name, capture in captures().items():
        for extension, text in reports(capture).items():
            (SAMPLES / "reports" / f"{name}.{extension}").write_text(text)
    (SAMPLES / "comparisons").mkdir(exist_ok=True)
    for name, compared in comparisons().items():
        for writer in map(load_format, format_names()):
            path = SAMPLES / "comparisons" / f"{name}.{writer.EXTENSION}"
            path.write_text(writer.render_comparison(compared, View()))
    (SAMPLES / "report.schema.json").write_text(schema())
    renewed = OUTPUT.sub(lambda m: m[1] + _printed(m[2]) + m[3], README.read_text())
    README.write_text(renewed)


if __name__ == "__main__":
    main()
