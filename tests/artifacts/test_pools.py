"""Interpreters that ``multiprocessing`` starts import nothing from the working directory."""

import subprocess
import sys
from pathlib import Path

import pytest

#: Threads make a fork unsafe, so that the pool spawns.
POOL = """
import os, threading
from irlens.artifacts import pools
if __name__ == "__main__":
    threading.Thread(target=threading.Event().wait, daemon=True).start()
    pool = pools.start_pool(1)
    assert pool.submit(os.getpid).result() != os.getpid()
    pools.end(pool)
"""
SWEEP = """
from irlens.sweeps import worker_pool
if __name__ == "__main__":
    worker = worker_pool._Worker(".")
    assert worker.submit(bytes, b"task").result() == b"task"
    worker.join()
"""


@pytest.mark.parametrize("program", [POOL, SWEEP], ids=["pool", "sweep"])
def test_a_module_in_the_working_directory_is_not_executed(program: str, tmp_path: Path) -> None:
    script, folder = tmp_path / "program.py", tmp_path / "folder"
    script.write_text(program)
    folder.mkdir()
    for name in ("subprocess", "multiprocessing", "typing", "torch"):
        (folder / f"{name}.py").write_text(f"open('executed {name}', 'w')")
    subprocess.run([sys.executable, script], cwd=folder, check=True)  # as a console script runs
    assert not list(folder.glob("executed*"))
