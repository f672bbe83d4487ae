"""Imports: help and reading captures load neither Triton nor PyTorch nor Textual."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from irlens.cli import commands
from irlens.cli.root import COMMANDS

HEAVY = {"triton", "torch", "textual", "rich", "pygments", "numpy", "mcp"}

# Runs irlens as its entry point does, then tells which modules it took.
PROBE = """
import json, sys
sys.argv = ["irlens", *json.loads(sys.argv[1])]
import irlens.cli
try:
    irlens.cli.main()
except SystemExit as stop:
    print("exit", stop.code, *{name.partition(".")[0] for name in sys.modules}, file=sys.stderr)
"""


def imported(*arguments: str) -> set[str]:
    ran = subprocess.run(
        [sys.executable, "-c", PROBE, json.dumps(arguments)],
        capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    last = ran.stderr.splitlines()[-1].split()
    assert last[:2] == ["exit", "0"], ran.stderr
    return set(last[2:])


@pytest.mark.parametrize(
    "command",
    [
        "",
        "inspect",
        "diff",
        "scan",
        "sweep",
        "check",
        "traffic",
        "tui",
        "kernels",
        "mcp",
        "targets",
        "schema",
        "completion",
        "cache",
        "explain",
        "record",
    ],
)
def test_help_loads_nothing_heavy(command: str) -> None:
    assert not imported(*([command] if command else []), "--help") & HEAVY


@pytest.mark.parametrize(
    "arguments",
    [("kernels",), ("targets",), ("schema",), ("cache",), ("--version",), ("explain", "registers")],
)
def test_lists_load_nothing_heavy(arguments: tuple[str, ...]) -> None:
    assert not imported(*arguments) & HEAVY


def test_reading_a_cache_loads_nothing_heavy(h200_cache: Path) -> None:
    entry = sorted(h200_cache.iterdir())[0]
    assert not imported("inspect", str(entry)) & HEAVY
    assert not imported("inspect", str(entry), "--format", "json") & HEAVY
    assert not imported("inspect", str(entry), "--stage", "ptx") & HEAVY
    assert not imported("scan", str(entry)) & HEAVY
    assert not imported("diff", str(entry), str(entry)) & HEAVY
    assert not imported("diff", str(entry), str(entry), "--format", "markdown") & HEAVY


def test_an_identical_request_is_answered_without_triton() -> None:
    request = ("inspect", "vector_add", "--target", "sm_80", "--set", "BLOCK_SIZE=256")
    assert "triton" in imported(*request)
    assert not imported(*request) & HEAVY


def test_the_list_of_commands_is_complete_and_loads_none_of_them() -> None:
    folder = Path(commands.__file__).parent
    assert set(COMMANDS) == {path.stem for path in folder.glob("[!_]*.py")}
    assert "msgspec" not in imported("--help")


def test_a_remembered_report_needs_nothing_that_writes(h200_cache: Path) -> None:
    entry = str(sorted(h200_cache.iterdir())[0])
    imported("inspect", entry)
    assert not imported("inspect", entry) & {"tempfile", "shutil"}


def test_the_end_of_the_process_looks_for_no_cycles() -> None:
    script = (
        "import atexit, gc, sys\n"
        "atexit.register(lambda: print(gc.get_freeze_count(), file=sys.stderr))\n"
        "import irlens.cli\n"
        "sys.argv = ['irlens', '--version']\n"
        "irlens.cli.main()\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert int(ran.stderr) > 0
