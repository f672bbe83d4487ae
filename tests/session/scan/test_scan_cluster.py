"""A scan on a real Dask cluster, whose workers have another store than this process."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from irlens.artifacts import store

CAPTURES = Path(__file__).parents[3] / "samples" / "captures"


def scan(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "irlens", "scan", *arguments], stdin=subprocess.DEVNULL,
        capture_output=True, check=False, text=True,
    )  # fmt: skip


def test_the_same_scan_on_a_cluster(
    cluster: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here_only = tmp_path / "here"
    monkeypatch.setenv(store.ROOT_VARIABLE, str(here_only))
    for name in ("softmax-h100", "spill-h100", "softmax-t4"):
        shutil.copytree(CAPTURES / name, tmp_path / "cache" / name)
    (tmp_path / "cache" / "spill-h100" / "spill_kernel.json").write_text("{")
    columns = ("--columns", "path,kernel,registers,stages_achieved,findings")
    rows = (str(tmp_path / "cache"), "-f", "csv", *columns)
    there = scan(*rows, "--cluster", cluster)
    assert there.returncode == 2, there.stderr
    shutil.rmtree(here_only, ignore_errors=True)
    here = scan(*rows)
    assert there.stdout == here.stdout
    assert there.stderr == here.stderr
    assert "softmax_kernel" in there.stdout

    reports = (str(tmp_path / "cache"), "-f", "jsonl")
    there = scan(*reports, "--cluster", cluster)
    shutil.rmtree(here_only, ignore_errors=True)
    assert there.stdout == scan(*reports).stdout
    assert there.stdout.count("\n") == 2


def test_jobs_are_those_of_this_machine(tmp_path: Path) -> None:
    ran = scan(str(CAPTURES), "--cluster", "tcp://127.0.0.1:1", "--jobs", "2")
    assert ran.returncode == 2
    assert "--jobs has no effect" in ran.stderr
