"""A real Dask scheduler with two workers, which have another store than this process."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from irlens.model.sweep import Sweep
from irlens.sweeps.cluster import ClusterPool

pytest.importorskip("distributed", reason="the extra irlens[cluster] is not installed")


def sweep(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "irlens", "sweep", *arguments], stdin=subprocess.DEVNULL,
        capture_output=True, check=False, text=True,
    )  # fmt: skip


def test_the_same_sweep_on_a_cluster(cluster: str, private_store: Path, tmp_path: Path) -> None:
    grid = ("softmax", "-t", "sm_80", "--num-stages", "1..3", "--num-warps", "4,8",
            "--format", "json")  # fmt: skip
    there = sweep(*grid, "--cluster", cluster)
    assert there.returncode == 0, there.stderr
    found = msgspec.json.decode(there.stdout, type=Sweep)
    assert len(found.trials) == 6
    assert len(list((tmp_path / "theirs" / "captures").iterdir())) == 6
    assert not (private_store / "captures").exists(), "this machine compiled nothing"
    here = sweep(*grid)
    assert here.returncode == 0, here.stderr
    assert here.stdout == there.stdout


def test_a_worker_that_dies_is_a_row(cluster: str, tmp_path: Path) -> None:
    path = tmp_path / "deadly.py"
    path.write_text(_DEADLY)
    ran = sweep(str(path), "-t", "sm_80", "--set", "BLOCK=64,128,256", "--format", "json",
                "--cluster", cluster)  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    found = msgspec.json.decode(ran.stdout, type=Sweep)
    outcomes = {trial.settings["BLOCK"]: trial.outcome for trial in found.trials}
    assert outcomes == {64: "fits", 128: "died", 256: "fits"}


def test_every_task_has_its_own_end(cluster: str) -> None:
    pool = ClusterPool(cluster)
    try:
        answered, failed = pool.submit(eval, b"b'done'"), pool.submit(eval, b"{}['no']")
        assert answered.result(60) == b"done"
        error = failed.exception(60)
        assert isinstance(error, KeyError)
        assert not pool.is_crash(error)
        blocking = [pool.submit(eval, b"__import__('time').sleep(60)") for _ in range(pool.width)]
        waiting = pool.submit(eval, b"b'never'")
        pool.abandon(waiting)
        assert waiting.cancelled()
        assert not any(each.done() for each in blocking)
    finally:
        pool.stop()


_DEADLY = """
import inspect, os, signal
import triton, triton.language as tl

def deadly(args):
    planning = any("planning.py" in frame.filename for frame in inspect.stack())
    if args["BLOCK"] == 128 and not planning:
        os.kill(os.getpid(), signal.SIGKILL)
    return True

@triton.heuristics({"EVEN": deadly})
@triton.jit
def fill(x_ptr, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, BLOCK), 1.0)

IRLENS_KERNELS = {"fill": {"args": {"x_ptr": "fp32[4096]"}, "grid": [1]}}
"""
