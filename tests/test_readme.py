"""The commands of the README and the guide run, and their output is what they print."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from irlens.compiler.toolchains.versions import triton_version

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
TEXT = "\n".join(page.read_text() for page in PAGES)
OUTPUT = re.compile(
    r"<!-- output: irlens (.*?) -->\n```(?:text|markdown)\n(.*?)```\n<!-- end -->", re.DOTALL
)


def run(arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "irlens", *shlex.split(arguments)],
        capture_output=True, text=True, check=False, cwd=ROOT,
    )  # fmt: skip


def without_sizes(text: str) -> str:
    """Drop the stages' sizes: their debug information holds paths, which differ in length."""
    kept, stages = [], False
    for line in text.splitlines():
        stages = line.startswith("Stages") or (stages and line.startswith(" "))
        kept += [] if stages else [line]
    return "\n".join(kept)


@pytest.mark.parametrize(("arguments", "shown"), OUTPUT.findall(TEXT))
def test_the_output_shown_is_what_irlens_prints(arguments: str, shown: str) -> None:
    if arguments.startswith("traffic "):
        pytest.importorskip("torch", reason="the references are PyTorch's")
    ran = run(arguments)
    assert ran.returncode == (1 if arguments.startswith("diff ") else 0), ran.stderr
    if "samples/" in arguments or f"Triton {triton_version()}" in shown:
        assert without_sizes(ran.stdout) == without_sizes(shown)
    else:  # another compiler, other numbers: the same lines begin the same
        labels = [line[:12].strip() for line in shown.splitlines() if line[:1].isalpha()]
        assert all(label in ran.stdout for label in labels[1:])


def test_every_option_that_the_pages_name_exists() -> None:
    commands = re.findall(r"^\$ irlens (\w+)(.*?)(?:#.*)?$", TEXT, re.M)
    assert len(commands) > 10
    for command, rest in commands:
        told = run(f"{command} --help").stdout
        for option in re.findall(r"(?<=\s)--?[a-z][\w-]*", rest):
            assert option in told, (command, option)
