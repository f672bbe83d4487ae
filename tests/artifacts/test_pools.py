"""How worker processes start: from which directories, and if they are interrupted meanwhile."""

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
#: Interrupts itself and its child while it forks.
INTERRUPTED = """
import os, signal, logging, sys
from irlens.artifacts import pools
from irlens.compiler import forked
os.register_at_fork(
    after_in_parent=lambda: os.kill(os.getpid(), signal.SIGINT),
    after_in_child=lambda: os.kill(os.getpid(), signal.SIGINT),
)
try:
    start = {"pool": lambda: pools.start_pool(2), "compiler": forked._start}[sys.argv[1]]
    start()
except KeyboardInterrupt:
    sys.exit(130)
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


@pytest.mark.parametrize("forked", ["pool", "compiler"])
def test_an_interrupt_during_a_fork_is_not_lost(forked: str, tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(INTERRUPTED)
    command = [sys.executable, str(script), forked]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")
