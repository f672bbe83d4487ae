"""``irlens sweep`` as a user runs it, kills it, and runs it again."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import msgspec
import pytest

from irlens.model.sweep import Sweep

DEADLY = """
import inspect, os, signal
import triton, triton.language as tl

def deadly(args):
    planning = any("planning.py" in frame.filename for frame in inspect.stack())
    if args["BLOCK"] == 128 and not planning:
        os.kill(os.getpid(), signal.SIGSEGV)
    return True

@triton.heuristics({"EVEN": deadly})
@triton.jit
def fill(x_ptr, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, BLOCK), 1.0)

IRLENS_KERNELS = {"fill": {"args": {"x_ptr": "fp32[4096]"}, "grid": [1]}}
"""


class Ran(msgspec.Struct, frozen=True):
    code: int
    out: str
    err: str

    def sweep(self) -> Sweep:
        return msgspec.json.decode(self.out, type=Sweep)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("IRLENS_CACHE_DIR", str(tmp_path / "store"))
    return tmp_path / "store"


def start(*arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "irlens", "sweep", *arguments], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip


def sweep(*arguments: str) -> Ran:
    process = start(*arguments)
    out, err = process.communicate()
    return Ran(process.returncode, out, err)


def captures(store: Path) -> dict[str, int]:
    """Return when each stored capture was made, by its name."""
    folder = store / "captures"
    paths = folder.iterdir() if folder.is_dir() else []
    return {p.name: p.stat().st_mtime_ns for p in paths if not p.name.startswith(".")}


def children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False


def until(condition: Callable[[], bool], process: "subprocess.Popen[str]") -> None:
    while not condition():
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)


def gone(workers: list[int]) -> None:
    """Wait for the workers to follow their parent; each may have something to finish."""
    deadline = time.monotonic() + 60
    while any(map(alive, workers)):
        assert time.monotonic() < deadline
        time.sleep(0.05)


GRID = ("vector_add", "-t", "sm_80", "--set", "BLOCK_SIZE=64..2048..x2", "--num-warps", "2,4",
        "--jobs", "2")  # fmt: skip


def test_a_grid_with_constraints() -> None:
    ran = sweep("softmax", "-t", "h100,t4", "--num-stages", "1..3", "--num-warps", "4,8",
                "--where", "num_stages * num_warps <= 16",
                "--where", "arch == 'sm_90' or num_stages == 3",
                "--filter", "registers < 1000", "--format", "json")  # fmt: skip
    assert ran.code == 0, ran.err
    found = ran.sweep()
    assert [target.product for target in found.targets] == ["h100", "t4"]
    assert {trial.label for trial in found.on(found.targets[1])} == {"num_warps=4 num_stages=3"}
    assert {trial.label for trial in found.on(found.targets[0])} == {
        "num_warps=4 num_stages=1", "num_warps=4 num_stages=2", "num_warps=4 num_stages=3",
        "num_warps=8 num_stages=1", "num_warps=8 num_stages=2",
    }  # fmt: skip
    assert found.excluded == 6
    assert found.filtered == 0
    best = found.trials[0]
    assert best.figures is not None
    assert best.figures.stages_achieved == 3


def test_what_does_not_compile_or_fit_is_told_and_the_rest_goes_on(tmp_path: Path) -> None:
    listed = tmp_path / "fitting.json"
    arguments = ("matmul", "-t", "sm_80", "--num-stages", "2,6", "--num-warps", "8",
                 "--set", "BLOCK_SIZE_M=64", "--set", "BLOCK_SIZE_N=256",
                 "--set", "BLOCK_SIZE_K=16,24,64", "--set", "GROUP_SIZE_M=8")  # fmt: skip
    ran = sweep(*arguments, "--prune-list", str(listed))
    assert ran.code == 0, ran.err
    assert "arange's range must be a power of 2" in ran.out
    assert "2 configurations, all with BLOCK_SIZE_K=24" in ran.out
    assert "shared memory: 204,800 bytes/CTA asked for" in ran.out
    again = sweep(*arguments, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(again.out)))
    outcomes = {(row["num_stages"], row["BLOCK_SIZE_K"]): row["outcome"] for row in rows}
    assert outcomes == {
        ("2", "16"): "fits", ("6", "16"): "fits", ("2", "64"): "fits",
        ("6", "64"): "does not fit", ("2", "24"): "failed", ("6", "24"): "failed",
    }  # fmt: skip
    fitting = json.loads(listed.read_text())
    assert len(fitting) == 3
    blocks = {"BLOCK_SIZE_M": 64, "BLOCK_SIZE_N": 256, "BLOCK_SIZE_K": 16, "GROUP_SIZE_M": 8}
    assert {"kwargs": blocks, "num_warps": 8, "num_stages": 6, "num_ctas": 1} in fitting
    assert sweep(*arguments, "--filter", "registers < 1").code == 1


def test_a_worker_that_dies_is_a_row(tmp_path: Path) -> None:
    path = tmp_path / "deadly.py"
    path.write_text(DEADLY)
    ran = sweep(str(path), "-t", "sm_80", "--set", "BLOCK=64..512..x2", "--format", "json")
    assert ran.code == 0, ran.err
    found = {trial.settings["BLOCK"]: trial for trial in ran.sweep().trials}
    assert {block: trial.outcome for block, trial in found.items()} == {
        64: "fits", 128: "died", 256: "fits", 512: "fits",
    }  # fmt: skip
    assert found[128].reason == "worker died (signal 11, SIGSEGV)"


def test_a_killed_sweep_goes_on_where_it_was(store: Path) -> None:
    process = start(*GRID, "--format", "json")
    until(lambda: len(captures(store)) >= 5, process)
    workers = children(process.pid)
    process.kill()
    process.communicate()
    gone(workers)
    there = captures(store)
    assert 5 <= len(there) < 12
    (journal,) = (store / "sweeps").glob("*.jsonl")
    known = [line for line in journal.read_bytes().splitlines() if line]
    assert len(known) >= len(there) - 4, "at most what was in flight may be missing"
    with journal.open("ab") as file:
        file.write(b'{"number": 3, "fou')
    ran = sweep(*GRID, "--format", "json")
    assert ran.code == 0, ran.err
    assert len(ran.sweep().trials) == 12
    after = captures(store)
    assert {name: after[name] for name in there} == there, "nothing is compiled twice"
    assert len(after) == 12
    assert not list((store / "sweeps").glob("*.jsonl"))


def test_an_interrupted_sweep_says_how_far_it_came(store: Path) -> None:
    process = start(*GRID)
    until(lambda: len(captures(store)) >= 3, process)
    workers = children(process.pid)
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 130, err
    assert out == ""
    assert "of 12 are done; the same command goes on from there" in err
    assert "Traceback" not in err
    gone(workers)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("softmax", "--where", "num_warp > 3"), "unknown name in --where 'num_warp'"),
        (("softmax", "--where", "num_warps > 99"), "--where leaves none of the 1 configurations"),
        (("softmax", "--filter", "occupncy > 0.5"), "did you mean occupancy"),
        (("softmax", "--sort", "speed"), "unknown figure in --sort 'speed'"),
        (("softmax", "--set", "BLOK_SIZE=4"), "BLOCK_SIZE"),
        (("softmax", "--measure"), "--measure needs a GPU"),
        (("softmax", "--jobs", "2", "--cluster", "tcp://localhost:1"), "--jobs has no effect"),
        (("softmax", "--cluster", "tcp://localhost:1"), "no Dask scheduler answers"),
        (
            ("softmax", "--num-warps", "1..1000", "--num-stages", "1..1000"),
            "that makes 1,000,000 configurations",
        ),
        (("softmax", "--where", "num_stages >"), "'num_stages >': invalid syntax\n"),
        (("softmax", "--filter", "registers <"), "is not an expression: invalid syntax\n"),
        (("sofmax",), "softmax"),
        (("samples/captures/softmax-h100",), "is compiled already"),
        (("softmax", "--format", "xml"), "unknown format 'xml'"),
    ],
)
def test_mistakes(arguments: tuple[str, ...], complaint: str) -> None:
    if "--measure" in arguments and Path("/dev/nvidia0").exists():
        pytest.skip("there is a GPU")
    if "scheduler" in complaint and find_spec("distributed") is None:
        complaint = 'pip install "irlens[cluster]"'
    ran = sweep(*arguments, *(("-t", "h100") if arguments[0] == "softmax" else ()))
    assert ran.code == 2, ran.out
    assert complaint in ran.err
    assert "Traceback" not in ran.err
