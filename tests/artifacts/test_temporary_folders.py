"""Temporary folders of processes that end in any way."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from irlens.artifacts.temporary_folders import TemporaryFolder

HOLDER = """
import sys
from irlens.artifacts.temporary_folders import TemporaryFolder
with TemporaryFolder() as folder:
    print(folder, flush=True)
    sys.stdin.read()
"""


@contextmanager
def holder(parent: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Run a process that holds a temporary folder, last written to an hour ago."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER], env={**os.environ, "TMPDIR": str(parent)}, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        folder = Path(process.stdout.readline().strip())
        (folder / "kernel.cubin").write_bytes(b"")
        long_ago = time.time() - 3600
        os.utime(folder, (long_ago, long_ago))
        yield process, folder


def test_what_a_killed_process_left_is_removed_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    others = tmp_path / "others"
    others.mkdir()
    recording = tmp_path / "irlens-train"
    recording.mkdir()
    os.utime(recording, (0, 0))
    (tmp_path / "tmp-irlens-link").symlink_to(others)
    (tmp_path / "tmp-irlens-new").mkdir()  # a process that has not locked it yet
    (tmp_path / "tmp-irlens-file").write_text("")
    with holder(tmp_path) as (killed, left), holder(tmp_path) as (_, held):
        killed.kill()
        killed.wait()
        assert left.is_dir()
        with TemporaryFolder() as own:
            assert not left.exists()
            kept = {each.name for each in tmp_path.iterdir()} - {Path(own).name}
        assert not Path(own).exists()
        new = {"tmp-irlens-link", "tmp-irlens-new", "tmp-irlens-file"}
        assert kept == {"others", "irlens-train", held.name, *new}
    assert not held.exists()


def test_a_terminated_process_removes_its_folders(tmp_path: Path) -> None:
    command = ["sweep", "matmul", "-t", "h100", "--jobs", "2", "--num-stages", "1..9"]
    with subprocess.Popen(
        [sys.executable, "-m", "irlens", *command], stderr=subprocess.PIPE, text=True,
        env={**os.environ, "TMPDIR": str(tmp_path), "IRLENS_CACHE_DIR": str(tmp_path / "cache")},
    ) as process:  # fmt: skip
        until = time.monotonic() + 60
        while not list(tmp_path.glob("tmp-irlens-*/*")) and time.monotonic() < until:
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        _, printed = process.communicate(timeout=60)
    assert process.returncode == 130
    assert printed.splitlines()[-1] == "irlens: interrupted"
    assert "Traceback" not in printed
    assert [each.name for each in tmp_path.iterdir()] == ["cache"]
