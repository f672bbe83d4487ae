"""Imports: help and reading captures load neither Triton nor PyTorch nor Textual.

What reads captures does without the compiler layer as well, and a scan without checks and diffs.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from irlens.cli import commands
from irlens.cli.root import COMMANDS

HEAVY = {"triton", "torch", "textual", "rich", "pygments", "numpy", "mcp"}
COMPILER = "irlens.compiler"

# Runs irlens as its entry point does, then tells which modules it took.
PROBE = """
import json, sys
sys.argv = ["irlens", *json.loads(sys.argv[1])]
import irlens.cli
try:
    irlens.cli.main()
except SystemExit as stop:
    print("exit", stop.code, *sys.modules, file=sys.stderr)
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
    entry = str(sorted(h200_cache.iterdir())[0])
    unneeded = HEAVY | {COMPILER}
    assert not imported("inspect", entry) & unneeded
    assert not imported("inspect", entry, "--format", "json") & unneeded
    assert not imported("inspect", entry, "--stage", "ptx") & unneeded
    assert not imported("diff", entry, entry) & unneeded
    assert not imported("diff", entry, entry, "--format", "markdown") & unneeded


def test_a_report_for_nvidia_loads_no_dialect_of_amd(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IRLENS_CACHE_DIR", str(tmp_path))
    capture = Path(__file__).parents[2] / "samples" / "captures" / "softmax-h100"
    modules = imported("inspect", str(capture))
    assert "irlens.analyze.liveness" in modules  # the report was made
    assert "irlens.isa.amdgcn" not in modules


def test_a_scan_loads_only_what_reads_captures(h200_cache: Path) -> None:
    unneeded = HEAVY | {COMPILER, "irlens.checks", "irlens.diff"}
    entry = str(sorted(h200_cache.iterdir())[0])
    for arguments in ((), ("--where", "registers >= 1"), ("--format", "csv")):
        assert not imported("scan", entry, *arguments) & unneeded, arguments


def test_counting_what_a_launch_moves_loads_no_masked_arrays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IRLENS_CACHE_DIR", str(tmp_path))  # a remembered report needs no numpy
    capture = Path(__file__).parents[2] / "samples" / "captures" / "softmax-h100"
    modules = imported("inspect", str(capture))
    assert "numpy" in modules
    assert "numpy.ma" not in modules


def test_an_identical_request_is_answered_without_triton(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IRLENS_CACHE_DIR", str(tmp_path))
    request = ("inspect", "vector_add", "--target", "sm_80", "--set", "BLOCK_SIZE=256")
    child = "irlens.compiler.forked"  # which loads Triton in a process of its own
    assert child in imported(*request)
    assert not imported(*request) & {*HEAVY, child}


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
