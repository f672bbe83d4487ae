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
from irlens.inspection import inspect
from irlens.model.capture import Capture
from irlens.model.config import ConstexprValue
from irlens.report import DETAILS, View, load_format
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
        "json": load_format("json").render([report], View()),
    }


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
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def main() -> None:
    """Write everything."""
    if "--capture" in sys.argv:
        _compile()
    (SAMPLES / "reports").mkdir(exist_ok=True)
    for name, capture in captures().items():
        for extension, text in reports(capture).items():
            (SAMPLES / "reports" / f"{name}.{extension}").write_text(text)
    (SAMPLES / "report.schema.json").write_text(schema())
    renewed = OUTPUT.sub(lambda m: m[1] + _printed(m[2]) + m[3], README.read_text())
    README.write_text(renewed)


if __name__ == "__main__":
    main()
