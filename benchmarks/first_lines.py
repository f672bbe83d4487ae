"""Show the first lines that irlens answers to a user with files of their own.

    python benchmarks/first_lines.py [SCENARIO...] [--lines N]

Whoever reads these lines alone should be able to name the fastest configuration, the change in
time and its cause, or what to type next. The files of ``benchmarks/first_lines`` are kernels and
programs as people keep them in a repository: irlens has no description of them. Each scenario runs
in a fresh copy with an empty store, under git, without a GPU.
"""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import click

FILES = Path(__file__).with_name("first_lines")
#: Commands by scenario; those that do not begin with "irlens" prepare the next.
SCENARIOS = {
    "own file": (
        "irlens",
        "irlens inspect rms_norm.py",
        "irlens inspect split_k.py",
        "irlens inspect fp8_matmul.py:scaled_fp8_matmul",
        "irlens inspect missing.py",
    ),
    "a kernel": (
        "irlens record rms_norm.py",
        "irlens inspect irlens-rms_norm",
        "irlens suggest irlens-rms_norm",
        "irlens inspect irlens-rms_norm --set BLOCK=8192",
    ),
    "autotune": (
        "irlens record -m pytest -q split_k.py",
        "irlens inspect irlens-pytest",
        "irlens sweep irlens-pytest --num-stages 3,4,5",
        "irlens scan irlens-pytest",
    ),
    "attention": (
        "irlens record attention.py",
        "irlens diff irlens-attention --num-stages 2,3",
        "irlens diff irlens-attention --num-warps 4,8",
        "irlens sweep irlens-attention --set BLOCK_N=32,64,128 --num-warps 4,8",
        "irlens suggest irlens-attention --budget 60s",
    ),
    "a plateau": (
        "irlens record paged_decode.py",
        "irlens sweep irlens-paged_decode --num-stages 2,3,4,5",
        "irlens suggest irlens-paged_decode",
    ),
    "an edit": (
        "irlens record fp8_matmul.py",
        "sed -i 's/BLOCK_N=128, BLOCK_K=64/BLOCK_N=256, BLOCK_K=128/' fp8_matmul.py",
        "mv irlens-fp8_matmul before",
        "irlens record fp8_matmul.py",
        "irlens diff before irlens-fp8_matmul",
        "irlens diff irlens-fp8_matmul --num-stages 3,6",
    ),
    "a program": (
        "irlens record train.py",
        "irlens scan irlens-train",
        "irlens diff irlens-train irlens-train",
    ),
    "pull request": (
        "irlens record rms_norm.py",
        "irlens check irlens-rms_norm -t a100,h100,mi300x",
        "irlens check irlens-rms_norm --update",
        "irlens check",
    ),
}


def _irlens(command: str, folder: Path, lines: int) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", *shlex.split(command)],
        cwd=folder, capture_output=True, text=True, check=False,
        env=os.environ | {"IRLENS_CACHE_DIR": str(folder / ".store"), "COLUMNS": "100"},
    )  # fmt: skip
    click.secho(f"$ {command}", bold=True)
    talk = [line for line in ran.stderr.splitlines() if line.startswith(("irlens:", "  "))]
    for line in [*ran.stdout.splitlines()[:lines], *([] if ran.stdout else talk[-lines:])]:
        click.echo(f"  {line}")
    if ran.returncode:
        click.echo(f"  [exit {ran.returncode}]")


@click.command()
@click.argument("scenarios", nargs=-1, type=click.Choice(sorted(SCENARIOS)))
@click.option("--lines", default=3, show_default=True, help="Lines of each answer.")
def main(scenarios: tuple[str, ...], lines: int) -> None:
    """Run the scenarios, or all of them."""
    for name in scenarios or SCENARIOS:
        click.secho(f"\n{name}", underline=True)
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch) / "project"
            shutil.copytree(FILES, folder)
            for command in ("git init -q", "git add -A", "git commit -qm Start", *SCENARIOS[name]):
                if command.startswith("irlens"):
                    _irlens(command, folder, lines)
                else:
                    subprocess.run(command, shell=True, check=True, cwd=folder)  # ours


if __name__ == "__main__":
    main()
